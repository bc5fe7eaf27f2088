"""What a comparison makes of the gate: reasons, and which of head's failures are not this change's."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

from repeat_eval.analysis.comparison_cases import was_below
from repeat_eval.analysis.comparison_text import count, named, p_text, points
from repeat_eval.analysis.decision import blocking_levels
from repeat_eval.analysis.rate_text import percent1
from repeat_eval.analysis.report import (
    CaseComparison,
    CaseReport,
    Comparison,
    Reason,
    ReasonGate,
    SideOfCase,
    SuiteVerdict,
)
from repeat_eval.analysis.rules import Rules, exact
from repeat_eval.analysis.second_look_claims import reasons_of_looks
from repeat_eval.analysis.second_look_model import ReRunCase, SecondLook
from repeat_eval.analysis.sides import OneSide
from repeat_eval.analysis.suite_figures import Excuses, reaches_reliability
from repeat_eval.records.run import RunSource
from repeat_eval.statistics import suite_rates
from repeat_eval.statistics.counts import Count
from repeat_eval.statistics.gates import DECIMALS


def reasons(
    comparison: Comparison | None,
    rules: Rules,
    *,
    mode: RunSource = "suite",
    missing: str | None = None,
) -> list[Reason]:
    """Every reason that a comparison gives, in the order in which people should read them.

    Args:
        comparison: the comparison; None when there is no base.
        rules: which regressions block, and what a missing base and removed cases mean.
        mode: how head's run was made; it decides about removed cases where the rules do not.
        missing: why there is no base.
    """
    if comparison is None or comparison.verdict == "not comparable":
        return _without_base(comparison, rules, missing)
    looks = comparison.second_look
    found = (
        [*_suite_regression(comparison, rules), *_case_regressions(comparison, rules)]
        if looks is None
        else reasons_of_looks(comparison, looks, rules, lambda delta: _by_size(delta, rules))
    )
    # Errors are tested on the first look alone: which cases have fresh trials depends on what their first look showed.
    found += [*_error_regression(comparison, rules), *_non_inferiority(comparison, rules)]
    if _only_stored(comparison) and not rules.gate_stored:
        found = [_softened(reason) for reason in found]
    return [*found, *_removed(comparison, rules, mode)]


def excuses(base: OneSide, cases: Sequence[CaseReport], comparison: Comparison, rules: Rules) -> Excuses:
    """Which of head's absolute gates base misses as well, so that they are no reason to block this change.

    A case that is below its threshold on both sides, a suite threshold, stability or reliability that base misses too.
    Base is measured by head's rules, over the cases that head's selection takes.

    Args:
        base: base's side. cases: head's cases. comparison: the comparison; nothing is excused if it could not be made.
        rules: head's rules.
    """
    if comparison.verdict == "not comparable":
        return {}
    gone = frozenset(comparison.removed)
    head = {case.id for case in cases}
    stored = comparison.base is not None and comparison.base.source == "stored"
    left_out = frozenset(comparison.changed) if stored else frozenset()
    taken = (head | gone) - left_out
    own = [side for case, side in base.cases.items() if case in taken and side.verdicts]
    found: dict[tuple[ReasonGate, str | None], str] = {}
    alpha = float(exact(comparison.alpha))
    looks = comparison.second_look
    fresh = {case.id: case for case in looks.suspects} if looks is not None else {}
    for case in comparison.cases:
        if looks is not None:
            if case.not_this_change:
                found["case", case.id] = _fails_on_base(case, fresh.get(case.id))
            continue
        fell = case.delta is not None and case.p is not None and case.delta < 0 and case.p < alpha
        if was_below(case.base, case.head, fell=fell):
            worse = ", and it got worse" if case.change in ("regressed", "newly broken") else ""
            how = "fails" if case.base.verdict == "fail" else "is below its threshold"
            found["case", case.id] = f"it {how} on base too ({_observed(case.base)}): not this change{worse}"
    if (excuse := _suite_threshold_excused(own, cases, looks, rules)) is not None:
        found["suite-threshold", None] = excuse
    if (excuse := _stability_excused(own, cases, looks, rules)) is not None:
        found["min-stability", None] = excuse
    if rules.min_reliability is not None and rules.gate != "none":
        required = exact(rules.min_reliability)
        for case in comparison.cases:
            verdicts = case.base.verdicts
            if looks is not None and (excuse := _reliability_of_looks(fresh.get(case.id), required, rules)):
                found["min-reliability", case.id] = excuse
            elif (
                looks is None and verdicts > 1 and not reaches_reliability(case.base.passed, verdicts, required, rules)
            ):
                found["min-reliability", case.id] = f"base misses it too ({_observed(case.base)}): not this change"
    return found


def _suite_threshold_excused(
    base: Sequence[SideOfCase], head: Sequence[CaseReport], looks: SecondLook | None, rules: Rules
) -> str | None:
    if _misses_suite_threshold([(case.passed, case.verdicts) for case in base], rules):
        return "base misses it too: not this change"
    counts = _after_an_alarm(head, looks)
    return None if not counts or _misses_suite_threshold(counts, rules) else "the fresh trials of all cases reach it"


def _stability_excused(
    base: Sequence[SideOfCase], head: Sequence[CaseReport], looks: SecondLook | None, rules: Rules
) -> str | None:
    if _misses_stability([(case.passed, case.verdicts) for case in base], rules):
        return "base misses it too: not this change"
    counts = _after_an_alarm(head, looks)
    return None if not counts or _misses_stability(counts, rules) else "the fresh trials of all cases reach it"


def _after_an_alarm(head: Sequence[CaseReport], looks: SecondLook | None) -> list[Count]:
    """Head's fresh counts of all cases; of those that base does not have, the only ones. Empty without an alarm.

    The first look of a suite that raised an alarm is known to be low.
    """
    if looks is None or looks.fresh_difference is None:
        return []
    again = {row.id: row.head for row in looks.whole}
    counts = [again.get(case.id, (case.passed, case.verdicts)) for case in head]
    return [count for count in counts if count[1]]


def _fails_on_base(case: CaseComparison, suspect: ReRunCase | None) -> str:
    if suspect is None or not suspect.fresh_base.verdicts:
        return f"it fails on base too ({_observed(case.base)}): not this change"
    base = suspect.fresh_base
    return f"it is below its threshold on base too (re-run {base.passed}/{base.verdicts}): not this change"


def _reliability_of_looks(suspect: ReRunCase | None, required: Fraction, rules: Rules) -> str:
    """Why a first look that misses the reliability does not block; empty where fresh trials miss it, too."""
    if suspect is None or not (suspect.fresh_head.verdicts and suspect.fresh_base.verdicts):
        return "a first look fails no case alone"
    reached = [
        reaches_reliability(side.passed, side.verdicts, required, rules)
        for side in (suspect.fresh_base, suspect.fresh_head)
    ]
    if reached[1]:
        return "its fresh trials reach it"
    return "" if reached[0] else "base's fresh trials miss it too: not this change"


def gate_warnings(comparison: Comparison, rules: Rules, mode: RunSource) -> list[str]:
    """What a comparison's gates have to say without blocking; see `reasons` for the arguments."""
    warnings = []
    if comparison.removed and _when_removed(rules, mode) == "warn":
        warnings.append(_gone(comparison.removed))
    if _only_stored(comparison) and not rules.gate_stored and comparison.verdict in ("regressed", "mixed"):
        warnings.append("base is a stored run from another time: its regressions are shown and do not block")
    return warnings


