"""What `repeat_eval.record` takes, and what it refuses."""

from __future__ import annotations

from typing import Any

import pytest

from repeat_eval import record
from repeat_eval.pytest_plugin.usage import taking_usage


def test_outside_of_a_trial_it_does_nothing() -> None:
    record(score=0.5, cost=1.0, tokens={"input": 3})


def test_costs_and_tokens_add_up_and_the_last_score_counts() -> None:
    with taking_usage() as usage:
        record(score=0.5, cost=0.5, tokens={"input": 3})
        record(score=0.75, cost=0.25, tokens={"input": 4, "output": 1})
    assert (usage.score, usage.cost, usage.tokens) == (0.75, 0.75, {"input": 7, "output": 1})


@pytest.mark.parametrize(
    ("values", "error", "text"),
    [
        ({"cost": -1}, ValueError, "cost must be a finite number, 0 or more"),
        ({"score": float("nan")}, ValueError, "score must be a finite number"),
        ({"score": "good"}, TypeError, "score must be a number"),
        ({"tokens": {"total": 4}}, ValueError, "input and output"),
        ({"tokens": {"input": -4}}, ValueError, "must not be negative"),
        ({"tokens": {"input": 0.5}}, TypeError, "must be a whole number"),
    ],
)
def test_values_out_of_range_are_refused_and_nothing_is_taken(
    values: dict[str, Any], error: type[Exception], text: str
) -> None:
    with taking_usage() as usage, pytest.raises(error, match=text):
        record(**values)
    assert (usage.score, usage.cost, usage.tokens) == (None, None, {})
