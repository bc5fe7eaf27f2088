"""How large is the difference between head and base?

Two questions, two answers: `suite_difference` is about this suite (only trials are random) and has the sign of the
exact test; `population_paired_t` is about new cases like these (cases are random too).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from repeat_eval.statistics.counts import Row, tally_rows
from repeat_eval.statistics.intervals import DEFAULT_CONFIDENCE
from repeat_eval.statistics.student_t import t_quantile, t_two_sided_p
from repeat_eval.statistics.suite_rates import RateInterval, Stratum, variance_ratio_interval


@dataclass(frozen=True, slots=True)
class Difference:
    """Weighted rates of both sides over the common cases, and head minus base with its interval.

    Attributes:
        delta: head's rate minus base's, in [-1, 1]; exactly 0 when the weighted rates are equal.
        low: lower limit of the difference.
        high: upper limit of the difference.
        base: base's rate with its own interval.
        head: head's rate with its own interval.
    """

    delta: float
    low: float
    high: float
    base: RateInterval
    head: RateInterval


@dataclass(frozen=True, slots=True)
class PairedT:
    """Mean of the cases' differences, with Student's t, two-sided p and interval; `df` is cases minus 1."""

    mean: float
    t: float
    p: float
    low: float
    high: float
    df: int


def suite_difference(rows: Iterable[Row], confidence: float = DEFAULT_CONFIDENCE) -> Difference:
    """Mantel-Haenszel weighted difference of pass rates with a MOVER interval.

    A case weighs w = base_n head_n / (base_n + head_n), so that delta = (T - E[T]) / sum(w) with the T of
    `stratified_exact` (Mantel and Haenszel 1959; as a risk difference Greenland and Robins 1985): both have one sign.
    With equal verdicts everywhere it is the plain mean difference. Each side gets `variance_ratio_interval`, and the
    two are combined by the method of variance estimates recovery (Newcombe 1998, method 10; Zou and Donner 2008):
    low = delta - sqrt((head - l2)^2 + (u1 - base)^2), high = delta + sqrt((u2 - head)^2 + (base - l1)^2).
    For one case it is Newcombe's interval.

    Args:
        rows: (base passes, base verdicts, head passes, head verdicts) a case; both sides need a verdict.
        confidence: in (0, 1).

    Raises:
        ValueError: no row, bad counts, or a bad confidence.
    """
    tally = tally_rows(rows)
    if not tally:
        raise ValueError("at least one common case is needed")
    # Whole numbers over one denominator: weights, rates and their difference are exact until the last division.
    common = math.lcm(*{base_n + head_n for _, base_n, _, head_n in tally})
    total = base_sum = head_sum = 0
    for (base_c, base_n, head_c, head_n), count in tally.items():
        unit = count * (common // (base_n + head_n))
        total += unit * base_n * head_n
        base_sum += unit * head_n * base_c
        head_sum += unit * base_n * head_c
    weights = {row: row[1] * row[3] * (common // (row[1] + row[3])) / total for row in tally}
    base = variance_ratio_interval(
        base_sum / total, [Stratum(row[0], row[1], weights[row], count) for row, count in tally.items()], confidence
    )
    head = variance_ratio_interval(
        head_sum / total, [Stratum(row[2], row[3], weights[row], count) for row, count in tally.items()], confidence
    )
    delta = (head_sum - base_sum) / total
    low = delta - math.hypot(head.rate - head.low, base.high - base.rate)
    high = delta + math.hypot(head.high - head.rate, base.rate - base.low)
    return Difference(delta, max(-1.0, low), min(1.0, high), base, head)


def population_paired_t(rows: Iterable[Row], confidence: float = DEFAULT_CONFIDENCE) -> PairedT | None:
    """Would new cases like these change? Student's paired t over the cases' differences, each case once.

    Args:
        rows: (base passes, base verdicts, head passes, head verdicts) a case; both sides need a verdict.
        confidence: in (0, 1).

    Returns:
        The result, or None with fewer than two cases or when all differences are alike: without spread there is
        nothing to judge them by.

    Raises:
        ValueError: bad counts, or a bad confidence.
    """
    differences: Counter[float] = Counter()
    for (base_c, base_n, head_c, head_n), count in tally_rows(rows).items():
        # One division of whole numbers: equal differences are equal floats.
        differences[(head_c * base_n - base_c * head_n) / (base_n * head_n)] += count
    if len(differences) < 2:
        return None
    number = differences.total()
    mean = math.fsum(value * count for value, count in differences.items()) / number
    squares = math.fsum(count * (value - mean) ** 2 for value, count in differences.items())
    error = math.sqrt(squares / (number - 1) / number)
    t = mean / error
    reach = t_quantile(confidence, number - 1) * error
    return PairedT(mean, t, t_two_sided_p(t, number - 1), mean - reach, mean + reach, number - 1)
