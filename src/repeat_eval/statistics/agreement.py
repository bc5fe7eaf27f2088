"""Do those who judge agree? Share of agreement, Cohen's kappa and Krippendorff's alpha, with intervals.

A unit is one thing that is judged, a rater whoever judges it; labels are pass (true) and fail (false). numpy and
krippendorff are loaded when a coefficient is asked for: nothing else needs them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from repeat_eval.statistics.intervals import DEFAULT_CONFIDENCE, wilson_interval

if TYPE_CHECKING:
    import numpy as np

DRAWS = 2000
"""Resamples that an interval is made of."""
_ENOUGH = 0.9
"""Share of resamples that must have a coefficient: an interval of the others alone would be of chosen samples."""

Limits: TypeAlias = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Confusion:
    """How two raters labelled the units that both of them did: first rater's label, then the second's."""

    both_pass: int
    pass_fail: int
    fail_pass: int
    both_fail: int

    @property
    def units(self) -> int:
        """Units that both raters labelled."""
        return self.both_pass + self.pass_fail + self.fail_pass + self.both_fail


@dataclass(frozen=True, slots=True)
class Agreement:
    """Agreement of raters over units.

    Attributes:
        measure: `kappa` (Cohen, two raters) or `alpha` (Krippendorff, any number, labels may be missing).
        units: units with at least two labels.
        share: mean share of pairs of labels that agree, in [0, 1]; None without units.
        share_interval: of two raters Wilson's, of more by bootstrap; None where it cannot be said.
        value: kappa or alpha, at most 1, 0 for agreement by chance; None where all labels are the same: then chance
            alone agrees always, and nothing is known.
        interval: percentile bootstrap over units (Efron and Tibshirani 1993). None without a value, when fewer than
            90 % of the resamples have one, and when every unit agrees: resamples of such units cannot disagree, and
            an interval of no width would claim too much.
    """

    measure: Literal["kappa", "alpha"]
    units: int
    share: float | None
    share_interval: Limits | None
    value: float | None
    interval: Limits | None


def confusion(pairs: Iterable[tuple[bool, bool]]) -> Confusion:
    """Count the labels that two raters gave to the same units."""
    counts = Counter((bool(one), bool(other)) for one, other in pairs)
    return Confusion(counts[True, True], counts[True, False], counts[False, True], counts[False, False])


def cohens_kappa(counts: Confusion) -> float | None:
    """Cohen's kappa (1960): (p_o - p_e) / (1 - p_e), p_e from each rater's own share of passes.

    Returns:
        At most 1, or None without units or when both raters always gave one and the same label.
    """
    n = counts.units
    first = counts.both_pass + counts.pass_fail
    second = counts.both_pass + counts.fail_pass
    # In whole numbers over n^2, so that "both always alike" is exactly 0.
    chance = first * second + (n - first) * (n - second)
    if n == 0 or chance == n * n:
        return None
    return ((counts.both_pass + counts.both_fail) * n - chance) / (n * n - chance)


def krippendorffs_alpha(units: Sequence[Sequence[bool | None]]) -> float | None:
    """Krippendorff's alpha (2004) for nominal labels, by the library `krippendorff`; None is a missing label.

    Args:
        units: for each unit the labels of all raters, in the raters' order.

    Returns:
        At most 1, or None when no unit has two labels or all such labels are the same.
    """
    counts = [unit for unit in map(_tally, units) if sum(unit) >= 2]
    if not counts or not all(map(sum, zip(*counts, strict=True))):
        return None
    import krippendorff
    import numpy as np

    return float(krippendorff.alpha(value_counts=np.array(counts), value_domain=[0, 1], level_of_measurement="nominal"))


def agreement_of_two(
    pairs: Sequence[tuple[bool, bool]],
    *,
    seed: int = 0,
    draws: int = DRAWS,
    confidence: float = DEFAULT_CONFIDENCE,
) -> Agreement:
    """Agreement of two raters by Cohen's kappa, over the units that both labelled.

    Args:
        pairs: the two labels of each unit.
        seed: of the resamples. draws: how many.
        confidence: of both intervals, in (0, 1).

    Raises:
        ValueError: a bad confidence.
    """
    counts = confusion(pairs)
    n, alike = counts.units, counts.both_pass + counts.both_fail
    if n == 0:
        return Agreement("kappa", 0, None, None, None, None)
    cells = (counts.both_pass, counts.pass_fail, counts.fail_pass, counts.both_fail)
    value = cohens_kappa(counts)
    interval = None
    if value is not None and alike < n:
        interval = _bootstrap(cells, _kappas, seed, draws, confidence)
    return Agreement("kappa", n, alike / n, wilson_interval(alike, n, confidence), value, interval)


def agreement_of_many(
    units: Sequence[Sequence[bool | None]],
    *,
    seed: int = 0,
    draws: int = DRAWS,
    confidence: float = DEFAULT_CONFIDENCE,
) -> Agreement:
    """Agreement of any number of raters by Krippendorff's alpha; labels may be missing.

    Args:
        units: for each unit the labels of all raters, in the raters' order; None for a missing one.
        seed: of the resamples. draws: how many.
        confidence: of both intervals, in (0, 1).
    """
    kinds = Counter(kind for kind in map(_tally, units) if sum(kind) >= 2)
    n = kinds.total()
    if n == 0:
        return Agreement("alpha", 0, None, None, None, None)
    patterns = sorted(kinds)
    counts = [kinds[pattern] for pattern in patterns]
    share = math.fsum(_alike(pattern) * count for pattern, count in zip(patterns, counts, strict=True)) / n
    value = krippendorffs_alpha(units)
    if share == 1.0:
        return Agreement("alpha", n, share, None, value, None)
    shares = _bootstrap(counts, lambda drawn: drawn @ _column(map(_alike, patterns)) / n, seed, draws, confidence)
    interval = None
    if value is not None:
        interval = _bootstrap(counts, lambda drawn: _alphas(drawn, patterns), seed, draws, confidence)
    return Agreement("alpha", n, share, shares, value, interval)


def mean_interval(
    values: Sequence[float], *, seed: int = 0, draws: int = DRAWS, confidence: float = DEFAULT_CONFIDENCE
) -> Limits | None:
    """Percentile bootstrap interval of a mean over units.

    Returns:
        Limits, or None with fewer than two values or when all are alike: there is nothing to resample.
    """
    kinds = Counter(values)
    if len(kinds) < 2:
        return None
    patterns = sorted(kinds)
    size = len(values)
    return _bootstrap(
        [kinds[value] for value in patterns], lambda drawn: drawn @ _column(patterns) / size, seed, draws, confidence
    )


def _tally(labels: Iterable[bool | None]) -> tuple[int, int]:
    given = [label for label in labels if label is not None]
    fails = sum(not label for label in given)
    return fails, len(given) - fails


def _alike(pattern: tuple[int, int]) -> float:
    fails, passes = pattern
    labels = fails + passes
    return (fails * (fails - 1) + passes * (passes - 1)) / (labels * (labels - 1))


def _column(values: Iterable[float]) -> np.ndarray[Any, Any]:
    import numpy as np

    return np.array(list(values), dtype=float)


def _bootstrap(
    counts: Sequence[int],
    figure: Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]],
    seed: int,
    draws: int,
    confidence: float,
) -> Limits | None:
    """Limits of a figure over resampled units. Equal units are drawn together: their counts are multinomial."""
    import numpy as np

    total = sum(counts)
    drawn = np.random.default_rng(seed).multinomial(total, _column(counts) / total, size=draws)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = figure(drawn.astype(float))
    found = found[np.isfinite(found)]
    if len(found) < _ENOUGH * draws:
        return None
    tail = (1.0 - confidence) / 2.0
    low, high = np.quantile(found, [tail, 1.0 - tail])
    return float(low), float(high)


def _kappas(drawn: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    both_pass, pass_fail, fail_pass, both_fail = drawn.T
    n = drawn.sum(axis=1)
    first, second = both_pass + pass_fail, both_pass + fail_pass
    chance = first * second + (n - first) * (n - second)
    kappas: np.ndarray[Any, Any] = ((both_pass + both_fail) * n - chance) / (n * n - chance)
    return kappas


def _alphas(drawn: np.ndarray[Any, Any], patterns: Sequence[tuple[int, int]]) -> np.ndarray[Any, Any]:
    """Alpha of two labels from coincidences: 1 - (n - 1) o_pf / (n_p n_f), o_pf = sum of f p / (m - 1)."""
    mixed = _column(fails * passes / (fails + passes - 1) for fails, passes in patterns)
    fails, passes = drawn @ _column(one for one, _ in patterns), drawn @ _column(one for _, one in patterns)
    alphas: np.ndarray[Any, Any] = 1.0 - (fails + passes - 1.0) * (drawn @ mixed) / (fails * passes)
    return alphas
