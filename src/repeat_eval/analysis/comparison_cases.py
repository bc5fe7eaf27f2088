"""The cases of a comparison: what happened to each, and whether that is evidence or may be luck."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from repeat_eval.analysis.decision import Decision
from repeat_eval.analysis.report import CaseChange, CaseComparison, Interval, Level, SideOfCase
from repeat_eval.statistics.counts import Row
from repeat_eval.statistics.difference import suite_difference
from repeat_eval.statistics.gates import DECIMALS
from repeat_eval.statistics.significance import level

WATCH_P = 0.3
"""One-sided p up to which a fall without evidence is worth a look."""


class _RowFigures(msgspec.Struct, frozen=True):
    """What follows from a case's four counts alone; thousands of cases have few different ones."""

    delta: float
    interval: Interval
    p: float
    p_down: float
    level: Level


def compare_cases(
    shared: Sequence[str],
    base: Mapping[str, SideOfCase],
    head: Mapping[str, SideOfCase],
    decision: Decision,
    *,
    alpha: float,
    changed: frozenset[str],
    position: Mapping[str, int],
) -> tuple[CaseComparison, ...]:
    """Compare the cases that both sides have.

    Args:
        shared: their ids, in the order that is wanted. base, head: the sides' cases.
        decision: the tests on the cases with verdicts on both sides.
        alpha: level of the false discovery rate q.
        changed: ids of cases whose definition differs.
        position: where each judged case stands in the decision's rows.
    """
    testable = frozenset(decision.q.testable)
    down, up = frozenset(decision.down.rejected), frozenset(decision.up.rejected)
    known: dict[Row, _RowFigures] = {}
    compared = []
    for case in shared:
        one, other = base[case], head[case]
        index = position.get(case)
        if index is None:
            failing = was_below(one, other, fell=False)
            compared.append(_not_judged(case, one, other, failing=failing, changed=case in changed))
            continue
        row = (one.passed, one.verdicts, other.passed, other.verdicts)
        figures = known.get(row)
        if figures is None:
            figures = known[row] = _figures(row, decision, index)
        failing = was_below(one, other, fell=figures.delta < 0 and figures.p < alpha)
        q = round(decision.q.adjusted[index], DECIMALS)
        flagged = q <= alpha
        worse = index in down or (flagged and figures.delta < 0)
        better = index in up or (flagged and figures.delta > 0)
        compared.append(
            CaseComparison(
                id=case,
                base=one,
                head=other,
                delta=figures.delta,
                interval=figures.interval,
                p=figures.p,
                q=q,
                testable=index in testable,
                adjusted_down=round(decision.down.adjusted[index], DECIMALS),
                adjusted_up=round(decision.up.adjusted[index], DECIMALS),
                rejected_down=index in down,
                rejected_up=index in up,
                level=figures.level,
                change=_change(one, other, worse=worse, better=better),
                watch=figures.delta < 0 and not worse and not failing and figures.p_down <= WATCH_P,
                not_this_change=failing and not worse,
                definition_changed=case in changed,
            )
        )
    return tuple(compared)


def was_below(base: SideOfCase, head: SideOfCase, *, fell: bool) -> bool:
    """Whether a case that fails its threshold on head was below it before this change.

    On base it fails as well, or it is below its threshold there within noise and nothing says that it fell: a case near
    its threshold misses it on one side and not on the other by luck alone.

    Args:
        base, head: its two sides, measured by the same threshold.
        fell: whether the case by itself, without correction for the number of cases, is significantly lower on head.
    """
    return head.verdict == "fail" and (base.verdict == "fail" or (base.verdict == "within-noise" and not fell))


def _figures(row: Row, decision: Decision, index: int) -> _RowFigures:
    difference, test = suite_difference([row]), decision.cases[index]
    p = round(test.p, DECIMALS)
    return _RowFigures(
        delta=difference.delta,
        interval=(difference.low, difference.high),
        p=p,
        p_down=round(test.p_less, DECIMALS),
        level=level(p),
    )


def _change(base: SideOfCase, head: SideOfCase, *, worse: bool, better: bool) -> CaseChange:
    all_pass = head.passed == head.verdicts
    if worse:
        return "newly broken" if head.passed == 0 else "regressed"
    if better:
        return "fixed" if all_pass else "improved"
    # One trial agrees with itself: only two or more can show that base was not flaky before.
    if head.flaky and not base.flaky and base.verdicts > 1:
        return "newly flaky"
    # A flaky case that stopped passing is stable by the letter, but nobody would call it so.
    if base.flaky and all_pass and head.verdicts > 1:
        return "newly stable"
    return "unchanged"


def _not_judged(case: str, base: SideOfCase, head: SideOfCase, *, failing: bool, changed: bool) -> CaseComparison:
    return CaseComparison(
        id=case,
        base=base,
        head=head,
        delta=None,
        interval=None,
        p=None,
        q=None,
        testable=False,
        adjusted_down=None,
        adjusted_up=None,
        rejected_down=False,
        rejected_up=False,
        level="noise",
        change="not judged",
        watch=False,
        not_this_change=failing,
        definition_changed=changed,
    )
