"""What two looks make of a comparison: who is blamed, who is cleared, and what single cases may be failed for.

The figures stay those of the first look. What is decided comes from the fresh trials; the first look never fails a case
by itself (with 3 trials one in ten would fail at its threshold). Only where any miss fails a case it does: a re-run
would forgive the miss.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import msgspec
from msgspec import UnsetType

from repeat_eval.analysis.case_verdicts import Counts, judge
from repeat_eval.analysis.comparison_cases import WATCH_P, was_below
from repeat_eval.analysis.first_look import too_many_errors
from repeat_eval.analysis.report import CaseChange, CaseComparison, CaseReport, Comparison, Reason, SideOfCase
from repeat_eval.analysis.rules import Rules, exact
from repeat_eval.analysis.second_look import StoredBase, look_twice
from repeat_eval.analysis.second_look_claims import claim_of_looks
from repeat_eval.analysis.second_look_model import LookCounts, ReRunCase, SecondLook
from repeat_eval.analysis.sides import plans_of
from repeat_eval.records.run import CasePlan, Run
from repeat_eval.statistics import gates
from repeat_eval.statistics.gates import DECIMALS
from repeat_eval.statistics.low_rule import FIXED_REPEATS
from repeat_eval.statistics.planner import minimal_detectable_difference, within_case_variance
from repeat_eval.statistics.second_look_planning import largest_rejecting

WATCHED = 3
"""Most cases on the watch list: the surest of those that the fresh trials nearly confirm."""


def decided_by_looks(
    base: Run | None, head: Run, comparison: Comparison, rules: Rules, *, stored: Run | None = None
) -> tuple[Comparison, tuple[Reason, ...]]:
    """The comparison of the first looks, decided by both looks, and what is missing for that.

    Args:
        base, head: the runs with all their trials. comparison: of their first looks, comparable. rules: head's.
        stored: the run whose counts are base's first look, where it was stored.
    """
    looks = head.header.second_look
    if isinstance(looks, UnsetType):
        return comparison, ()
    counts = None if stored is None else stored_counts(stored, comparison)
    found = look_twice(
        base,
        head,
        looks.settings(float(rules.spent_alpha)),
        alpha=rules.spent_alpha_text,
        count_as_failed=rules.count_as_failed,
        stored=counts,
    )
    if found is None:
        text = "fewer than 6 cases have verdicts on both sides in the first look: too few to look twice"
        return comparison, (Reason(gate="evidence", verdict="incomplete", text=text),)
    plans = {plan.id: plan for plan in plans_of(head, {})}
    errors = too_many_errors(head, rules)
    lacking = (Reason(gate="max-error-rate", verdict="incomplete", text=errors),) if errors else ()
    return with_looks(comparison, found, plans, rules), lacking


def stored_counts(stored: Run, comparison: Comparison) -> StoredBase:
    """What a stored base says in two looks.

    Args:
        stored: its run. comparison: of head's first look with it.
    """
    # A case that asked for something else when it was stored says nothing about this one.
    left_out = frozenset(comparison.changed)
    kept = {case.id: (case.base.passed, case.base.verdicts) for case in comparison.cases if case.id not in left_out}
    return StoredBase(commit=stored.header.commit or "", counts=kept)


def with_looks(comparison: Comparison, found: SecondLook, plans: Mapping[str, CasePlan], rules: Rules) -> Comparison:
    """The comparison of the first look, decided by both.

    Args:
        comparison: of the first look, comparable. found: both looks. plans: head's plans by case. rules: head's.
    """
    suspects = {case.id: case for case in found.suspects}
    decider = _Decider(found, suspects, _watched(found), frozenset(found.not_rerun), plans, rules)
    cases = tuple([decider.decided(case) for case in comparison.cases])
    half = float(rules.spent_alpha) / 2.0
    up_at_first = bool(found.improved) and comparison.p_up is not None and comparison.p_up < half
    most = largest_rejecting(found.fresh, min(found.cases, found.cap), half)
    decided = msgspec.structs.replace(
        comparison,
        verdict=found.verdict,
        suite_regressed=found.down.changed,
        suite_improved=found.up.changed if found.up is not None else up_at_first,
        cases=cases,
        detectable=_detectable(cases, found, rules),
        detectable_case=None if most is None else (most, found.fresh),
        second_look=found,
    )
    return msgspec.structs.replace(decided, text=claim_of_looks(decided, found))


def judged_by_looks(cases: Sequence[CaseReport], comparison: Comparison, found: SecondLook) -> tuple[CaseReport, ...]:
    """Head's cases with the verdicts that two looks allow; their figures stay those of the first look.

    A suspect is judged by its fresh trials, another case that both sides have is not failed. Only what base misses too
    is still called failing, which blocks nothing.
    """
    compared = {case.id: case for case in comparison.cases}
    suspects = {case.id: case for case in found.suspects}
    return tuple(
        _judged(case, compared[case.id], suspects.get(case.id), found) if case.id in compared else case
        for case in cases
    )


def enough(case: ReRunCase, found: SecondLook) -> bool:
    """Whether both sides of a suspect have at least half of their fresh verdicts."""
    return 2 * min(case.fresh_base.verdicts, case.fresh_head.verdicts) >= found.fresh


def forgives_misses(threshold: str, gate: gates.Gate) -> bool:
    """Whether a gate forgives a miss among ten; where it does not, a re-run must not either."""
    return gate == "none" or not gates.any_miss_fails(FIXED_REPEATS, exact(threshold), gate)


def _watched(found: SecondLook) -> frozenset[str]:
    near = [
        (case.p2, place, case.id)
        for place, case in enumerate(found.suspects)
        if case.direction == "down" and case.outcome == "not confirmed" and case.p2 is not None and case.p2 <= WATCH_P
    ]
    return frozenset(case for _, _, case in sorted(near)[:WATCHED])


class _Decider(NamedTuple):
    """What decides about single cases."""

    found: SecondLook
    suspects: Mapping[str, ReRunCase]
    watched: frozenset[str]
    left_out: frozenset[str]
    plans: Mapping[str, CasePlan]
    rules: Rules

    def decided(self, case: CaseComparison) -> CaseComparison:
        """The case as both looks see it."""
        suspect = self.suspects.get(case.id)
        down = suspect if suspect is not None and suspect.direction == "down" else None
        up = suspect if suspect is not None and suspect.direction == "up" else None
        worse = down is not None and down.outcome == "confirmed"
        if self.found.up is not None:
            better, adjusted_up = up is not None and up.outcome == "confirmed", up.adjusted if up is not None else None
        else:
            better, adjusted_up = bool(self.found.improved) and case.rejected_up, case.adjusted_up
        failing = self.failing(case, suspect)
        return msgspec.structs.replace(
            case,
            adjusted_down=down.adjusted if down is not None else None,
            adjusted_up=adjusted_up,
            rejected_down=worse,
            rejected_up=better,
            change=_moved(case, suspect, worse=worse) if worse or better else _unmoved(case, suspect),
            watch=case.id in self.watched and not failing,
            not_this_change=failing and not worse,
            second_look=suspect.outcome if suspect is not None else self.not_rerun(case),
        )

    def not_rerun(self, case: CaseComparison) -> Literal["not re-run"] | None:
        """Whether the case was suspected and there was no room for it."""
        return "not re-run" if case.id in self.left_out else None

    def failing(self, case: CaseComparison, suspect: ReRunCase | None) -> bool:
        """Whether the case is below its threshold on both sides: by fresh trials where there are enough."""
        alpha = float(self.rules.spent_alpha)
        if suspect is None or not enough(suspect, self.found):
            return was_below(case.base, case.head, fell=(case.delta or 0.0) < 0 and (case.p or 0.0) < alpha)
        plan = self.plans.get(case.id)
        threshold = plan.threshold if plan is not None and plan.threshold else self.rules.threshold
        gate = plan.gate if plan is not None and plan.gate else self.rules.gate
        base, head = (judge(_counts(side), threshold, gate)[0] for side in (suspect.fresh_base, suspect.fresh_head))
        fell = (suspect.delta or 0.0) < 0 and 2.0 * (suspect.p2 or 0.0) < alpha
        return head == "fail" and (base == "fail" or (base == "within-noise" and not fell))


def _counts(side: LookCounts) -> Counts:
    return Counts(side.passed, side.verdicts - side.passed, side.errors, side.skipped, side.missing)


def _moved(case: CaseComparison, suspect: ReRunCase | None, *, worse: bool) -> CaseChange:
    head: LookCounts | SideOfCase = suspect.fresh_head if suspect is not None else case.head
    if worse:
        return "newly broken" if head.passed == 0 else "regressed"
    return "fixed" if head.passed == head.verdicts else "improved"


def _unmoved(case: CaseComparison, suspect: ReRunCase | None) -> CaseChange:
    """What is seen without a claim: the first look by itself names nobody."""
    if case.change == "not judged":
        return "not judged"
    if suspect is None and case.head.flaky and not case.base.flaky and case.base.verdicts > 1:
        return "newly flaky"
    if suspect is None and case.base.flaky and 1 < case.head.verdicts == case.head.passed:
        return "newly stable"
    return "unchanged"


def _detectable(cases: Sequence[CaseComparison], found: SecondLook, rules: Rules) -> float | None:
    """The smallest fall of the suite found with 80 % power: an alarm doubles the first look, about (see the tables)."""
    counts = [(case.base.passed, case.base.verdicts) for case in cases if case.delta is not None]
    variance = within_case_variance(counts)
    if variance is None:
        return None
    n = found.first * (2 if found.alarm_below > 0.0 else 1)
    least = minimal_detectable_difference(len(counts), n, n, variance, alpha=float(rules.spent_alpha))
    return round(least, DECIMALS) if least <= 1.0 else None


def _judged(case: CaseReport, compared: CaseComparison, suspect: ReRunCase | None, found: SecondLook) -> CaseReport:
    strict = not forgives_misses(case.threshold, case.gate)
    if case.gate == "none" or case.verdict == "skipped" or (strict and case.verdict in ("fail", "incomplete")):
        return case
    if suspect is not None and enough(suspect, found):
        verdict, text = judge(_counts(suspect.fresh_head), case.threshold, case.gate)
        return msgspec.structs.replace(case, verdict=verdict, text=f"re-run, {text}", needs=None)
    if strict or (case.verdict == "fail" and compared.not_this_change):
        return case
    if case.verdict == "fail" or (case.verdict == "incomplete" and case.verdicts and 2 * case.verdicts >= case.asked):
        text = f"{case.passed}/{case.verdicts} is below {case.threshold} in the first look, which fails no case alone"
        if case.passed >= exact(case.threshold) * case.verdicts:
            return msgspec.structs.replace(case, verdict="pass", text=f"{case.passed}/{case.verdicts} reaches it")
        return msgspec.structs.replace(case, verdict="within-noise", text=text, needs=None)
    return case
