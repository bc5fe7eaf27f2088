"""Words for a p-value."""

from __future__ import annotations

from typing import Literal, TypeAlias

from repeat_eval.statistics.gates import DECIMALS

Level: TypeAlias = Literal["strong", "significant", "marginal", "noise"]


def level(p: float) -> Level:
    """Level of a p-value after rounding to 12 decimals: below 0.01 strong, 0.05 significant, 0.10 marginal, else noise.

    Levels use "below": 0.05 itself is marginal.

    Args:
        p: in [0, 1].

    Raises:
        ValueError: outside [0, 1].
    """
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"p must lie between 0 and 1, not {p!r}")
    rounded = round(p, DECIMALS)
    if rounded < 0.01:
        return "strong"
    if rounded < 0.05:
        return "significant"
    return "marginal" if rounded < 0.10 else "noise"
