"""The comparison's decision on many simulated pairs of runs at once.

The same test as `repeat_eval.statistics.comparison.stratified_exact`, its null distribution made by a product of
characteristic functions instead of by convolution, for thousands of suites in one go. `check` holds it against the
program itself; the calibration does so on a sample of every cell.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, next_fast_len, rfft

from repeat_eval.analysis.decision import decide
from repeat_eval.statistics.comparison import case_exact
from repeat_eval.statistics.distributions import hypergeometric
from repeat_eval.statistics.gates import DECIMALS

Counts: TypeAlias = NDArray[np.int64]
"""Passes: one row a simulated run, one column a case."""
Flags: TypeAlias = NDArray[np.bool_]

ALPHA = 0.05
_CHUNK = 1 << 21
"""Values of all null distributions that are held at once."""


class CalibrationBroken(Exception):
    """The quick path and the program disagree, so its figures would mean nothing."""


@dataclass(frozen=True, slots=True)
class Decisions:
    """What the comparison makes of each simulated pair of runs.

    Attributes:
        p: two-sided mid-p of the suite test, rounded as the program rounds it.
        fell: whether head's rate lies below base's.
        case_down: whether Holm rejects a case downwards at half of alpha.
    """

    p: NDArray[np.float64]
    fell: Flags
    case_down: Flags

    @property
    def suite_changed(self) -> Flags:
        """The suite test rejects, in either direction."""
        return np.asarray(self.p < ALPHA)

    @property
    def suite_down(self) -> Flags:
        """The suite's half of the regression gate."""
        return self.suite_changed & self.fell

    @property
    def gate(self) -> Flags:
        """The regression gate: either half."""
        return self.suite_down | self.case_down


def decisions(base: Counts, base_n: int, head: Counts, head_n: int) -> Decisions:
    """Decide on all pairs of runs; every case has `base_n` and `head_n` verdicts."""
    return Decisions(
        p=np.round(suite_p(base, base_n, head, head_n), DECIMALS),
        fell=fell(base, base_n, head, head_n),
        case_down=_case_down(base, base_n, head, head_n),
    )


def fell(base: Counts, base_n: int, head: Counts, head_n: int) -> Flags:
    """Whether head's mean rate lies below base's, in whole numbers."""
    return np.asarray(head.sum(axis=1) * base_n < base.sum(axis=1) * head_n)


def suite_p(base: Counts, base_n: int, head: Counts, head_n: int) -> NDArray[np.float64]:
    """Two-sided mid-p of the stratified exact test, to about 1e-13."""
    less, equal = _suite_tails(base, base_n, head, head_n)
    return np.clip(2.0 * np.minimum(less, 1.0 - less + equal) - equal, 0.0, 1.0)


def suite_p_down(base: Counts, base_n: int, head: Counts, head_n: int) -> NDArray[np.float64]:
    """One-sided mid-p of the same test for "head is worse", to about 1e-13; 1/2 where nothing varies."""
    less, equal = _suite_tails(base, base_n, head, head_n)
    return np.clip(less - equal / 2.0, 0.0, 1.0)


def _suite_tails(
    base: Counts, base_n: int, head: Counts, head_n: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """P(T <= t) and P(T = t)."""
    passes = base + head
    size = base_n + head_n + 1
    runs = len(passes)
    # How many cases of a pair of runs have m passes on both sides together: all that the null distribution depends on.
    tally = np.bincount((passes + size * np.arange(runs)[:, None]).ravel(), minlength=runs * size)
    tables = tally.reshape(runs, size)
    least = np.maximum(0, np.arange(size) - base_n)
    widths = np.minimum(np.arange(size), head_n) - least
    observed = (head - least[passes]).sum(axis=1)
    length = next_fast_len(int((tables @ widths).max()) + 1, real=True)
    logs = _log_transforms(base_n, head_n, length)
    less, equal = np.empty(runs), np.empty(runs)
    step = max(1, _CHUNK // length)
    for start in range(0, runs, step):
        rows = slice(start, start + step)
        counts = tables[rows].astype(np.float64)
        transform = np.exp(counts @ logs.real + 1j * (counts @ logs.imag))
        pmf = irfft(transform, length)
        at = (np.arange(len(counts)), observed[rows])
        equal[rows] = pmf[at]
        less[rows] = np.cumsum(pmf, axis=1)[at]
    return less, equal


def check(base: Counts, base_n: int, head: Counts, head_n: int, found: Decisions) -> int:
    """Hold decisions against those of the program itself; how many were compared.

    Raises:
        CalibrationBroken: a p-value differs by more than 1e-11, or a half of the gate says something else.
    """
    for row in range(len(base)):
        rows = [(int(b), base_n, int(h), head_n) for b, h in zip(base[row], head[row], strict=True)]
        ours = decide(rows, ALPHA)
        same = ours.suite_regressed == found.suite_down[row] and bool(ours.down.rejected) == found.case_down[row]
        if not same or abs(ours.p - found.p[row]) > 1e-11:
            raise CalibrationBroken(f"the quick path differs from the program on {rows}: p {found.p[row]} and {ours.p}")
    return len(base)


def _case_down(base: Counts, base_n: int, head: Counts, head_n: int) -> Flags:
    """Whether Holm rejects any case: whether the smallest p times the number of testable cases is small enough."""
    p_table, testable_table = _case_tables(base_n, head_n)
    testable = testable_table[base, head]
    smallest = np.where(testable, p_table[base, head], 1.0).min(axis=1)
    return np.asarray(np.round(smallest * testable.sum(axis=1), DECIMALS) <= ALPHA / 2.0) & testable.any(axis=1)


@lru_cache(maxsize=64)
def _case_tables(base_n: int, head_n: int) -> tuple[NDArray[np.float64], Flags]:
    """The program's one-sided p of each possible case, and whether such a case is testable."""
    tests = [[case_exact(b, base_n, h, head_n) for h in range(head_n + 1)] for b in range(base_n + 1)]
    p = np.array([[test.p_less for test in row] for row in tests])
    smallest = np.array([[test.smallest_less for test in row] for row in tests])
    return p, np.asarray(np.round(smallest, DECIMALS) <= ALPHA / 2.0)


def _log_transforms(base_n: int, head_n: int, length: int) -> NDArray[np.complex128]:
    """Logarithms of the characteristic functions, one row a number of passes; a zero becomes a very small number."""
    rows = [rfft(np.array(hypergeometric(m, base_n, head_n)[1]), length) for m in range(base_n + head_n + 1)]
    transforms = np.array(rows)
    transforms[np.abs(transforms) < 1e-300] = 1e-300
    return np.asarray(np.log(transforms))
