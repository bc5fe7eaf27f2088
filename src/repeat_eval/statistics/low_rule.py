"""The absolute gate with two looks, head alone: cases below their threshold get fresh trials, and those decide.

The first look never fails a case by itself, and the looks are never pooled: given that a case was re-run, its pooled
rate is too low. Where any single miss fails a case (T = 1 and near it) a re-run would forgive misses, so there, and for
the strict gate, the fixed number of repeats stays.
"""

from __future__ import annotations

from fractions import Fraction

from repeat_eval.statistics.counts import Count, check_counts
from repeat_eval.statistics.gates import (
    Gate,
    GateVerdict,
    any_miss_fails,
    check_gate,
    gate_fail_probability,
    gate_verdict,
)

FIXED_REPEATS = 10
"""The fixed number of repeats that stays where a re-run would forgive misses."""


def low_rule_applies(threshold: Fraction, gate: Gate) -> bool:
    """Whether cases with this threshold may be judged by two looks: a wilson gate that forgives a miss among ten.

    Raises:
        ValueError: a threshold outside [0, 1], or an unknown gate.
    """
    check_gate(threshold, gate)
    return gate == "wilson" and not any_miss_fails(FIXED_REPEATS, threshold, gate)


def is_low(passes: int, verdicts: int, threshold: Fraction) -> bool:
    """Whether a case's first look lies below its threshold, exactly: then it is re-run.

    Raises:
        ValueError: bad counts, or a threshold outside [0, 1].
    """
    check_counts(passes, verdicts)
    check_gate(threshold, "wilson")
    return passes * threshold.denominator < threshold.numerator * verdicts


def could_be_low(passes: int, verdicts: int, unknown: int, threshold: Fraction) -> bool:
    """Whether a case's first look would lie below its threshold if every trial without a verdict had failed.

    Such a case is re-run too: what an error hid must not acquit it.

    Args:
        passes, verdicts: of the first look. unknown: its trials without a verdict. threshold: T in [0, 1].

    Raises:
        ValueError: bad counts, or a threshold outside [0, 1].
    """
    return verdicts + unknown > 0 and is_low(passes, verdicts + unknown, threshold)


def low_rule_verdict(first: Count, fresh: Count | None, threshold: Fraction, *, asked: int) -> GateVerdict | None:
    """What the two looks make of a case.

    Args:
        first: (passes, verdicts) of the first look, at least one verdict.
        fresh: the same of the fresh trials; None where there are none.
        threshold: T in [0, 1].
        asked: fresh trials that a low case is asked for.

    Returns:
        `pass` when the first look reaches T; else what the wilson gate makes of the fresh trials alone; None when a low
        case has fewer than half of its fresh verdicts: incomplete.

    Raises:
        ValueError: bad counts, or a threshold outside [0, 1].
    """
    if not is_low(*first, threshold):
        return "pass"
    if fresh is None or fresh[1] < 1 or 2 * fresh[1] < asked:
        return None
    return gate_verdict(*fresh, threshold, "wilson")


def low_rule_fail_probability(n1: int, n2: int, threshold: Fraction, true_rate: float) -> float:
    """Probability that a case with this true rate fails: it is low at n1, and its n2 fresh trials fail the wilson gate.

    Args:
        n1: trials of the first look. n2: fresh trials. Both at least 1.
        threshold: T in [0, 1]. true_rate: in [0, 1].

    Raises:
        ValueError: an argument out of its range.
    """
    low = gate_fail_probability(n1, threshold, true_rate, "strict")
    return low * gate_fail_probability(n2, threshold, true_rate, "wilson")
