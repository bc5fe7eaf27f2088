"""Intervals as bars of text: where the rate lies in 0 to 100 %, and how far it may be off."""

from __future__ import annotations

from repeat_eval.analysis.report import Interval

OUTSIDE = "·"
INSIDE = "─"
RATE = "█"


def bar(rate: float | None, interval: Interval | None, width: int = 10) -> str:
    """A bar of `width` cells from 0 to 1: `······──█─`, the interval as a line, the rate as a block.

    Each cell stands for an equal share. A cell belongs to the interval when the interval reaches into it, so an
    interval that touches 0 or 1 touches the end of the bar. An unknown rate gives a bar of dots.

    Args:
        rate: in [0, 1]. interval: low and high, in [0, 1]. width: at least 1.
    """
    if rate is None:
        return OUTSIDE * width
    at = _cell(rate, width)
    low, high = (at, at) if interval is None else (_cell(interval[0], width), _cell(interval[1], width))
    return "".join(RATE if cell == at else INSIDE if low <= cell <= high else OUTSIDE for cell in range(width))


def _cell(value: float, width: int) -> int:
    """The cell of a value; rounded first, so that 0.3 times 10 lies in the fourth cell on every machine."""
    return min(max(int(round(value * width, 9)), 0), width - 1)
