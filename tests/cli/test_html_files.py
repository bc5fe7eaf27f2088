"""report.html is written by run and report, by compare when asked, and holds the trials where their files are known."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from repeat_eval.cli.main import run

SUITE = """
name: shop
repeats: 3
target: {command: "cat"}
cases:
  - {id: greets, input: hello, expect: [{contains: hello}]}
  - {id: parts, input: bye, expect: [{contains: hello}]}
"""


def embedded(page: Path, name: str) -> Any:
    found = re.search(rf'<script type="application/json" id="{name}">(.*?)</script>', page.read_text(), re.DOTALL)
    return None if found is None else json.loads(found[1])


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """A run of a suite with one passing and one failing case."""
    (tmp_path / "suite.yaml").write_text(SUITE)
    assert run(["run", str(tmp_path / "suite.yaml"), "-q", "-o", str(tmp_path / "out")]) == 1
    return tmp_path / "out"


def test_a_run_writes_the_page_with_every_trial(out: Path) -> None:
    trials = embedded(out / "report.html", "trials")
    assert [len(rows) for rows in trials["head"]] == [3, 3]
    assert any("hello" in text for text in trials["texts"])


def test_the_page_can_be_left_out(out: Path, tmp_path: Path) -> None:
    run(["report", str(out / "run.jsonl"), "-q", "-o", str(tmp_path / "without"), "--no-html"])
    assert not (tmp_path / "without" / "report.html").exists()


def test_a_report_file_becomes_a_page_with_the_trials_that_lie_beside_it(out: Path, tmp_path: Path) -> None:
    run(["report", str(out / "report.json"), "-q", "-o", str(tmp_path / "page")])
    assert [len(rows) for rows in embedded(tmp_path / "page" / "report.html", "trials")["head"]] == [3, 3]


def test_a_report_file_alone_becomes_a_page_with_its_examples(out: Path, tmp_path: Path) -> None:
    alone = tmp_path / "alone" / "report.json"
    alone.parent.mkdir()
    alone.write_bytes((out / "report.json").read_bytes())
    run(["report", str(alone), "-q", "-o", str(tmp_path / "page")])
    assert embedded(tmp_path / "page" / "report.html", "trials") is None
    assert embedded(tmp_path / "page" / "report.html", "data")["cases"][1]["examples"]


def test_a_run_file_of_another_run_is_not_taken_for_this_one_s(out: Path, tmp_path: Path) -> None:
    text = (out / "run.jsonl").read_text()
    (out / "run.jsonl").write_text(re.sub(r'"started":"[^"]*"', '"started":"2000-01-01T00:00:00Z"', text, count=1))
    run(["report", str(out / "report.json"), "-q", "-o", str(tmp_path / "page")])
    assert embedded(tmp_path / "page" / "report.html", "trials") is None


def test_compare_writes_the_page_when_asked_with_the_trials_of_both_sides(out: Path, tmp_path: Path) -> None:
    files = [str(out / "run.jsonl"), str(out / "run.jsonl")]
    run(["compare", *files, "-q", "-o", str(tmp_path / "plain")])
    assert not (tmp_path / "plain" / "report.html").exists()
    run(["compare", *files, "-q", "-o", str(tmp_path / "asked"), "--html"])
    trials = embedded(tmp_path / "asked" / "report.html", "trials")
    assert [len(rows) for rows in trials["base"]] == [len(rows) for rows in trials["head"]] == [3, 3]


def test_base_that_was_run_beside_head_has_its_trials_too(tmp_path: Path) -> None:
    (tmp_path / "suite.yaml").write_text(SUITE)
    suite, folder = str(tmp_path / "suite.yaml"), tmp_path / "out"
    run(["run", suite, "-q", "-o", str(folder), "--base-target", "command:echo hello"])
    assert [len(rows) for rows in embedded(folder / "report.html", "trials")["base"]] == [3, 3]
    run(["report", str(folder / "report.json"), "-q", "-o", str(tmp_path / "page")])
    assert [len(rows) for rows in embedded(tmp_path / "page" / "report.html", "trials")["base"]] == [3, 3]
