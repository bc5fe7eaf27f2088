"""Student's t without scipy: tail probability and quantile from the regularised incomplete beta function."""

from __future__ import annotations

import math
from functools import lru_cache

_TINY = 1e-300
_PRECISION = 1e-16
_MAX_TERMS = 100_000


def t_two_sided_p(t: float, df: float) -> float:
    """Two-sided tail P(|T| >= |t|) of Student's t: I_x(df/2, 1/2) at x = df / (df + t^2) (DLMF 8.17, A&S 26.7.1).

    Args:
        t: the statistic; infinite gives 0.
        df: degrees of freedom, above 0.

    Returns:
        p in [0, 1].

    Raises:
        ValueError: t is not a number, or df is not above 0.
    """
    if math.isnan(t) or not 0.0 < df < math.inf:
        raise ValueError(f"a number t and degrees of freedom above 0 are needed, not {t!r} and {df!r}")
    ratio = t / math.sqrt(df)
    square = ratio * ratio
    if square == 0.0:
        return 1.0
    if math.isinf(square):
        return 0.0
    x, y = 1.0 / (1.0 + square), square / (1.0 + square)
    a, b = df / 2.0, 0.5
    # The continued fraction converges fast below the mean of the distribution; the symmetry covers the other half.
    p = _beta_tail(a, b, x, y) if x < (a + 1.0) / (a + b + 2.0) else 1.0 - _beta_tail(b, a, y, x)
    return min(1.0, max(0.0, p))


@lru_cache(maxsize=1024)
def t_quantile(confidence: float, df: float) -> float:
    """Two-sided quantile of Student's t: the t with P(|T| <= t) = confidence, by bisection on `t_two_sided_p`.

    Args:
        confidence: in (0, 1), for instance 0.95.
        df: degrees of freedom, above 0.

    Raises:
        ValueError: an argument out of its range.
    """
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence must lie between 0 and 1, not {confidence!r}")
    tail = 1.0 - confidence
    low, high = 0.0, 1.0
    while t_two_sided_p(high, df) > tail:
        low, high = high, high * 2.0
    while True:
        middle = low + (high - low) / 2.0
        if not low < middle < high or high - low <= 1e-15 * high:
            return middle
        if t_two_sided_p(middle, df) > tail:
            low = middle
        else:
            high = middle


def _beta_tail(a: float, b: float, x: float, y: float) -> float:
    """I_x(a, b) for x below the mean: continued fraction DLMF 8.17.22 by the modified Lentz method; y = 1 - x."""
    front = math.exp(
        a * math.log(x) + b * math.log(y) + math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) - math.log(a)
    )
    c, d = 1.0, _away_from_zero(1.0 - (a + b) * x / (a + 1.0))
    d = 1.0 / d
    value = d
    for m in range(1, _MAX_TERMS):
        even = m * (b - m) * x / ((a + 2 * m - 1.0) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1.0))
        for term in (even, odd):
            d = 1.0 / _away_from_zero(1.0 + term * d)
            c = _away_from_zero(1.0 + term / c)
            change = c * d
            value *= change
        if abs(change - 1.0) <= _PRECISION:
            break
    return front * value


def _away_from_zero(value: float) -> float:
    """Keep a denominator of the Lentz method from being zero."""
    return value if abs(value) > _TINY else _TINY
