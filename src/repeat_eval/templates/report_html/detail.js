/* One case in full: figures, checks, scores, and its trials, each of which opens. */
const Detail = (() => {
  "use strict";

  const { html, byId, pairs } = Dom;
  const dialog = byId("detail");
  const MAX_MARKS = 400;
  let open = null;

  const letterWord = (trial) => (trial.outcome === "E" && trial.kind ? `error: ${trial.kind}` : Words.OUTCOMES[trial.outcome]);

  /** Open the dialog for a case; `chosen` is the place of a trial among head's, or {side, repetition}. */
  function show(one, chosen = null) {
    open = one;
    const head = Trials.of(one, "head");
    const base = Trials.of(one, "base");
    const panel = html("div", { class: "trial", id: "trial" });
    const strips = [["head", head], ["base", base]].filter(([, trials]) => trials.length)
      .map(([side, trials]) => strip(side, trials, panel, base.length > 0));
    const body = html("div", { class: "detail-body" },
      against(one) || "",
      html("section", { class: "detail-figures" }, figures(one), scores(one)),
      one.checks && one.checks.length ? checks(one) : "",
      html("section", { class: "detail-trials" },
        html("h3", {}, Trials.known ? "Trials" : "Trials kept as examples"),
        strips.length ? strips.map((found) => found.node) : html("p", { class: "fine" }, "No trial is kept in this report."),
        Trials.leftOut() ? html("p", { class: "fine" }, Trials.leftOut()) : null,
        panel),
    );
    dialog.replaceChildren(heading(one), body);
    if (!dialog.open) dialog.showModal();
    dialog.scrollTop = 0;
    const wanted = strips.find((found) => chosen && found.side === (chosen.side || "head")) || strips[0];
    if (wanted) wanted.choose(chosen);
    remember(one);
  }

  function heading(one) {
    const [sign, word] = Words.VERDICTS[one.verdict];
    const order = Cases.order();
    const at = order.indexOf(one);
    const step = (by, label, text) => html("button", {
      type: "button", class: "quiet", "aria-label": label, disabled: at < 0 || !order[at + by],
      on: { click: () => { show(order[at + by]); byId(by < 0 ? "previous-case" : "next-case").focus(); } },
      id: by < 0 ? "previous-case" : "next-case",
    }, text);
    return html("header", { class: `detail-head v-${one.verdict}` },
      html("div", { class: "line" },
        html("h2", { id: "detail-title" }, html("span", { class: "mark", "aria-hidden": "true" }, sign), " ",
          html("bdi", {}, one.name)),
        html("div", { class: "buttons" }, step(-1, "Previous case", "‹"), step(1, "Next case", "›"),
          html("button", { type: "button", class: "quiet", "aria-label": "Close", on: { click: () => dialog.close() } }, "✕"))),
      html("p", {}, html("strong", {}, word), one.verdict === one.v ? said(one) : ` instead of ${Words.VERDICTS[one.v][1]} as run`));
  }

  /** What the comparison says of the case; null if nothing. */
  function against(one) {
    const told = [
      one.blocks ? html("p", { class: "blocks" }, Words.line(one.blocks)) : null,
      one.vs && one.vs.words ? html("p", { class: "fine" }, `Against base: ${Words.line(one.vs.words)}`) : null,
    ].filter(Boolean);
    return told.length ? html("div", {}, told) : null;
  }

  const said = (one) => (one.text ? `: ${Words.line(one.text)}` : "");

  function figures(one) {
    const { counts } = one;
    const needs = counts.verdicts ? RepeatEvalStatistics.minPasses(counts.verdicts, Model.thresholdOf(one), Model.gateOf(one)) : null;
    const rate = (known, found, limits) => (found.verdicts ? `${Words.percent(known)} (${found.passed}/${found.verdicts}), 95% CI ${Words.interval(limits)}` : "no verdict");
    const hats = counts.verdicts > 1 ? [2, 3, 5].map((k) => [k, Model.passHat(one, k)]).filter(([, value]) => value !== null) : [];
    const own = (letter, what) => (one.own.includes(letter) ? ` (the case's own ${what})` : "");
    const delta = one.vs && typeof one.vs.delta === "number"
      ? `${Words.points(one.vs.delta, 0)} (${Words.pointsInterval(one.vs.interval, 0)}), p ${Words.pValue(one.vs.p)}${one.vs.rerun ? `, re-run ${Words.line(one.vs.rerun)}` : ""}` : null;
    return pairs([
      ["pass rate", rate(one.rate, counts, one.interval)],
      ["base", one.baseCounts ? rate(one.baseRate, one.baseCounts, one.baseInterval) : null],
      ["difference", delta],
      ["threshold", `${Model.thresholdOf(one)}${own("t", "threshold")}`],
      ["gate", `${Model.gateOf(one)}${own("g", "gate")}${needs === null ? "" : `, needs ${needs} of ${counts.verdicts}`}`],
      ["pass^k", hats.map(([k, value]) => `pass^${k} ${Words.percent(value)}`).join(", ")],
      ["reliability", one.rating],
      ["trials", Charts.outcomes(counts)],
      ["errors", Object.entries(one.kinds || {}).map(([kind, number]) => `${Words.line(kind)} ${number}`).join(", ")],
      ["score", one.score ? `${one.score[0].toFixed(2)} ± ${one.score[1].toFixed(2)}` : null],
      ["time", one.time ? `${Words.duration(one.time[0])} mean, ${Words.duration(one.time[1])} median, ${Words.duration(one.time[2])} slowest` : null],
      ["cost", typeof one.cost === "number" ? Words.money(one.cost) + (typeof one.judge_cost === "number" ? `, judges ${Words.money(one.judge_cost)}` : "") : null],
      ["tokens", typeof one.tokens === "number" ? `${one.tokens.toLocaleString("en")} a trial` : null],
      ["turns", typeof one.turns === "number" ? `${one.turns.toLocaleString("en")} a trial` : null],
      ["retried", one.retried || null],
      ["tags", (one.tags || []).map(Words.line).join(", ")],
      ["written at", one.at ? Words.line(one.at) : null],
    ]);
  }

  function scores(one) {
    const bins = one.score && one.score[2];
    return bins ? Charts.histogram(bins, one.bimodal) : null;
  }

  function checks(one) {
    return html("section", {}, html("h3", {}, "Checks"),
      html("ul", { class: "check-bars" }, one.checks.map(([name, passed, failed, score]) => {
        const all = passed + failed;
        const bar = html("meter", { min: 0, max: all || 1, value: passed, "aria-label": `${passed} of ${all} passed` });
        return html("li", {}, html("bdi", {}, Words.line(name)), bar,
          html("span", { class: "figure" }, `${passed}/${all}`), html("span", { class: "fine figure" }, `score ${score.toFixed(2)}`));
      })));
  }

  /** A strip of buttons, one a trial; arrow keys go along it. */
  function strip(side, trials, panel, both) {
    const shown = trials.slice(0, MAX_MARKS);
    const buttons = shown.map((trial, index) => html("button", {
      type: "button", class: `dot o-${trial.outcome}`, tabindex: index ? -1 : 0, "aria-pressed": "false",
      "aria-label": `${side === "base" ? "Base, trial" : "Trial"} ${trial.repetition}: ${letterWord(trial)}`,
      title: `trial ${trial.repetition}: ${letterWord(trial)}`,
      on: { click: () => pick(index) },
    }, Charts.glyph(trial.outcome, 12)));
    const node = html("div", { class: "strip-buttons", role: "group", "aria-label": `Trials of ${side}` },
      both ? html("span", { class: "fine side" }, side) : null, buttons,
      trials.length > shown.length ? html("span", { class: "fine" }, `and ${Words.count(trials.length - shown.length, "more trial")}`) : null);
    node.addEventListener("keydown", (event) => {
      const by = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: 1, ArrowUp: -1 }[event.key];
      const at = buttons.indexOf(document.activeElement);
      if (!by || at < 0 || !buttons[at + by]) return;
      event.preventDefault();
      pick(at + by);
      buttons[at + by].focus();
    });

    function pick(index) {
      for (const other of dialog.querySelectorAll(".dot[aria-pressed=true]")) other.setAttribute("aria-pressed", "false");
      buttons.forEach((button, place) => button.setAttribute("tabindex", place === index ? 0 : -1));
      buttons[index].setAttribute("aria-pressed", "true");
      panel.replaceChildren(...trialParts(side, shown[index], both));
    }

    /** The trial asked for, else the first that did not pass, else the first. */
    function choose(chosen) {
      let index = -1;
      if (typeof chosen === "number") index = chosen < shown.length ? chosen : -1;
      else if (chosen) index = shown.findIndex((trial) => trial.repetition === chosen.repetition);
      if (index < 0) index = shown.findIndex((trial) => trial.outcome === "F");
      if (index < 0) index = shown.findIndex((trial) => trial.outcome !== "P");
      pick(Math.max(index, 0));
    }
    return { node, side, choose };
  }

  function trialParts(side, trial, both) {
    const facts = [
      trial.duration === undefined || trial.duration === null ? null : Words.duration(trial.duration),
      typeof trial.cost === "number" ? Words.money(trial.cost) : null,
      trial.tokens ? `tokens ${trial.tokens.map((known) => (known === null ? "?" : known.toLocaleString("en"))).join(" in, ")} out` : null,
      typeof trial.turns === "number" ? Words.count(trial.turns, "turn") : null,
      trial.attempts > 1 ? `${trial.attempts} attempts` : null,
      trial.cached ? "from a recording" : null,
    ].filter(Boolean);
    return [
      html("h4", { class: `o-${trial.outcome}` }, Charts.glyph(trial.outcome, 11), ` ${both ? (side === "base" ? "Base, trial" : "Head, trial") : "Trial"} ${trial.repetition}: ${letterWord(trial)}`,
        facts.length ? html("small", {}, facts.join(" · ")) : null),
      trial.message ? html("p", { class: "message" }, html("bdi", {}, Words.block(trial.message))) : null,
      trial.checks.length ? html("ul", { class: "checks" }, trial.checks.map(checkItem)) : null,
      trial.output === null ? null : section("Output", text(trial.output)),
      trial.calls && trial.calls.length ? section(`Tool calls`, html("ol", { class: "calls" }, trial.calls.map((call) =>
        html("li", {}, html("code", {}, Words.line(call.name)), call.given === null || call.given === "{}" ? null : text(call.given))))) : null,
      trial.calls && !trial.calls.length ? html("p", { class: "fine" }, "No tool was called.") : null,
    ].filter(Boolean);
  }

  function checkItem(check) {
    const judged = check.judge ? ` · judged by ${Words.line(check.judge)}${check.votes ? `, ${check.votes} votes` : ""}${typeof check.confidence === "number" ? `, ${Words.percent(check.confidence)} agree` : ""}` : "";
    return html("li", { class: check.passed ? "o-P" : "o-F" },
      html("span", { class: "sign", role: "img", "aria-label": check.passed ? "passed" : "failed" }, check.passed ? "✓" : "✕"),
      html("div", {},
        html("bdi", {}, Words.line(check.name || "check")),
        check.score === null || check.score === 0 || check.score === 1 ? null : html("span", { class: "fine" }, ` · score ${check.score.toFixed(2)}`),
        judged ? html("span", { class: "fine" }, judged) : null,
        check.message ? html("p", {}, html("bdi", {}, Words.block(check.message))) : null));
  }

  const section = (title, content) => html("div", { class: "part" }, html("h5", {}, title), content);
  const text = (given) => html("pre", { tabindex: 0 }, html("bdi", {}, Words.block(given) || "(empty)"));

  function remember(one) {
    try {
      history.replaceState(null, "", `#case=${encodeURIComponent(one.id)}`);
    } catch {
      // A page without an address of its own works as well.
    }
  }

  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
  dialog.addEventListener("close", () => {
    const closed = open;
    open = null;
    try {
      history.replaceState(null, "", location.pathname + location.search);
    } catch {
      // As above.
    }
    if (closed) Cases.focus(closed);
  });

  return { show };
})();
