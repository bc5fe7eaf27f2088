/* Every trial's detail, taken out of its tables when a case is opened; see TrialRow in reports/html_data.py. */
const Trials = (() => {
  "use strict";

  const holder = document.getElementById("trials");
  let tables = null;

  /** Whether the page holds the trials; else only examples. */
  const known = holder !== null;

  function load() {
    if (!tables && holder) tables = JSON.parse(holder.textContent);
    return tables;
  }

  const text = (place) => (place < 0 || place === undefined ? null : tables.texts[place]);

  function trial(row) {
    const [repetition, outcome, kind, message, output, checks, calls, turns, duration, cost, tokens, attempts, cached] = row;
    return {
      repetition, outcome, kind, turns, duration, cost, tokens, attempts, cached,
      message: text(message),
      output: text(output),
      checks: checks < 0 ? [] : tables.checks[checks].map(([name, passed, score, why, judge, votes, confidence]) => ({
        name: text(name), passed: Boolean(passed), score, message: text(why), judge: text(judge), votes, confidence,
      })),
      calls: calls < 0 ? null : tables.calls[calls].map(([name, given]) => ({ name: text(name), given: text(given) })),
    };
  }

  /** The trials of a case on one side, `head` or `base`, in order; the report's examples where no others are known. */
  function of(one, side) {
    if (load()) return tables[side][one.index].map(trial);
    if (side === "base") return [];
    return (one.examples || []).map((example) => ({
      repetition: example.repetition,
      outcome: { passed: "P", failed: "F", error: "E", skipped: "S" }[example.outcome],
      kind: example.error_kind,
      message: example.message,
      output: example.output,
      checks: (example.checks || []).map((message) => ({ name: "", passed: false, score: null, message })),
      calls: null,
    }));
  }

  /** What is left out of the page, as a sentence; empty if nothing is. */
  function leftOut() {
    if (!load()) return "";
    const parts = [];
    if (tables.limit < 20000) parts.push(`texts longer than ${tables.limit.toLocaleString("en")} characters are cut`);
    if (tables.left_out) parts.push(`${Words.count(tables.left_out, "trial")} of cases that pass have no detail here`);
    return parts.length ? `The suite is large, so ${parts.join(" and ")}; the run file holds all.` : "";
  }

  return { known, of, leftOut };
})();
