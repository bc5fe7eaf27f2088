"""A fork's report of two looks is judged again by both: what was red stays red, what was cleared stays cleared."""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "analysis"))

from two_looks import healthy, looked

from repeat_eval.action.rejudge import rejudged
from repeat_eval.analysis.report import Report
from repeat_eval.analysis.second_look_model import SecondLook
from repeat_eval.errors import UserError
from repeat_eval.statistics.second_look import SecondLookSettings

BROKE = ("P" * 23, "PFF" + "F" * 11 + "P" * 9)
LUCK = ("P" * 23, "PPF" + "P" * 20)
FELL = {f"weak {n}": ("P" * 23, "PFF" + "PF" * 10) for n in range(6)}
NO_ALARM = SecondLookSettings(alarm=0.0)

REPORTS = {
    "nothing suspected": lambda: looked(healthy(8)),
    "cleared": lambda: looked({**healthy(8), "luck": LUCK}, NO_ALARM),
    "confirmed": lambda: looked({**healthy(8), "broke": BROKE, "luck": LUCK}, NO_ALARM),
    "alarm confirmed": lambda: looked({**healthy(4), **FELL}),
    "alarm not confirmed": lambda: looked({**healthy(3), **{f"luck {n}": LUCK for n in range(5)}}),
    "errors among the fresh trials": lambda: looked(
        {**healthy(8), "broke": ("P" * 23, "PFF" + "E" * 4 + "F" * 16), "luck": ("P" * 15 + "E" * 8, "PPF" + "P" * 20)}
    ),
    "both directions": lambda: looked(
        {**healthy(8), "broke": BROKE, "mended": (BROKE[1], BROKE[0])}, SecondLookSettings(alarm=0.0, both=True)
    ),
}


def looks(report: Report) -> SecondLook:
    assert report.comparison is not None
    assert report.comparison.second_look is not None
    return report.comparison.second_look


@pytest.mark.parametrize("name", REPORTS)
def test_it_comes_to_the_same_verdict_from_the_counts(name: str) -> None:
    told = REPORTS[name]()
    again = rejudged(told)
    assert (again.verdict, again.exit_code) == (told.verdict, told.exit_code)
    assert [(reason.gate, reason.verdict, reason.text) for reason in again.reasons] == [
        (reason.gate, reason.verdict, reason.text) for reason in told.reasons
    ]
    one, other = looks(told), looks(again)
    assert one.down.alarm or "alarm" not in name
    assert (other.verdict, other.down, other.up, other.wording) == (one.verdict, one.down, one.up, one.wording)
    assert [(case.id, case.outcome, case.p2, case.adjusted) for case in other.suspects] == [
        (case.id, case.outcome, case.p2, case.adjusted) for case in one.suspects
    ]
    assert (other.fresh_difference, other.together) == (one.fresh_difference, one.together)


def test_a_report_that_calls_a_confirmed_case_cleared_is_not_believed() -> None:
    told = REPORTS["confirmed"]()
    found = looks(told)
    lie = msgspec.structs.replace(
        found,
        verdict="no detectable change",
        suspects=tuple(msgspec.structs.replace(case, outcome="not confirmed", p2=0.5) for case in found.suspects),
    )
    assert told.comparison is not None
    comparison = msgspec.structs.replace(told.comparison, second_look=lie, verdict="no detectable change")
    again = rejudged(msgspec.structs.replace(told, comparison=comparison, verdict="pass", reasons=()))
    assert again.verdict == "fail"
    assert [case.id for case in looks(again).confirmed] == ["broke"]


def test_a_suspect_whose_fresh_trials_are_left_out_makes_it_incomplete() -> None:
    told = REPORTS["confirmed"]()
    assert told.comparison is not None
    without = msgspec.structs.replace(looks(told), suspects=())
    comparison = msgspec.structs.replace(told.comparison, second_look=without)
    assert rejudged(msgspec.structs.replace(told, comparison=comparison, reasons=())).verdict == "incomplete"


@pytest.mark.parametrize(
    "change",
    [{"first": 0}, {"fresh": 100_000}, {"cut": 2.0}, {"cap": 0}, {"alarm_below": 0.9}],
    ids=lambda change: next(iter(change)),
)
def test_looks_that_cannot_be_are_refused(change: dict[str, float]) -> None:
    told = REPORTS["confirmed"]()
    assert told.comparison is not None
    comparison = msgspec.structs.replace(told.comparison, second_look=msgspec.structs.replace(looks(told), **change))
    with pytest.raises(UserError, match="two looks cannot be"):
        rejudged(msgspec.structs.replace(told, comparison=comparison))


def test_counts_that_cannot_be_are_refused() -> None:
    told = REPORTS["confirmed"]()
    found = looks(told)
    side = msgspec.structs.replace(found.suspects[0].fresh_head, passed=30, verdicts=20)
    suspects = (msgspec.structs.replace(found.suspects[0], fresh_head=side), *found.suspects[1:])
    assert told.comparison is not None
    comparison = msgspec.structs.replace(told.comparison, second_look=msgspec.structs.replace(found, suspects=suspects))
    with pytest.raises(UserError, match="fresh trials cannot be"):
        rejudged(msgspec.structs.replace(told, comparison=comparison))
