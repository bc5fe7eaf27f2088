"""Open a page in headless Chromium, a fresh profile each time, and say what its reader waits for.

browse_page.py CHROMIUM PAGE ROUNDS

Writes JSON: lists of seconds, one a round, for `paint` (from the start of navigation to the first content in sight),
`filter`, `search` and `sort` (from the click or letter to the next frame, the slowest of several) and `open` (a case).
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

ACTIONS = """async () => {
  const frame = () => new Promise((done) => requestAnimationFrame(() => {
    const channel = new MessageChannel();
    channel.port1.onmessage = done;
    channel.port2.postMessage(0);
  }));
  const timed = async (act) => {
    await frame();
    const begin = performance.now();
    act();
    await frame();
    return (performance.now() - begin) / 1000;
  };
  const slowest = async (acts) => {
    let most = 0;
    for (const act of acts) most = Math.max(most, await timed(act));
    return most;
  };
  const change = (id, event, value) => () => {
    const field = document.getElementById(id);
    field.value = value;
    field.dispatchEvent(new Event(event, {bubbles: true}));
  };
  const filters = document.querySelectorAll("#filters .toggle:not([disabled])").length;
  const press = (place) => () => document.querySelectorAll("#filters .toggle:not([disabled])")[place].click();
  const orders = [...document.querySelectorAll("#sort option")].map((option) => option.value);
  const found = {
    filter: await slowest([...Array(filters).keys(), 0].map(press)),
    search: await slowest(["1", "12", "123", "nothing like that", ""].map((text) => change("search", "input", text))),
    sort: await slowest(orders.map((order) => change("sort", "change", order))),
    threshold: await slowest([70, 95, 50].map((rate) => change("threshold", "input", rate))),
    open: await timed(() => document.querySelector(".row .open").click()),
  };
  return found;
}"""
PAINT = """() => new Promise((done) => new PerformanceObserver((list) => {
  const found = list.getEntriesByName("first-contentful-paint");
  if (found.length) done(found[0].startTime / 1000);
}).observe({type: "paint", buffered: true}))"""


def main(chromium: str, page: Path, rounds: int) -> None:
    figures: dict[str, list[float]] = {}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium)
        for _ in range(rounds):
            for name, seconds in _round(browser, page).items():
                figures.setdefault(name, []).append(seconds)
        browser.close()
    sys.stdout.write(json.dumps(figures))


def _round(browser: Any, page: Path) -> dict[str, float]:
    with browser.new_context(viewport={"width": 1280, "height": 900}) as context:
        tab = context.new_page()
        tab.goto(page.as_uri())
        found: dict[str, float] = {"paint": tab.evaluate(PAINT)}
        return found | tab.evaluate(ACTIONS)


main(sys.argv[1], Path(sys.argv[2]).resolve(), int(sys.argv[3]))
