"""`--ctrf` puts ctrf.json beside the reports."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from repeat_eval.cli.main import run

ROWS = "case,passed\na,true\na,false\nb,true\nb,true\n"


@pytest.mark.parametrize("command", ["run", "report", "compare"])
def test_it_is_written_only_when_asked_and_holds_every_trial(command: str, tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text(ROWS)
    (tmp_path / "b.csv").write_text(ROWS.replace("false", "true"))
    file, base = str(tmp_path / "r.csv"), str(tmp_path / "b.csv")
    words = {"run": ["run", "--results", file], "report": ["report", file], "compare": ["compare", base, file]}[command]
    plain, asked = tmp_path / "plain", tmp_path / "asked"
    for out, more in ((plain, []), (asked, ["--ctrf"])):
        assert run([*words, "-q", "--gate", "none", "--fail-on", "none", "-o", str(out), *more]) in (0, 3)
    assert {path.name for path in asked.iterdir()} - {path.name for path in plain.iterdir()} == {"ctrf.json"}
    tests = json.loads((asked / "ctrf.json").read_text())["results"]["tests"]
    assert [[attempt["status"] for attempt in test["retryAttempts"]] for test in tests] == [
        ["passed", "failed"],
        ["passed", "passed"],
    ]
    compared = [test["insights"]["passRate"].get("baseline") for test in tests]
    assert compared == ([1.0, 1.0] if command == "compare" else [None, None])
