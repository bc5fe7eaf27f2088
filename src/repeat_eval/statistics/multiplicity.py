"""Many cases, many p-values: what may be flagged for the eye, and what may turn a gate red.

Cases that could not have reached the level whatever their trials had said are not counted (Tarone 1990; Gilbert 2005):
the filter depends only on the passes of both sides together, which the exact test holds fixed, so it biases no p.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from repeat_eval.statistics.gates import DECIMALS


@dataclass(frozen=True, slots=True)
class Adjusted:
    """p-values adjusted for their number, in the order of the input.

    Attributes:
        testable: positions of the cases that could reach the level; the others have an adjusted p of 1.
        adjusted: adjusted p-values in [0, 1] (q-values for Benjamini-Hochberg).
        rejected: positions of the testable cases whose adjusted p, rounded to 12 decimals, is at most the level.
    """

    testable: tuple[int, ...]
    adjusted: tuple[float, ...]
    rejected: tuple[int, ...]


def bh_adjust(p_values: Sequence[float]) -> tuple[float, ...]:
    """Benjamini-Hochberg q-values (1995): q of the i-th smallest is the minimum over j >= i of p_j m / j.

    Raises:
        ValueError: a p outside [0, 1].
    """
    _check(p_values)
    count = len(p_values)
    adjusted = [1.0] * count
    smallest = 1.0
    order = sorted(range(count), key=p_values.__getitem__)
    for rank in range(count, 0, -1):
        position = order[rank - 1]
        smallest = min(smallest, p_values[position] * count / rank)
        adjusted[position] = smallest
    return tuple(adjusted)


def bh_testable(p_values: Sequence[float], smallest: Sequence[float], alpha: float = 0.05) -> Adjusted:
    """Benjamini-Hochberg over the testable cases only; flags q <= alpha, the usual convention.

    Args:
        p_values: two-sided mid-p a case.
        smallest: the smallest two-sided mid-p that each case could have reached.
        alpha: false discovery rate, in (0, 1).

    Raises:
        ValueError: unequal lengths, or a value out of its range.
    """
    return _over_testable(bh_adjust, p_values, smallest, alpha)


def holm_adjust(p_values: Sequence[float]) -> tuple[float, ...]:
    """Holm's adjusted p (1979): the running maximum over the i smallest of min(1, p_i (m - i + 1)).

    Raises:
        ValueError: a p outside [0, 1].
    """
    _check(p_values)
    count = len(p_values)
    adjusted = [1.0] * count
    largest = 0.0
    for rank, position in enumerate(sorted(range(count), key=p_values.__getitem__)):
        largest = max(largest, min(1.0, p_values[position] * (count - rank)))
        adjusted[position] = largest
    return tuple(adjusted)


def holm_testable(p_values: Sequence[float], smallest: Sequence[float], level: float) -> Adjusted:
    """Holm over the testable cases only: strong control of naming any unchanged case.

    A case is rejected when its adjusted p, rounded to 12 decimals, is at most the level; so 3/3 against 0/3, whose
    one-sided mid-p is exactly 1/40, is rejected alone at 0.025.

    Args:
        p_values: one-sided mid-p a case.
        smallest: the smallest one-sided mid-p that each case could have reached.
        level: what single cases may spend, in (0, 1); half of the gate's alpha beside a suite test.

    Raises:
        ValueError: unequal lengths, or a value out of its range.
    """
    return _over_testable(holm_adjust, p_values, smallest, level)


def _over_testable(
    adjust: Callable[[Sequence[float]], tuple[float, ...]],
    p_values: Sequence[float],
    smallest: Sequence[float],
    level: float,
) -> Adjusted:
    if len(p_values) != len(smallest):
        raise ValueError(f"each p needs its smallest attainable p: {len(p_values)} and {len(smallest)} were given")
    if not 0.0 < level < 1.0:
        raise ValueError(f"the level must lie between 0 and 1, not {level!r}")
    _check(p_values)
    _check(smallest)
    testable = tuple(position for position, p in enumerate(smallest) if round(p, DECIMALS) <= level)
    adjusted = [1.0] * len(p_values)
    for position, value in zip(testable, adjust([p_values[position] for position in testable]), strict=True):
        adjusted[position] = value
    rejected = tuple(position for position in testable if round(adjusted[position], DECIMALS) <= level)
    return Adjusted(testable, tuple(adjusted), rejected)


def _check(p_values: Sequence[float]) -> None:
    for p in p_values:
        if not 0.0 <= p <= 1.0:
            raise ValueError(f"p must lie between 0 and 1, not {p!r}")
