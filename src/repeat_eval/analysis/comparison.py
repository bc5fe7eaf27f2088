"""Two sides in, one comparison out: what changed, by how much, and how likely luck explains it."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from repeat_eval.analysis.comparison_cases import compare_cases
from repeat_eval.analysis.comparison_text import claim
from repeat_eval.analysis.decision import decide
from repeat_eval.analysis.first_look import first_look_of, same_looks
from repeat_eval.analysis.gate_changes import gate_changes
from repeat_eval.analysis.latency import cost_change, duration_change, error_change
from repeat_eval.analysis.report import BaseSource, CaseReport, Comparison, Interval, NewCases, Side, SideOfCase
from repeat_eval.analysis.rules import Rules
from repeat_eval.analysis.sides import Means, OneSide, plans_of, side_of_base, side_of_head, trials_by_case
from repeat_eval.records.run import CasePlan, Run, RunHeader
from repeat_eval.records.trial import Trial
from repeat_eval.statistics import repeats
from repeat_eval.statistics.comparison import case_exact
from repeat_eval.statistics.counts import Count, Row
from repeat_eval.statistics.difference import population_paired_t
from repeat_eval.statistics.gates import DECIMALS
from repeat_eval.statistics.planner import minimal_detectable_difference, within_case_variance
from repeat_eval.statistics.significance import level
from repeat_eval.statistics.suite_rates import RateInterval, rerun_interval

MIN_CASES_FOR_NEW_CASES = 10
PASS_HAT_KS = (2, 3, 5)


def compare_runs(base: Run, head: Run, rules: Rules, *, source: BaseSource | None = None) -> Comparison:
    """Compare two runs; by both looks where they looked twice together.

    Args:
        base: the run compared against. head: the run under test.
        rules: head's rules; both sides are judged by them.
        source: where base comes from.
    """
    first_base, first_head = first_look_of(base), first_look_of(head)
    by_case = trials_by_case(first_head.trials)
    plans = {plan.id: plan for plan in plans_of(first_head, by_case)}
    # A side is made of counts; head without a report is taken as base is.
    one, other = (side_of_base(run, rules, plans) for run in (first_base, first_head))
    comparison = compare_sides(one, other, rules, source=source, plans=plans)
    if comparison.verdict != "not comparable" and same_looks(base.header, head.header):
        from repeat_eval.analysis.looked_twice import decided_by_looks

        comparison, _ = decided_by_looks(base, head, comparison, rules)
    return comparison


def compare_with_report(
    base: Run,
    head: Run,
    cases: Iterable[CaseReport],
    by_case: Mapping[str, Sequence[Trial]],
    rules: Rules,
    *,
    source: BaseSource | None = None,
) -> tuple[Comparison, OneSide]:
    """Compare base with a head that was analysed already: its figures are not made twice.

    Args:
        base: the run compared against. head: the run under test.
        cases: head's case figures. by_case: head's trials by case.
        rules: head's rules; both sides are judged by them.
        source: where base comes from.

    Returns:
        The comparison, and base as one side.
    """
    plans = {plan.id: plan for plan in plans_of(head, by_case)}
    side = side_of_base(base, rules, plans)
    return compare_sides(side, side_of_head(head, cases, by_case), rules, source=source, plans=plans), side


def not_comparable(text: str, rules: Rules) -> Comparison:
    """A comparison that could not be made, with the reason."""
    return Comparison(verdict="not comparable", text=text, alpha=rules.spent_alpha_text)


def why_not_comparable(base: OneSide, head: OneSide) -> str | None:
    """Why two sides cannot be compared, in one sentence without a final stop; None when they can."""
    if base.header.suite != head.header.suite:
        return f"base is a run of another suite: {base.header.suite!r}, and head is {head.header.suite!r}"
    if base.header.replayed and head.header.replayed:
        return "both sides are recordings of old responses: neither side's code ran"
    shared = [case for case in head.cases if case in base.cases]
    if not shared:
        return "base and head have no case in common"
    if any(base.cases[case].verdicts and head.cases[case].verdicts for case in shared):
        return None
    for name, side in (("base", base), ("head", head)):
        if not any(side.cases[case].verdicts for case in shared):
            errors = sum(side.cases[case].errors for case in shared)
            return f"no trial of {name} gave a verdict" + (f": all {errors} ended in errors" if errors else "")
    return "no case has a verdict on both sides"


def compare_sides(
    base: OneSide,
    head: OneSide,
    rules: Rules,
    *,
    source: BaseSource | None = None,
    plans: Mapping[str, CasePlan] | None = None,
) -> Comparison:
    """Compare two sides; see `Comparison` for what comes out.

    Only cases with verdicts on both sides enter the tests and the rates; errors are compared apart. A stored base
    cannot be run again with head's checks: of its cases, those that asked for something else are left out.

    Args:
        base: the side compared against. head: the side under test.
        rules: head's rules: alpha.
        source: where base comes from.
        plans: head's plans by case; made of its header when left out.
    """
    reason = why_not_comparable(base, head)
    if reason is not None:
        return not_comparable(reason, rules)
    plans = {plan.id: plan for plan in head.header.cases} if plans is None else plans
    shared = [case for case in head.cases if case in base.cases]
    changed = _changed(base.header, plans, shared)
    if source == "stored":
        left_out = frozenset(changed)
        shared = [case for case in shared if case not in left_out]
        reason = _otherwise_set(base, head, shared, rules)
        if reason is not None:
            return not_comparable(reason, rules)
    judged = [case for case in shared if base.cases[case].verdicts and head.cases[case].verdicts]
    base_counts = [(base.cases[case].passed, base.cases[case].verdicts) for case in judged]
    head_counts = [(head.cases[case].passed, head.cases[case].verdicts) for case in judged]
    rows = [(*one, *other) for one, other in zip(base_counts, head_counts, strict=True)]
    alpha = float(rules.spent_alpha)
    decision = decide(rows, alpha)
    added, removed = _apart(base, head)
    cases = compare_cases(
        shared, base.cases, head.cases, decision, alpha=alpha, changed=frozenset(changed), position=_positions(judged)
    )
    pairs = [(base.means.get(case, Means()), head.means.get(case, Means())) for case in shared]
    base_n, head_n = _usual([row[1] for row in rows]), _usual([row[3] for row in rows])
    comparison = Comparison(
        verdict=decision.verdict,
        text="",
        delta=decision.difference.delta,
        interval=(decision.difference.low, decision.difference.high),
        p=decision.p,
        p_exact=round(decision.test.p_exact, DECIMALS),
        p_down=round(decision.test.p_mid_less, DECIMALS),
        p_up=round(decision.test.p_mid_greater, DECIMALS),
        level=level(decision.p),
        suite_regressed=decision.suite_regressed,
        suite_improved=decision.suite_improved,
        common=len(rows),
        varied=decision.test.informative,
        testable=len(decision.q.testable),
        added=added,
        removed=removed,
        changed=changed,
        base=_side(base, shared, base_counts, decision.difference.base, source),
        head=_side(head, shared, head_counts, decision.difference.head, None),
        new_cases=_new_cases(rows),
        detectable=_detectable(base_counts, base_n, head_n, alpha),
        detectable_case=detectable_case(base_n, head_n, alpha, testable=len(decision.down.testable) + 1),
        errors=error_change((base.cases[case], head.cases[case]) for case in shared),
        duration=duration_change(pairs),
        cost=cost_change(pairs),
        alpha=rules.spent_alpha_text,
        cases=cases,
        gate_changes=gate_changes(base.header, head.header),
    )
    return msgspec.structs.replace(comparison, text=claim(comparison))


def detectable_case(base_n: int, head_n: int, alpha: float, *, testable: int = 1) -> tuple[int, int] | None:
    """The most passes with which a case that passed everything on base is found regressed by itself.

    Args:
        base_n: base's verdicts. head_n: head's verdicts. Both at least 1.
        alpha: the gate's budget; single cases share half of it.
        testable: cases that could be tested, this one among them; the smallest p is multiplied by their number.

    Returns:
        (passes, head's verdicts), or None when not even zero passes would do.
    """
    found = None
    for passes in range(head_n):
        if round(case_exact(base_n, base_n, passes, head_n).p_less * testable, DECIMALS) > alpha / 2.0:
            break
        found = (passes, head_n)
    return found


def _positions(judged: Sequence[str]) -> dict[str, int]:
    return {case: position for position, case in enumerate(judged)}


def _usual(numbers: Sequence[int]) -> int:
    return statistics.median_low(numbers)


def _apart(base: OneSide, head: OneSide) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Cases that only head has, and those that only base has; what a side was told not to run is neither."""
    added = [case for case in head.cases if case not in base.cases]
    removed = [case for case in base.cases if case not in head.cases]
    return _wanted(added, head.header, base.header), _wanted(removed, base.header, head.header)


def _wanted(cases: Sequence[str], having: RunHeader, lacking: RunHeader) -> tuple[str, ...]:
    tags = {plan.id: plan.tags for plan in having.cases}
    return tuple(case for case in cases if lacking.selection.takes(case, tags.get(case, ())))


def _changed(base: RunHeader, plans: Mapping[str, CasePlan], shared: Sequence[str]) -> tuple[str, ...]:
    """Cases whose input or checks differ, where both sides say what they were."""
    before = {plan.id: plan.case_fingerprint for plan in base.cases}
    now = {case: plan.case_fingerprint for case, plan in plans.items()}
    return tuple(
        case
        for case in shared
        if before.get(case) is not None and now.get(case) is not None and before[case] != now[case]
    )


def _otherwise_set(base: OneSide, head: OneSide, shared: Sequence[str], rules: Rules) -> str | None:
    """Why a stored base says nothing about head, though both have the same cases; None when it does."""
    counted = base.header.settings.get("count_as_failed")
    if isinstance(counted, list | tuple) and set(counted) != rules.count_as_failed:
        one, other = (", ".join(sorted(kinds)) or "none" for kinds in (counted, rules.count_as_failed))
        return f"base was stored with count_as_failed {one}, and head has {other}: their counts mean different things"
    if not any(base.cases[case].verdicts and head.cases[case].verdicts for case in shared):
        return "the cases with a verdict on both sides all changed input or checks since base was stored"
    return None


def _side(
    side: OneSide, shared: Sequence[str], counts: Sequence[Count], rate: RateInterval, source: BaseSource | None
) -> Side:
    rerun = rerun_interval(counts)
    cases = [side.cases[case] for case in shared]
    costs = [case.cost for case in cases if case.cost is not None]
    judging = [case.judge_cost for case in cases if case.judge_cost is not None]
    return Side(
        pass_rate=rate.rate,
        interval=(rate.low, rate.high),
        passed=sum(passed for passed, _ in counts),
        verdicts=sum(verdicts for _, verdicts in counts),
        errors=sum(case.errors for case in cases),
        trials=sum(_done(case) for case in cases),
        flaky=sum(0 < passed < verdicts for passed, verdicts in counts),
        rerun_rate=rerun.rate,
        rerun_interval=(rerun.low, rerun.high),
        width=rerun.high - rerun.low,
        pass_hat_k=_mean_pass_hat_k(counts),
        duration=_mean_duration(cases),
        cost=math.fsum(costs) if costs else None,
        judge_cost=math.fsum(judging) if judging else None,
        commit=side.header.commit,
        source=source,
        started=side.header.started,
        target_fingerprint=side.header.target_fingerprint,
    )


def _done(case: SideOfCase) -> int:
    return case.verdicts + case.errors + case.skipped


def _mean_duration(cases: Sequence[SideOfCase]) -> float | None:
    timed = [(case.duration, _done(case)) for case in cases if case.duration is not None]
    total = sum(weight for _, weight in timed)
    return math.fsum(duration * weight for duration, weight in timed) / total if total else None


def _mean_pass_hat_k(counts: Sequence[Count]) -> dict[str, float | None]:
    tally = Counter(counts)
    means: dict[str, float | None] = {}
    for k in PASS_HAT_KS:
        values = [(repeats.pass_hat_k(passed, verdicts, k), count) for (passed, verdicts), count in tally.items()]
        known = [value * count for value, count in values if value is not None]
        means[str(k)] = math.fsum(known) / len(counts) if len(known) == len(values) else None
    return means


def _new_cases(rows: Sequence[Row]) -> NewCases | None:
    found = population_paired_t(rows) if len(rows) >= MIN_CASES_FOR_NEW_CASES else None
    if found is None:
        return None
    interval: Interval = (max(-1.0, found.low), min(1.0, found.high))
    return NewCases(delta=found.mean, interval=interval, p=round(found.p, DECIMALS), cases=len(rows))


def _detectable(base_counts: Sequence[Count], base_n: int, head_n: int, alpha: float) -> float | None:
    """The smallest fall of the suite's rate found with 80 % power; None when it is unknown or above 100 points."""
    variance = within_case_variance(base_counts)
    if variance is None:
        return None
    found = minimal_detectable_difference(len(base_counts), base_n, head_n, variance, alpha=alpha)
    return found if found <= 1.0 else None
