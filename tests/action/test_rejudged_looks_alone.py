"""A fork's report of two looks without a base is judged again by both looks."""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "analysis"))

from looks_alone_runs import alone, judged, of

from repeat_eval.action.rejudge import rejudged
from repeat_eval.errors import UserError

SOLID = {f"c{n}": ("PPP", "") for n in range(6)}
LOOKS = {
    "nothing low": SOLID,
    "cleared": SOLID | {"luck": ("PPF", of(18, 20))},
    "confirmed": SOLID | {"broke": ("FFP", of(9, 20))},
    "errors": SOLID | {"broke": ("FFP", of(9, 10) + "E" * 10)},
    "missing": SOLID | {"broke": ("FFP", "PPP")},
}


@pytest.mark.parametrize("name", LOOKS)
def test_it_comes_to_the_same_verdict_from_the_counts(name: str) -> None:
    told = judged(LOOKS[name], again=tuple(case for case in LOOKS[name] if case not in SOLID))
    again = rejudged(told)
    assert again.verdict == told.verdict
    assert [reason.text for reason in again.reasons] == [reason.text for reason in told.reasons]
    assert [(one.id, one.outcome) for one in alone(again).cases] == [(one.id, one.outcome) for one in alone(told).cases]


def test_fresh_trials_that_are_left_out_leave_no_green_verdict() -> None:
    told = judged(LOOKS["confirmed"])
    bare = msgspec.structs.replace(told, looked_alone=msgspec.structs.replace(alone(told), cases=()))
    assert rejudged(bare).verdict == "incomplete"


def test_a_case_that_is_called_cleared_is_not_believed() -> None:
    told = judged(LOOKS["confirmed"])
    (low,) = alone(told).cases
    lie = msgspec.structs.replace(alone(told), cases=(msgspec.structs.replace(low, outcome="not confirmed"),))
    assert rejudged(msgspec.structs.replace(told, looked_alone=lie, verdict="pass", reasons=())).verdict == "fail"


@pytest.mark.parametrize("wrong", [{"fresh": 10**9}, {"fresh": 0}, {"first": 0}])
def test_looks_that_cannot_be_are_refused(wrong: dict[str, int]) -> None:
    told = judged(LOOKS["confirmed"])
    with pytest.raises(UserError, match="cannot be"):
        rejudged(msgspec.structs.replace(told, looked_alone=msgspec.structs.replace(alone(told), **wrong)))


def test_fresh_trials_of_a_case_that_is_not_there_are_refused() -> None:
    told = judged(LOOKS["confirmed"])
    (low,) = alone(told).cases
    lie = msgspec.structs.replace(alone(told), cases=(msgspec.structs.replace(low, id="ghost"),))
    with pytest.raises(UserError, match="cases that it does not have"):
        rejudged(msgspec.structs.replace(told, looked_alone=lie))
