"""Wilson score intervals for a pass rate."""

from __future__ import annotations

import math
from functools import lru_cache

from repeat_eval.statistics.counts import check_counts

DEFAULT_CONFIDENCE = 0.95

# inv_cdf(0.975) as NormalDist gives it; a plain run needs no other and so need not load that module.
_Z_95 = 1.9599639845400536


@lru_cache(maxsize=64)
def z_value(confidence: float = DEFAULT_CONFIDENCE) -> float:
    """Two-sided standard normal quantile: the z with P(|Z| <= z) = confidence.

    Args:
        confidence: in (0, 1), for instance 0.95.

    Raises:
        ValueError: confidence outside (0, 1).
    """
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence must lie between 0 and 1, not {confidence!r}")
    if confidence == DEFAULT_CONFIDENCE:
        return _Z_95
    from statistics import NormalDist

    return NormalDist().inv_cdf(0.5 + confidence / 2.0)


@lru_cache(maxsize=1 << 16, typed=True)
def wilson_interval(passes: int, verdicts: int, confidence: float = DEFAULT_CONFIDENCE) -> tuple[float, float]:
    """Wilson score interval of a pass rate in closed form (Wilson 1927).

    With d = 2 (n + z^2): centre (2c + z^2) / d, half-width z sqrt(z^2 + 4c (n - c) / n) / d. It contains c/n, lies in
    [0, 1], and is exactly 0 below for no pass and exactly 1 above for no failure.

    Args:
        passes: c, trials that passed.
        verdicts: n >= 1, trials that passed or failed.
        confidence: in (0, 1).

    Returns:
        Lower and upper limit of the rate.

    Raises:
        ValueError: bad counts or confidence.
    """
    check_counts(passes, verdicts)
    z = z_value(confidence)
    square = z * z
    divisor = 2.0 * (verdicts + square)
    centre = (2.0 * passes + square) / divisor
    half = z * math.sqrt(square + 4.0 * passes * (verdicts - passes) / verdicts) / divisor
    low = 0.0 if passes == 0 else max(0.0, centre - half)
    high = 1.0 if passes == verdicts else min(1.0, centre + half)
    return low, high


def wilson_real(rate: float, size: float, z: float) -> tuple[float, float]:
    """Wilson limits for a real rate and a real (effective) size, clipped to [0, 1].

    The formula of `wilson_interval` with c = rate * size; the idea of an effective size in a score interval is that
    of Korn and Graubard (1998) for surveys.

    Args:
        rate: in [0, 1].
        size: effective number of trials, above 0.
        z: normal or Student quantile, at least 0.

    Raises:
        ValueError: an argument out of its range.
    """
    if not (0.0 <= rate <= 1.0 and 0.0 < size < math.inf and 0.0 <= z < math.inf):
        raise ValueError(f"rate in [0, 1], size above 0 and z from 0 are needed, not {rate!r}, {size!r}, {z!r}")
    square = z * z
    divisor = 2.0 * (size + square)
    centre = (2.0 * rate * size + square) / divisor
    half = z * math.sqrt(square + 4.0 * size * rate * (1.0 - rate)) / divisor
    # The rate lies inside by theory; with a tiny z or a huge size rounding could leave it a hair outside.
    return max(0.0, min(rate, centre - half)), min(1.0, max(rate, centre + half))
