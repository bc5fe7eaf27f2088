"""How many repeats are needed? From wishes and counts to a plan: what a gate decides, and what a comparison can see.

Everything here is computed before anything is run: sums of binomial probabilities, and the detectable difference of
`statistics.planner`. A plan holds figures only; `reports.plan_text` puts them into words.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from fractions import Fraction

import msgspec

from repeat_eval.analysis.planning_looks import AlonePlan, LooksPlan
from repeat_eval.analysis.report import Gate
from repeat_eval.analysis.rules import exact
from repeat_eval.statistics import planner
from repeat_eval.statistics.comparison import case_exact
from repeat_eval.statistics.counts import Count
from repeat_eval.statistics.gates import DECIMALS, gate_fail_probability, gate_min_passes

PLAN_SCHEMA = "repeat-eval/plan/1"
SIZES = (3, 5, 10, 15, 20, 30, 50)
"""Repeats that every table shows; those that were asked about join them."""
GOOD_RATES = ("0.95", "0.9")
BAD_RATE = "0.3"
TYPICAL_SPREAD = 0.042
"""Within-case variance of a mostly solid suite: most cases always pass, some never, a quarter lies in between."""
MAX_REPEATS = 10_000


class GateRow(msgspec.Struct, frozen=True, kw_only=True):
    """What a gate does at one number of repeats.

    Attributes:
        repeats: N. needs: passes needed of N; 0 when the gate cannot fail.
        good_fails: probability that one good case fails, a number for each good rate of the plan.
        any_good_fails: probability that at least one of the plan's cases fails when all are good, likewise.
        bad_fails: probability that the bad case fails: it is caught.
    """

    repeats: int
    needs: int
    good_fails: tuple[float, ...]
    any_good_fails: tuple[float, ...]
    bad_fails: float


class GatePlan(msgspec.Struct, frozen=True, kw_only=True):
    """Repeats for a gate on single cases.

    Attributes:
        threshold, gate: what a case is held against. bad_rate: true rate of a case that should be caught.
        power: wanted chance to catch it. good_rates: true rates of cases that should pass. cases: K.
        first: smallest N that reaches the power. always: smallest N from which on every N up to 1,000 does. None where
            no N up to 1,000 does.
        decisive: smallest N at which a case that never passes must fail; None if it never must.
        proving: smallest N at which passing every trial proves the threshold (95 % Wilson); None for a threshold of 1.
        rows: the table over N.
    """

    threshold: str
    gate: Gate
    bad_rate: float
    power: float
    good_rates: tuple[float, ...]
    cases: int
    first: int | None
    always: int | None
    decisive: int | None
    proving: int | None
    rows: tuple[GateRow, ...]


class ComparisonRow(msgspec.Struct, frozen=True, kw_only=True):
    """What a comparison sees at one number of repeats.

    Attributes:
        repeats: N of head. base_repeats: N of base.
        detectable: smallest drop of the suite's rate that is found with the plan's power; None where that is above 1.
        single_drop: most passes of head with which a case that passed every trial on base is found alone, when no
            other case could be tested; None where even no pass at all is not enough.
        bad_found: probability that a case that falls from always passing to the bad rate is found so.
        testable: other cases that this suite's counts would make testable, which share the level; None if unknown.
        single_drop_here: as `single_drop` beside those; None if unknown or not enough. bad_found_here: likewise.
        trials: trials of the suite that have to be run. cost: US dollars for them; None if unknown.
    """

    repeats: int
    base_repeats: int
    detectable: float | None
    single_drop: int | None
    bad_found: float
    testable: int | None
    single_drop_here: int | None
    bad_found_here: float | None
    trials: int
    cost: float | None


class ComparisonPlan(msgspec.Struct, frozen=True, kw_only=True):
    """Repeats for a comparison of head with base.

    Attributes:
        cases: K. repeats, base_repeats: of head and of base; `base_is_fixed` when base's trials exist already.
        spread: within-case variance, from 0 to 0.5. spread_source: `given`, `run file` or `assumed`.
        alpha: two-sided level of the suite test, one-sided budget of the regression gate. power: wanted chance.
        bad_rate: rate to which a broken case falls, for `bad_found`.
        here: the row of the repeats asked about. rows: the table over N, `here` among them.
        detect: wanted detectable difference in rate; None if none was asked for.
        needed: the row of the fewest repeats that reach it; None if not asked for, or if
            no N up to 10,000 does.
        cost_per_trial: US dollars, None if unknown.
    """

    cases: int
    repeats: int
    base_repeats: int
    base_is_fixed: bool
    spread: float
    spread_source: str
    alpha: float
    power: float
    bad_rate: float
    here: ComparisonRow
    rows: tuple[ComparisonRow, ...]
    detect: float | None
    needed: ComparisonRow | None
    cost_per_trial: float | None


class VaryingCase(msgspec.Struct, frozen=True, kw_only=True):
    """A case whose trials disagree, and its share of the suite's within-case variance, in [0, 1]."""

    id: str
    passed: int
    verdicts: int
    share: float


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to "how many repeats do I need?".

    Attributes:
        gate: for a gate on cases. comparison: for a comparison; None when the number of cases is not known.
        looks: two looks instead of fixed repeats; None below 6 cases.
        alone: two looks of a run without a base; None where nobody asks for them, or they cannot be taken.
        varying: the cases of a run file that vary most, the most varying first. varied: how many vary at all.
        suite: the suite's name in the run file; None without one. source: the file.
        warnings: what limits the answer, a sentence each.
    """

    schema: str = PLAN_SCHEMA
    gate: GatePlan
    comparison: ComparisonPlan | None = None
    looks: LooksPlan | None = None
    alone: AlonePlan | None = None
    varying: tuple[VaryingCase, ...] = ()
    varied: int = 0
    suite: str | None = None
    source: str | None = None
    warnings: tuple[str, ...] = ()


def plan_gate(
    threshold: str,
    *,
    gate: Gate = "wilson",
    bad_rate: str | None = None,
    good_rates: Sequence[str] = GOOD_RATES,
    power: float = 0.8,
    cases: int = 1,
    sizes: Sequence[int] = SIZES,
) -> GatePlan:
    """Plan repeats for a gate on single cases.

    Args:
        threshold: T as written, in [0, 1]. gate: the rule.
        bad_rate: true rate of a case that should be caught, below T; None takes 0.3, or half of T if that is less.
        good_rates: of cases that should pass.
        power: wanted chance to catch the bad case, in (0, 1).
        cases: K for the chance that any of K good cases fails.
        sizes: the repeats of the table.

    Raises:
        ValueError: an argument out of its range.
    """
    wanted = exact(threshold)
    if wanted == 0:
        raise ValueError("a threshold of 0 is reached by every case: there is nothing to plan")
    # Where nothing is said, a bad case is clearly below the threshold.
    bad = exact(bad_rate) if bad_rate is not None else min(exact(BAD_RATE), wanted / 2)
    if bad >= wanted:
        raise ValueError(
            f"the bad rate {bad_rate} must lie below the threshold {threshold}: a case that reaches it is good"
        )
    if cases < 1:
        raise ValueError("at least one case is needed")
    good = tuple(float(exact(rate)) for rate in good_rates)
    found = planner.gate_repeats(wanted, float(bad), power=power, gate=gate)

    def row(n: int) -> GateRow:
        fails = tuple(gate_fail_probability(n, wanted, rate, gate) for rate in good)
        return GateRow(
            repeats=n,
            needs=gate_min_passes(n, wanted, gate),
            good_fails=fails,
            any_good_fails=tuple(any_of([fail] * cases) for fail in fails),
            bad_fails=gate_fail_probability(n, wanted, float(bad), gate),
        )

    decisive = planner.min_decisive_n(wanted) if gate == "wilson" else 1 if gate == "strict" and wanted > 0 else None
    return GatePlan(
        threshold=threshold,
        gate=gate,
        bad_rate=float(bad),
        power=power,
        good_rates=good,
        cases=cases,
        first=found.first,
        always=found.always,
        decisive=decisive,
        proving=planner.min_all_pass_n(wanted),
        rows=tuple(row(n) for n in sorted(set(sizes))),
    )


def any_of(probabilities: Sequence[float]) -> float:
    """Probability that at least one of several independent things happens: 1 - prod(1 - p), exact for tiny p too."""
    if any(p >= 1.0 for p in probabilities):
        return 1.0
    return -math.expm1(math.fsum(math.log1p(-p) for p in probabilities))


def plan_comparison(
    cases: int,
    *,
    repeats: int,
    base_repeats: int | None = None,
    spread: float | None = None,
    counts: Sequence[Count] = (),
    detect: float | None = None,
    alpha: float = 0.05,
    power: float = 0.8,
    bad_rate: str = BAD_RATE,
    cost_per_trial: float | None = None,
    sizes: Sequence[int] = SIZES,
) -> ComparisonPlan:
    """Plan repeats for a comparison of head with base.

    Args:
        cases: K, cases that both sides have.
        repeats: N of head. base_repeats: N of a base whose trials exist already; None runs both sides with N.
        spread: within-case variance in [0, 0.5]; None takes it from `counts`, or assumes a typical one.
        counts: (passes, verdicts) a case of a run; empty if there is none. Unless there are K of them they are of
            another suite, of which only the spread is taken.
        detect: difference of the suite's rate that should be found, from 0.000001 to 1.
        alpha: two-sided level of the suite test. power: wanted chance, in [0.5, 1).
        bad_rate: rate of a case that broke.
        cost_per_trial: US dollars.
        sizes: the repeats of the table.

    Raises:
        ValueError: an argument out of its range.
    """
    measured = planner.within_case_variance(counts)
    source = "given" if spread is not None else "run file" if measured is not None else "assumed"
    variance = spread if spread is not None else measured if measured is not None else TYPICAL_SPREAD
    bad = float(exact(bad_rate))

    def row(n: int) -> ComparisonRow:
        base_n = n if base_repeats is None else base_repeats
        detectable = planner.minimal_detectable_difference(cases, base_n, n, variance, alpha=alpha, power=power)
        alone = findable_passes(base_n, n, alpha / 2)
        others = _testable(counts, base_n, n, alpha / 2) if len(counts) == cases else None
        here = None if others is None else findable_passes(base_n, n, alpha / 2, others + 1)
        trials = cases * (n if base_repeats is not None else 2 * n)
        return ComparisonRow(
            repeats=n,
            base_repeats=base_n,
            detectable=detectable if detectable <= 1.0 else None,
            single_drop=alone,
            bad_found=_at_most(alone, n, bad),
            testable=others,
            single_drop_here=here,
            bad_found_here=None if others is None else _at_most(here, n, bad),
            trials=trials,
            cost=None if cost_per_trial is None else trials * cost_per_trial,
        )

    def finds(n: int) -> bool:
        base_n = n if base_repeats is None else base_repeats
        found = planner.minimal_detectable_difference(cases, base_n, n, variance, alpha=alpha, power=power)
        return detect is not None and found <= detect + 1e-12

    # More repeats always find less, so the fewest can be searched by halves.
    fewest = bisect_left(range(MAX_REPEATS + 1), True, lo=1, key=finds) if detect is not None else MAX_REPEATS + 1
    needed = row(fewest) if fewest <= MAX_REPEATS else None
    here = row(repeats)
    rows = {n: row(n) for n in sizes} | {repeats: here} | ({needed.repeats: needed} if needed else {})
    return ComparisonPlan(
        cases=cases,
        repeats=repeats,
        base_repeats=here.base_repeats,
        base_is_fixed=base_repeats is not None,
        spread=variance,
        spread_source=source,
        alpha=alpha,
        power=power,
        bad_rate=bad,
        here=here,
        rows=tuple(rows[n] for n in sorted(rows)),
        detect=detect,
        needed=needed,
        cost_per_trial=cost_per_trial,
    )


def findable_passes(base_n: int, head_n: int, level: float, testable: int = 1) -> int | None:
    """Most passes of head with which Holm rejects a case that passed all trials on base.

    Args:
        base_n: base's verdicts, all passed. head_n: head's verdicts.
        level: one-sided level of single cases; half of the regression gate's alpha.
        testable: cases that could be tested, this one among them; the smallest p is held against level / testable.

    Returns:
        The passes, or None where even no pass at all is not enough.
    """
    # The p grows with head's passes, so they go from found to not found once.
    low, high = 0, head_n
    while low < high:
        passes = (low + high) // 2
        if round(case_exact(base_n, base_n, passes, head_n).p_less * testable, DECIMALS) <= level:
            low = passes + 1
        else:
            high = passes
    return low - 1 if low else None


def varying_cases(counts: Mapping[str, Count]) -> tuple[VaryingCase, ...]:
    """The cases whose trials disagree, by their share of the within-case variance, the largest first.

    Args:
        counts: (passes, verdicts) by case.
    """
    terms = {case: c * (n - c) / (n * (n - 1)) for case, (c, n) in counts.items() if n >= 2}
    total = math.fsum(terms.values())
    found = [
        VaryingCase(id=case, passed=counts[case][0], verdicts=counts[case][1], share=term / total)
        for case, term in terms.items()
        if term
    ]
    return tuple(sorted(found, key=lambda case: (-case.share, case.id)))


def _testable(counts: Sequence[Count], base_n: int, head_n: int, level: float) -> int:
    """Cases that could be tested downwards if both sides passed at the rates of this run, rounded to whole trials."""
    number = 0
    for passes, verdicts in counts:
        if not verdicts:
            continue
        rate = Fraction(passes, verdicts)
        test = case_exact(round(rate * base_n), base_n, round(rate * head_n), head_n)
        number += round(test.smallest_less, DECIMALS) <= level
    return number


def _at_most(passes: int | None, verdicts: int, rate: float) -> float:
    """P(X <= passes) for X binomial: what a strict gate that needs one pass more fails."""
    if passes is None:
        return 0.0
    return gate_fail_probability(verdicts, Fraction(passes + 1, verdicts), rate, "strict")
