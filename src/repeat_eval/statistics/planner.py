"""How many repeats are needed? Answers for gates and for comparisons, before anything is run."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist

from repeat_eval.statistics.counts import Count, check_counts
from repeat_eval.statistics.gates import Gate, check_gate, gate_fail_probability
from repeat_eval.statistics.intervals import z_value


@dataclass(frozen=True, slots=True)
class GateRepeats:
    """Repeats with which a bad case is caught often enough; None where no number up to the limit does.

    The chance does not grow steadily with n, because the passes needed are whole numbers: `first` is the smallest n
    that reaches the power, `always` the smallest from which on every n up to the limit does.
    """

    first: int | None
    always: int | None


def within_case_variance(cases: Iterable[Count]) -> float | None:
    """Mean over cases of c (n - c) / (n (n - 1)): the unbiased variance of one trial within its case, in [0, 0.5].

    Args:
        cases: (passes, verdicts) a case; cases with fewer than two verdicts say nothing about it and are left out.

    Returns:
        The variance, or None if no case has two verdicts.

    Raises:
        ValueError: bad counts.
    """
    terms = []
    for passes, verdicts in cases:
        check_counts(passes, verdicts, least=0)
        if verdicts >= 2:
            terms.append(passes * (verdicts - passes) / (verdicts * (verdicts - 1)))
    return math.fsum(terms) / len(terms) if terms else None


def minimal_detectable_difference(
    cases: int, base_n: int, head_n: int, variance: float, *, alpha: float = 0.05, power: float = 0.8
) -> float:
    """Smallest drop of the suite's rate that the comparison finds with the given power; may exceed 1: none.

    (b + sqrt(b^2 + 4a)) / 2 with b = q / (K n2), a = q v (1/n1 + 1/n2) / K and q = (z_{1-alpha/2} + z_{power})^2. The
    usual normal formula is sqrt(a); b covers cases that start to fail from 100 %, where the base shows no variance
    (the project's own term, checked by simulation, docs/statistics.md).

    Args:
        cases: K, common cases.
        base_n: n1, verdicts a case on base.
        head_n: n2, verdicts a case on head.
        variance: v, as `within_case_variance` of the base, in [0, 0.5].
        alpha: two-sided level, in (0, 1).
        power: wanted chance to find the drop, in [0.5, 1).

    Raises:
        ValueError: an argument out of its range.
    """
    if min(cases, base_n, head_n) < 1:
        raise ValueError("cases and verdicts must be at least 1")
    q = _effect(variance, alpha, power)
    b = q / (cases * head_n)
    a = q * variance * (1.0 / base_n + 1.0 / head_n) / cases
    return (b + math.sqrt(b * b + 4.0 * a)) / 2.0


def gate_repeats(
    threshold: Fraction, bad_rate: float, *, power: float = 0.8, gate: Gate = "wilson", limit: int = 1000
) -> GateRepeats:
    """Repeats with which a case of this bad rate fails the gate with the wanted chance, by enumeration up to `limit`.

    Args:
        threshold: T in [0, 1].
        bad_rate: true rate of the case that should be caught, below T.
        power: wanted chance, in (0, 1).
        gate: the rule.
        limit: largest number of repeats that is looked at.

    Raises:
        ValueError: an argument out of its range.
    """
    check_gate(threshold, gate)
    if not 0.0 <= bad_rate < threshold or not 0.0 < power < 1.0:
        raise ValueError("a bad rate from 0 to below the threshold and a power between 0 and 1 are needed")
    first = always = None
    for n in range(1, limit + 1):
        if gate_fail_probability(n, threshold, bad_rate, gate) < power:
            always = None
        else:
            first = n if first is None else first
            always = n if always is None else always
    return GateRepeats(first, always)


def min_decisive_n(threshold: Fraction) -> int | None:
    """Fewest verdicts with which zero passes fail the wilson gate: n > z^2 (1 - T) / T; None for T = 0.

    Raises:
        ValueError: a threshold outside [0, 1].
    """
    check_gate(threshold, "wilson")
    if threshold == 0:
        return None
    return math.floor(Fraction(z_value() ** 2) * (1 - threshold) / threshold) + 1


def min_all_pass_n(threshold: Fraction) -> int | None:
    """Fewest verdicts with which all passing proves a rate of T (lower Wilson limit): n >= z^2 T / (1 - T).

    Returns:
        At least 1, or None for T = 1: no number of passes proves perfection.

    Raises:
        ValueError: a threshold outside [0, 1].
    """
    check_gate(threshold, "wilson")
    if threshold == 1:
        return None
    return max(1, math.ceil(Fraction(z_value() ** 2) * threshold / (1 - threshold)))


def _effect(variance: float, alpha: float, power: float) -> float:
    """(z_{1-alpha/2} + z_power)^2, after a look at the arguments."""
    if not 0.0 <= variance <= 0.5:
        raise ValueError(f"the within-case variance must lie between 0 and 0.5, not {variance!r}")
    if not (0.0 < alpha < 1.0 and 0.5 <= power < 1.0):
        raise ValueError("alpha must lie between 0 and 1, and the power from 0.5 to below 1")
    return (z_value(1.0 - alpha) + NormalDist().inv_cdf(power)) ** 2
