"""Results files that another job made, and files of our own, rendered again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from whole_program import EXAMPLE, case_of, program, report_in, write


def junit(folder: Path, number: int, *failing: str) -> Path:
    cases = "".join(
        f'<testcase classname="evals" name="{name}" time="0.{number}">'
        + ('<failure message="slipped"/>' if name in failing else "")
        + "</testcase>"
        for name in ("greets", "refuses")
    )
    text = f'<testsuite name="evals" tests="2" failures="{len(failing)}" errors="0">{cases}</testsuite>'
    return write(folder / f"results/run-{number}.xml", text)


def test_several_junit_files_are_the_repetitions_of_their_cases(tmp_path: Path) -> None:
    for number in range(1, 6):
        junit(tmp_path, number, *(["refuses"] if number == 4 else []))
    ended = program("run", "--results", "results/*.xml", "--out", "out", "--name", "desk", cwd=tmp_path)
    assert ended.code == 0, ended.text
    report = report_in(tmp_path / "out")
    assert report["suite"] == "desk"
    assert sorted((case["outcomes"], case["asked"]) for case in report["cases"]) == [("PPPFP", 5), ("PPPPP", 5)]


def test_report_reads_files_of_other_tools_too_and_writes_nothing_unasked(tmp_path: Path) -> None:
    for number in range(1, 6):
        junit(tmp_path, number)
    ended = program("report", "results/*.xml", "--name", "desk", cwd=tmp_path)
    assert ended.code == 0, ended.text
    assert "100% (5/5)" in ended.out
    assert [path.name for path in tmp_path.iterdir()] == ["results"]


def test_fewer_files_than_repeats_are_missing_trials(tmp_path: Path) -> None:
    for number in range(1, 4):
        junit(tmp_path, number)
    ended = program("run", "--results", "results/*.xml", "--repeats", "10", "--out", "out", cwd=tmp_path)
    assert ended.code == 3
    assert {case["missing"] for case in report_in(tmp_path / "out")["cases"]} == {7}


def test_a_file_that_cannot_be_read_is_a_missing_repetition(tmp_path: Path) -> None:
    for number in range(1, 6):
        junit(tmp_path, number)
    write(tmp_path / "results/run-6.xml", "<testsuite><testcase name='cut off")
    ended = program("run", "--results", "results/*.xml", "--out", "out", "--gate", "strict", cwd=tmp_path)
    report = report_in(tmp_path / "out")
    assert {(case["asked"], case["passed"], case["errors"]) for case in report["cases"]} == {(6, 5, 1)}
    assert sum("run-6.xml" in warning for warning in report["warnings"]) == 1
    assert ended.code == 3, ended.text
    tolerant = program("report", "out/run.jsonl", "--max-error-rate", "0.2", cwd=tmp_path)
    assert tolerant.code == 0, tolerant.text


def test_rows_of_csv_and_json_lines(tmp_path: Path) -> None:
    write(
        tmp_path / "rows.csv",
        "case,repetition,passed,score,duration\n"
        + "".join(f"greets,{n},{'true' if n < 5 else 'false'},0.{n},1.5\n" for n in range(1, 6)),
    )
    write(
        tmp_path / "rows.jsonl",
        "".join(json.dumps({"case": "refuses", "repetition": n, "outcome": "passed"}) + "\n" for n in range(1, 6)),
    )
    ended = program("report", "rows.csv", "rows.jsonl", "--out", "out", cwd=tmp_path)
    assert ended.code == 0, ended.text
    report = report_in(tmp_path / "out")
    assert case_of(report, "greets")["outcomes"] == "PPPPF"
    assert case_of(report, "greets")["score"]["mean"] == pytest.approx(0.3)
    assert case_of(report, "refuses")["passed"] == 5


def test_no_file_is_the_users_to_mend_and_is_named(tmp_path: Path) -> None:
    ended = program("run", "--results", "results/*.xml", "--out", "out", cwd=tmp_path)
    assert ended.code == 2
    assert "results/*.xml: no file matches" in ended.err


def test_files_without_any_result_are_incomplete(tmp_path: Path) -> None:
    write(tmp_path / "empty.xml", "<testsuites/>")
    ended = program("run", "--results", "empty.xml", "--out", "out", cwd=tmp_path)
    assert ended.code == 3, ended.text


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("again")
    assert program("run", EXAMPLE, "--seed", "7", "--repeats", "5", "--out", "out", cwd=folder).code == 1
    return folder


def test_a_run_file_is_judged_anew_by_other_rules(example: Path, tmp_path: Path) -> None:
    lenient = program(
        "report", example / "out/run.jsonl", "--threshold", "0.1", "--gate", "none", "--out", "out", cwd=tmp_path
    )
    assert lenient.code in (0, 1)
    report = report_in(tmp_path / "out")
    assert report["gate"] == "none"
    assert report["settings"]["threshold"] == {"value": "0.1", "source": "option"}


def test_a_report_file_is_shown_as_it_is(example: Path, tmp_path: Path) -> None:
    ended = program("report", example / "out/report.json", "--out", "out", cwd=tmp_path)
    assert ended.code == 1
    assert (tmp_path / "out/report.json").read_bytes() == (example / "out/report.json").read_bytes()
    refused = program("report", example / "out/report.json", "--threshold", "0.1", cwd=tmp_path)
    assert refused.code == 2
    assert "judge anew" in refused.err


def test_two_run_files_at_once_are_refused(example: Path, tmp_path: Path) -> None:
    again = write(tmp_path / "again.jsonl", (example / "out/run.jsonl").read_text("utf-8"))
    ended = program("report", example / "out/run.jsonl", again, cwd=tmp_path)
    assert ended.code == 2


@pytest.mark.parametrize("content", ["", "[1, 2", "{}", "\x00\x01\x02", "repeat-eval"])
def test_files_of_no_known_kind_end_in_a_sentence(tmp_path: Path, content: str) -> None:
    for name in ("what.xml", "what.jsonl", "what.csv", "what.json"):
        path = tmp_path / name
        path.write_text(content)
        ended = program("report", path.name, cwd=tmp_path)
        assert ended.code in (2, 3), (name, ended.text)
        assert "Traceback" not in ended.text and ended.text.strip()


def test_reading_results_runs_nothing_and_says_nothing_of_running(tmp_path: Path) -> None:
    write(tmp_path / "rows.csv", "case,passed\na,yes\na,no\n")
    ended = program("run", "--results", "rows.csv", "--out", "out", cwd=tmp_path)
    assert "running" not in ended.text


def test_a_run_file_of_our_own_is_a_result_that_exists_already(tmp_path: Path) -> None:
    first = program("run", EXAMPLE, "--seed", "7", "--repeats", "5", "--out", "first", cwd=tmp_path)
    again = program("run", "--results", "first/run.jsonl", "--out", "again", cwd=tmp_path)
    assert again.code == first.code, again.text
    one, two = report_in(tmp_path / "first"), report_in(tmp_path / "again")
    assert [case["outcomes"] for case in one["cases"]] == [case["outcomes"] for case in two["cases"]]
    assert (one["suite"], one["provenance"]["seed"]) == (two["suite"], two["provenance"]["seed"])
    torn = tmp_path / "torn.jsonl"
    torn.write_text("".join((tmp_path / "first/run.jsonl").read_text("utf-8").splitlines(keepends=True)[:20]), "utf-8")
    assert program("run", "--results", torn, "--out", "torn", cwd=tmp_path).code == 3
