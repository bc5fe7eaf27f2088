/* The pictures, in SVG: places are per cents of the width, so that they need no measuring. */
const Charts = (() => {
  "use strict";

  const { svg, html } = Dom;
  const TICKS = [0, 0.25, 0.5, 0.75, 1];
  const STRIP = 176;
  const MAX_DOTS = 30;

  /** A rate's place; a margin keeps whole points inside. */
  const place = (rate) => `${(2.5 + 95 * rate).toFixed(2)}%`;

  const across = (from, to, y, name) =>
    svg("line", { class: name, x1: place(from), x2: place(to), y1: y, y2: y });
  const upright = (rate, name) => svg("line", { class: name, x1: place(rate), x2: place(rate), y1: "0", y2: "100%" });

  /** The axis above the forest plot. */
  function axis() {
    return svg("svg", { class: "axis", "aria-hidden": "true" }, TICKS.map((tick) =>
      svg("text", { x: place(tick), y: "70%", "text-anchor": "middle" }, `${tick * 100}%`)));
  }

  /** A case's rates with their intervals, its threshold, and what the interval would be at other repeats. */
  function forest(one) {
    const both = one.baseCounts !== null;
    const y = both ? "32%" : "50%";
    const parts = TICKS.map((tick) => upright(tick, "grid"));
    if (Model.gateOf(one) !== "none") {
      parts.push(upright(RepeatEvalStatistics.decimal(Model.thresholdOf(one)), "threshold"));
    }
    if (one.interval) {
      if (Model.asked.repeats !== null) {
        const [low, high] = RepeatEvalStatistics.intervalAt(one.counts.passed, one.counts.verdicts, Model.asked.repeats);
        parts.push(across(low, high, y, "foreseen"));
      }
      parts.push(across(one.interval[0], one.interval[1], y, "range"));
      parts.push(svg("circle", { class: "point", cx: place(one.rate), cy: y, r: both ? 4.5 : 5 }));
    } else {
      parts.push(svg("text", { class: "none", x: "50%", y, "text-anchor": "middle", "dominant-baseline": "central" },
        "no verdict"));
    }
    if (one.baseInterval) {
      parts.push(across(one.baseInterval[0], one.baseInterval[1], "72%", "range of-base"));
      parts.push(svg("circle", { class: "point of-base", cx: place(one.baseRate), cy: "72%", r: 3.5 }));
    }
    return svg("svg", { class: "forest", role: "img", "aria-label": forestWords(one) }, parts);
  }

  function forestWords(one) {
    const head = one.interval
      ? `${Words.percent(one.rate)}, interval ${Words.interval(one.interval)}` : "no verdict";
    const base = one.baseInterval
      ? `; base ${Words.percent(one.baseRate)}, interval ${Words.interval(one.baseInterval)}` : "";
    return `${head}; threshold ${Model.thresholdOf(one)}${base}`;
  }

  /** The mark of an outcome, told apart by shape and colour, around (x, y). */
  function mark(letter, x, y, size) {
    const half = size / 2;
    if (letter === "P") return svg("circle", { class: "o-P", cx: x, cy: y, r: half });
    if (letter === "F") {
      const arm = half * 0.86;
      const path = `M${x - arm} ${y - arm}L${x + arm} ${y + arm}M${x - arm} ${y + arm}L${x + arm} ${y - arm}`;
      return svg("path", { class: "o-F", d: path });
    }
    if (letter === "E") {
      return svg("path", { class: "o-E", d: `M${x} ${y - half}L${x + half} ${y + half}H${x - half}Z` });
    }
    return svg("path", { class: "o-S", d: `M${x - half} ${y}H${x + half}` });
  }

  function outcomes(counts) {
    return [["passed", counts.passed], ["failed", counts.failed], ["error", counts.errors], ["skipped", counts.skipped],
      ["missing", counts.missing]].filter(([, number]) => number).map(([word, number]) => `${number} ${word}`).join(", ");
  }

  /** Shares of the outcomes as one bar, where there are too many trials for marks. */
  function shares(counts, y, height) {
    const all = counts.verdicts + counts.errors + counts.skipped + counts.missing || 1;
    let from = 0;
    return [["P", counts.passed], ["F", counts.failed], ["E", counts.errors], ["S", counts.skipped + counts.missing]]
      .filter(([, number]) => number)
      .map(([letter, number]) => {
        const bar = svg("rect", {
          class: `share o-${letter}`, x: `${(100 * from) / all}%`, width: `${(100 * number) / all}%`, y, height,
        });
        from += number;
        return bar;
      });
  }

  /** A case's trials as a strip of marks, base's below head's. */
  function strip(one) {
    const rows = [[one.o || "", one.counts, "head"]];
    if (one.baseCounts) rows.push([one.base.o || "", one.baseCounts, "base"]);
    const height = rows.length > 1 ? 30 : 14;
    const parts = rows.map(([letters, counts, side], row) => {
      const y = rows.length > 1 ? (row ? 23 : 8) : 7;
      const pitch = Math.min(11, STRIP / Math.max(letters.length, 1));
      const size = Math.min(row ? 5.5 : 7.5, pitch - 1.3);
      const marks = letters.length > MAX_DOTS || !letters
        ? shares(counts, y - size / 2, size)
        : [...letters].map((letter, index) => {
          const shape = mark(letter, (index + 0.5) * pitch, y, size);
          if (side === "head") {
            const target = svg("rect", { class: "target", x: index * pitch, y: 0, width: pitch, height: 15, data: { trial: index } });
            return [shape, target];
          }
          return shape;
        });
      return svg("g", { class: `side-${side}` }, marks);
    });
    const told = `${outcomes(one.counts)}${one.baseCounts ? `; base ${outcomes(one.baseCounts)}` : ""}`;
    return svg("svg", { class: "strip", height, role: "img", "aria-label": `Trials: ${told}` }, parts);
  }

  /** A single mark, for buttons and the legend. */
  const glyph = (letter, size = 10) =>
    svg("svg", { class: "glyph", width: size + 4, height: size + 4, "aria-hidden": "true" },
      mark(letter, size / 2 + 2, size / 2 + 2, size));

  /** Five bins of scores. */
  function histogram(bins, bimodal) {
    const most = Math.max(...bins, 1);
    const label = `Scores: ${bins.map((n, i) => `${n} from ${(i / 5).toFixed(1)} to ${((i + 1) / 5).toFixed(1)}`).join(", ")}`;
    const bars = bins.map((number, index) => {
      const height = number ? Math.max(3, (56 * number) / most) : 1;
      return [
        svg("rect", { class: number ? "bin" : "bin empty", x: `${index * 20 + 1}%`, width: "18%", y: 70 - height, height, rx: 2 }),
        svg("text", { x: `${index * 20 + 10}%`, y: 66 - height, "text-anchor": "middle" }, number ? String(number) : ""),
      ];
    });
    const marks = [0, 0.2, 0.4, 0.6, 0.8, 1].map((at, index) =>
      svg("text", { x: `${index * 20}%`, y: 85, "text-anchor": index === 0 ? "start" : index === 5 ? "end" : "middle" }, at.toFixed(1)));
    return html("figure", { class: "histogram" },
      svg("svg", { role: "img", "aria-label": label, height: 90 }, bars, marks),
      html("figcaption", {}, bimodal ? html("span", { class: "tag warn" }, "bimodal") : null,
        bimodal ? " two ways of ending" : "scores of the trials"));
  }

  /** The suite's rate over the stored runs, with their re-run intervals; the last one is this run. */
  function trend(points) {
    const step = 95 / points.length;
    const x = (index) => `${(5 + step * (index + 0.5)).toFixed(2)}%`;
    const known = points.filter((point) => point.interval);
    const low = Math.max(0, Math.floor(10 * Math.min(1, ...known.map((point) => point.interval[0]))) / 10);
    const y = (rate) => `${(6 + (84 * (1 - rate)) / (1 - low || 1)).toFixed(2)}%`;
    const ticks = [low, (1 + low) / 2, 1];
    return svg("svg", { class: "trend", role: "img", "aria-label": `Pass rate of ${points.length} runs, oldest first` },
      ticks.map((tick) => [
        svg("line", { class: "grid", x1: 0, x2: "100%", y1: y(tick), y2: y(tick) }),
        svg("text", { x: 2, y: y(tick), dy: -3 }, Words.percent(tick)),
      ]),
      points.slice(1).map((point, index) => point.rate !== null && points[index].rate !== null
        ? svg("line", { class: "path", x1: x(index), x2: x(index + 1), y1: y(points[index].rate), y2: y(point.rate) }) : null),
      points.map((point, index) => point.rate === null ? null : svg("g", { class: `v-${point.verdict}` },
        svg("title", {}, `${point.label}: ${Words.percent1(point.rate)}, ${Words.interval(point.interval)}, ${point.verdict}`),
        point.interval ? svg("line", { class: "range", x1: x(index), x2: x(index), y1: y(point.interval[0]), y2: y(point.interval[1]) }) : null,
        svg("circle", { class: "point", cx: x(index), cy: y(point.rate), r: index === points.length - 1 ? 6 : 4 }))));
  }

  return { axis, forest, strip, glyph, histogram, trend, outcomes };
})();
