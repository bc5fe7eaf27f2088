"""max_duration, max_cost and max_turns: limits on what an answer takes."""

from __future__ import annotations

from typing import Any

import pytest

from repeat_eval.suite.checks import Answer, NoVerdict, Observation, Score, find_check
from repeat_eval.suite.checks.arguments import problems, validate_argument


def judged(kind: str, argument: Any, answer: Answer, duration: float = 0.1) -> Score:
    cls = find_check(kind)
    assert cls is not None
    assert problems(cls, argument) == []
    observation = Observation(case="c", repetition=1, input=None, answer=answer, duration=duration)
    return cls(validate_argument(cls, argument)).evaluate(observation)


def test_max_duration_holds_up_to_the_limit_itself() -> None:
    assert judged("max_duration", 2, Answer(), 2.0).passed
    assert judged("max_duration", 2, Answer(), 2.314) == Score(False, 0.0, "took 2.31 s, allowed are 2 s")


def test_max_cost_holds_up_to_the_limit_itself_and_free_may_be_asked_for() -> None:
    assert judged("max_cost", 0.01, Answer(cost=0.01)).passed
    assert judged("max_cost", 0, Answer(cost=0.0)).passed
    assert judged("max_cost", 0.01, Answer(cost=0.0123)) == Score(False, 0.0, "cost $0.0123, allowed are $0.01")


def test_max_turns_holds_up_to_the_limit_itself() -> None:
    assert judged("max_turns", 3, Answer(turns=3)).passed
    assert judged("max_turns", 3, Answer(turns=4)) == Score(False, 0.0, "took 4 turns, allowed are 3")


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("max_cost", "the target does not report its cost"),
        ("max_turns", "the target does not report turns"),
    ],
)
def test_what_the_target_does_not_report_gives_no_verdict(kind: str, reason: str) -> None:
    with pytest.raises(NoVerdict, match=reason):
        judged(kind, 1, Answer())


def test_a_duration_that_is_no_number_never_passes() -> None:
    assert not judged("max_duration", 2, Answer(), float("nan")).passed
    assert not judged("max_cost", 2, Answer(cost=float("nan"))).passed


@pytest.mark.parametrize(
    ("kind", "argument", "fault"),
    [
        ("max_duration", -1, "must be a number of seconds above 0, found -1"),
        ("max_duration", 0, "found 0"),
        ("max_duration", float("nan"), "found nan"),
        ("max_duration", float("inf"), "found inf"),
        ("max_duration", 10**400, "found"),
        ("max_duration", "2s", "takes a number of seconds; found the text `2s`"),
        ("max_duration", True, "takes a number of seconds; found the value true"),
        ("max_cost", -0.01, "must be a number of US dollars, 0 or more, found -0.01"),
        ("max_cost", [1], "takes a number of US dollars; found a list"),
        ("max_turns", 0, "must be a whole number, 1 or more, found 0"),
        ("max_turns", 2.5, "takes a whole number of turns; found the number 2.5"),
        ("max_turns", True, "found the value true"),
    ],
)
def test_a_limit_that_means_nothing_is_told_in_one_sentence(kind: str, argument: Any, fault: str) -> None:
    cls = find_check(kind)
    assert cls is not None
    (found,) = problems(cls, argument)
    assert found.startswith(f"`{kind}` ")
    assert fault in found
