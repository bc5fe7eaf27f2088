"""Gates: what a case's numbers are worth against its threshold, and how likely a gate is to fail.

Thresholds are fractions made from the text that the user wrote, so 4 of 5 meets 0.8 and 7 of 10 meets 0.7 exactly.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Literal, TypeAlias

from repeat_eval.statistics.counts import check_counts
from repeat_eval.statistics.intervals import wilson_interval

Gate: TypeAlias = Literal["wilson", "strict", "none"]
GateVerdict: TypeAlias = Literal["pass", "within-noise", "fail"]

DECIMALS = 12
"""Places to which floats are rounded before they meet a level: 3/3 against 0/3 is exactly 1/20, and floats miss it."""


def gate_verdict(passes: int, verdicts: int, threshold: Fraction, gate: Gate) -> GateVerdict:
    """What the gate makes of a case.

    `pass` if c/n >= T, in exact arithmetic. Below T, `strict` fails; `wilson` fails only if the upper Wilson limit
    (95 %, rounded to 12 decimals) lies below T too, and is `within-noise` otherwise. `none` always passes.

    Args:
        passes: c. verdicts: n >= 1.
        threshold: T in [0, 1].
        gate: the rule.

    Raises:
        ValueError: bad counts, a threshold outside [0, 1], or an unknown gate.
    """
    check_counts(passes, verdicts)
    check_gate(threshold, gate)
    return _verdict(passes, verdicts, threshold.numerator, threshold.denominator, gate)


def gate_min_passes(verdicts: int, threshold: Fraction, gate: Gate) -> int:
    """Fewest passes of n verdicts with which the gate does not fail; 0 if it cannot fail.

    Args:
        verdicts: n >= 1.
        threshold: T in [0, 1].
        gate: the rule.

    Raises:
        ValueError: as `gate_verdict`.
    """
    check_counts(0, verdicts)
    check_gate(threshold, gate)
    # Two ints are hashed faster than a fraction.
    return _min_passes(verdicts, threshold.numerator, threshold.denominator, gate)


def gate_fail_probability(verdicts: int, threshold: Fraction, true_rate: float, gate: Gate) -> float:
    """Probability that a case with this true rate fails the gate: P(X < fewest passes), X binomial(n, rate).

    Accurate to about 1e-12 (absolute).

    Args:
        verdicts: n >= 1.
        threshold: T in [0, 1].
        true_rate: in [0, 1].
        gate: the rule.

    Raises:
        ValueError: as `gate_verdict`, or a true rate outside [0, 1].
    """
    if not 0.0 <= true_rate <= 1.0:
        raise ValueError(f"the true rate must lie between 0 and 1, not {true_rate!r}")
    return _binomial_below(gate_min_passes(verdicts, threshold, gate), verdicts, true_rate)


def never_fails(verdicts: int, threshold: Fraction, gate: Gate) -> bool:
    """Whether even zero passes of n survive the gate; for `wilson` that is T <= z^2 / (n + z^2)."""
    return gate_min_passes(verdicts, threshold, gate) == 0


def any_miss_fails(verdicts: int, threshold: Fraction, gate: Gate) -> bool:
    """Whether a single miss in n verdicts fails the gate; for T = 1 that holds for `wilson` as for `strict`."""
    return gate_min_passes(verdicts, threshold, gate) == verdicts


def below(value: float, threshold: Fraction) -> bool:
    """Whether a float bound lies below a threshold, both rounded to 12 decimals, so that float dust decides nothing."""
    return round(value, DECIMALS) < round(threshold.numerator / threshold.denominator, DECIMALS)


def check_gate(threshold: Fraction, gate: Gate) -> None:
    """Refuse a threshold outside [0, 1] and an unknown gate.

    Raises:
        ValueError: the threshold is no fraction or out of range, or the gate is unknown.
    """
    # An int has numerator and denominator too and is as exact; a float is neither.
    if not isinstance(threshold, Fraction | int):
        raise ValueError(f"the threshold must be a fraction, not {threshold!r}")
    if not 0 <= threshold.numerator <= threshold.denominator:
        raise ValueError(f"the threshold must lie between 0 and 1, not {threshold}")
    if gate not in ("wilson", "strict", "none"):
        raise ValueError(f"the gate must be wilson, strict or none, not {gate!r}")


def _verdict(passes: int, verdicts: int, numerator: int, denominator: int, gate: Gate) -> GateVerdict:
    if gate == "none" or passes * denominator >= numerator * verdicts:
        return "pass"
    if gate == "strict":
        return "fail"
    upper = round(wilson_interval(passes, verdicts)[1], DECIMALS)
    return "fail" if upper < round(numerator / denominator, DECIMALS) else "within-noise"


@lru_cache(maxsize=1 << 14)
def _min_passes(verdicts: int, numerator: int, denominator: int, gate: Gate) -> int:
    if gate == "none":
        return 0
    strict = -(-numerator * verdicts // denominator)
    if gate == "strict":
        return strict
    # The upper limit grows with the passes, so the verdicts go from fail to not-fail once.
    low, high = 0, strict
    while low < high:
        middle = (low + high) // 2
        if _verdict(middle, verdicts, numerator, denominator, gate) == "fail":
            low = middle + 1
        else:
            high = middle
    return low


def _binomial_below(need: int, trials: int, rate: float) -> float:
    """P(X < need) for X binomial(trials, rate).

    Weights relative to the most likely count, by the ratio of neighbours, divided by their sum: no factorials, so
    nothing overflows, and weights below 1e-25 are dropped.
    """
    if need <= 0:
        return 0.0
    if need > trials:
        return 1.0
    if rate in (0.0, 1.0):
        return 1.0 - rate
    odds = rate / (1.0 - rate)
    mode = min(trials, int((trials + 1) * rate))
    under: list[float] = []
    over: list[float] = []
    weight, count = 1.0, mode
    while count <= trials and weight > 1e-25:
        (under if count < need else over).append(weight)
        weight *= (trials - count) / (count + 1) * odds
        count += 1
    weight, count = 1.0, mode
    while count > 0:
        weight *= count / (trials - count + 1) / odds
        count -= 1
        if weight <= 1e-25:
            break
        (under if count < need else over).append(weight)
    below_need = math.fsum(under)
    return below_need / (below_need + math.fsum(over))
