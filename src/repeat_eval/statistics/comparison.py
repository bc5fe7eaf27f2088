"""Did this change? Exact tests on the passes of two sides, case by case and over a whole suite.

The null hypothesis is that base and head are alike in every case; only trials are random. Given how many trials of a
case passed on both sides together, head's passes then follow a hypergeometric distribution, whatever the true rate.
The suite's statistic is the sum over cases, and its null distribution the convolution: the exact conditional form of
the Cochran-Mantel-Haenszel test (Cochran 1954; Mantel and Haenszel 1959). "Mid-p" counts half of the probability of
the observed value (Lancaster 1961; advised by Lydersen, Fagerland and Laake 2009).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from repeat_eval.statistics.counts import Row, check_counts, tally_rows
from repeat_eval.statistics.distributions import hypergeometric, sum_of_copies, sum_of_parts


@dataclass(frozen=True, slots=True)
class ExactTest:
    """Result of the stratified exact test. T is the number of head's passes in the cases that vary, t its value.

    Attributes:
        p_less: P(T <= t), small when head is worse.
        p_greater: P(T >= t), small when head is better.
        p_mid: two-sided mid-p, min(1, 2 min(p_less, p_greater) - P(T = t)): the primary p-value.
        p_exact: conservative two-sided p, min(1, 2 min(p_less, p_greater)).
        p_mid_less: one-sided mid-p for "head is worse", P(T < t) + P(T = t) / 2.
        p_mid_greater: one-sided mid-p for "head is better", P(T > t) + P(T = t) / 2.
        informative: cases that vary: some trial of either side passed and some did not. With none every two-sided p
            is 1 and every one-sided mid-p 1/2.

    A p of 0 means "below 1e-12": t lies where the null distribution was cut off.
    """

    p_less: float
    p_greater: float
    p_mid: float
    p_exact: float
    p_mid_less: float
    p_mid_greater: float
    informative: int


@dataclass(frozen=True, slots=True)
class CaseTest:
    """Mid-p test of one case, and the smallest p that its number of passes could have given.

    Attributes:
        p: two-sided mid-p.
        p_less: one-sided mid-p for "head is worse".
        p_greater: one-sided mid-p for "head is better".
        smallest: smallest attainable two-sided mid-p; a case is testable at a level that it can reach (Tarone 1990).
        smallest_less: smallest attainable one-sided mid-p downwards.
        smallest_greater: smallest attainable one-sided mid-p upwards.
    """

    p: float
    p_less: float
    p_greater: float
    smallest: float
    smallest_less: float
    smallest_greater: float


def stratified_exact(rows: Iterable[Row]) -> ExactTest:
    """Compare head with base over all common cases.

    Equal tables are grouped, and groups are joined in a fixed order, so the order of cases changes nothing.

    Args:
        rows: (base passes, base verdicts, head passes, head verdicts) a case; both sides need a verdict.

    Raises:
        ValueError: bad counts, or a side without a verdict.
    """
    groups: Counter[tuple[int, int, int]] = Counter()
    observed = 0
    for (base_c, base_n, head_c, head_n), count in tally_rows(rows).items():
        passes = base_c + head_c
        # A case in which everything or nothing passed says nothing about which side is better.
        if 0 < passes < base_n + head_n:
            groups[passes, base_n, head_n] += count
            observed += head_c * count
    low, pmf = sum_of_parts(sum_of_copies(hypergeometric(*table), groups[table]) for table in sorted(groups))
    p_less, p_equal, p_greater = _tails(pmf, observed - low)
    lower = min(p_less, p_greater)
    return ExactTest(
        p_less=p_less,
        p_greater=p_greater,
        p_mid=min(1.0, 2.0 * lower - p_equal),
        p_exact=min(1.0, 2.0 * lower),
        p_mid_less=p_less - p_equal / 2.0,
        p_mid_greater=p_greater - p_equal / 2.0,
        informative=groups.total(),
    )


@lru_cache(maxsize=1 << 14, typed=True)
def case_exact(base_c: int, base_n: int, head_c: int, head_n: int) -> CaseTest:
    """Compare head with base in one case: the stratified test with one case, as mid-p.

    Args:
        base_c: base's passes. base_n: base's verdicts, at least 1.
        head_c: head's passes. head_n: head's verdicts, at least 1.

    Raises:
        ValueError: bad counts, or a side without a verdict.
    """
    check_counts(base_c, base_n)
    check_counts(head_c, head_n)
    low, pmf = hypergeometric(base_c + head_c, base_n, head_n)
    p_less, p_equal, p_greater = _tails(pmf, head_c - low)
    # Moving t outwards only takes probability away from its tail, so the smallest p is at an end.
    return CaseTest(
        p=min(1.0, 2.0 * min(p_less, p_greater) - p_equal),
        p_less=p_less - p_equal / 2.0,
        p_greater=p_greater - p_equal / 2.0,
        smallest=min(pmf[0], pmf[-1]),
        smallest_less=pmf[0] / 2.0,
        smallest_greater=pmf[-1] / 2.0,
    )


def _tails(pmf: Sequence[float], index: int) -> tuple[float, float, float]:
    """P(T <= t), P(T = t), P(T >= t) for the t at `index`, which may lie outside."""
    if index < 0:
        return 0.0, 0.0, 1.0
    if index >= len(pmf):
        return 1.0, 0.0, 0.0
    equal = pmf[index]
    if len(pmf) == 1:
        return 1.0, 1.0, 1.0
    return min(1.0, math.fsum(pmf[: index + 1])), equal, min(1.0, math.fsum(pmf[index:]))
