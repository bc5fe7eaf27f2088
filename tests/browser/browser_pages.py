"""Opening a page in Chromium, cut off from everything, and reading it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

NO_BROWSER = "NOT TESTED: the page in a browser, since no Chromium is found; run scripts/install_chromium.sh"
WIDE = {"width": 1280, "height": 900}
TALL = {"width": 1280, "height": 9000}
PHONE = {"width": 390, "height": 844}
TIMEOUT = 20_000
"""Milliseconds that a page may take to become what is expected of it: other tests use the machine, too."""


def chromium_program() -> str | None:
    """The browser to test with: REPEAT_EVAL_CHROMIUM, else what `scripts/install_chromium.sh` looks for, too."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    return os.environ.get("REPEAT_EVAL_CHROMIUM") or next(
        (found for name in names if (found := shutil.which(name))), None
    )


class Opener:
    """Opens pages, each in a fresh profile, and notes every message of the console, error, dialog and request."""

    def __init__(self, browser: Any) -> None:
        self._browser = browser
        self._contexts: list[Any] = []
        self.complaints: list[str] = []

    def __call__(self, path: Path, *, case: str = "", **options: Any) -> Any:
        """The page at `path`; `case` opens one by the address, `options` are those of the browser's context."""
        context = self._browser.new_context(**{"viewport": WIDE, "reduced_motion": "reduce", **options})
        self._contexts.append(context)
        context.set_default_timeout(TIMEOUT)
        address = path.as_uri()
        context.route("**/*", lambda route, request: self._asked(address, route, request))
        page = context.new_page()
        page.on("console", lambda message: self.complaints.append(f"console: {message.type}: {message.text}"))
        page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        page.on("dialog", self._dialog)
        page.on("popup", lambda popup: self.complaints.append(f"window: {popup.url}"))
        page.on("websocket", lambda socket: self.complaints.append(f"socket: {socket.url}"))
        page.goto(address + (f"#case={case}" if case else ""))
        return page

    def _asked(self, address: str, route: Any, request: Any) -> None:
        if request.is_navigation_request() and request.url.partition("#")[0] == address:
            route.continue_()
            return
        self.complaints.append(f"request: {request.url[:200]}")
        route.abort()

    def _dialog(self, dialog: Any) -> None:
        self.complaints.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def close(self) -> None:
        """Close all pages."""
        for context in self._contexts:
            context.close()


def names(page: Any) -> list[str]:
    """Names of the cases in the list, from top to bottom."""
    found: list[str] = page.locator(".row .open").all_inner_texts()
    return found


def verdicts(page: Any) -> dict[str, str]:
    """The verdict that each row tells, by the case's name."""
    found: dict[str, str] = page.evaluate(
        """() => Object.fromEntries([...document.querySelectorAll(".row")].map((row) =>
             [row.querySelector(".open").textContent, row.querySelector(".word").firstChild.textContent]))"""
    )
    return found


def tallies(page: Any) -> dict[str, int]:
    """How many cases have each verdict, as “What if” tells."""
    found = page.locator(".tally").evaluate_all("(all) => all.map((one) => [one.dataset.verdict, +one.dataset.count])")
    return {verdict: count for verdict, count in found if count}


def set_slider(page: Any, name: str, value: int) -> None:
    """Put a slider at a value, as a drag does."""
    page.locator(f"#{name}").evaluate(
        "(slider, value) => { slider.value = value; slider.dispatchEvent(new Event('input', {bubbles: true})); }", value
    )


def unroll(page: Any) -> None:
    """Let the list be as long as its rows, so that all of them are in sight and nothing scrolls."""
    page.locator("#list").evaluate("(list) => { list.style.maxHeight = 'none'; }")
    rows = "document.querySelectorAll('.row').length + 1"
    until(page, f"{rows} === Number(document.getElementById('list').getAttribute('aria-rowcount'))")


def until(page: Any, expression: str) -> None:
    """Look at the page until an expression holds.

    Playwright's own `wait_for_function` evaluates the expression within the page from the second time on, which the
    page's Content Security Policy forbids, as it should.
    """
    for _ in range(TIMEOUT // 20):
        if page.evaluate(expression):
            return
        page.wait_for_timeout(20)
    raise AssertionError(f"it never held: {expression}")


def faults(page: Any) -> list[str]:
    """Serious and critical faults that axe-core finds, with the elements; none is what is wanted."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
    return [
        f"{fault['impact']}: {fault['id']}: {node['html'][:200]} {node.get('failureSummary', '')}"
        for fault in found
        if fault["impact"] in ("serious", "critical")
        for node in fault["nodes"][:3]
    ]
