"""Forty hostile texts in every field that holds text: each is shown as the text it is, and nothing of it happens."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from browser_pages import TALL, Opener, faults, unroll
from page_reports import program, write_run

from repeat_eval.records.run import CasePlan, Selection
from repeat_eval.records.trial import CheckResult, Judge, ToolCall, Trial
from repeat_eval.reports.escape import visible

HIT = "window.hit=1"
TEXTS = (
    f"<script>{HIT}</script>",
    f"</script><script>{HIT}</script>",
    f"</SCRIPT ><script>{HIT}//",
    f"<!--<script>{HIT}",
    f"--><script>{HIT}</script>",
    f"<img src=x onerror={HIT}>",
    f"<img src='https://example.com/{HIT}.png'>",
    f'"><img src=x onerror="{HIT}">',
    f"'><svg onload={HIT}>",
    f"<svg><script>{HIT}</script></svg>",
    f"<svg><animate onbegin={HIT} attributeName=x dur=1s>",
    f"<iframe srcdoc='<script>parent.{HIT}</script>'></iframe>",
    f"<iframe src=javascript:parent.{HIT}>",
    f"<a href=javascript:{HIT}>click</a>",
    "<a href=https://example.com target=_blank>away</a>",
    f"javascript:{HIT}",
    f"<body onload={HIT}>",
    f"<details open ontoggle={HIT}>",
    f"<input autofocus onfocus={HIT}>",
    "<form action=https://example.com><button>send</button></form>",
    "<meta http-equiv=refresh content='0;url=https://example.com'>",
    "<base href=https://example.com/>",
    "<link rel=stylesheet href=https://example.com/x.css>",
    "<style>*{display:none!important}</style>",
    "</style><style>body{display:none}</style>",
    "</title></head><h1>another page</h1>",
    "</bdi></button></div></dialog>",
    f"<template><script>{HIT}</script></template>",
    f"<math><mtext><img src=x onerror={HIT}></mtext></math>",
    f"{{{{constructor.constructor('{HIT}')()}}}}",
    f"{{{{ 7 * 7 }}}}{{% raw %}}${{{HIT}}}",
    f"`${{{HIT}}}`",
    f"';{HIT};'",
    f'\\";{HIT};//',
    "&lt;b&gt;&amp;&#60;i&#62;",
    "__proto__",
    "constructor",
    f"\u2028{HIT}\u2029",
    "pass\u202efail\u2066\u200b \x1b[31mred\x1b]8;;https://example.com\x07link\x1b]8;;\x07",
    "\x00\x08null,\ufeff and \ud83d\ude00 \U0001f600 \U000e0041" + "long " * 50 + "<b>",
)
SAFE = [text.encode("utf-8", "replace").decode() for text in TEXTS]


def _trial(text: str, repetition: int) -> Trial:
    failed = repetition > 1
    return Trial(
        case=text,
        repetition=repetition,
        outcome="failed" if failed else "passed",
        score=0.5,
        message=text if failed else None,
        output=text,
        checks=(CheckResult(text, not failed, 0.5, text, Judge(text, votes=3, confidence=0.7)),),
        tool_calls=(ToolCall(text, {text: [text]}), ToolCall(f"{text} {repetition}", text)),
        source=text,
    )


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a run and a base in which every text is hostile."""
    folder = tmp_path_factory.mktemp("hostile")
    plans = [
        CasePlan(id=text, asked=3, tags=(text,), file=text, line=1, case_fingerprint=str(number))
        for number, text in enumerate(SAFE)
    ]
    origin: dict[str, Any] = {
        "suite": "".join(SAFE[:3]),
        "commit": SAFE[5],
        "target": SAFE[5],
        "command": SAFE[6],
        "target_fingerprint": SAFE[7],
        "tool_version": SAFE[8],
        "started": SAFE[9],
        "warnings": tuple(SAFE),
        "selection": Selection(cases=tuple(SAFE), tags=tuple(SAFE)),
    }
    trials = [_trial(text, repetition) for text in SAFE for repetition in (1, 2, 3)]
    run = write_run(folder / "run.jsonl", plans, trials, **origin)
    base = write_run(folder / "base.jsonl", plans, trials, **origin)
    program("report", run, "--base", base, "--out", folder)
    return folder / "report.html"


