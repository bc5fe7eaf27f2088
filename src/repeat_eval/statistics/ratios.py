"""Did something with a ratio scale change, such as latency or cost? Means of cases, compared in pairs."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from repeat_eval.statistics.intervals import DEFAULT_CONFIDENCE
from repeat_eval.statistics.student_t import t_quantile, t_two_sided_p

MIN_PAIRS = 5
"""Pairs below which no p is given: the spread of so few logarithms is hardly known."""


@dataclass(frozen=True, slots=True)
class RatioChange:
    """Geometric mean of head / base over the pairs, with Student's interval and two-sided p on the log scale.

    `low`, `high` and `p` are None with fewer than five pairs, or when the ratios are all alike but not 1: without
    spread there is nothing to judge them by. When all ratios are 1, p is 1 and the interval has no width.
    """

    ratio: float
    low: float | None
    high: float | None
    p: float | None
    pairs: int


def geometric_change(
    pairs: Iterable[tuple[float, float]], confidence: float = DEFAULT_CONFIDENCE
) -> RatioChange | None:
    """Paired comparison of positive means on a ratio scale.

    With d = ln(head / base) of each pair: ratio = exp(mean d), interval exp(mean d -+ t sd(d) / sqrt(K)) with K - 1
    degrees of freedom, and p from Student's paired t on d (Bland and Altman 1996 on ratios of geometric means). Each
    pair counts once; a case that always takes ten times as long does not outweigh the others. Only the pairs' mean
    ratio is tested, so a single case that became slow shows among the cases and hardly here.

    Args:
        pairs: (base mean, head mean) a case; pairs with a mean that is not above 0 and finite are left out.
        confidence: in (0, 1).

    Returns:
        The change, or None without a usable pair.
    """
    logs = sorted(
        math.log(head) - math.log(base) for base, head in pairs if 0.0 < base < math.inf and 0.0 < head < math.inf
    )
    if not logs:
        return None
    number = len(logs)
    mean = math.fsum(logs) / number
    if number < MIN_PAIRS:
        return RatioChange(_exp(mean), None, None, None, number)
    if logs[0] == logs[-1]:
        return (
            RatioChange(1.0, 1.0, 1.0, 1.0, number)
            if mean == 0.0
            else RatioChange(_exp(mean), None, None, None, number)
        )
    error = math.sqrt(math.fsum((value - mean) ** 2 for value in logs) / (number - 1) / number)
    if error == 0.0:
        return RatioChange(_exp(mean), None, None, None, number)
    reach = t_quantile(confidence, number - 1) * error
    p = t_two_sided_p(mean / error, number - 1)
    return RatioChange(_exp(mean), _exp(mean - reach), _exp(mean + reach), p, number)


def _exp(value: float) -> float:
    """The exponential, kept within the floats that JSON can hold."""
    return math.exp(max(-700.0, min(700.0, value)))
