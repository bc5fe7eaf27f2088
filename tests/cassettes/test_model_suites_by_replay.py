"""A suite that drives a model, recorded once and replayed by the real program: free, and honest about change."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from whole_program import program

pytestmark = pytest.mark.e2e

SUITE = """\
name: desk
target:
  model:
    system: Be kind.
    max_turns: 4
    tools:
      - name: look_up
        description: Looks an order up.
        parameters: {type: object, properties: {order: {type: string}}}
        mock: {returns: {total: 40}}
    script:
      - when: refund
        turns:
          - call: {look_up: {order: A1}}
          - say: It is refunded.
      - turns:
          - say: Hello there.
repeats: 5
threshold: 0.5
cassettes: tapes
cases:
  - id: refunds
    input: a refund please
    expect:
      - calls_tool: look_up
  - id: greets
    input: good morning
    expect:
      - contains: Hello
"""


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    (tmp_path / "desk.yaml").write_text(SUITE)
    assert run(tmp_path, "recorded")[0] == 0
    return tmp_path


def run(desk: Path, out: str, *more: str) -> tuple[int, str, str]:
    ended = program("run", "desk.yaml", "-o", out, "--fresh", *more, cwd=desk)
    report = desk / out / "report.json"
    return ended.code, ended.text, report.read_text() if report.is_file() else ""


def without_times(text: str) -> Any:
    def bare(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: bare(inner) for key, inner in value.items() if key not in ("duration", "wall", "started")}
        return [bare(inner) for inner in value] if isinstance(value, list) else value

    return bare(json.loads(re.sub(r"\b[\d.]+ m?s\b", "TIME", text)))


def test_naming_a_folder_records_calls_and_a_replay_gives_the_same_report_but_for_times(desk: Path) -> None:
    first = (desk / "recorded" / "report.json").read_text()
    code, text, again = run(desk, "again", "--cassette-mode", "replay")
    assert code == 0
    assert "15 recorded earlier and replayed, 0 recorded now" in text
    assert without_times(again) == without_times(first)
    assert json.loads(again)["replayed"] is False, "the loop and the tools did run"


def test_raising_n_misses_in_replay_and_asks_only_for_the_rest_in_auto(desk: Path) -> None:
    code, _, report = run(desk, "more", "--cassette-mode", "replay", "--repeats", "8", "--case", "refunds")
    assert code == 3
    missed = [one["text"] for one in json.loads(report)["reasons"] if one["text"].startswith("cassette miss")]
    assert [re.findall(r"repetition (\d)", text) for text in missed] == [["6"], ["7"], ["8"]]
    code, text, _ = run(desk, "auto", "--repeats", "8", "--case", "refunds")
    assert code == 0
    assert "10 recorded earlier and replayed, 6 recorded now" in text


@pytest.mark.parametrize(
    ("found", "instead", "named"),
    [
        ("Be kind.", "Be strict.", "the system prompt changed"),
        ("{order: {type: string}}", "{order: {type: integer}}", "the tools changed"),
        ("good morning", "good evening", "the messages changed"),
    ],
)
def test_a_changed_prompt_tool_or_input_misses(desk: Path, found: str, instead: str, named: str) -> None:
    (desk / "desk.yaml").write_text(SUITE.replace(found, instead))
    code, _, report = run(desk, "changed", "--cassette-mode", "replay")
    assert code == 3
    assert named in report


def test_a_changed_threshold_or_check_does_not_miss(desk: Path) -> None:
    (desk / "desk.yaml").write_text(SUITE.replace("contains: Hello", "contains: Goodbye"))
    code, text, report = run(desk, "changed", "--cassette-mode", "replay", "--threshold", "0.9")
    assert code == 1
    assert "15 recorded earlier and replayed" in text
    assert [case["passed"] for case in json.loads(report)["cases"]] == [5, 0]


def test_prune_knows_who_asks(desk: Path) -> None:
    assert "0 entries removed" in program("cassettes", "prune", "desk.yaml", cwd=desk).out
    assert program("cassettes", "verify", "desk.yaml", cwd=desk).code == 0
