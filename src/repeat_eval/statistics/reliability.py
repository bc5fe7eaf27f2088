"""The reliability rating: can one look at this case be trusted?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from repeat_eval.statistics.counts import check_counts
from repeat_eval.statistics.intervals import DEFAULT_CONFIDENCE, wilson_interval

Rating: TypeAlias = Literal["high", "moderate", "low", "unreliable"]

ENOUGH_FOR_HIGH = 5
"""Trials below which `high` says little: at a true rate of 0.8, 3 of 3 happens half of the time."""


@dataclass(frozen=True, slots=True)
class Reliability:
    """Rating of a case by plug-in pass-to-3.

    Attributes:
        rating: what `rating_of` makes of `value`.
        value: (c / n)^3.
        interval: [L^3, U^3] of the Wilson limits; a monotone map keeps the coverage.
        insufficient: the rating is `high` and rests on fewer than 5 trials.
    """

    rating: Rating
    value: float
    interval: tuple[float, float]
    insufficient: bool


def rating_of(pass_to_3: float) -> Rating:
    """Rate a pass-to-3: above 0.90 high, from 0.70 moderate, from 0.50 low, below unreliable.

    Args:
        pass_to_3: probability that three trials all pass, in [0, 1].

    Raises:
        ValueError: outside [0, 1].
    """
    if not 0.0 <= pass_to_3 <= 1.0:
        raise ValueError(f"pass-to-3 must lie between 0 and 1, not {pass_to_3!r}")
    if pass_to_3 > 0.9:
        return "high"
    if pass_to_3 >= 0.7:
        return "moderate"
    return "low" if pass_to_3 >= 0.5 else "unreliable"


def reliability(passes: int, verdicts: int, confidence: float = DEFAULT_CONFIDENCE) -> Reliability:
    """Reliability of a case with `passes` of `verdicts`.

    Raises:
        ValueError: bad counts, or no verdict.
    """
    check_counts(passes, verdicts)
    value = passes**3 / verdicts**3
    low, high = wilson_interval(passes, verdicts, confidence)
    rating = rating_of(value)
    return Reliability(rating, value, (low**3, high**3), rating == "high" and verdicts < ENOUGH_FOR_HIGH)
