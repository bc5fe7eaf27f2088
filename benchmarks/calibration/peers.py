"""What others do with the same counts, on many simulated pairs of runs at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, ndtr, stdtr

from benchmarks.calibration.fast import Counts


def pooled_z(base: Counts, base_n: int, head: Counts, head_n: int) -> NDArray[np.float64]:
    """Two-sided p of the two-proportion z test on all trials as one pool; 1 when all of them agree."""
    cases = base.shape[1]
    one, other = base.sum(axis=1) / (cases * base_n), head.sum(axis=1) / (cases * head_n)
    pooled = (base + head).sum(axis=1) / (cases * (base_n + head_n))
    error = np.sqrt(pooled * (1.0 - pooled) * (1.0 / base_n + 1.0 / head_n) / cases)
    z = np.divide(other - one, error, out=np.zeros(len(base)), where=error > 0.0)
    return np.asarray(2.0 * ndtr(-np.abs(z)))


def paired_t(base: Counts, base_n: int, head: Counts, head_n: int) -> NDArray[np.float64]:
    """Two-sided p of Student's paired t over case rates; without spread 1 if nothing differs, else 0."""
    cases = base.shape[1]
    differences = head * base_n - base * head_n
    mean = differences.mean(axis=1)
    spread = differences.std(axis=1, ddof=1)
    varied = np.ptp(differences, axis=1) > 0
    t = np.divide(mean, spread / np.sqrt(cases), out=np.zeros(len(base)), where=varied)
    return np.where(varied, 2.0 * stdtr(cases - 1, -np.abs(t)), np.where(mean == 0.0, 1.0, 0.0))


def mcnemar_majority(base: Counts, base_n: int, head: Counts, head_n: int) -> NDArray[np.float64]:
    """Two-sided p of McNemar's exact test on majority votes: a case passes when more than half of its trials do."""
    before, after = 2 * base > base_n, 2 * head > head_n
    lost, won = (before & ~after).sum(axis=1), (~before & after).sum(axis=1)
    return np.minimum(1.0, 2.0 * np.asarray(bdtr(np.minimum(lost, won), lost + won, 0.5)))


TESTS = {"pooled z": pooled_z, "paired t": paired_t, "McNemar on majorities": mcnemar_majority}
"""Tests with a p-value; "any drop" has none: it alarms whenever head's rate is lower."""
