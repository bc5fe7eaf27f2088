"""What repeated trials of one case say: pass^k, pass@k, flakiness, majority, stability."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from repeat_eval.statistics.counts import Count, check_counts


@dataclass(frozen=True, slots=True)
class MajorityVote:
    """What most trials said: `pass`, `fail` or `tie`, and the share of trials that agree with it, in [0.5, 1]."""

    verdict: Literal["pass", "fail", "tie"]
    confidence: float


def pass_hat_k(passes: int, verdicts: int, k: int) -> float | None:
    """pass^k: probability that k trials drawn without replacement all pass, C(c, k) / C(n, k).

    Unbiased for (true rate)^k; the estimator of tau-bench (Yao et al. 2024).

    Returns:
        A probability, or None for k > n: fewer trials cannot say it, and 0 would be a lie.

    Raises:
        ValueError: bad counts, or k below 1.
    """
    _check(passes, verdicts, k)
    if k > verdicts:
        return None
    return math.comb(passes, k) / math.comb(verdicts, k)


def pass_at_k(passes: int, verdicts: int, k: int) -> float | None:
    """pass@k: probability that at least one of k trials drawn without replacement passes, 1 - C(n-c, k) / C(n, k).

    Unbiased for 1 - (1 - true rate)^k; the estimator of HumanEval (Chen et al. 2021).

    Returns:
        A probability, or None for k > n.

    Raises:
        ValueError: bad counts, or k below 1.
    """
    _check(passes, verdicts, k)
    if k > verdicts:
        return None
    every = math.comb(verdicts, k)
    return (every - math.comb(verdicts - passes, k)) / every


def pass_at_k_plugin(passes: int, verdicts: int, k: int) -> float | None:
    """Plug-in pass@k, with replacement and biased: 1 - ((n-c) / n)^k.

    Returns:
        A probability, or None without a verdict; any k is allowed.

    Raises:
        ValueError: bad counts, or k below 1.
    """
    _check(passes, verdicts, k)
    if verdicts == 0:
        return None
    every: int = verdicts**k
    misses: int = (verdicts - passes) ** k
    return (every - misses) / every


def pass_to_k(passes: int, verdicts: int, k: int) -> float | None:
    """Plug-in pass-to-k, with replacement and biased upwards: (c / n)^k.

    Returns:
        A probability, or None without a verdict; any k is allowed.

    Raises:
        ValueError: bad counts, or k below 1.
    """
    _check(passes, verdicts, k)
    if verdicts == 0:
        return None
    hits: int = passes**k
    every: int = verdicts**k
    return hits / every


def is_flaky(passes: int, verdicts: int) -> bool:
    """Whether the trials disagree: 0 < c < n.

    Raises:
        ValueError: bad counts.
    """
    check_counts(passes, verdicts, least=0)
    return 0 < passes < verdicts


def majority_vote(passes: int, verdicts: int) -> MajorityVote:
    """What most trials said: pass if 2c > n, tie if 2c = n; confidence max(c, n - c) / n.

    Raises:
        ValueError: bad counts, or no verdict.
    """
    check_counts(passes, verdicts)
    misses = verdicts - passes
    verdict: Literal["pass", "fail", "tie"] = "pass" if passes > misses else "fail" if passes < misses else "tie"
    return MajorityVote(verdict, max(passes, misses) / verdicts)


def stability(cases: Iterable[Count]) -> float | None:
    """Share of cases whose trials all agree, whether all pass or all fail.

    A case with fewer than two verdicts cannot disagree, so it says nothing and is left out.

    Args:
        cases: (passes, verdicts) a case.

    Returns:
        A share in [0, 1], or None if no case has two verdicts.

    Raises:
        ValueError: bad counts.
    """
    judged = flaky = 0
    for passes, verdicts in cases:
        disagrees = is_flaky(passes, verdicts)
        if verdicts >= 2:
            judged += 1
            flaky += disagrees
    return (judged - flaky) / judged if judged else None


def _check(passes: int, verdicts: int, k: int) -> None:
    check_counts(passes, verdicts, least=0)
    if type(k) is not int or k < 1:
        raise ValueError(f"k must be a whole number from 1, not {k!r}")
