/* The cases, and what the reader asks of them: other rules, another number of repeats, a filter, an order. */
const Model = (() => {
  "use strict";

  const data = JSON.parse(document.getElementById("data").textContent);
  const BROKE = new Set(["regressed", "newly broken"]);
  const BETTER = new Set(["improved", "fixed"]);
  const SEVERITY = { fail: 0, incomplete: 1, "within-noise": 2, pass: 3, skipped: 4 };

  /** What the reader asks for; null is "as run". */
  const asked = { threshold: null, gate: null, repeats: null, filter: "all", text: "", sort: "worst", reverse: false };

  const side = (counts) => ({
    passed: counts[0], failed: counts[1], errors: counts[2], skipped: counts[3], missing: counts[4],
    verdicts: counts[0] + counts[1],
  });

  const cases = data.cases.map((found, index) => {
    const counts = side(found.n);
    const base = found.base ? side(found.base.n) : null;
    const name = Words.line(found.id) || "(no name)";
    return {
      ...found, index, name, counts, baseCounts: base, verdict: found.v, own: found.own || "",
      rate: counts.verdicts ? counts.passed / counts.verdicts : null,
      interval: counts.verdicts ? RepeatEvalStatistics.wilson(counts.passed, counts.verdicts) : null,
      baseRate: base && base.verdicts ? base.passed / base.verdicts : null,
      baseInterval: base && base.verdicts ? RepeatEvalStatistics.wilson(base.passed, base.verdicts) : null,
      flaky: counts.passed > 0 && counts.failed > 0,
      broken: counts.verdicts > 0 && counts.passed === 0,
      bimodal: Boolean(found.score && found.score[3]),
      fell: Boolean(found.vs && BROKE.has(found.vs.change)) || Boolean(found.blocks),
      rose: Boolean(found.vs && BETTER.has(found.vs.change)),
      words: [name, ...(found.tags || []), found.text || "", found.vs ? found.vs.words || "" : ""].join("\n").toLowerCase(),
    };
  });
  /** [passes, verdicts] of the cases with a verdict. */
  const rated = cases.filter((one) => one.counts.verdicts).map((one) => [one.counts.passed, one.counts.verdicts]);

  const thresholdOf = (one) => (asked.threshold === null || one.own.includes("t") ? one.t : asked.threshold);
  const gateOf = (one) => (asked.gate === null || one.own.includes("g") ? one.g : asked.gate);

  /** Judge every case by the rules asked for. */
  function judge() {
    const known = new Map();
    const asRun = asked.threshold === null && asked.gate === null;
    for (const one of cases) {
      if (asRun) {
        one.verdict = one.v;
        continue;
      }
      const key = `${one.n.join(" ")} ${thresholdOf(one)} ${gateOf(one)}`;
      if (!known.has(key)) {
        known.set(key, RepeatEvalStatistics.caseVerdict(one.counts, thresholdOf(one), gateOf(one)));
      }
      one.verdict = known.get(key);
    }
  }

  /** How many cases have each verdict, now or as run. */
  function tally(key = "verdict") {
    const counts = { pass: 0, "within-noise": 0, fail: 0, incomplete: 0, skipped: 0 };
    for (const one of cases) counts[one[key]] += 1;
    return counts;
  }

  const FILTERS = [
    ["all", "All", () => true],
    ["failing", "Failing", (one) => one.verdict === "fail" || one.verdict === "incomplete"],
    ["regressed", "Regressed", (one) => one.fell],
    ["improved", "Improved", (one) => one.rose],
    ["flaky", "Flaky", (one) => one.flaky],
    ["broken", "Broken", (one) => one.broken],
    ["noise", "Within noise", (one) => one.verdict === "within-noise"],
    ["errors", "Errors", (one) => one.counts.errors + one.counts.missing > 0],
    ["bimodal", "Bimodal", (one) => one.bimodal],
    ["changed", "Verdict changed", (one) => one.verdict !== one.v],
  ];

  /** The filters with how many cases each takes. */
  const filters = () =>
    FILTERS.filter(([key]) => data.compared || (key !== "regressed" && key !== "improved")).map(([key, label, takes]) => ({
      key, label, count: cases.reduce((sum, one) => sum + takes(one), 0),
    }));

  const unknownLast = (value) => (value === null || value === undefined ? Infinity : value);
  const severity = (one) =>
    (one.fell ? 0 : 10) + 2 * SEVERITY[one.verdict] + (one.flaky ? 0 : 1) + (one.rate === null ? 0 : one.rate / 2);
  const SORTS = [
    ["worst", "worst first", severity],
    ["suite", "suite order", (one) => one.index],
    ["rate", "pass rate", (one) => unknownLast(one.rate)],
    ["width", "widest interval", (one) => (one.interval ? one.interval[0] - one.interval[1] : Infinity)],
    ["delta", "change against base", (one) => unknownLast(one.vs ? one.vs.delta : null)],
    ["name", "name", null],
    ["time", "slowest", (one) => (one.time ? -one.time[0] : Infinity)],
    ["cost", "dearest", (one) => (typeof one.cost === "number" ? -one.cost : Infinity)],
    ["score", "score", (one) => (one.score ? one.score[0] : Infinity)],
  ];
  const sorts = () =>
    SORTS.filter(
      ([key]) =>
        (key !== "delta" || data.compared) && (key !== "time" || cases.some((one) => one.time)) &&
        (key !== "cost" || cases.some((one) => typeof one.cost === "number")) &&
        (key !== "score" || cases.some((one) => one.score)),
    ).map(([key, label]) => ({ key, label }));

  /** The cases that the filter and the text take, in the order asked for. */
  function shown() {
    const takes = FILTERS.find(([key]) => key === asked.filter)[2];
    const text = asked.text.trim().toLowerCase();
    const found = cases.filter((one) => takes(one) && (!text || one.words.includes(text)));
    const key = SORTS.find(([name]) => name === asked.sort)[2];
    if (key === null) found.sort((a, b) => a.name.localeCompare(b.name, "en", { numeric: true }));
    else {
      const keys = new Map(found.map((one) => [one, key(one)]));
      found.sort((a, b) => {
        const [one, other] = [keys.get(a), keys.get(b)];
        return one === other ? a.index - b.index : one - other;
      });
    }
    return asked.reverse ? found.reverse() : found;
  }

  const passHat = (one, k) => RepeatEvalStatistics.passHatK(one.counts.passed, one.counts.verdicts, k);

  return { data, cases, rated, asked, judge, tally, filters, sorts, shown, thresholdOf, gateOf, passHat };
})();
