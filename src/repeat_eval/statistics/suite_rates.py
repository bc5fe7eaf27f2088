"""Pass rate of a suite: the mean of its cases' rates, with an interval for each of the two questions it can answer.

*Re-run*: where would the rate of this very suite lie if it were run again? Only trials are random.
*New cases*: where would the rate of new cases like these lie? Cases are random too, so it is wider.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from repeat_eval.statistics.counts import Count, tally_counts
from repeat_eval.statistics.gates import Gate, GateVerdict, below, check_gate
from repeat_eval.statistics.intervals import DEFAULT_CONFIDENCE, wilson_real, z_value
from repeat_eval.statistics.student_t import t_quantile


@dataclass(frozen=True, slots=True)
class RateInterval:
    """A suite's rate and its re-run interval, all in [0, 1].

    `phi` in (0, 1] is the variance ratio: how much less the suite's rate varies than one pooled rate would.
    """

    rate: float
    low: float
    high: float
    phi: float


@dataclass(frozen=True, slots=True)
class NewCasesInterval:
    """A suite's rate and its interval for new cases like these; `n_eff` is the effective number of trials."""

    rate: float
    low: float
    high: float
    n_eff: float


@dataclass(frozen=True, slots=True)
class Stratum:
    """`count` equal cases on one side of a weighted suite, and the weight of each; all weights sum to 1."""

    passes: int
    verdicts: int
    weight: float
    count: int


def mean_rate(cases: Iterable[Count]) -> Fraction:
    """Mean of the cases' pass rates as an exact fraction: each case counts once, however many verdicts it has.

    Args:
        cases: (passes, verdicts) a case; leave out cases without a verdict.

    Raises:
        ValueError: no case, bad counts, or a case without a verdict.
    """
    return _mean_of(tally_counts(cases))


def rerun_interval(cases: Iterable[Count], confidence: float = DEFAULT_CONFIDENCE) -> RateInterval:
    """Rate of this suite with the interval that a re-run of the same cases is about.

    `variance_ratio_interval` with equal weights.

    Args:
        cases: (passes, verdicts) a case; leave out cases without a verdict.
        confidence: in (0, 1).

    Raises:
        ValueError: as `mean_rate`, or a bad confidence.
    """
    return _rerun_of(tally_counts(cases), confidence)


def variance_ratio_interval(rate: float, strata: Iterable[Stratum], confidence: float) -> RateInterval:
    """Wilson interval of a weighted mean of rates, with the effective size that the within-case variance implies.

    With weights w (sum 1), rates p and theta = sum w p: M = 1 / sum(w^2 / n) is the size if all rates were equal,
    v = sum w^2 p (1-p) / (n-1) the estimated variance (a case with n = 1 uses w^2 theta (1-theta)),
    phi = min(1, (v M^2 + 1) / (theta (1-theta) M + 1)), and the limits are Wilson's for theta and M / phi. The added
    ones keep a positive width when every case looks deterministic. The project's own construction, after the
    effective sizes of Korn and Graubard (1998); for one case it is Wilson's interval.

    Args:
        rate: theta in [0, 1].
        strata: the cases with their weights.
        confidence: in (0, 1).

    Raises:
        ValueError: a bad rate or confidence.
    """
    pooled = rate * (1.0 - rate)
    size_terms, variance_terms = [], []
    for stratum in strata:
        square = stratum.weight * stratum.weight * stratum.count
        n = stratum.verdicts
        size_terms.append(square / n)
        spread = pooled if n == 1 else stratum.passes * (n - stratum.passes) / (n * n * (n - 1))
        variance_terms.append(square * spread)
    size = 1.0 / math.fsum(size_terms)
    variance = math.fsum(variance_terms)
    phi = min(1.0, (variance * size * size + 1.0) / (pooled * size + 1.0))
    low, high = wilson_real(rate, size / phi, z_value(confidence))
    return RateInterval(rate, low, high, phi)


def new_cases_interval(cases: Iterable[Count], confidence: float = DEFAULT_CONFIDENCE) -> NewCasesInterval:
    """Rate of this suite with the interval for the rate of new cases like these.

    Wilson limits with a Student quantile (K - 1 degrees of freedom) and the effective size
    theta (1-theta) / (s^2 / K), s^2 the sample variance of the case rates; the size is K if the rates do not vary or
    theta is 0 or 1, and at most the number of trials. Clustered standard errors are the aim (Miller 2024); the score
    form keeps its coverage where most cases pass everything (docs/statistics.md).

    Args:
        cases: (passes, verdicts) a case, at least two; leave out cases without a verdict.
        confidence: in (0, 1).

    Raises:
        ValueError: fewer than two cases, bad counts, or a bad confidence.
    """
    tally = tally_counts(cases)
    number = tally.total()
    if number < 2:
        raise ValueError("at least two cases are needed")
    rate = float(_mean_of(tally))
    trials = sum(verdicts * count for (_, verdicts), count in tally.items())
    squares = math.fsum(count * (passes / verdicts - rate) ** 2 for (passes, verdicts), count in tally.items())
    pooled = rate * (1.0 - rate)
    n_eff = float(number) if squares == 0.0 or pooled == 0.0 else pooled * number * (number - 1) / squares
    n_eff = min(n_eff, float(trials))
    low, high = wilson_real(rate, n_eff, t_quantile(confidence, number - 1))
    return NewCasesInterval(rate, low, high, n_eff)


def suite_verdict(cases: Iterable[Count], threshold: Fraction, gate: Gate) -> GateVerdict:
    """What a suite gate makes of the mean rate.

    `pass` if the mean of the case rates reaches T, in exact arithmetic. Below T, `strict` fails; `wilson` fails only
    if the upper limit of the re-run interval (95 %) lies below T too, and is `within-noise` otherwise. `none` passes.

    Args:
        cases: (passes, verdicts) a case; leave out cases without a verdict.
        threshold: T in [0, 1].
        gate: the rule.

    Raises:
        ValueError: as `mean_rate`, a threshold outside [0, 1], or an unknown gate.
    """
    check_gate(threshold, gate)
    tally = tally_counts(cases)
    if gate == "none" or _mean_of(tally) >= threshold:
        return "pass"
    if gate == "strict":
        return "fail"
    return "fail" if below(_rerun_of(tally, DEFAULT_CONFIDENCE).high, threshold) else "within-noise"


def _mean_of(tally: Counter[Count]) -> Fraction:
    passes_by_verdicts: dict[int, int] = {}
    for (passes, verdicts), count in tally.items():
        passes_by_verdicts[verdicts] = passes_by_verdicts.get(verdicts, 0) + passes * count
    # One common denominator: adding fractions one by one would reduce each sum.
    common = math.lcm(*passes_by_verdicts)
    total = sum(passes * (common // verdicts) for verdicts, passes in passes_by_verdicts.items())
    return Fraction(total, common * tally.total())


def _rerun_of(tally: Counter[Count], confidence: float) -> RateInterval:
    weight = 1.0 / tally.total()
    strata = [Stratum(passes, verdicts, weight, count) for (passes, verdicts), count in tally.items()]
    return variance_ratio_interval(float(_mean_of(tally)), strata, confidence)
