/* The list of cases: only the rows in sight exist, so that thousands scroll and filter at once. */
const Cases = (() => {
  "use strict";

  const { html, byId, toggle } = Dom;
  const AROUND = 8;
  const MAX_PRINTED = 1000;
  const list = byId("list");
  const tip = byId("tip");
  const rows = html("div", { class: "rows", role: "rowgroup" });
  const nodes = new Map();
  let order = [];
  let height = 44;

  function head() {
    const titles = [["c-verdict", "Verdict"], ["c-name", "Case"], ["c-chip", "Rate"], ["c-forest", "Interval"], ["c-dots", "Trials"]];
    if (Model.data.compared) titles.push(["c-delta", "Against base"]);
    return html("div", { class: "head", role: "rowgroup" }, html("div", { class: "head-row", role: "row" },
      titles.map(([name, title]) => html("div", { class: name, role: "columnheader" },
        name === "c-forest" ? [html("span", { class: "out" }, title), Charts.axis()] : title))));
  }

  function row(one, place) {
    const [sign, word] = Words.VERDICTS[one.verdict];
    const changed = one.verdict !== one.v;
    return html("div", {
      class: `row v-${one.verdict}${changed ? " changed" : ""}`, role: "row", "aria-rowindex": place + 2, data: { index: one.index },
    },
    html("div", { class: "c-verdict", role: "cell" }, html("span", { class: "mark", "aria-hidden": "true" }, sign),
      html("span", { class: "word" }, word, changed ? html("span", { class: "out" }, `, as run ${Words.VERDICTS[one.v][1]}`) : null)),
    html("div", { class: "c-name", role: "rowheader" },
      html("button", { type: "button", class: "open", "aria-haspopup": "dialog", title: one.name.length > 36 ? Words.cut(one.name, 300) : null },
        html("bdi", {}, Words.cut(one.name, 300))),
      flags(one)),
    html("div", { class: "c-chip", role: "cell" },
      html("button", { type: "button", class: "chip", "aria-label": `Pass rate ${Words.percent(one.rate)}, ${one.counts.passed} of ${one.counts.verdicts}: ${one.name}`, "aria-describedby": "tip" },
        one.rate === null ? "–" : Words.percent(one.rate))),
    html("div", { class: "c-forest", role: "cell" }, Charts.forest(one)),
    html("div", { class: "c-dots", role: "cell" }, Charts.strip(one)),
    Model.data.compared ? html("div", { class: "c-delta", role: "cell" }, one.vs && typeof one.vs.delta === "number"
      ? [html("span", { class: one.fell ? "worse" : one.rose ? "better" : "" }, Words.points(one.vs.delta, 0)), html("small", {}, one.vs.p === undefined || one.vs.p === null ? "" : `${one.vs.rerun ? "re-run, " : ""}p ${Words.pValue(one.vs.p)}`)]
      : html("span", { class: "fine" }, "–")) : null);
  }

  function flags(one) {
    const found = [];
    if (one.fell) found.push(["bad", one.vs && one.vs.change === "newly broken" ? "newly broken" : "regressed"]);
    if (one.rose) found.push(["good", one.vs.change]);
    if (one.flaky) found.push(["warn", "~ flaky"]);
    if (one.broken && !one.fell) found.push(["bad", "broken"]);
    if (one.bimodal) found.push(["warn", "bimodal"]);
    if (one.counts.errors) found.push(["error", Words.count(one.counts.errors, "error")]);
    if (one.vs && one.vs.before) found.push(["", "on base, too"]);
    return found.slice(0, 3).map(([kind, text]) => html("span", { class: `tag ${kind}` }, text));
  }

  /** Make the rows in sight, and take away those that are not; one that has the focus stays. */
  function paint() {
    const printing = document.body.classList.contains("printing");
    const top = Math.max(0, list.scrollTop);
    const first = printing ? 0 : Math.max(0, Math.floor(top / height) - AROUND);
    const last = printing ? Math.min(order.length, MAX_PRINTED)
      : Math.min(order.length, Math.ceil((top + list.clientHeight) / height) + AROUND);
    for (const [place, node] of nodes) {
      if ((place < first || place >= last) && !node.contains(document.activeElement)) {
        node.remove();
        nodes.delete(place);
      }
    }
    let after = rows.firstChild;
    for (let place = first; place < last; place += 1) {
      let node = nodes.get(place);
      if (!node) {
        node = row(order[place], place);
        node.style.transform = `translateY(${place * height}px)`;
        nodes.set(place, node);
        while (after && Number(after.getAttribute("aria-rowindex")) < place + 2) after = after.nextSibling;
        rows.insertBefore(node, after);
      } else {
        after = node.nextSibling;
      }
    }
  }

  /** Draw everything anew: after another filter, order, rule or width. */
  function draw({ keepPlace = false } = {}) {
    order = Model.shown();
    height = parseFloat(getComputedStyle(list).getPropertyValue("--row")) || 44;
    for (const node of nodes.values()) node.remove();
    nodes.clear();
    rows.style.height = `${order.length * height}px`;
    list.setAttribute("aria-rowcount", order.length + 1);
    if (!keepPlace) list.scrollTop = 0;
    hideTip();
    paint();
    empty.hidden = order.length > 0;
    const all = Model.cases.length;
    byId("shown").textContent = order.length === all ? Words.count(all, "case") : `${order.length.toLocaleString("en")} of ${Words.count(all, "case")}`;
  }

  const empty = html("p", { class: "empty", hidden: true }, "No case is like that.");

  function filterButtons() {
    byId("filters").replaceChildren(...Model.filters().filter(({ key, count }) => count || ["all", "regressed", "flaky", "broken", "errors"].includes(key)).map(({ key, label, count }) =>
      toggle(label, { on: Model.asked.filter === key, count, disabled: count === 0 && key !== "all" && Model.asked.filter !== key, act: () => {
        Model.asked.filter = Model.asked.filter === key ? "all" : key;
        refresh();
        byId("filters").querySelector("[aria-pressed=true]").focus();
      } })));
  }

  function refresh(options) {
    if (!list) return;
    filterButtons();
    draw(options);
  }

  /** Show a case's row and put the focus on it. */
  function focus(one, { press = false } = {}) {
    const place = order.indexOf(one);
    if (place < 0) return;
    const top = place * height;
    const room = list.clientHeight - list.querySelector(".head").offsetHeight;
    if (top < list.scrollTop) list.scrollTop = top;
    else if (top + height > list.scrollTop + room) list.scrollTop = top + height - room;
    paint();
    const button = nodes.get(place).querySelector(".open");
    button.focus({ preventScroll: press });
  }

  const caseOf = (node) => {
    const found = node instanceof Element ? node.closest(".row") : null;
    return found ? Model.cases[Number(found.dataset.index)] : null;
  };

  function showTip(chip) {
    const one = caseOf(chip);
    if (!one) return;
    const hats = one.counts.verdicts > 1 ? [2, 3].map((k) => [`pass^${k}`, Words.percent(Model.passHat(one, k))]) : [];
    const foreseen = Model.asked.repeats !== null && one.counts.verdicts
      ? Words.interval(RepeatEvalStatistics.intervalAt(one.counts.passed, one.counts.verdicts, Model.asked.repeats)) : null;
    tip.replaceChildren(
      html("strong", {}, html("bdi", {}, Words.cut(one.name, 120))),
      Dom.pairs([
        ["pass rate", one.rate === null ? "no verdict" : `${Words.percent(one.rate)} (${one.counts.passed}/${one.counts.verdicts})`],
        ...hats,
        ["95% CI", Words.interval(one.interval)],
        [`at N = ${Model.asked.repeats}`, foreseen],
        ["base", one.baseInterval ? `${Words.percent(one.baseRate)} (${one.baseCounts.passed}/${one.baseCounts.verdicts}), ${Words.interval(one.baseInterval)}` : null],
        ["threshold", `${Model.thresholdOf(one)}${one.own.includes("t") ? ", the case's own" : ""}`],
        ["reliability", one.rating],
      ]));
    tip.hidden = false;
    const at = chip.getBoundingClientRect();
    const size = tip.getBoundingClientRect();
    const left = Math.min(Math.max(8, at.left + at.width / 2 - size.width / 2), innerWidth - size.width - 8);
    const above = at.top - size.height - 8;
    tip.style.left = `${Math.max(8, left)}px`;
    tip.style.top = `${above > 8 ? above : at.bottom + 8}px`;
  }

  function hideTip() {
    tip.hidden = true;
  }

  function listen() {
    list.addEventListener("scroll", () => { hideTip(); requestAnimationFrame(paint); }, { passive: true });
    list.addEventListener("click", (event) => {
      const one = caseOf(event.target);
      if (!one) return;
      if (event.target.closest(".chip")) showTip(event.target.closest(".chip"));
      else {
        const target = event.target.closest(".target");
        Detail.show(one, target ? Number(target.dataset.trial) : null);
      }
    });
    for (const [event, act] of [["pointerover", showTip], ["focusin", showTip], ["pointerout", hideTip], ["focusout", hideTip]]) {
      list.addEventListener(event, ({ target }) => {
        const chip = target instanceof Element ? target.closest(".chip") : null;
        if (chip) act(chip);
      });
    }
    addEventListener("keydown", (event) => {
      if (event.key === "Escape") hideTip();
      if (event.key === "/" && !event.ctrlKey && !event.metaKey && !event.target.closest("input, select, textarea, dialog")) {
        event.preventDefault();
        byId("search").focus();
      }
    });
    list.addEventListener("keydown", (event) => {
      const one = caseOf(event.target);
      if (!one || event.altKey || event.ctrlKey || event.metaKey) return;
      const at = order.indexOf(one);
      const page = Math.max(1, Math.floor(list.clientHeight / height) - 2);
      const to = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + page, PageUp: at - page, Home: 0, End: order.length - 1 }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      focus(order[Math.min(Math.max(to, 0), order.length - 1)]);
    });
    byId("search").addEventListener("input", (event) => { Model.asked.text = event.target.value; draw(); });
    byId("sort").addEventListener("change", (event) => { Model.asked.sort = event.target.value; draw(); });
    byId("order").addEventListener("click", (event) => {
      Model.asked.reverse = !Model.asked.reverse;
      event.currentTarget.setAttribute("aria-pressed", String(Model.asked.reverse));
      event.currentTarget.textContent = Model.asked.reverse ? "↑" : "↓";
      draw();
    });
    new ResizeObserver(() => {
      const now = parseFloat(getComputedStyle(list).getPropertyValue("--row")) || 44;
      if (now !== height) draw({ keepPlace: true });
      else paint();
    }).observe(list);
    const print = (on) => () => { document.body.classList.toggle("printing", on); paint(); };
    addEventListener("beforeprint", print(true));
    addEventListener("afterprint", print(false));
    matchMedia("print").addEventListener("change", (event) => print(event.matches)());
  }

  function legend() {
    const marks = [["P", "passed"], ["F", "failed"], ["E", "error"], ["S", "skipped"]]
      .filter(([letter]) => letter === "P" || letter === "F" || Model.cases.some((one) => (one.o || "").includes(letter)));
    byId("legend").replaceChildren(
      ...marks.map(([letter, word]) => html("span", {}, Charts.glyph(letter, 8), word)),
      html("span", {}, html("i", { class: "key-range" }), "rate and 95% interval"),
      ...(Model.data.compared ? [html("span", {}, html("i", { class: "key-base" }), "base")] : []),
      html("span", {}, html("i", { class: "key-threshold" }), "threshold"));
  }

  function start() {
    if (!list) return;
    list.setAttribute("role", "table");
    list.setAttribute("aria-label", "Cases");
    list.classList.toggle("compared", Boolean(Model.data.compared));
    list.append(head(), rows, empty);
    byId("sort").append(...Model.sorts().map(({ key, label }) => html("option", { value: key }, label)));
    legend();
    listen();
    refresh();
  }

  return { start, refresh, draw, focus, order: () => order };
})();
