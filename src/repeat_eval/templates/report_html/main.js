/* What if: other rules and repeats. What failures have in common, the trend, the colours, and the start.
 * A block that somebody's own template leaves out is not there, and nothing is done about it.
 */
(() => {
  "use strict";

  const { html, byId, toggle } = Dom;
  const { data, asked } = Model;
  const REPEATS_SHOWN = 100;

  function whatIf() {
    const slider = byId("threshold");
    if (!slider) return;
    const repeats = byId("repeats");
    const gates = [...document.querySelectorAll("input[name=gate]")];
    repeats.max = Math.max(REPEATS_SHOWN, 2 * data.repeats);

    function show() {
      byId("threshold-value").textContent = asked.threshold === null ? `${data.threshold}, as run` : asked.threshold;
      byId("repeats-value").textContent = asked.repeats === null ? `${data.repeats}, as run` : String(asked.repeats);
      slider.setAttribute("aria-valuetext", byId("threshold-value").textContent);
      repeats.setAttribute("aria-valuetext", byId("repeats-value").textContent);
      if (asked.threshold === null) slider.value = Math.round(RepeatEvalStatistics.decimal(data.threshold) * 100);
      if (asked.repeats === null) repeats.value = data.repeats;
      for (const gate of gates) gate.checked = gate.value === (asked.gate || data.gate);
      byId("as-run").disabled = asked.threshold === null && asked.gate === null && asked.repeats === null;
      byId("what-if-result").replaceChildren(...results());
    }

    function changed() {
      Model.judge();
      if (asked.filter === "changed" && !Model.cases.some((one) => one.verdict !== one.v)) asked.filter = "all";
      show();
      Cases.refresh({ keepPlace: true });
    }

    slider.addEventListener("input", () => {
      asked.threshold = (Number(slider.value) / 100).toFixed(2);
      changed();
    });
    repeats.addEventListener("input", () => {
      asked.repeats = Number(repeats.value);
      changed();
    });
    for (const gate of gates) {
      gate.addEventListener("change", () => {
        asked.gate = gate.value;
        changed();
      });
    }
    byId("as-run").addEventListener("click", () => {
      asked.threshold = asked.gate = asked.repeats = null;
      changed();
      slider.focus();
    });
    show();
  }

  function results() {
    const now = Model.tally();
    const then = Model.tally("v");
    const counts = Object.keys(now).filter((verdict) => now[verdict] || then[verdict]).map((verdict) => {
      const by = now[verdict] - then[verdict];
      return html("span", { class: `tally v-${verdict}`, data: { verdict, count: now[verdict] } },
        html("span", { class: "mark", "aria-hidden": "true" }, Words.VERDICTS[verdict][0]),
        html("b", {}, now[verdict].toLocaleString("en")), ` ${Words.VERDICTS[verdict][1]}`,
        by ? html("small", {}, ` ${by > 0 ? "+" : "−"}${Math.abs(by).toLocaleString("en")}`) : null);
    });
    const parts = [html("p", { class: "tallies" }, counts)];
    const kept = Model.cases.filter((one) => (asked.threshold !== null && one.own.includes("t")) || (asked.gate !== null && one.own.includes("g"))).length;
    const told = [];
    if (asked.threshold !== null || asked.gate !== null) {
      const changed = Model.cases.filter((one) => one.verdict !== one.v).length;
      told.push(`${Words.count(changed, "case")} would get another verdict.`);
      if (kept) told.push(`${Words.count(kept, "case")} wrote a threshold or gate of ${kept === 1 ? "its" : "their"} own and ${kept === 1 ? "keeps" : "keep"} it.`);
      told.push("Gates of the whole suite and of the comparison stay as they were run.");
    }
    const interval = atRepeats();
    if (interval) told.push(interval);
    if (told.length) parts.push(html("p", { class: "fine" }, told.join(" ")));
    return parts;
  }

  /** What another number of repeats would show, from the rates and the spread seen here. */
  function atRepeats() {
    if (!Model.rated.length) return "";
    const repeats = asked.repeats === null ? data.repeats : asked.repeats;
    const found = RepeatEvalStatistics.detectableDifference(Model.rated, repeats);
    const fall = found === null ? "" : `two such runs side by side would show a fall of ${Words.points(found).replace("+", "")} or more (80% power)`;
    if (asked.repeats === null) return fall && !data.compared && `At ${Words.count(repeats, "repeat")}, ${fall}.`;
    const { low, high } = RepeatEvalStatistics.rerunIntervalAt(Model.rated, repeats);
    const was = data.interval ? ` instead of ${Words.interval(data.interval)}` : "";
    const cost = typeof data.cost === "number" && data.repeats ? ` It would cost about ${Words.money((data.cost * repeats) / data.repeats)}.` : "";
    return `At ${Words.count(repeats, "repeat")} the suite's interval would be about ${Words.interval([low, high])}${was}${fall ? `, and ${fall}` : ""}.${cost}`;
  }

  /** The smallest fall, in the card at the top, where no base tells it. */
  function detectable() {
    if (!byId("detectable")) return;
    const found = Model.rated.length ? RepeatEvalStatistics.detectableDifference(Model.rated, data.repeats) : null;
    byId("detectable").textContent = found === null ? "unknown" : Words.points(-found);
    if (found !== null) return;
    byId("detectable-text").textContent = !Model.rated.length ? "No trial gave a verdict."
      : RepeatEvalStatistics.withinCaseVariance(Model.rated) === null
        ? "With one trial a case it is not known how much the trials of a case differ."
        : "Two runs like this one, side by side, could miss nearly any change: there are too few trials.";
  }

  const WAYS = { check: "first failing check", call: "tool calls", message: "message" };

  function failures() {
    const ways = Object.keys(WAYS).filter((way) => data.groups && data.groups[way]);
    if (!ways.length || !byId("failures")) return;
    byId("failures").hidden = false;
    let way = ways[0];
    const ids = new Map(Model.cases.map((one) => [one.id, one]));
    const draw = () => {
      byId("ways").replaceChildren(...ways.map((name) => toggle(WAYS[name], { on: name === way, act: () => {
        way = name;
        draw();
        byId("ways").querySelector("[aria-pressed=true]").focus();
      } })));
      const most = Math.max(...data.groups[way].map((group) => group.trials));
      byId("groups").replaceChildren(...data.groups[way].map((group) => failureGroup(group, most, ids)));
    };
    draw();
  }

  function failureGroup(group, most, ids) {
    const members = new Map();
    for (const [id, repetition] of group.members || []) {
      if (ids.has(id)) members.set(id, [...(members.get(id) || []), repetition]);
    }
    const head = html("summary", {},
      html("meter", { min: 0, max: most, value: group.trials, "aria-hidden": "true" }),
      html("span", { class: "title" }, html("bdi", {}, Words.cut(Words.line(group.title), 240))),
      html("span", { class: "fine" }, `${Words.count(group.trials, group.errors === group.trials ? "error" : "trial")} of ${Words.count(group.cases, "case")}${group.errors && group.errors < group.trials ? `, ${Words.count(group.errors, "error")}` : ""}`));
    const listed = [...members].map(([id, repetitions]) => html("li", {}, html("bdi", {}, ids.get(id).name), ": ",
      repetitions.map((repetition) => html("button", {
        type: "button", class: "quiet small", "aria-label": `Trial ${repetition} of ${ids.get(id).name}`,
        on: { click: () => Detail.show(ids.get(id), { side: "head", repetition }) },
      }, `trial ${repetition}`))));
    const named = [...members.values()].reduce((sum, found) => sum + found.length, 0);
    return html("details", { class: "group" }, head,
      group.message ? html("p", { class: "message" }, html("bdi", {}, Words.cut(Words.block(group.message), 1000))) : null,
      listed.length ? html("ul", {}, listed) : null,
      listed.length && named < group.trials ? html("p", { class: "fine" }, `and ${Words.count(group.trials - named, "more trial")}`) : null);
  }

  function trend() {
    if (!byId("trend") || !data.history) return;
    const points = data.history.map((point) => ({
      label: `${Words.line(point.commit).slice(0, 12)}, ${Words.line(point.started).slice(0, 10)}`,
      rate: point.pass_rate, interval: point.interval, verdict: point.verdict,
    }));
    points.push({ label: "this run", rate: data.rate === undefined ? null : data.rate, interval: data.interval || null, verdict: data.verdict });
    const rows = points.map((point) => html("tr", {}, html("th", { scope: "row" }, point.label),
      html("td", {}, Words.percent1(point.rate)), html("td", {}, Words.interval(point.interval)), html("td", {}, point.verdict)));
    byId("trend").append(Charts.trend(points),
      html("details", {}, html("summary", {}, "As a table"), html("table", {},
        html("thead", {}, html("tr", {}, ["run", "pass rate", "interval", "verdict"].map((title) => html("th", { scope: "col" }, title)))),
        html("tbody", {}, rows))));
  }

  const THEMES = ["auto", "light", "dark"];
  const THEME_WORDS = { auto: ["◐ Auto", "as the system"], light: ["☀ Light", "light"], dark: ["☾ Dark", "dark"] };

  function theme() {
    const button = byId("theme");
    if (!button) return;
    const set = (name) => {
      if (name === "auto") delete document.documentElement.dataset.theme;
      else document.documentElement.dataset.theme = name;
      button.textContent = THEME_WORDS[name][0];
      button.setAttribute("aria-label", `Colours: ${THEME_WORDS[name][1]}`);
      button.dataset.theme = name;
    };
    let stored = null;
    try {
      stored = localStorage.getItem("repeat-eval-theme");
    } catch {
      // Storage may be closed to pages from disk.
    }
    set(THEMES.includes(stored) ? stored : "auto");
    button.addEventListener("click", () => {
      const next = THEMES[(THEMES.indexOf(button.dataset.theme) + 1) % THEMES.length];
      set(next);
      try {
        localStorage.setItem("repeat-eval-theme", next);
      } catch {
        // As above.
      }
    });
  }

  /** Open the case that the address names. */
  function named() {
    const match = /^#case=(.+)$/.exec(location.hash);
    if (!match) return;
    let id = match[1];
    try {
      id = decodeURIComponent(id);
    } catch {
      // An address cut in the middle of a character names nothing.
    }
    const one = Model.cases.find((found) => found.id === id);
    if (one) Detail.show(one);
  }

  document.documentElement.classList.add("has-script");
  theme();
  detectable();
  whatIf();
  Cases.start();
  failures();
  trend();
  named();
  addEventListener("hashchange", named);
})();
