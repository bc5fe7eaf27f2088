"""`plan` and `aa` as people call them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from repeat_eval.cli.main import run
from repeat_eval.records.journal import read_run

AGENT = """
def answer(question, context):
    return "fine" if context.seed % 10 or question != "hard" else "no"
"""
SUITE = {
    "name": "desk",
    "target": {"python": "agent:answer"},
    "repeats": 4,
    "cases": [
        {"id": "easy", "input": "easy", "expect": [{"equals": "fine"}]},
        {"id": "hard", "input": "hard", "repeats": 6, "expect": [{"equals": "fine"}]},
    ],
}


@pytest.fixture(autouse=True)
def quiet_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "140")
    (tmp_path / "agent.py").write_text(AGENT, encoding="utf-8")
    (tmp_path / "suite.yaml").write_text(json.dumps(SUITE), encoding="utf-8")
    return tmp_path


@pytest.fixture
def run_file(tmp_path: Path) -> Path:
    """A finished run of two cases, 9 of 10 and 10 of 10, a cent a trial."""
    lines: list[Any] = [
        {
            "schema": "repeat-eval/run/1",
            "suite": "desk",
            "repeats": 10,
            "cases": [{"id": "hard [x]", "asked": 10}, {"id": "easy", "asked": 10}],
            "settings": {"threshold": "0.7", "gate": "strict"},
        }
    ]
    for case, failing in (("hard [x]", 1), ("easy", 0)):
        for number in range(1, 11):
            outcome = "failed" if number <= failing else "passed"
            lines.append({"case": case, "repetition": number, "outcome": outcome, "cost": 0.01})
    lines.append({"footer": {"complete": True, "trials": 20}})
    path = tmp_path / "run.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def said(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    assert run([*arguments]) == code
    captured = capsys.readouterr()
    return captured.err if code else captured.out


def found(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    return json.loads(said(capsys, *arguments, "--json"))


def test_a_plan_needs_no_argument(capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, "plan")
    assert (
        "Catch a case that passes 30% of the time, in 80 of 100 runs: 5 repeats (with every number from 7 on)" in text
    )
    assert "Prove a pass rate of 0.8, if every trial passes: 16 repeats" in text
    assert "Give --cases, or a run file" in text


def test_a_plan_for_a_gate_takes_threshold_bad_rate_power_and_gate(capsys: pytest.CaptureFixture[str]) -> None:
    plan = found(capsys, "plan", "--threshold", "0.9", "--bad-rate", "0.5", "--power", "0.8")
    assert (plan["gate"]["first"], plan["gate"]["always"]) == (5, 8)
    assert plan["comparison"] is None
    strict = found(capsys, "plan", "--gate", "strict", "--bad-rate", "0.5", "--power", "0.9")
    assert strict["gate"]["gate"] == "strict"
    assert strict["gate"]["power"] == 0.9


def test_a_plan_for_a_comparison_tells_points_repeats_and_cost(capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, "plan", "--cases", "20", "--repeats", "5", "--detect", "5", "--cost-per-trial", "0.01")
    assert "a change of 12.9 points is found in 80 of 100 comparisons" in text
    assert "To find 5.0 points: 22 repeats a side (880 trials, $8.80)" in text
    assert "a fall from 5/5 to 1/5 is found" in text
    assert "is assumed" in text


def test_a_plan_against_a_stored_base_pays_for_head_only(capsys: pytest.CaptureFixture[str]) -> None:
    plan = found(capsys, "plan", "--cases", "20", "--repeats", "5", "--base-repeats", "20", "--spread", "0.042")
    assert plan["comparison"]["here"]["trials"] == 100
    assert plan["comparison"]["spread_source"] == "given"
    assert plan["warnings"] == []


def test_a_run_file_tells_its_suite_settings_cost_and_variance(
    run_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = found(capsys, "plan", str(run_file))
    assert (plan["suite"], plan["gate"]["threshold"], plan["gate"]["gate"]) == ("desk", "0.7", "strict")
    comparison = plan["comparison"]
    assert (comparison["cases"], comparison["repeats"], comparison["cost_per_trial"]) == (2, 10, pytest.approx(0.01))
    assert comparison["spread"] == pytest.approx(0.05)
    assert [case["id"] for case in plan["varying"]] == ["hard [x]"]
    text = said(capsys, "plan", "--from", str(run_file))
    assert "Where the variance is" in text
    assert "hard [x]     9/10    100%" in text


def test_options_hold_before_a_run_files_settings(run_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = found(capsys, "plan", str(run_file), "--threshold", "0.9", "--gate", "wilson", "--repeats", "3")
    assert (plan["gate"]["threshold"], plan["gate"]["gate"]) == ("0.9", "wilson")
    assert plan["comparison"]["repeats"] == 3


def test_variables_reach_the_plan(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REPEAT_EVAL_THRESHOLD", "0.6")
    assert found(capsys, "plan")["gate"]["threshold"] == "0.6"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--threshold", "80%"], "write the rate as a decimal, 0.8"),
        (["--bad-rate", "30"], "did you mean 0.3"),
        (["--bad-rate", "0.8"], "must lie below the threshold"),
        (["--power", "nan"], "from 0.5 to below 1"),
        (["--cases", "0"], "whole number from 1"),
        (["--detect", "5"], "give --cases, or a run file"),
        (["--detect", "0", "--cases", "5"], "above 0 to 100"),
        (["nowhere.jsonl"], "no file matches"),
        (["a", "--from", "b"], "give one of them"),
    ],
)
def test_a_wish_that_means_nothing_is_exit_2(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sentence in said(capsys, "plan", *arguments, code=2)


def test_a_file_without_any_verdict_is_exit_3(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "notes.txt").write_text("nothing of the kind", encoding="utf-8")
    assert "no verdict to plan from" in said(capsys, "plan", "notes.txt", code=3)


def test_a_plan_says_when_no_case_can_fail(capsys: pytest.CaptureFixture[str]) -> None:
    assert "no case can fail" in said(capsys, "plan", "--gate", "none")
    assert "cannot fail" in said(capsys, "plan", "--threshold", "0.5")


def test_a_plan_for_hostile_names_writes_no_control_characters(
    run_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_file.write_text(run_file.read_text().replace("hard [x]", "\\u001b[31mred\\u202e"), encoding="utf-8")
    text = said(capsys, "plan", str(run_file), "--no-color") + said(capsys, "aa", "--from", str(run_file), "--no-color")
    assert "\x1b" not in text
    assert "\u202e" not in text


def test_aa_from_a_run_file_runs_nothing_and_says_what_it_did(
    run_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = set(tmp_path.iterdir())
    text = said(capsys, "aa", "--from", str(run_file), "--simulations", "200", "--splits", "100", "--seed", "5")
    assert "desk: false alarms on an unchanged system, from 20 trials of 2 cases" in text
    assert "simulated (seed 5)" in text
    assert "not what another run would show" in text
    assert "a pull request goes red" in text
    assert set(tmp_path.iterdir()) == before


def test_aa_points_out_a_gate_that_alarms_too_often(run_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, "aa", "--from", str(run_file), "--threshold", "0.9", "--repeats", "10")
    assert "too often" in text
    assert "What to change" in text
    assert "mostly hard [x] (9/10 seen, threshold 0.9: 26.4%)" in text


def test_aa_of_a_suite_runs_twice_its_repeats_and_keeps_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = found(capsys, "aa", "suite.yaml", "--simulations", "200", "--seed", "3")
    assert made["simulated_repeats"] == [4, 6]
    assert made["split_repeats"] == [4, 6]
    assert made["trials"] == 20
    kept = read_run(tmp_path / "repeat-eval-aa" / "run.jsonl")
    assert kept.complete
    assert [plan.asked for plan in kept.header.cases] == [8, 12]
    assert (tmp_path / "repeat-eval-aa" / ".gitignore").is_file()


def test_repeats_given_for_aa_are_those_of_a_side(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["aa", "suite.yaml", "--repeats", "3", "--out", "out", "--simulations", "100"]) == 0
    captured = capsys.readouterr()
    assert "Look again: repeat-eval aa --from out/run.jsonl --repeats 3" in captured.err
    assert {plan.asked for plan in read_run(tmp_path / "out" / "run.jsonl").header.cases} == {6}


def test_aa_is_exit_0_whatever_it_finds(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["aa", "suite.yaml", "--threshold", "1.0", "--quiet", "--simulations", "100"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "either SUITE"),
        (["suite.yaml", "--from", "run.jsonl"], "either SUITE"),
        (["missing.yaml"], "missing.yaml"),
        (["suite.yaml", "--resume", "--fresh"], "give one of them"),
        (["--from", "run.jsonl", "--simulations", "1"], "whole number from 100"),
        (["suite.yaml", "--alpha", "2"], "alpha"),
    ],
)
def test_bad_input_of_aa_is_exit_2(arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert sentence in said(capsys, "aa", *arguments, code=2)


def test_an_aa_without_any_verdict_is_exit_3(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "agent.py").write_text("def answer(question):\n    raise RuntimeError('down')\n", encoding="utf-8")
    assert "no case has a verdict" in said(capsys, "aa", "suite.yaml", "--quiet", "--retries", "0", code=3)


@pytest.mark.parametrize("name", ["plan", "aa"])
def test_help_shows_examples(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, name, "--help")
    assert text.count(f"  repeat-eval {name} ") >= 4


@pytest.fixture
def foreign(tmp_path: Path) -> str:
    """Another tool's file in which each name stands six times."""
    rows = "".join(f"{case},{passed}\n" for case in ("easy", "hard") for passed in ("true",) * 5 + ("false",))
    (tmp_path / "results.csv").write_text("case,passed\n" + rows, encoding="utf-8")
    return "results.csv"


@pytest.mark.parametrize("start", [("plan",), ("aa", "--from")])
def test_other_tools_files_are_read_as_for_reports(
    start: tuple[str, ...], foreign: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "2 cases" in said(capsys, *start, foreign, "--format", "csv", "--duplicates", "repeats")
    assert "'easy' has another row" in said(capsys, *start, foreign, "--duplicates", "error", code=3)
    assert "results.csv cannot be read" in said(capsys, *start, foreign, "--format", "junit", code=3)


@pytest.mark.parametrize("start", [("plan",), ("aa", "--from")])
def test_what_reading_had_to_say_is_said(
    start: tuple[str, ...], foreign: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "--scorer has no effect" in said(capsys, *start, foreign, "--scorer", "taste")


@pytest.mark.parametrize(("start", "where"), [(("plan",), "without RUN"), (("aa", "suite.yaml"), "with SUITE")])
@pytest.mark.parametrize("words", [("--format", "csv"), ("--duplicates", "repeats"), ("--scorer", "x")])
def test_how_files_are_read_does_nothing_where_none_is_read(
    start: tuple[str, ...], where: str, words: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert f"{words[0]} does nothing {where}" in said(capsys, *start, *words, code=2)
