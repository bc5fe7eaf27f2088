"""Further looks at one commit: what the first one found, what a later one is to run, and what becomes of the verdict.

The state is a chain. A look that is not red is followed by an escalation, which spends its own share of alpha; a red
one by an appeal, which can only clear. What was red stays red until an appeal clears it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from fractions import Fraction

import msgspec

from repeat_eval.analysis.look_model import MAX_CASES, MAX_TEXT, Look, LookCase, LookKind
from repeat_eval.analysis.report import CaseComparison, CaseReport, Reason, Report
from repeat_eval.analysis.rules import exact
from repeat_eval.analysis.second_look_model import ReRunCase
from repeat_eval.statistics.comparison import case_exact
from repeat_eval.statistics.counts import Row
from repeat_eval.statistics.gates import DECIMALS

FRESH = 20
"""Fresh trials a side of a case that is watched or blamed."""
FRESH_OF_SUITE = 7
"""Fresh trials a side of every case, when the suite as a whole is blamed."""
WATCHED = 3
CUT = 0.30
"""One-sided p up to which a case that fell is watched."""
FREE_LOOKS = 3
"""Looks without a verdict that do not count at one commit. More of them do, or cancelling would be a way to look on."""
NOT_KNOWN = (
    "what earlier attempts found is not known (no uploaded report and no comment of ours tells it), so the whole suite "
    "was run again at this look's share of alpha; what they found is no part of this verdict"
)
REGRESSIONS = frozenset({"suite-regression", "case-regression"})


class LookPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What a further look does.

    Attributes:
        number: of this look. kind: how it is judged. alpha: the whole budget. share: this look's part of it.
        asked: fresh trials a side by case; None for the whole suite once more, with its own repeats.
        looks: the earlier ones, oldest first; empty when they are not known.
        notes: sentences about this look that belong into the report.
    """

    number: int
    kind: LookKind
    alpha: Fraction
    share: Fraction
    asked: Mapping[str, int] | None = None
    looks: tuple[Look, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def level(self) -> float:
        """What this look may spend of alpha."""
        return round(float(self.alpha * self.share), DECIMALS)

    @property
    def blame(self) -> Look | None:
        """The red look that this one is an appeal from; None when the last one was not red."""
        decided = [look for look in self.looks if look.verdict != "incomplete"]
        return decided[-1] if decided and decided[-1].red else None


def spent(looks: Sequence[Look], number: int) -> int:
    """How many shares of alpha are used up before look `number`, at least one for each look that gave a verdict.

    An attempt that left nothing behind counts: it may have been ended because of what it showed. Only a look that is
    known to have given no verdict has spent nothing, up to `FREE_LOOKS` of them.

    Args:
        looks: the earlier ones; empty when they are not known. number: of the look that is to come, from 0.
    """
    without = sum(look.verdict == "incomplete" for look in looks)
    return max(number - min(without, FREE_LOOKS), len(looks) - without)


def trials_of(
    looks: Sequence[Look], cases: Sequence[str], *, wanted: Collection[str] = (), repeats: int | None = None
) -> dict[str, int] | None:
    """How many fresh trials a side each case gets in the look after these.

    Args:
        looks: the earlier looks, oldest first; the last one gave a verdict. cases: of the suite, in its order.
        wanted: cases that a person named; after a red look they change nothing. repeats: as a person named them; after
            a red look never fewer than usual, or one trial could clear everything.

    Returns:
        None for the whole suite once more: nothing is watched or named, or more than regressions is to be judged again.
    """
    last = looks[-1]
    if last.others or last.more:
        return None
    if last.red:
        fresh = max(FRESH, repeats or 0)
        blamed = {case.id for case in last.blamed}
        if not blamed <= set(cases):
            return None
        asked = dict.fromkeys(cases, FRESH_OF_SUITE) if last.suite else {}
        return {case: fresh if case in blamed else asked[case] for case in cases if case in blamed or case in asked}
    watched = set(wanted) or {case.id for case in last.cases if not case.blamed}
    return {case: repeats or FRESH for case in cases if case in watched} or None


def first_look(report: Report, *, attempt: int, text: str, level: float, number: int = 0, whole: bool = False) -> Look:
    """The look that a run of the whole suite was.

    Args:
        report: of the run. attempt: of the workflow run. text: the report's first line. level: what it spent of alpha.
        number: of the look. whole: it was not the first.
    """
    comparison = report.comparison
    kind: LookKind = "whole" if whole else "first"
    line = text[:MAX_TEXT]
    if comparison is None or comparison.verdict == "not comparable" or report.verdict == "incomplete":
        return Look(number=number, attempt=attempt, kind=kind, level=level, verdict="incomplete", text=line)
    compared = {case.id: case for case in comparison.cases if case.base.verdicts and case.head.verdicts}
    own = {case.id: case for case in report.case_reports}
    failing = [reason for reason in report.reasons if reason.verdict == "fail"]
    regressed = {reason.case for reason in failing if reason.gate == "case-regression"}
    below = {
        reason.case
        for reason in failing
        if reason.gate == "case" and reason.case in compared and _may_be_appealed(own.get(reason.case))
    }
    others = [reason for reason in failing if not _judged_again(reason, below)]
    blamed = [case for case in compared.values() if case.id in regressed | below]
    free = [case for case in compared.values() if case.id not in regressed | below]
    twice = comparison.second_look
    fresh = {} if twice is None else {case.id: case for case in twice.suspects if case.direction == "down"}
    watched = _watched(free) if twice is None else _watched_of_looks(free, fresh)
    suite = any(reason.gate == "suite-regression" for reason in failing)
    room = MAX_CASES - WATCHED
    return Look(
        number=number,
        attempt=attempt,
        kind=kind,
        level=level,
        verdict="regressed" if failing else "no detectable change",
        p=comparison.p_down,
        suite=suite,
        others=tuple(reason.text[:MAX_TEXT] for reason in others[:5]),
        cases=tuple(
            _of_looks(case_of(case, regressed=case.id in regressed, below=case.id in below), fresh.get(case.id))
            for case in (*blamed[:room], *watched)
        ),
        more=max(len(blamed) - room, 0),
        text=line,
    )


def _may_be_appealed(case: CaseReport | None) -> bool:
    """A case that must pass every time is not judged again by fresh trials: that would forgive what it missed."""
    return case is not None and case.gate == "wilson" and exact(case.threshold) < 1


def _judged_again(reason: Reason, below: Collection[str | None]) -> bool:
    return reason.gate in REGRESSIONS or (reason.gate == "case" and reason.case in below)


def _watched(cases: Iterable[CaseComparison]) -> list[CaseComparison]:
    fell = [(p_of(case), case.base.passed / case.base.verdicts, case) for case in cases if (case.delta or 0.0) < 0]
    near = [each for each in fell if each[0] <= CUT]
    return [case for _, _, case in sorted(near, key=lambda each: (each[0], -each[1]))[:WATCHED]]


def _watched_of_looks(cases: Iterable[CaseComparison], fresh: Mapping[str, ReRunCase]) -> list[CaseComparison]:
    """The suspects whose fresh trials nearly confirm them. What two looks did not suspect is not watched."""
    order = {name: place for place, name in enumerate(fresh)}
    known = {case.id: case for case in cases}
    near = [(one.p2, order[name], name) for name, one in fresh.items() if one.p2 is not None and one.p2 <= CUT]
    return [known[name] for _, _, name in sorted(near) if name in known][:WATCHED]


def _of_looks(case: LookCase, suspect: ReRunCase | None) -> LookCase:
    """The case with the fresh counts that judged it, where it was run again."""
    if suspect is None or suspect.p2 is None:
        return case
    base, head = suspect.fresh_base, suspect.fresh_head
    return msgspec.structs.replace(
        case, base=(base.passed, base.verdicts), head=(head.passed, head.verdicts), p=suspect.p2
    )


def p_of(case: CaseComparison) -> float:
    """One-sided mid-p of a case, "head is worse"."""
    return round(case_exact(*row_of(case)).p_less, DECIMALS)


def row_of(case: CaseComparison) -> Row:
    """The counts of both sides."""
    return case.base.passed, case.base.verdicts, case.head.passed, case.head.verdicts


def case_of(case: CaseComparison, *, regressed: bool = False, below: bool = False, p: float | None = None) -> LookCase:
    """The case as a look lists it; `p` is worked out where it is not given."""
    return LookCase(
        id=case.id,
        base=(case.base.passed, case.base.verdicts),
        head=(case.head.passed, case.head.verdicts),
        p=p_of(case) if p is None else p,
        regressed=regressed,
        below=below,
    )
