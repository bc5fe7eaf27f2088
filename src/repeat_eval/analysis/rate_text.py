"""How a rate reads, in reasons and in every report.

Halves are rounded up. A rate that is not exactly 0 or 1 never prints as 0% or 100%. What is not known prints as "-".
"""

from __future__ import annotations

from math import floor

UNKNOWN = "-"


def half_up(value: float, decimals: int = 0) -> float:
    """Round a number >= 0 with halves upwards, after removing the noise of binary fractions."""
    scale: int = 10**decimals
    return floor(round(value * scale, 9) + 0.5) / scale


def percent(rate: float | None) -> str:
    """A rate in [0, 1] as whole per cents: `80%`; `<1%` and `>99%` where rounding would claim 0 or 100."""
    if rate is None:
        return UNKNOWN
    whole = int(half_up(rate * 100))
    if whole <= 0 and rate > 0:
        return "<1%"
    if whole >= 100 and rate < 1:
        return ">99%"
    return f"{whole}%"


def percent1(rate: float | None) -> str:
    """A rate in [0, 1] with one decimal: `73.3%`; exactly 0 and 1 print as `0%` and `100%`."""
    if rate is None:
        return UNKNOWN
    if rate in (0, 1):
        return f"{rate:.0%}"
    tenths = half_up(rate * 100, 1)
    if tenths <= 0:
        return "<0.1%"
    if tenths >= 100:
        return ">99.9%"
    return f"{tenths:.1f}%"