def _only_stored(comparison: Comparison) -> bool:
    """Whether what is judged comes from a store; where it only screens, both sides' fresh trials decide."""
    screened = comparison.second_look is not None and comparison.second_look.mode == "screen"
    return comparison.base is not None and comparison.base.source == "stored" and not screened


def _without_base(comparison: Comparison | None, rules: Rules, missing: str | None) -> list[Reason]:
    if comparison is not None and missing is None:
        # Somebody named a base: that it tells nothing is not the same as that there is none.
        return [Reason(gate="no-base", verdict="incomplete", text=f"cannot be compared with base: {comparison.text}")]
    why = missing or "no base was given"
    if rules.no_base == "incomplete":
        return [Reason(gate="no-base", verdict="incomplete", text=f"a base is required: {why}")]
    return []


def _suite_regression(comparison: Comparison, rules: Rules) -> list[Reason]:
    if rules.fail_on not in ("regression", "suite-regression") or not comparison.suite_regressed:
        return []
    delta, interval = comparison.delta or 0.0, comparison.interval
    spread = f"; 95 % interval {_signed(interval[0])} to {_signed(interval[1])}" if interval else ""
    text = f"the pass rate fell by {points(-delta)} against base ({p_text(comparison.p or 0.0)}{spread})"
    verdict, small = _by_size(delta, rules)
    level, _ = blocking_levels(rules.spent_alpha, any_error=comparison.errors is not None)
    if verdict == "fail" and (comparison.p or 0.0) >= level:
        verdict, small = "pass", f"; beside errors, which take their share of alpha, only p below {level:g} blocks"
    return [Reason(gate="suite-regression", verdict=verdict, observed=delta, required=_least(rules), text=text + small)]


def _case_regressions(comparison: Comparison, rules: Rules) -> list[Reason]:
    if rules.fail_on not in ("regression", "case-regression"):
        return []
    found = []
    for case in comparison.cases:
        if case.rejected_down and case.delta is not None:
            verdict, small = _by_size(case.delta, rules)
            found.append(
                Reason(
                    gate="case-regression",
                    verdict=verdict,
                    case=case.id,
                    observed=case.delta,
                    required=_least(rules),
                    text=_fell(case) + small,
                )
            )
    return found


