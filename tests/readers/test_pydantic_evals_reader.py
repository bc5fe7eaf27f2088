"""Reports of pydantic-evals: runs that raised are errors, and a broken evaluator is the judge's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from repeat_eval.readers import FileResults, ReadError, ReadOptions, collect, read_file


def case(name: str, *, source: str | None = None, **fields: Any) -> dict[str, Any]:
    return {
        "name": name,
        "assertions": {"ok": {"value": True}},
        "source_case_name": source,
        "task_duration": 1,
    } | fields


def read(folder: Path, cases: list[dict[str, Any]], failures: list[dict[str, Any]] | None = None) -> FileResults:
    path = folder / "report.json"
    path.write_text(json.dumps({"name": "x", "cases": cases, "failures": failures or [], "dataset_name": "d"}))
    return read_file(path)


def verdicts(results: FileResults) -> list[tuple[str, int | None, str, str | None]]:
    return [(trial.case, trial.repetition, trial.outcome, trial.error_kind) for trial in results.trials]


def test_the_index_in_a_name_is_the_repetition_and_what_lacks_is_missing(tmp_path: Path) -> None:
    results = read(tmp_path, [case(f"a [{i}/3]", source="a") for i in (3, 1)])
    assert [found[:2] for found in verdicts(results)] == [("a", 3), ("a", 1)]
    assert results.asked == {"a": 3}
    assert collect([results.path]).asked == {"a": 3}
    assert "1 cases have fewer runs than repetitions: a" in results.warnings


def test_without_repeats_a_name_is_taken_as_it_is(tmp_path: Path) -> None:
    assert verdicts(read(tmp_path, [case("a [1/3]")])) == [("a [1/3]", 1, "passed", None)]


def test_runs_that_raised_are_errors_of_their_cases(tmp_path: Path) -> None:
    failure = {"name": "a [2/2]", "source_case_name": "a", "error_message": "TimeoutError: too slow"}
    results = read(tmp_path, [case("a [1/2]", source="a")], [failure])
    assert verdicts(results) == [("a", 1, "passed", None), ("a", 2, "error", "timeout")]


@pytest.mark.parametrize(
    ("fields", "verdict", "message"),
    [
        ({"assertions": {"ok": {"value": True}, "no": {"value": False, "reason": "x"}}}, ("failed", None), "no: x"),
        ({"assertions": {}}, ("error", "harness"), "the case has no assertion, so it has no verdict; a score is none"),
        ({"assertions": {"ok": {"value": None}}}, ("error", "judge"), "an assertion is neither true nor false"),
        ({"evaluator_failures": [{"name": "J", "error_message": "down"}]}, ("error", "judge"), "J: down"),
        (
            {"assertions": {"no": {"value": False}}, "evaluator_failures": [{"name": "J", "error_message": "down"}]},
            ("failed", None),
            "no is false",
        ),
    ],
)
def test_what_a_case_says(
    tmp_path: Path, fields: dict[str, Any], verdict: tuple[str, str | None], message: str
) -> None:
    trial = read(tmp_path, [case("a", **fields)]).trials[0]
    assert (trial.outcome, trial.error_kind) == verdict
    assert trial.message == message


def test_scores_of_several_evaluators_make_no_single_score(tmp_path: Path) -> None:
    one = {"scores": {"s": {"value": 0.5}}}
    two = {"scores": {"s": {"value": 0.5}, "t": {"value": 7}}}
    assert [trial.score for trial in read(tmp_path, [case("a", **one), case("b", **two)]).trials] == [0.5, None]


def test_equal_names_without_an_index_are_said_or_refused(tmp_path: Path) -> None:
    results = read(tmp_path, [case("a"), case("a")])
    assert [found[:2] for found in verdicts(results)] == [("a", 1), ("a", 2)]
    assert "1 names are there several times" in results.warnings[0]
    with pytest.raises(ReadError, match="several cases have the name a"):
        read_file(results.path, ReadOptions(duplicates="error"))


def test_reports_of_two_datasets_are_no_repetitions_of_each_other(tmp_path: Path) -> None:
    paths = [tmp_path / "a.json", tmp_path / "b.json"]
    for path in paths:
        path.write_text(json.dumps({"name": "x", "cases": [case("Case 1")], "failures": [], "dataset_name": path.stem}))
    assert collect(paths).cases == ("a::Case 1", "b::Case 1")
