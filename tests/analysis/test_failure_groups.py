"""Failing trials are grouped by what they have in common."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repeat_eval.analysis.failure_groups import (
    MAX_GROUPS,
    MAX_MEMBERS,
    SHAPE_LIMIT,
    diverging_call,
    failure_groups,
    groups_of_messages,
    message_shape,
)
from repeat_eval.records.trial import CheckResult, ToolCall, Trial


def calls(*names: str) -> tuple[ToolCall, ...]:
    return tuple(ToolCall(name) for name in names)


def trial(case: str, repetition: int, outcome: str = "failed", **more: object) -> Trial:
    return Trial(case=case, repetition=repetition, outcome=outcome, **more)  # type: ignore[arg-type]


def failing_at(*checks: str) -> tuple[CheckResult, ...]:
    return (CheckResult("polite", True, 1.0), *(CheckResult(name, False, 0.0) for name in checks))


def test_a_trial_stands_with_others_that_fail_the_same_check_first() -> None:
    groups = failure_groups(
        {
            "a": [trial("a", 1, checks=failing_at("contains", "equals")), trial("a", 2, "passed")],
            "b": [trial("b", 1, checks=failing_at("contains")), trial("b", 2, checks=failing_at("equals"))],
        }
    )["check"]
    assert [(group.title, group.trials, group.cases) for group in groups] == [("contains", 2, 2), ("equals", 1, 1)]
    assert groups[0].members == (("a", 1), ("b", 1))


def test_an_error_is_grouped_by_its_kind_and_counted_as_an_error() -> None:
    error = trial("a", 1, "error", error_kind="timeout", message="took longer than 30 s")
    groups = failure_groups({"a": [error]})
    assert (groups["check"][0].title, groups["check"][0].errors) == ("error: timeout", 1)
    assert groups["message"][0].title == "timeout: took longer than # s"
    assert failure_groups({"a": [error]}, {"timeout"})["check"][0].errors == 0


def test_messages_that_differ_in_numbers_and_quoted_texts_have_one_shape() -> None:
    trials = [trial("a", n, message=f"output has {n} words, not '{n} times {n}'") for n in range(1, 4)]
    (group,) = failure_groups({"a": trials})["message"]
    assert (group.title, group.trials, group.message) == (
        "output has # words, not ‹text›",
        3,
        "output has 1 words, not '1 times 1'",
    )


@pytest.mark.parametrize(
    ("message", "shape"),
    [
        ("see https://example.org/a?b=1 for more", "see ‹address› for more"),
        ("order 3fa85f64-5717-4562-b3fc-2c963f66afa6 is gone", "order ‹id› is gone"),
        ("at 0x7fe3 after -1.5e3 s", "at ‹id› after # s"),
        ("it isn't so, and doesn't say", "it isn't so, and doesn't say"),
        ("  two\n lines ", "two lines"),
        ("x" * 500, "x" * (SHAPE_LIMIT - 1) + "…"),
    ],
)
def test_what_changes_from_trial_to_trial_leaves_a_message_s_shape(message: str, shape: str) -> None:
    assert message_shape(message) == shape


def test_tool_calls_are_held_against_what_passing_trials_of_the_case_mostly_call() -> None:
    passing = [trial("a", n, "passed", tool_calls=calls("look", "refund")) for n in (1, 2)]
    odd = trial("a", 3, "passed", tool_calls=calls("refund"))
    failing = trial("a", 4, tool_calls=calls("look", "escalate"))
    (group,) = failure_groups({"a": [*passing, odd, failing]})["call"]
    assert group.title == "call 2 is escalate, not refund"


@pytest.mark.parametrize(
    ("called", "usual", "words"),
    [
        ((), (), None),
        (("a",), ("a", "b"), "stops before call 2, b"),
        (("a", "c"), ("a", "b"), "call 2 is c, not b"),
        (("a", "b", "c"), ("a", "b"), "one more call, 3: c"),
        (("a", "b"), ("a", "b"), "same tools as passing trials"),
    ],
)
def test_the_first_call_that_leaves_the_usual_way_is_named(
    called: tuple[str, ...], usual: tuple[str, ...], words: str | None
) -> None:
    assert diverging_call(calls(*called), usual) == words


def test_where_no_trial_passes_nothing_is_said_of_tool_calls() -> None:
    assert failure_groups({"a": [trial("a", 1, tool_calls=calls("look"))]})["call"] == ()


def test_groups_and_their_members_are_bounded_and_the_largest_stay() -> None:
    many = [trial("a", n, message="same") for n in range(1, MAX_MEMBERS + 10)]
    few = [trial("b", n, message="x" * n) for n in range(1, MAX_GROUPS + 10)]
    groups = failure_groups({"a": many, "b": few})["message"]
    assert len(groups) == MAX_GROUPS
    assert (groups[0].trials, len(groups[0].members)) == (MAX_MEMBERS + 9, MAX_MEMBERS)


def test_of_a_report_alone_messages_are_grouped_with_their_numbers() -> None:
    (group, other) = groups_of_messages([("a", "has 3 words", 2), ("b", "has 4 words", 5), ("b", "no", 1)])
    assert (group.title, group.trials, group.cases, group.members) == ("has # words", 7, 2, ())
    assert other.title == "no"


@given(st.text(max_size=2000))
def test_a_shape_is_bounded_one_line_and_stays_itself(message: str) -> None:
    shape = message_shape(message)
    assert len(shape) <= SHAPE_LIMIT
    assert "\n" not in shape


@given(st.lists(st.sampled_from(["passed", "failed", "error", "skipped"]), max_size=30))
def test_every_failing_trial_stands_in_one_group_of_messages(outcomes: list[str]) -> None:
    trials = [trial("a", n, outcome, message=f"m{n % 3}") for n, outcome in enumerate(outcomes, start=1)]
    groups = failure_groups({"a": trials})["message"]
    assert sum(group.trials for group in groups) == sum(outcome in ("failed", "error") for outcome in outcomes)
