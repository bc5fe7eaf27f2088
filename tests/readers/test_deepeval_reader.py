"""DeepEval's test runs: names are cases, their order counts repetitions, and a run that raised is missing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from repeat_eval.readers import FileResults, ReadError, collect, read_file


def case(name: str | None, order: int = 0, *, success: bool | None = True, **fields: Any) -> dict[str, Any]:
    metric = {"name": "Contains", "score": 1.0 if success else 0.2, "success": success, "reason": "as seen"}
    return {"name": name, "input": "q", "success": success, "metricsData": [metric], "order": order} | fields


def read(folder: Path, cases: list[dict[str, Any]], **fields: Any) -> FileResults:
    path = folder / "test_run.json"
    path.write_text(json.dumps({"testFile": "t.py", "testCases": cases} | fields, indent=2))
    return read_file(path)


def verdicts(results: FileResults) -> list[tuple[str, int | None, str, str | None]]:
    return [(trial.case, trial.repetition, trial.outcome, trial.error_kind) for trial in results.trials]


def test_equal_names_are_repetitions_in_the_order_of_the_run(tmp_path: Path) -> None:
    results = read(tmp_path, [case("a", 1, success=False), case("a", 0)])
    assert verdicts(results) == [("a", 1, "passed", None), ("a", 2, "failed", None)]
    assert results.trials[1].message == "Contains: as seen"


def test_a_name_that_pytest_made_carries_the_repetition_and_tells_which_run_is_missing(tmp_path: Path) -> None:
    cases = [case(f"test_x[{name}-{i}-3]") for name in ("p", "q") for i in (1, 2, 3) if (name, i) != ("q", 2)]
    results = read(tmp_path, cases)
    assert [found[:2] for found in verdicts(results)] == [
        ("test_x[p]", 1), ("test_x[p]", 2), ("test_x[p]", 3), ("test_x[q]", 1), ("test_x[q]", 3),
    ]  # fmt: skip
    assert results.asked == {"test_x[p]": 3, "test_x[q]": 3}
    assert any("leaves out a run that raised: test_x[q]" in text for text in results.warnings)
    assert collect([results.path]).asked == {"test_x[p]": 3, "test_x[q]": 3}


def test_a_metric_that_broke_is_an_error_of_the_judge_unless_another_failed(tmp_path: Path) -> None:
    broke = {"name": "G-Eval", "success": False, "score": None, "error": "no answer"}
    failing = {"name": "Contains", "success": False, "score": 0.1}
    results = read(
        tmp_path,
        [case("a", success=False, metricsData=[broke]), case("b", success=False, metricsData=[broke, failing])],
    )
    assert [found[2:] for found in verdicts(results)] == [("error", "judge"), ("failed", None)]
    assert results.trials[0].message == "G-Eval: no answer"
    assert results.trials[0].score is None


def test_a_case_without_a_verdict_is_an_error(tmp_path: Path) -> None:
    assert verdicts(read(tmp_path, [case("a", success=None, metricsData=[])]))[0][2:] == ("error", "harness")


def test_an_index_is_no_name_so_the_input_takes_its_place(tmp_path: Path) -> None:
    results = read(
        tmp_path, [case("test_case_0", input="one"), case("test_case_1", input="two"), case(None, input="x")]
    )
    assert [trial.case for trial in results.trials] == ["one", "two", "x"]


def test_one_name_with_several_inputs_is_said(tmp_path: Path) -> None:
    results = read(tmp_path, [case("a", input="one"), case("a", input="two")])
    assert any("1 names have several inputs" in text for text in results.warnings)


def test_conversations_are_cases_too(tmp_path: Path) -> None:
    turns = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]
    trial = read(tmp_path, [], conversationalTestCases=[case("talk", turns=turns)]).trials[0]
    assert (trial.case, trial.turns, trial.output) == ("talk", 2, "hello")


def test_the_full_run_that_deepeval_keeps_is_read(tmp_path: Path) -> None:
    path = tmp_path / "latest.json"
    path.write_text(json.dumps({"testRunData": {"testFile": "t.py", "testCases": [case("a")]}}))
    assert read_file(path).format == "deepeval"


def test_declared_failures_that_are_not_listed_void_the_file(tmp_path: Path) -> None:
    assert read(tmp_path, [case("a")], testFailed=2).broken == "declares 2 failed test cases and lists 0"


def test_another_shape_is_told_with_its_place(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match=r"testCases\[0\]\.success"):
        read(tmp_path, [case("a") | {"success": "yes"}])
