"""promptfoo's rows become cases by what they are, never by their place; errors, caches and lost rows are told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from repeat_eval.readers import FileResults, ReadError, ReadOptions, collect, read_file


def row(test: int = 0, column: int = 0, **fields: Any) -> dict[str, Any]:
    case = {"description": "greets", "vars": {"q": "hello"}, "options": {}, "assert": [{"type": "contains"}]}
    case |= fields.pop("case", {})
    found = {
        "success": True,
        "failureReason": 0,
        "score": 1,
        "namedScores": {},
        "gradingResult": {"pass": True, "score": 1, "reason": "All assertions passed", "componentResults": []},
        "latencyMs": 5,
        "provider": {"id": "openai:gpt", "label": ""},
        "prompt": {"raw": "say hello", "label": "say {{q}}"},
        "promptId": "p1",
        "promptIdx": column,
        "testIdx": test,
        "response": {"output": "hi"},
        "testCase": case,
        "vars": case["vars"],
    }
    return found | fields


def write(path: Path, rows: list[dict[str, Any]], repeat: int | None = 2, **results: Any) -> Path:
    options = {} if repeat is None else {"repeat": repeat}
    document = {"evalId": "e", "results": {"version": 3, "results": rows, **results}, "runtimeOptions": options}
    path.write_text(json.dumps(document, indent=2))
    return path


def read(folder: Path, rows: list[dict[str, Any]], repeat: int | None = 2, **results: Any) -> FileResults:
    return read_file(write(folder / "results.json", rows, repeat, **results))


def failed(test: int, **fields: Any) -> dict[str, Any]:
    return row(test, success=False, failureReason=1, score=0, error="Expected output to contain", **fields)


def errored(test: int, error: str, **fields: Any) -> dict[str, Any]:
    more = {"gradingResult": None, "response": {"error": error}, "error": error}
    return row(test, success=False, failureReason=2, score=0, **more, **fields)


def cases(results: FileResults) -> list[tuple[str, int | None, str]]:
    return [(trial.case, trial.repetition, trial.outcome) for trial in results.trials]


def test_repetitions_are_numbered_by_the_order_of_tests_not_of_rows(tmp_path: Path) -> None:
    results = read(tmp_path, [failed(1), row(0)])
    assert cases(results) == [("greets", 2, "failed"), ("greets", 1, "passed")]
    assert results.asked == {"greets": 2}
    assert not results.warnings


def test_the_model_and_the_prompt_that_all_share_are_no_part_of_the_names(tmp_path: Path) -> None:
    results = read(tmp_path, [row(0), row(1)])
    assert results.variant == "openai:gpt | say {{q}}"
    other = read(tmp_path, [row(0, provider={"id": "openai:other"}, prompt={"label": "tell {{q}}"})], 1)
    assert {trial.case for trial in other.trials} == {trial.case for trial in results.trials}


def test_several_models_and_prompts_are_told_apart(tmp_path: Path) -> None:
    rows = [
        row(0, column, provider={"id": provider}, prompt={"label": label}, promptId=label)
        for column, (provider, label) in enumerate((p, q) for p in ("a", "b") for q in ("x", "y"))
    ]
    assert [case for case, _, _ in cases(read(tmp_path, rows, 1))] == [
        "greets | x | a",
        "greets | y | a",
        "greets | x | b",
        "greets | y | b",
    ]


def test_prompts_of_one_label_are_told_apart_by_their_ids(tmp_path: Path) -> None:
    rows = [row(0, 0, promptId="0123456789"), row(0, 1, promptId="9876543210")]
    assert [case for case, _, _ in cases(read(tmp_path, rows, 1))] == [
        "greets | say {{q}} | prompt 01234567",
        "greets | say {{q}} | prompt 98765432",
    ]


def test_providers_that_are_called_the_same_are_told_apart_by_their_order_and_that_is_said(tmp_path: Path) -> None:
    results = read(tmp_path, [row(0, 0), row(0, 1)], 1)
    assert [case for case, _, _ in cases(results)] == ["greets | #1", "greets | #2"]
    assert "told apart by their order" in results.warnings[0]


@pytest.mark.parametrize(
    ("first", "second", "names"),
    [
        ({"description": "a"}, {"description": "b"}, ["a", "b"]),
        ({"vars": {"q": "1"}}, {"vars": {"q": "2"}}, ["greets | q=1", "greets | q=2"]),
        ({"metadata": {"id": "x"}}, {"metadata": {"id": "y"}}, ["greets | x", "greets | y"]),
        ({"metadata": {"testCaseId": "x"}}, {"metadata": {"testCaseId": "y"}}, ["greets | x", "greets | y"]),
        ({"description": None}, {"description": None, "vars": {"q": "x"}}, ["q=hello", "q=x"]),
        ({"description": None, "metadata": {"id": "x"}}, {}, ["x", "greets"]),
        ({"description": None, "vars": {"q": {"b": 1, "a": [2]}}}, {}, ['q={"a":[2],"b":1}', "greets"]),
    ],
)
def test_a_test_is_named_by_as_little_as_tells_it_from_others(
    tmp_path: Path, first: dict[str, Any], second: dict[str, Any], names: list[str]
) -> None:
    results = read(tmp_path, [row(0, case=first), row(1, case=second)], 1)
    assert [case for case, _, _ in cases(results)] == names


def test_tests_that_differ_in_their_assertions_alone_are_two_cases(tmp_path: Path) -> None:
    results = read(tmp_path, [row(0, case={"assert": [{"type": "equals"}]}), row(1)], 1)
    names = [case for case, _, _ in cases(results)]
    assert len(set(names)) == 2
    assert all("| assertions " in name for name in names)


def test_what_promptfoo_sets_while_it_runs_is_no_part_of_a_test(tmp_path: Path) -> None:
    rows = [row(i, case={"vars": {"q": "hello", "sessionId": str(i), "_conversation": [i]}}) for i in range(2)]
    assert [repetition for _, repetition, _ in cases(read(tmp_path, rows))] == [1, 2]


def test_two_tests_that_cannot_be_told_apart_are_noticed(tmp_path: Path) -> None:
    results = read(tmp_path, [row(i) for i in range(4)], 2)
    assert results.asked == {"greets": 4}
    assert "several tests cannot be told apart" in results.warnings[0]
    with pytest.raises(ReadError, match="cannot be told apart: greets"):
        read_file(results.path, ReadOptions(duplicates="error"))


def test_a_tests_own_repeat_goes_before_that_of_the_run_and_what_lacks_is_missing(tmp_path: Path) -> None:
    rows = [row(0, case={"options": {"repeat": 3}}), row(1, case={"options": {"repeat": 3}})]
    rows += [row(2, case={"description": "other"}), row(3, case={"description": "other"})]
    results = read(tmp_path, rows, 2)
    assert results.asked == {"greets": 3, "other": 2}
    assert results.warnings == ("1 cases have fewer results than repetitions: greets",)
    collected = collect([results.path])
    assert collected.asked == {"greets": 3, "other": 2}


def test_two_files_that_both_declare_repeats_ask_for_their_sum(tmp_path: Path) -> None:
    write(tmp_path / "a.json", [row(0), row(1, latencyMs=6)], 3)
    write(tmp_path / "b.json", [row(0, latencyMs=7), row(1), row(2)], 3)
    collected = collect([tmp_path / "a.json", tmp_path / "b.json"])
    assert [trial.repetition for trial in collected.trials] == [1, 2, 3, 4, 5]
    assert collected.asked == {"greets": 6}


def test_files_of_different_models_are_no_repetitions_of_each_other(tmp_path: Path) -> None:
    write(tmp_path / "a.json", [row(0)], 1)
    write(tmp_path / "b.json", [row(0, provider={"id": "openai:other"})], 1)
    collected = collect([tmp_path / "a.json", tmp_path / "b.json"])
    assert collected.cases == ("openai:gpt | say {{q}}::greets", "openai:other | say {{q}}::greets")
    assert "different models, prompts or datasets" in collected.warnings[0]


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ("upstream closed the connection", "crash"),
        ("API error: 429 Too Many Requests", "provider"),
        ("API call error: 503 Service Unavailable", "provider"),
        ("Error: connect ECONNREFUSED 127.0.0.1:1", "provider"),
        ("Request timed out after 300000 ms", "timeout"),
        ("ConnectTimeoutError: no answer", "timeout"),
    ],
)
def test_an_error_is_neither_a_failure_nor_a_score_of_zero(tmp_path: Path, error: str, kind: str) -> None:
    trial = read(tmp_path, [errored(0, error)], 1).trials[0]
    assert (trial.outcome, trial.error_kind, trial.score, trial.message) == ("error", kind, None, error)


def test_files_of_older_versions_tell_an_error_by_its_lack_of_a_grading(tmp_path: Path) -> None:
    rows = [errored(0, "boom"), failed(1)]
    for item in rows:
        del item["failureReason"]
    assert [outcome for _, _, outcome in cases(read(tmp_path, rows))] == ["error", "failed"]


def test_a_grader_that_broke_is_an_error_of_the_judge_unless_another_assertion_failed(tmp_path: Path) -> None:
    broke = {"pass": False, "score": 0, "reason": "no answer", "metadata": {"graderError": True}}
    plain = {"pass": False, "score": 0, "reason": "wrong"}
    grading = {"pass": False, "score": 0, "reason": "no answer"}
    rows = [
        failed(0, gradingResult={**grading, "componentResults": [broke, {"pass": True}]}),
        failed(1, gradingResult={**grading, "componentResults": [broke, plain]}),
    ]
    trials = read(tmp_path, rows).trials
    assert [(trial.outcome, trial.error_kind) for trial in trials] == [("error", "judge"), ("failed", None)]


def test_cached_answers_are_flagged_and_counted_in_a_warning(tmp_path: Path) -> None:
    results = read(tmp_path, [row(0), row(1, response={"output": "hi", "cached": True})])
    assert [trial.cached for trial in results.trials] == [None, True]
    assert "1 of 2 answers came from promptfoo's cache" in results.warnings[0]
    assert [trial.cached for trial in collect([results.path]).trials] == [None, True]


def test_an_error_that_was_run_again_is_one_trial_with_two_attempts(tmp_path: Path) -> None:
    results = read(tmp_path, [errored(0, "boom"), row(1), row(0)])
    assert cases(results) == [("greets", 1, "passed"), ("greets", 2, "passed")]
    assert [trial.attempts for trial in results.trials] == [2, 1]


def test_two_runs_in_one_file_contradict_each_other(tmp_path: Path) -> None:
    lines = "\n".join(json.dumps(item) for item in (row(0), failed(1), row(0), row(1)))
    (tmp_path / "results.jsonl").write_text(lines)
    results = read_file(tmp_path / "results.jsonl")
    assert results.broken is not None
    assert "twice" in results.broken


def test_a_file_that_lists_fewer_failures_than_it_declares_is_no_evidence(tmp_path: Path) -> None:
    results = read(tmp_path, [row(0)], 1, stats={"successes": 1, "failures": 1, "errors": 1})
    assert results.broken == "declares 2 failures and errors and lists 0"


def test_what_is_wrong_with_a_line_is_told_with_its_number(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    path.write_text(json.dumps(row(0)) + "\n" + json.dumps(row(1) | {"success": "yes"}) + '\n{"success": tr')
    with pytest.raises(ReadError) as caught:
        read_file(path)
    assert [problem.line for problem in caught.value.problems] == [2, 3]
    assert "$.success" in caught.value.problems[0].message


def test_rows_of_promptfoo_are_no_plain_rows(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    path.write_text(json.dumps(row(0)))
    with pytest.raises(ReadError, match="--format promptfoo reads them"):
        read_file(path, ReadOptions(format="jsonl"))


def test_numbers_that_are_none_are_unknown(tmp_path: Path) -> None:
    wrong = {"latencyMs": -1, "cost": "much", "score": None, "tokenUsage": {"prompt": -3, "total": 1}}
    trial = read(tmp_path, [row(0, **wrong)], 1).trials[0]
    assert (trial.duration, trial.cost, trial.score, trial.tokens) == (None, None, None, None)