LOOK = """(index) => {
  const text = (node) => (node ? node.textContent : null);
  const one = (name) => text(document.querySelector(name));
  const row = document.querySelector(`.row[data-index="${index}"]`);
  row.querySelector(".chip").focus();
  const tip = one("#tip strong");
  row.querySelector(".open").click();
  const trial = [...document.querySelectorAll("#detail .dot")].map((dot) => {
    dot.click();
    return {
      message: one("#trial > .message"), check: one("#trial .checks bdi"), why: one("#trial .checks p"),
      judge: one("#trial .checks"), output: one("#trial .part pre"),
      calls: [...document.querySelectorAll("#trial .calls li")].map((call) =>
        [text(call.querySelector("code")), text(call.querySelector("pre"))]),
    };
  });
  const found = {
    row: text(row.querySelector(".open")), tip, title: one("#detail-title bdi"), trial,
    checks: one(".check-bars bdi"), figures: one("#detail .pairs"),
  };
  document.getElementById("detail").close();
  return found;
}"""
STRANGE = """() => {
  const shown = (nodes) => nodes.map((node) => node.outerHTML.slice(0, 200));
  const all = [...document.querySelectorAll("*")];
  const tags = "img,iframe,object,embed,form,base,math,template,animate,a[href]:not(.skip)";
  return {
    hit: window.hit,
    scripts: document.scripts.length,
    tags: shown([...document.querySelectorAll(`${tags},body :is(link,meta,style,title,h1 h1)`)]),
    handlers: shown(all.filter((node) => [...node.attributes].some((one) => one.name.startsWith("on")))),
  };
}"""

ADDRESSES = """async (texts) => {
  const next = (target, event) => new Promise((done) => target.addEventListener(event, done, {once: true}));
  const dialog = document.getElementById("detail");
  const titles = [];
  for (const text of texts) {
    const changed = next(window, "hashchange");
    location.hash = `case=${encodeURIComponent(text)}`;
    await changed;
    titles.push(dialog.open ? document.querySelector("#detail-title bdi").textContent : null);
    const closed = next(dialog, "close");
    dialog.close();
    await closed;
  }
  return titles;
}"""
SEARCHES = """(texts) => texts.map((text) => {
  const field = document.getElementById("search");
  field.value = text;
  field.dispatchEvent(new Event("input", {bubbles: true}));
  return [...document.querySelectorAll(".row .open")].map((one) => one.textContent);
})"""


def _plain(text: str) -> bool:
    """Whether nothing in a text is hidden: it must then be shown letter by letter."""
    return text == visible(text)


def test_there_are_forty_different_texts() -> None:
    assert len(set(TEXTS)) == 40
    assert sum(_plain(text) for text in SAFE) > 35


def test_each_text_is_shown_as_text_in_every_field(open_page: Opener, page_file: Path) -> None:
    page = open_page(page_file, viewport=TALL)
    unroll(page)
    before = page.evaluate(STRANGE)

    for index, text in enumerate(SAFE):
        found = page.evaluate(LOOK, index)
        line, name = visible(text), visible(text)[:100]
        for place in ("row", "tip", "title", "checks"):
            assert found[place].startswith(name), place
        assert line in found["figures"], "tags and file"
        assert len(found["trial"]) == 6, "three on each side"
        for number, trial in enumerate(found["trial"]):
            assert trial["check"] == line
            assert f"judged by {line}, 3 votes, 70% agree" in trial["judge"]
            assert trial["calls"][0][0] == line
            if _plain(text):
                assert trial["output"] == trial["why"] == text
                assert trial["message"] == (text if number % 3 else None)
                assert trial["calls"][1][1].replace("\\\\", "\\").replace('\\"', '"') == f'"{text}"'
            else:
                assert "\x1b" not in trial["output"]
                assert "\u202e" not in trial["output"]

    assert page.evaluate(STRANGE) == before
    assert before["hit"] is None
    assert before["tags"] == before["handlers"] == []
    for shown in ("Warnings", "Settings and origin"):
        page.locator("summary", has_text=shown).click()
    whole = page.locator("main").inner_text()
    assert all(visible(text)[:100] in whole for text in SAFE if visible(text)), "warnings"
    assert page.locator("h1").is_visible()


def test_groups_searches_and_addresses_take_each_text_as_it_is(open_page: Opener, page_file: Path) -> None:
    page = open_page(page_file, viewport=TALL)

    for way in page.locator("#ways .toggle").all():
        way.click()
        page.evaluate("() => { for (const one of document.querySelectorAll('#groups details')) one.open = true; }")
        assert page.evaluate(STRANGE)["tags"] == []
    groups = page.locator("#groups").inner_text()
    unquoted = [text for text in SAFE if _plain(text) and not set("\"'`") & set(text)]
    assert len(unquoted) > 20
    assert all(text in groups for text in unquoted), "quoted parts are left out of a message's shape"
    plain = [text for text in SAFE if _plain(text)]
    assert page.evaluate(ADDRESSES, plain) == plain
    for text, found in zip(plain, page.evaluate(SEARCHES, plain), strict=True):
        assert text in found
    page.evaluate("location.hash = 'case=%E0%A4%A'")
    page.locator("#search").fill("")
    assert page.evaluate("window.hit") is None
    assert faults(page) == []


def test_a_page_that_did_anything_would_be_complained_of(browser: Any, tmp_path: Path) -> None:
    page = tmp_path / "bad.html"
    page.write_text(
        "<img src='https://example.com/x.png'><img src='near.png'><script>console.warn(1); alert(2); oops()</script>"
    )
    opener = Opener(browser)

    opener(page).wait_for_load_state()
    opener.close()

    told = " ".join(opener.complaints)
    for wrong in ("request: https://example.com/x.png", "near.png", "console: warning: 1", "dialog: 2", "error: oops"):
        assert wrong in told
