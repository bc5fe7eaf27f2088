"""A report.json that somebody else wrote: the page that is made of it shows its texts and does nothing of them."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from browser_pages import TALL, Opener, unroll, until
from page_reports import program, write_letters
from test_hostile_texts_on_the_page import SAFE, STRANGE

from repeat_eval.analysis.report import Report

WALK = """() => {
  for (const one of document.querySelectorAll("details")) one.open = true;
  const titles = [];
  for (const row of document.querySelectorAll(".row")) {
    row.querySelector(".chip").focus();
    row.querySelector(".open").click();
    titles.push(document.querySelector("#detail-title bdi").textContent);
    for (const dot of document.querySelectorAll("#detail .dot")) dot.click();
    document.getElementById("detail").close();
  }
  return titles;
}"""


def _texts(value: Any, keys: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to every text in a report that may be any: a file with another threshold or outcome is refused."""
    if isinstance(value, str):
        if keys != ("schema",) and keys[-1] != "outcomes" and not (keys[0] == "cases" and keys[-1] == "threshold"):
            yield keys
        return
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _texts(inner, (*keys, key))


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a report in which everything that may be any text is a hostile one."""
    folder = tmp_path_factory.mktemp("foreign")
    cases = {f"case {number}": "PPFEP" for number in range(45)}
    run = write_letters(folder / "run.jsonl", cases)
    program("report", run, "--base", write_letters(folder / "base.jsonl", cases), "--out", folder)
    content = json.loads((folder / "report.json").read_text())
    texts = itertools.cycle(SAFE)
    changed = 0
    for keys in list(_texts(content)):
        holder = content
        for key in keys[:-1]:
            holder = holder[key]
        before, holder[keys[-1]] = holder[keys[-1]], next(texts)
        try:
            msgspec.convert(content, Report)
            changed += 1
        except msgspec.ValidationError:
            holder[keys[-1]] = before
    assert changed > 300
    for case, text in zip(content["cases"], SAFE, strict=False):
        case["id"] = text
    foreign = folder / "foreign.json"
    foreign.write_text(json.dumps(content))
    program("report", foreign, "--out", folder / "out")
    return folder / "out" / "report.html"


def test_texts_of_a_foreign_report_are_only_read(open_page: Opener, page_file: Path) -> None:
    page = open_page(page_file, viewport=TALL)
    unroll(page)

    titles = page.evaluate(WALK)

    assert len(titles) == 45
    assert "<script>window.hit=1</script>" in titles
    found = page.evaluate(STRANGE)
    assert (found["hit"], found["tags"], found["handlers"]) == (None, [], [])


def test_what_gets_into_the_file_all_the_same_is_stopped_by_its_policy(browser: Any, page_file: Path) -> None:
    text = page_file.read_text()
    bad = (
        "<script>window.hit=1</script><img src=x onerror='window.hit=2'><img src='https://example.com/a.png'>"
        "<script src='https://example.com/a.js'></script><iframe src='https://example.com/'></iframe>"
        "<style>body{display:none}</style><a id=link href='javascript:window.hit=3'>x</a>"
        "<form id=form action='https://example.com/'></form>"
    )
    changed = page_file.with_name("changed.html")
    changed.write_text(text.replace("<main", f"{bad}<main", 1))
    context = browser.new_context()
    page = context.new_page()
    asked: list[str] = []
    refused: list[str] = []
    context.route("https://**", lambda route: (asked.append(route.request.url), route.abort()))
    page.on("console", lambda message: refused.append(message.text))
    page.goto(changed.as_uri())

    page.evaluate("document.getElementById('link').click()")
    page.evaluate("document.getElementById('form').submit()")
    until(page, "document.querySelectorAll('.row').length > 0")

    assert page.evaluate("window.hit") is None
    assert page.evaluate("getComputedStyle(document.body).display") != "none"
    assert asked == []
    assert len([line for line in refused if "Content Security Policy" in line]) >= 7, refused
    context.close()
