"""`--badge` puts badges beside the reports."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from repeat_eval.cli.main import run

RESULTS = """<testsuite><testcase classname="t" name="one"/></testsuite>"""


@pytest.mark.parametrize("command", ["run", "report"])
def test_badges_are_written_only_when_asked(command: str, tmp_path: Path) -> None:
    (tmp_path / "r.xml").write_text(RESULTS)
    words = ["run", "--results", str(tmp_path / "r.xml")] if command == "run" else ["report", str(tmp_path / "r.xml")]
    plain, asked = tmp_path / "plain", tmp_path / "asked"
    assert run([*words, "--name", "shop", "-q", "-o", str(plain)]) == 0
    assert run([*words, "--name", "shop", "-q", "-o", str(asked), "--badge"]) == 0
    badges = {path.name for path in asked.iterdir()} - {path.name for path in plain.iterdir()}
    kinds = ("badge", "stability", "reliability")
    assert badges <= {f"{kind}.{end}" for kind in kinds for end in ("svg", "json")}
    assert {"badge.svg", "badge.json"} <= badges
    assert json.loads((asked / "badge.json").read_text())["message"] == "100% · pass"
