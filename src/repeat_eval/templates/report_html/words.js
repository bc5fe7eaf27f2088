/* Numbers and texts as people read them: the rules of reports/format.py and reports/escape.py. */
const Words = (() => {
  "use strict";

  const UNKNOWN = "-";
  const VERDICTS = {
    pass: ["✓", "pass"],
    "within-noise": ["≈", "within noise"],
    fail: ["✕", "fail"],
    incomplete: ["?", "incomplete"],
    skipped: ["–", "skipped"],
  };
  const OUTCOMES = { P: "passed", F: "failed", E: "error", S: "skipped" };
  // What could hide or reorder text: controls, direction overrides and isolates, invisible characters, tags.
  const UNSEEN =
    /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e0fff}]/gu;
  // Whole sequences, so that removing ESC does not leave their tails: CSI, then OSC and its like, then escapes of two.
  const ANSI =
    /(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]|(?:\u001b[\]PX^_]|[\u0090\u0098\u009d-\u009f])[^\u0007\u001b\u009c]*(?:\u0007|\u001b\\|\u009c|(?=\u001b)|$)|\u001b[ -/]*[0-~]?/g;

  const halfUp = (value, decimals = 0) => {
    const scale = 10 ** decimals;
    return Math.floor(Number((value * scale).toFixed(9)) + 0.5) / scale;
  };

  /** A number with some decimals; exact ties go to the even digit, as in Python, and not upwards. */
  function fixed(value, decimals) {
    const exact = value.toFixed(100);
    const end = exact.indexOf(".") + 1 + decimals;
    const tie = /^50*$/.test(exact.slice(end)) && Number(exact[end - 1]) % 2 === 0;
    return tie ? exact.slice(0, end) : value.toFixed(decimals);
  }

  /** One line of text from outside. */
  const line = (text) => String(text).replace(ANSI, "").replace(/\s+/g, " ").replace(UNSEEN, "").trim();

  /** Text from outside with its line breaks; what cannot be seen shows as a mark. */
  const block = (text) => String(text).replace(ANSI, "").replace(/\r\n?/g, "\n").replace(UNSEEN, "\u00b7");

  const cut = (text, limit) => (text.length <= limit ? text : `${text.slice(0, limit - 1)}…`);

  function percent(rate) {
    if (rate === null || rate === undefined) return UNKNOWN;
    const whole = halfUp(rate * 100);
    if (whole <= 0 && rate > 0) return "<1%";
    if (whole >= 100 && rate < 1) return ">99%";
    return `${whole}%`;
  }

  function percent1(rate) {
    if (rate === null || rate === undefined) return UNKNOWN;
    if (rate === 0 || rate === 1) return `${rate * 100}%`;
    const tenths = halfUp(rate * 100, 1);
    if (tenths <= 0) return "<0.1%";
    if (tenths >= 100) return ">99.9%";
    return `${tenths.toFixed(1)}%`;
  }

  function interval(limits) {
    if (!limits) return UNKNOWN;
    const [low, high] = limits.map(percent);
    return high.startsWith(">") ? `${low} to ${high}` : `${low.replace(/%$/, "")}–${high}`;
  }

  function signed(difference, decimals) {
    const points = Math.abs(difference) * 100;
    let shown = halfUp(points, decimals).toFixed(decimals);
    if (points && !Number(shown)) shown = points >= 1e-4 ? points.toPrecision(2) : "<0.0001";
    return `${difference < 0 ? "−" : difference > 0 ? "+" : ""}${shown}`;
  }

  function points(difference, decimals = 1) {
    if (difference === null || difference === undefined) return UNKNOWN;
    const shown = signed(difference, decimals);
    return `${shown} ${shown.slice(1) === "1" ? "point" : "points"}`;
  }

  const pointsInterval = (limits, decimals = 1) =>
    limits ? `${signed(limits[0], decimals)} to ${signed(limits[1], decimals)}` : UNKNOWN;

  function pValue(p) {
    if (p === null || p === undefined) return UNKNOWN;
    if (p < 0.001) return p ? "<0.001" : "<1e-12";
    if (p >= 1) return "1";
    if (p >= 0.995) return ">0.99";
    for (let digits = 1 - Math.floor(Math.log10(p)); digits <= 12; digits += 1) {
      const text = fixed(p, digits);
      if ([0.01, 0.05, 0.1].every((level) => Number(text) < level === Number(p.toFixed(12)) < level)) return text;
    }
    return p.toFixed(12);
  }

  function duration(seconds) {
    if (seconds === null || seconds === undefined) return UNKNOWN;
    if (seconds > 0 && seconds < 0.001) return "<1 ms";
    if (seconds < 0.9995) return `${halfUp(seconds * 1000)} ms`;
    if (seconds < 59.95) return `${halfUp(seconds, 1).toFixed(1)} s`;
    const whole = halfUp(seconds);
    const minutes = Math.floor(whole / 60);
    if (minutes < 60) return `${minutes} min ${String(whole % 60).padStart(2, "0")} s`;
    return `${Math.floor(minutes / 60).toLocaleString("en")} h ${String(minutes % 60).padStart(2, "0")} min`;
  }

  function money(dollars) {
    if (dollars === null || dollars === undefined) return UNKNOWN;
    if (dollars === 0) return "$0";
    if (dollars < 0.0001) return "<$0.0001";
    if (dollars < 0.00995) return `$${fixed(dollars, 1 - Math.floor(Math.log10(dollars)))}`;
    return dollars < 1000 ? `$${halfUp(dollars, 2).toFixed(2)}` : `$${halfUp(dollars).toLocaleString("en")}`;
  }

  const count = (number, singular, plural) =>
    `${number.toLocaleString("en")} ${number === 1 ? singular : plural || `${singular}s`}`;

  return {
    UNKNOWN, VERDICTS, OUTCOMES, line, block, cut, percent, percent1, interval, points, pointsInterval, pValue, duration,
    money, count,
  };
})();
if (typeof module !== "undefined") module.exports = Words;
