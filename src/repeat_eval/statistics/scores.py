"""Scores of a case's trials: mean, spread, fixed bins and the bimodal rule."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

Histogram: TypeAlias = tuple[int, int, int, int, int]
"""Scores in five bins of equal width over the declared range; the upper end belongs to the last bin."""

# Squares of larger numbers leave the range of floats.
_LARGE = 1e150


@dataclass(frozen=True, slots=True)
class ScoreSummary:
    """Mean and population standard deviation (ddof 0) of scores, in the scores' own unit."""

    mean: float
    std: float


def summarise(scores: Sequence[float]) -> ScoreSummary:
    """Mean and population standard deviation; both are exact to rounding, whatever the order of the scores.

    The mean lies between the smallest and the largest score, and equal scores have spread 0: `sum(x) / n` keeps
    neither promise.

    Raises:
        ValueError: no score, or one that is not a finite number.
    """
    if not scores:
        raise ValueError("at least one score is needed")
    if not all(map(math.isfinite, scores)):
        raise ValueError("scores must be finite numbers")
    smallest, largest = min(scores), max(scores)
    if smallest == largest:
        return ScoreSummary(float(smallest), 0.0)
    size = max(abs(smallest), abs(largest))
    scale = size if size > _LARGE else 1.0
    scaled = [score / scale for score in scores]
    mean = min(max(math.fsum(scaled) / len(scaled), smallest / scale), largest / scale)
    variance = math.fsum((score - mean) * (score - mean) for score in scaled) / len(scaled)
    return ScoreSummary(mean * scale, math.sqrt(variance) * scale)


def histogram(scores: Sequence[float], low: float = 0.0, high: float = 1.0) -> Histogram | None:
    """Count scores in five bins of the declared range: bin `min(4, int(5 x))` after scaling x to [0, 1].

    Bins never follow the data's own smallest and largest: they would make every sample look spread out. `int(5 x)`
    and not `int(x / 0.2)`, which puts 0.6 into the wrong bin.

    Args:
        scores: the scores.
        low: lower end of the declared range.
        high: upper end, above `low`.

    Returns:
        Five counts, or None without scores or if one lies outside the range.

    Raises:
        ValueError: the range is empty or not finite.
    """
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ValueError(f"the range must go up between finite numbers, not {low!r} to {high!r}")
    if not scores or not all(low <= score <= high for score in scores):
        return None
    bins = [0, 0, 0, 0, 0]
    width = high - low
    for score in scores:
        bins[min(4, int((score - low) / width * 5))] += 1
    return bins[0], bins[1], bins[2], bins[3], bins[4]


def is_bimodal(bins: Sequence[int]) -> bool:
    """Whether scores cluster at both ends.

    From 5 scores on: both outer bins hold at least 2 scores and a fifth of all, and the three middle bins together at
    most a fifth. The project's own rule ("rule A", docs/statistics.md): at 5 to 20 scores it flags single-peaked, flat
    and tied scores less often than the bimodality coefficient (Pfister et al. 2013) or the dip test.

    Args:
        bins: the five counts of `histogram`.

    Raises:
        ValueError: not five counts.
    """
    if len(bins) != 5 or min(bins) < 0:
        raise ValueError("five counts are needed")
    total = sum(bins)
    first, last = bins[0], bins[4]
    middle = total - first - last
    return total >= 5 and min(first, last) >= 2 and 5 * min(first, last) >= total and 5 * middle <= total


def only_binary(scores: Sequence[float]) -> bool:
    """Whether all scores are 0 or 1: then the bimodal flag would only repeat "flaky" and is not shown."""
    return bool(scores) and all(score in (0, 1) for score in scores)
