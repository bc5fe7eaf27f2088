"""What two looks claim, in sentences without a final stop, and what that makes of the gate.

A red suite half speaks of the suite only after an alarm, when all of it was run again; without one it speaks of the
re-run cases together.
"""

from __future__ import annotations

from collections.abc import Callable

from repeat_eval.analysis.comparison_text import count, named, p_text, points
from repeat_eval.analysis.decision import blocking_levels
from repeat_eval.analysis.report import Comparison, Reason, SuiteVerdict
from repeat_eval.analysis.rules import Rules
from repeat_eval.analysis.second_look_model import LookCounts, LookDifference, ReRunCase, SecondLook

BySize = Callable[[float], tuple[SuiteVerdict, str]]
"""Whether a fall, in rate, is large enough to block, and what to say when it is not."""


def claim_of_looks(comparison: Comparison, found: SecondLook) -> str:
    """What both looks claim."""
    parts = []
    if found.confirmed:
        parts.append(f"{count(len(found.confirmed), 'case')} got worse")
    # Named cases say more than "the re-run cases together", which they are a part of.
    if found.down.changed and (found.down.claim == "suite" or not parts):
        parts.append(f"{whom(found)} got worse{_by(fall_of(found))}")
    better = sum(case.rejected_up for case in comparison.cases)
    if better:
        parts.append(f"{count(better, 'case')} got better")
    elif comparison.suite_improved:
        parts.append("the suite got better")
    if parts:
        return ", ".join(parts)
    if found.incomplete:
        return "the second look is not whole"
    if not found.suspects and not found.down.alarm:
        return "nothing was suspected in the first look"
    what = "an alarm" if found.down.alarm else count(len(found.suspects), "suspected case")
    return f"{what} was not confirmed by fresh trials"


def whom(found: SecondLook) -> str:
    """Whom a red suite half speaks of: `the suite`, or `the 3 re-run cases together`."""
    if found.down.claim == "suite":
        return "the suite"
    judged = found.together.cases if found.together is not None else len(found.suspects)
    return "the one re-run case" if judged == 1 else f"the {judged:,} re-run cases together"


def told_by_case(found: SecondLook) -> bool:
    """Whether a red suite half only says of the one re-run case what was confirmed of it already."""
    return found.down.claim == "re-run cases" and len(found.suspects) == len(found.confirmed) == 1


def fall_of(found: SecondLook) -> LookDifference | None:
    """The fresh difference that a red suite half speaks of."""
    return found.fresh_difference if found.down.claim == "suite" else found.together


def reasons_of_looks(comparison: Comparison, found: SecondLook, rules: Rules, by_size: BySize) -> list[Reason]:
    """The reasons that two looks give: what is missing, the suite half, the confirmed cases.

    Args:
        comparison: decided by both looks. found: the looks. rules: which regressions block. by_size: see there.
    """
    reasons = []
    if found.incomplete:
        reasons.append(Reason(gate="evidence", verdict="incomplete", text=lacking_of(found)))
    told = told_by_case(found) and rules.fail_on == "regression"
    if found.down.changed and not told and rules.fail_on in ("regression", "suite-regression"):
        reasons.append(_suite_half(comparison, found, rules, by_size))
    if rules.fail_on in ("regression", "case-regression"):
        for case in found.confirmed:
            verdict, small = by_size(case.delta or 0.0)
            text = f"{both_looks(case)}: luck is unlikely (one-sided {p_text(case.adjusted or 0.0)} after correction)"
            reasons.append(
                Reason(
                    gate="case-regression",
                    verdict=verdict,
                    case=case.id,
                    observed=case.delta,
                    required=_least(rules),
                    text=text + small,
                )
            )
    return reasons


def both_looks(case: ReRunCase) -> str:
    """`first 3/3 → 1/3, re-run 20/20 → 9/20`: never added."""
    return (
        f"first {_of(case.first_base)} → {_of(case.first_head)}, re-run {_of(case.fresh_base)} → {_of(case.fresh_head)}"
    )


def lacking_of(found: SecondLook) -> str:
    """What a second look lacks that is not whole."""
    calls = found.calls
    if calls.fresh < calls.asked:
        return f"the second look was cut short: {calls.fresh:,} of {count(calls.asked, 'fresh trial')} were done"
    if not found.incomplete_cases:
        return "the first look raised an alarm, and fewer than half of a side's fresh trials gave a verdict"
    return f"the second look has too few verdicts of {named(found.incomplete_cases)}"


def _suite_half(comparison: Comparison, found: SecondLook, rules: Rules, by_size: BySize) -> Reason:
    fell = fall_of(found)
    delta = fell.delta if fell is not None else 0.0
    over = " over both looks" if found.mode != "screen" else ""
    text = f"{whom(found)} got worse{_by(fell)} (one-sided {p_text(found.down.p)}{over})"
    verdict, small = by_size(delta)
    level = blocking_levels(rules.spent_alpha, any_error=comparison.errors is not None)[0] / 2.0
    if verdict == "fail" and found.down.p >= level:
        verdict, small = "pass", f"; beside errors, which take their share of alpha, only p below {level:g} blocks"
    return Reason(gate="suite-regression", verdict=verdict, observed=delta, required=_least(rules), text=text + small)


def _by(fell: LookDifference | None) -> str:
    return f", by {points(-fell.delta)} in fresh trials" if fell is not None and fell.delta < 0 else ""


def _of(side: LookCounts) -> str:
    return f"{side.passed}/{side.verdicts}" if side.verdicts else "no verdict"


def _least(rules: Rules) -> float | None:
    return None if rules.min_effect is None else -rules.min_effect / 100.0
