"""CTRF as pytest's reporter writes it, read into trials."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from repeat_eval.readers import FileResults, ReadError, ReadOptions, collect, read_file

SAMPLES = Path(__file__).parent / "samples" / "ctrf"
EXPECTED: dict[str, Any] = json.loads((SAMPLES / "expected.json").read_text(encoding="utf-8"))


def outcomes(results: FileResults) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for trial in results.trials:
        found.setdefault(trial.case, []).append(trial.outcome)
    return found


def ctrf(tmp_path: Path, *tests: dict[str, Any], **summary: int) -> Path:
    path = tmp_path / "ctrf.json"
    content = {"results": {"tool": {"name": "t"}, "summary": summary, "tests": list(tests)}, "reportFormat": "CTRF"}
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def test_steps_of_pytest_repeat_are_repetitions() -> None:
    results = read_file(SAMPLES / "pytest-repeat.ctrf.json")
    expected = {case["case"]: case["outcomes"] for case in EXPECTED["pytest-repeat.ctrf.json"]}
    # CTRF calls the broken set-up failed; its raw status tells that it is none.
    expected["test_capitals.py::test_sometimes_errors"] = ["passed", "passed", "error"]
    assert (results.format, results.broken) == ("ctrf", None)
    assert outcomes(results) == expected
    assert {trial.repetition for trial in results.trials} == {1, 2, 3}


def test_a_broken_set_up_is_an_error_with_the_kind_of_its_exception() -> None:
    (error,) = [t for t in read_file(SAMPLES / "pytest-repeat.ctrf.json").trials if t.outcome == "error"]
    assert (error.error_kind, error.duration) == ("provider", 0.003)
    assert error.message == "ConnectionError: upstream closed the connection (simulated)"


def test_attempts_are_tries_of_one_trial() -> None:
    flaky, stable = read_file(SAMPLES / "pytest-rerunfailures.ctrf.json").trials
    assert (flaky.case, flaky.outcome, flaky.attempts) == ("test_first_try.py::test_flaky", "passed", 2)
    assert (stable.outcome, stable.attempts) == ("passed", None)


def test_attempts_are_trials_when_the_user_says_that_all_were_always_run() -> None:
    results = read_file(SAMPLES / "pytest-rerunfailures.ctrf.json", ReadOptions(duplicates="repeats"))
    expected = {case["case"]: case["outcomes"] for case in EXPECTED["pytest-rerunfailures.ctrf.json"]}
    assert outcomes(results) == expected


def test_a_try_that_is_not_listed_is_said(tmp_path: Path) -> None:
    results = read_file(ctrf(tmp_path, {"name": "a", "status": "passed", "duration": 1, "retries": 2}))
    assert results.trials[0].attempts == 3
    assert any("do not list every try" in warning for warning in results.warnings)


@pytest.mark.parametrize(
    ("test", "outcome", "kind"),
    [
        ({"status": "pending"}, "skipped", None),
        ({"status": "skipped"}, "skipped", None),
        ({"status": "other"}, "error", "crash"),
        ({"status": "failed"}, "failed", None),
        ({"status": "failed", "rawStatus": "call_failed"}, "failed", None),
        ({"status": "failed", "rawStatus": "timedOut"}, "error", "timeout"),
        ({"status": "failed", "rawStatus": "broken"}, "error", "crash"),
        ({"status": "passed", "rawStatus": "setup_failed"}, "passed", None),
    ],
)
def test_statuses(tmp_path: Path, test: dict[str, str], outcome: str, kind: str | None) -> None:
    (trial,) = read_file(ctrf(tmp_path, {"name": "a"} | test)).trials
    assert (trial.outcome, trial.error_kind) == (outcome, kind)


@pytest.mark.parametrize(
    ("test", "case"),
    [
        ({"name": "a"}, "a"),
        ({"name": "a", "suite": "s"}, "s::a"),
        ({"name": "a", "suite": ["s", "t"]}, "s::t::a"),
        ({"name": "a", "suite": "s", "filePath": "f.ts"}, "f.ts::a"),
        ({"name": "f.py::a", "suite": ["f.py"], "filePath": "f.py"}, "f.py::a"),
    ],
)
def test_a_case_is_its_name_after_its_file_or_suites(tmp_path: Path, test: dict[str, Any], case: str) -> None:
    assert read_file(ctrf(tmp_path, test | {"status": "passed"})).trials[0].case == case


def test_a_summary_that_declares_failures_which_are_not_listed_contradicts_the_file(tmp_path: Path) -> None:
    results = read_file(ctrf(tmp_path, {"name": "a", "status": "passed"}, tests=1, passed=0, failed=1))
    assert results.broken == "its summary declares 1 tests as failed and it lists 0"


def test_equal_names_are_never_passes_on_their_own_word(tmp_path: Path) -> None:
    test = {"name": "a", "status": "passed"}
    assert collect([ctrf(tmp_path, test, test)]).trials[0].outcome == "error"


@pytest.mark.parametrize(
    ("tests", "says"),
    [
        ([{"name": " ", "status": "passed"}], "test 1 has no name"),
        ([{"name": "a", "status": "green"}], "statuses that CTRF does not know: 'green'"),
        ([{"name": 3, "status": "passed"}], "another shape than expected"),
    ],
)
def test_what_is_wrong_with_a_file(tmp_path: Path, tests: list[dict[str, Any]], says: str) -> None:
    with pytest.raises(ReadError, match=says):
        read_file(ctrf(tmp_path, *tests))
