"""Traces and labels from outside: whatever they hold, they are read or refused with a sentence."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repeat_eval import Case, Suite, UserError
from repeat_eval.execution.fixed_outputs import FixedOutput
from repeat_eval.steps.judge_traces import labels_of, read_labels, read_traces, sample
from repeat_eval.steps.request import Request
from repeat_eval.suite.checks.base import Answer
from repeat_eval.suite.spec import CaseSpec

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
ROWS = st.lists(
    st.fixed_dictionaries(
        {},
        optional=dict.fromkeys(("id", "case", "output", "tool_calls", "turns", "tokens", "cost", "duration"), JSON),
    ),
    max_size=4,
)
SUITE = Suite("desk", [Case(id="a"), Case(id="b", input="ours", expected="this")]).as_spec()


def outputs(count: int) -> list[FixedOutput]:
    return [FixedOutput(trace=f"t{number}", case=CaseSpec(id="a"), answer=Answer()) for number in range(count)]


@given(ROWS)
def test_any_rows_are_traces_or_refused(rows: list[dict[str, Any]]) -> None:
    with contextlib.suppress(UserError):
        found = read_traces(rows, SUITE, Request()).outputs
        assert [one.trace for one in found] == [row["id"] for row in rows]
        assert all(one.case.id in ("a", "b") for one in found)


@given(st.lists(st.fixed_dictionaries({}, optional=dict.fromkeys(("trace", "check", "label"), JSON)), max_size=4))
def test_any_rows_are_labels_or_refused(rows: list[dict[str, Any]]) -> None:
    with contextlib.suppress(UserError):
        assert set(labels_of(iter(enumerate(rows, 1))).values()) <= {True, False}


@given(st.binary(max_size=60))
def test_any_bytes_are_labels_or_refused(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    for ending in ("csv", "jsonl"):
        path = tmp_path_factory.mktemp("labels") / f"labels.{ending}"
        path.write_bytes(data)
        with contextlib.suppress(UserError):
            read_labels(path)


def test_a_trace_has_the_input_of_its_case_where_it_has_none() -> None:
    rows = [{"id": "b", "output": {"x": 1}}, {"id": "other", "case": "b", "output": "y", "input": "mine"}]
    one, other = read_traces(rows, SUITE, Request()).outputs
    assert (one.case.input, one.case.expected, one.answer.output) == ("ours", "this", {"x": 1})
    assert (other.case.id, other.case.input, other.case.expected) == ("b", "mine", "this")


def test_labels_are_read_in_the_words_that_people_use(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text('\ufefftrace, label ,check\n"a, b",PASS,\nc,0,judge\nd,yes,\n', encoding="utf-8")
    assert read_labels(path) == {("a, b", None): True, ("c", "judge"): False, ("d", None): True}


def test_a_folder_of_reports_is_no_folder_of_recordings(tmp_path: Path) -> None:
    (tmp_path / "run.jsonl").write_text("")
    with pytest.raises(UserError, match=r"give its run file, .*run\.jsonl"):
        read_traces(tmp_path, SUITE, Request())


@given(st.integers(0, 30), st.integers(1, 30), st.integers(0, 99))
def test_a_sample_has_the_size_asked_for_and_keeps_the_order(count: int, size: int, seed: int) -> None:
    found = sample(outputs(count), size, seed)
    assert len(found) == min(count, size)
    numbers = [int(one.trace[1:]) for one in found]
    assert numbers == sorted(set(numbers))


def test_a_trace_more_changes_at_most_one_of_the_sample() -> None:
    before = {one.trace for one in sample(outputs(40), 10, 3)}
    after = {one.trace for one in sample(outputs(41), 10, 3)}
    assert len(before - after) <= 1
