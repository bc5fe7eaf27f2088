/* Elements made from code: text is only ever text, whatever it says. */
const Dom = (() => {
  "use strict";

  const SVG = "http://www.w3.org/2000/svg";

  function filled(node, attributes, children) {
    for (const [name, value] of Object.entries(attributes || {})) {
      if (value === null || value === undefined || value === false) continue;
      if (name === "on") {
        for (const [event, listener] of Object.entries(value)) node.addEventListener(event, listener);
      } else if (name === "data") {
        Object.assign(node.dataset, value);
      } else {
        node.setAttribute(name, value === true ? "" : String(value));
      }
    }
    node.append(...children.flat(3).filter((child) => child !== null && child !== undefined && child !== false));
    return node;
  }

  /** An HTML element; children are elements or texts. */
  const html = (tag, attributes, ...children) => filled(document.createElement(tag), attributes, children);

  /** An SVG element. */
  const svg = (tag, attributes, ...children) => filled(document.createElementNS(SVG, tag), attributes, children);

  const byId = (id) => document.getElementById(id);

  /** Rows of a definition list; those without a value are left out. */
  function pairs(rows) {
    const known = rows.filter(([, value]) => value !== null && value !== undefined && value !== "");
    return html("dl", { class: "pairs" }, known.map(([label, value]) => [html("dt", {}, label), html("dd", {}, value)]));
  }

  /** A button that is on or off. */
  function toggle(label, { on, count = null, disabled = false, act }) {
    return html(
      "button",
      { type: "button", class: "toggle", "aria-pressed": String(on), disabled, on: { click: act } },
      label,
      count === null ? null : html("span", { class: "count" }, count.toLocaleString("en")),
    );
  }

  return { html, svg, byId, pairs, toggle };
})();
