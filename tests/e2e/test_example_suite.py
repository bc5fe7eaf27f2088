"""The example that ships with the program, end to end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from whole_program import EXAMPLE, case_of, program, report_in, trials_in


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    folder = tmp_path_factory.mktemp("example")
    ended = program("run", EXAMPLE, "--seed", "7", "--out", folder / "out", cwd=folder)
    assert ended.code == 1, ended.text
    return folder, ended


def test_it_fails_because_of_the_two_broken_cases(ran: tuple[Path, Any]) -> None:
    folder, ended = ran
    report = report_in(folder / "out")
    assert (report["verdict"], report["exit_code"]) == ("fail", 1)
    assert [reason["case"] for reason in report["reasons"]] == [
        "names_the_reason_of_a_refusal",
        "asks_for_photo_of_damage",
    ]
    last = "FAILED 2 of 13 cases below threshold: 'names_the_reason_of_a_refusal', 'asks_for_photo_of_damage'"
    assert " ".join(ended.out.split()).endswith(last)


def test_it_shows_solid_flaky_noisy_broken_and_slow_cases(ran: tuple[Path, Any]) -> None:
    report = report_in(ran[0] / "out")
    outcomes = {case["id"]: (case["passed"], case["asked"], case["verdict"]) for case in report["cases"]}
    assert outcomes["refunds_within_window"] == (10, 10, "pass")
    assert outcomes["escalates_over_limit"] == (19, 20, "pass")
    assert outcomes["names_the_reason_of_a_refusal"] == (4, 10, "fail")
    assert outcomes["answers_yes_or_no"] == (8, 10, "pass")
    assert outcomes["refunds_only_what_was_asked"] == (7, 10, "within-noise")
    assert outcomes["asks_for_photo_of_damage"] == (2, 10, "fail")
    slow = case_of(report, "reads_a_long_thread")["duration"]["mean"]
    assert slow > 3 * case_of(report, "refunds_within_window")["duration"]["mean"]
    totals = report["totals"]
    assert (totals["cases"], totals["trials"], totals["flaky"], totals["errors"]) == (13, 140, 6, 0)


def test_the_terminal_report_marks_the_flaky_ones_and_sums_them_up(ran: tuple[Path, Any]) -> None:
    out = ran[1].out
    assert "~  escalates_over_limit" in out and "✓  refunds_within_window" in out
    assert "6 flaky case(s) — passed inconsistently across 10–20 runs:" in out
    assert "'answers_yes_or_no'  (8/10 runs passed)" in out
    assert "Stability: 54%   Flaky: 6" in out
    assert "\x1b[" not in out


def test_the_same_seed_gives_the_same_outcomes(ran: tuple[Path, Any], tmp_path: Path) -> None:
    again = program("run", EXAMPLE, "--seed", "7", "--workers", "9", "--out", tmp_path / "out", cwd=tmp_path)
    assert again.code == 1
    first, second = (
        sorted((trial["case"], trial["repetition"], trial["outcome"]) for trial in trials_in(folder / "out/run.jsonl"))
        for folder in (ran[0], tmp_path)
    )
    assert first == second


def test_another_seed_gives_other_outcomes(ran: tuple[Path, Any], tmp_path: Path) -> None:
    program("run", EXAMPLE, "--seed", "8", "--out", tmp_path / "out", cwd=tmp_path)
    letters = [[case["outcomes"] for case in report_in(folder / "out")["cases"]] for folder in (ran[0], tmp_path)]
    assert letters[0] != letters[1]


def test_every_report_file_is_there_and_the_folder_keeps_itself_out_of_commits(ran: tuple[Path, Any]) -> None:
    out = ran[0] / "out"
    assert {path.name for path in out.iterdir()} >= {"run.jsonl", "report.json", "junit.xml", "summary.md"}
    assert (out / ".gitignore").read_text() == "*\n"
    assert not (out / ".repeat-eval.lock").exists()


def test_the_run_file_renders_to_the_same_report_again(ran: tuple[Path, Any], tmp_path: Path) -> None:
    again = program("report", ran[0] / "out/run.jsonl", "--out", tmp_path / "again", cwd=tmp_path)
    assert again.code == 1
    first, second = report_in(ran[0] / "out"), report_in(tmp_path / "again")
    assert first["cases"] == second["cases"] and first["reasons"] == second["reasons"]


def test_a_case_that_is_chosen_runs_alone(tmp_path: Path) -> None:
    ended = program(
        "run", EXAMPLE, "--case", "refuses_*", "--case", "tells_delivery_date", "--out", "out", cwd=tmp_path
    )
    assert ended.code == 0, ended.text
    report = report_in(tmp_path / "out")
    assert [case["id"] for case in report["cases"]] == ["refuses_after_window", "tells_delivery_date"]
    assert report["provenance"]["selection"] == ["refuses_*", "tells_delivery_date"]


def test_a_tag_chooses_its_cases(tmp_path: Path) -> None:
    program("run", EXAMPLE, "--tag", "slow", "--out", "out", "--repeats", "2", cwd=tmp_path)
    assert [case["id"] for case in report_in(tmp_path / "out")["cases"]] == ["reads_a_long_thread"]