def _fell(case: CaseComparison) -> str:
    return (
        f"passed {_observed(case.base)} on base and {_observed(case.head)} now: luck is unlikely "
        f"(one-sided {p_text(case.adjusted_down or 0.0)} after correction for the number of cases)"
    )


def _error_regression(comparison: Comparison, rules: Rules) -> list[Reason]:
    """Clearly more errors on head are a regression of their own, at their share of alpha; fewer are told."""
    errors = comparison.errors
    if rules.fail_on == "none" or errors is None or errors.p is None:
        return []
    if errors.head <= errors.base or errors.p >= float(rules.spent_alpha):
        return []
    text = f"errors rose from {percent1(errors.base)} to {percent1(errors.head)} of the trials ({p_text(errors.p)})"
    verdict: SuiteVerdict = "fail"
    _, level = blocking_levels(rules.spent_alpha, any_error=True)
    if errors.p >= level:
        verdict, text = "pass", f"{text}; only p below {level:g} blocks"
    return [Reason(gate="error-regression", verdict=verdict, observed=errors.head, required=errors.base, text=text)]


def _non_inferiority(comparison: Comparison, rules: Rules) -> list[Reason]:
    looks = comparison.second_look
    interval = comparison.interval if looks is None else looks.headline.interval
    if rules.require != "non-inferior" or interval is None:
        return []
    if rules.margin is None:
        text = "require: non-inferior needs a margin in points, for instance margin: 3"
        return [Reason(gate="non-inferiority", verdict="incomplete", text=text)]
    limit = -rules.margin / 100.0
    low, high = (round(bound, DECIMALS) for bound in interval)
    if low > limit:
        return []
    allowed = f"{rules.margin:g} points"
    if high < limit:
        text = f"head is worse by more than {allowed}: the difference lies between {_signed(low)} and {_signed(high)}"
        if looks is not None and looks.fresh_difference is None:
            text = f"{text} in the first look, which blocks nothing alone"
            return [Reason(gate="non-inferiority", verdict="incomplete", observed=high, required=limit, text=text)]
        return [Reason(gate="non-inferiority", verdict="fail", observed=high, required=limit, text=text)]
    text = (
        f"not shown to be at most {allowed} worse: the difference lies between {_signed(low)} and {_signed(high)} "
        "points; more repeats would narrow it"
    )
    return [Reason(gate="non-inferiority", verdict="incomplete", observed=low, required=limit, text=text)]


def _removed(comparison: Comparison, rules: Rules, mode: RunSource) -> list[Reason]:
    if not comparison.removed or _when_removed(rules, mode) == "warn":
        return []
    text = f"{_gone(comparison.removed)}; if that is meant, say removed_cases: warn"
    return [Reason(gate="removed-cases", verdict="incomplete", observed=float(len(comparison.removed)), text=text)]


def _when_removed(rules: Rules, mode: RunSource) -> str:
    """A suite file lists its cases, so one that is gone was taken out; other tools may have lost it."""
    return rules.removed_cases or ("warn" if mode == "suite" else "incomplete")


def _gone(cases: Sequence[str]) -> str:
    return f"{count(len(cases), 'case')} of base {'is' if len(cases) == 1 else 'are'} gone: {named(cases)}"


def _softened(reason: Reason) -> Reason:
    if reason.verdict != "fail":
        return reason
    return Reason(
        gate=reason.gate,
        verdict="pass",
        text=f"{reason.text}; base is a stored run, so this does not block",
        case=reason.case,
        observed=reason.observed,
        required=reason.required,
    )


def _by_size(delta: float, rules: Rules) -> tuple[SuiteVerdict, str]:
    """Whether a significant fall is large enough to block."""
    if rules.min_effect is None or round(-100.0 * delta, 9) >= rules.min_effect:
        return "fail", ""
    return "pass", f"; less than the {rules.min_effect:g} points that block"


def _least(rules: Rules) -> float | None:
    return None if rules.min_effect is None else -rules.min_effect / 100.0


def _observed(side: SideOfCase) -> str:
    return f"{side.passed}/{side.verdicts}"


def _signed(difference: float) -> str:
    return f"{100.0 * difference:+.1f}".replace("-", "\N{MINUS SIGN}")


def _misses_suite_threshold(counts: Sequence[Count], rules: Rules) -> bool:
    if rules.suite_threshold is None or not counts:
        return False
    return suite_rates.suite_verdict(counts, exact(rules.suite_threshold), rules.gate) == "fail"


def _misses_stability(counts: Iterable[Count], rules: Rules) -> bool:
    judged = [0 < passed < verdicts for passed, verdicts in counts if verdicts > 1]
    if rules.min_stability is None or not judged:
        return False
    return Fraction(judged.count(False), len(judged)) < exact(rules.min_stability)
