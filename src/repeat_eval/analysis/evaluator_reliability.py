"""Can an evaluator be trusted? Figures of a check that was run again and again on fixed outputs, and their summary."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction

import msgspec

from repeat_eval.analysis.evaluator_model import (
    Distribution,
    GateFound,
    Measure,
    Summary,
    TraceReliability,
    Vote,
)
from repeat_eval.analysis.vocabulary import SuiteVerdict
from repeat_eval.records.thresholds import parse_threshold
from repeat_eval.records.trial import Trial
from repeat_eval.statistics import repeats, scores
from repeat_eval.statistics.reliability import ENOUGH_FOR_HIGH, Rating, rating_of, reliability

SIZES = (1, 3, 5)
"""The k that pass@k, pass-to-k and agree-to-k are given for."""
BINS = ("0.0-0.2", "0.2-0.4", "0.4-0.6", "0.6-0.8", "0.8-1.0")
_MOST = 9, 10
"""Share of scores that is called a cluster."""
_STEADINESS = {1: "stable", 2: "moderately stable"}

_ADVICE: dict[Rating, str] = {
    "high": "Single runs can be trusted.",
    "moderate": "Some instability: use majority voting (best of 3).",
    "low": "Significant variance: use best of 5, or adjust the evaluator.",
    "unreliable": "Close to random: redesign the evaluator.",
}


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """The runs of one check on one trace, each as a trial with this one check."""

    trace: str
    case: str
    check: str
    asked: int
    trials: tuple[Trial, ...]
    fingerprint: str | None = None
    truth: bool | None = None


class Requirement(msgspec.Struct, frozen=True):
    """A gate: the mean of a measure over a check's traces must be greater than a rate, kept as it was written."""

    measure: Measure
    k: int
    rate: str


def figures(judged: Judged) -> TraceReliability:
    """All figures of one check on one trace. Runs that ended without verdict count as errors, never as failures."""
    with_verdict = [trial for trial in judged.trials if trial.outcome in ("passed", "failed")]
    broken = [trial for trial in judged.trials if trial.outcome not in ("passed", "failed")]
    found = of_scores(
        [(trial.outcome == "passed", trial.score) for trial in with_verdict],
        asked=judged.asked,
        errors=len(broken),
    )
    return msgspec.structs.replace(
        found,
        trace=judged.trace,
        case=judged.case,
        check=judged.check,
        error=broken[0].message if broken else None,
        fingerprint=judged.fingerprint,
        truth=judged.truth,
    )


def of_scores(
    verdicts: Sequence[tuple[bool, float | None]], *, asked: int | None = None, errors: int = 0
) -> TraceReliability:
    """Figures of runs given as (passed, score in [0, 1] or None).

    Args:
        verdicts: of the runs that have one. asked: runs asked for; None for those that are there.
        errors: runs that ended without verdict.
    """
    n = len(verdicts)
    c = sum(passed for passed, _ in verdicts)
    values = tuple(score for _, score in verdicts if score is not None)
    blank = TraceReliability(
        trace="",
        case="",
        check="",
        asked=n + errors if asked is None else asked,
        passed=c,
        failed=n - c,
        errors=errors,
        scores=values,
        recommendation="No run gave a verdict.",
    )
    if n == 0:
        return blank
    rated, vote = reliability(c, n), repeats.majority_vote(c, n)
    summary = scores.summarise(values) if values else None
    spread = distribution(values) if values else None
    return msgspec.structs.replace(
        blank,
        mean=summary.mean if summary else None,
        std=summary.std if summary else None,
        pass_at_k={str(k): repeats.pass_at_k_plugin(c, n, k) for k in SIZES},
        pass_to_k={str(k): repeats.pass_to_k(c, n, k) for k in SIZES},
        agree_to_k={str(k): float(_agree_to(c, n, k)) for k in SIZES},
        rating=rated.rating,
        interval=rated.interval,
        insufficient=rated.insufficient,
        majority=Vote(vote.verdict, vote.confidence),
        distribution=spread,
        recommendation=_recommendation(c, n, spread),
    )


def distribution(values: Sequence[float]) -> Distribution:
    """Scores in five bins of [0, 1], whether they cluster at both ends, and what that says.

    A cluster is the shortest row of neighbouring bins with nine tenths of the scores.

    Raises:
        ValueError: no score, or one outside [0, 1].
    """
    bins = scores.histogram(values)
    if bins is None:
        raise ValueError("at least one score is needed, and all of them from 0 to 1")
    bimodal = None if scores.only_binary(values) else scores.is_bimodal(bins)
    if bimodal:
        text = (
            "Scores cluster at both ends: the rubric is probably read in two ways. Say in it what a score stands for."
        )
    else:
        first, last = _cluster(bins)
        steadiness = _STEADINESS.get(last - first + 1, "not stable")
        text = (
            f"Scores cluster in the {first / 5:.1f}-{(last + 1) / 5:.1f} range. Evaluation is {steadiness}."
            if last - first < 4
            else "Scores are spread over the whole range. Evaluation is not stable."
        )
    return Distribution(histogram=dict(zip(BINS, bins, strict=True)), bimodal=bimodal, recommendation=text)


def summarise(found: Sequence[TraceReliability], check: str | None = None, *, seed: int = 0) -> Summary:
    """How reliable a check is over its traces, or all checks together; `seed` is that of the interval."""
    judged = [one for one in found if one.verdicts]
    high = [one for one in judged if one.rating == "high"]
    reliable = sum(not one.insufficient for one in high)
    moderate = sum(one.rating == "moderate" for one in judged)
    always = sum(one.passed == 0 for one in judged)
    unstable = sum(one.rating != "high" and 0 < one.passed < one.verdicts for one in judged)
    values = [one.pass_to_k["3"] for one in judged]
    agreeing = [one.agree_to_k["3"] for one in judged]
    interval = None
    if len(set(values)) > 1:
        from repeat_eval.statistics.agreement import mean_interval

        interval = mean_interval(values, seed=seed)
    return Summary(
        check=check,
        total=len(found),
        reliable=reliable,
        moderate=moderate,
        unreliable=len(judged) - len(high) - moderate,
        insufficient=len(high) - reliable,
        unknown=len(found) - len(judged),
        always_fails=always,
        unstable=unstable,
        overall=math.fsum(values) / len(values) if values else None,
        interval=interval,
        agreement=math.fsum(agreeing) / len(agreeing) if agreeing else None,
        errors=sum(one.errors for one in found),
        runs=sum(one.verdicts + one.errors for one in found),
        recommendation=_advice(unstable, always, len(high) - reliable, len(judged)),
    )


def judge_by(requirement: Requirement, check: str, found: Sequence[TraceReliability]) -> GateFound:
    """Hold the mean of a measure over a check's traces against what is required; it must be greater, exactly compared.

    Runs without verdict, and runs that were not made, count once as failed and once as passed. If that changes the
    answer, it is `incomplete`.
    """
    required = parse_threshold(requirement.rate)
    k = requirement.k
    lows, highs, observed = [], [], []
    for one in found:
        missing = one.asked - one.verdicts
        ends = _bounds(requirement.measure, one.passed, one.failed, missing, k)
        lows.append(ends[0])
        highs.append(ends[1])
        if one.verdicts:
            observed.append(_value(requirement.measure, one.passed, one.verdicts, k))
    low, high = _mean(lows), _mean(highs)
    verdict: SuiteVerdict = "pass" if low > required else "fail" if high <= required else "incomplete"
    value = _mean(observed) if observed else None
    name = f"{requirement.measure}-{k}"
    shown = "unknown" if value is None else f"{float(value):.3f}"
    text = f"{name} of {check!r} is {shown}, must be greater than {requirement.rate}"
    if verdict == "incomplete":
        text += f"; with runs that gave no verdict it lies between {float(low):.3f} and {float(high):.3f}"
    return GateFound(
        measure=requirement.measure,
        k=k,
        required=requirement.rate,
        check=check,
        observed=None if value is None else float(value),
        low=float(low),
        high=float(high),
        verdict=verdict,
        text=text,
    )


def _agree_to(c: int, n: int, k: int) -> Fraction:
    return Fraction(c**k + (n - c) ** k, n**k)


def _value(measure: Measure, c: int, n: int, k: int) -> Fraction:
    return Fraction(c**k, n**k) if measure == "pass-to" else _agree_to(c, n, k)


def _bounds(measure: Measure, passed: int, failed: int, missing: int, k: int) -> tuple[Fraction, Fraction]:
    """Smallest and largest value that the runs without verdict leave open."""
    n = passed + failed + missing
    if measure == "pass-to":
        return Fraction(passed**k, n**k), Fraction((passed + missing) ** k, n**k)
    # Agreement is smallest where both verdicts are as near to one half as they can be, and largest at an end.
    nearest = min(range(passed, passed + missing + 1), key=lambda c: abs(2 * c - n))
    return _agree_to(nearest, n, k), max(_agree_to(passed, n, k), _agree_to(passed + missing, n, k))


def _mean(values: Iterable[Fraction]) -> Fraction:
    listed = list(values)
    return sum(listed, Fraction(0)) / len(listed)


def _recommendation(c: int, n: int, spread: Distribution | None) -> str:
    """Advice by what most runs say: a check that nearly always fails an output is as steady as one that passes it."""
    # A steady verdict is one that three runs would share.
    side = max(c, n - c)
    steady = rating_of(side**3 / n**3)
    if steady == "high" and n < ENOUGH_FOR_HIGH:
        text = f"{n} {'runs agree' if n > 1 else 'run'}, which says little: make at least {ENOUGH_FOR_HIGH}."
    else:
        text = _ADVICE[steady]
        if 2 * c < n:
            always = "every run fails" if c == 0 else f"{n - c} of {n} runs fail"
            text = f"{text.rstrip('.')} ({always}: pass-to-k says how often it passes, not how steady it is)."
    if spread is not None and spread.bimodal:
        text += " " + spread.recommendation
    return text


def _advice(unstable: int, always: int, insufficient: int, judged: int) -> str:
    if not judged:
        return "No run gave a verdict."
    parts = []
    if unstable:
        parts.append(f"Consider majority voting for {unstable:,} unstable {'trace' if unstable == 1 else 'traces'}.")
    if insufficient:
        parts.append(f"Make at least {ENOUGH_FOR_HIGH} runs a trace: fewer cannot show that it is reliable.")
    if always:
        which = "trace fails" if always == 1 else "traces fail"
        parts.append(f"{always:,} {which} in every run: steady, though pass-to-3 is 0.")
    return " ".join(parts) or "Single runs can be trusted."


def _cluster(bins: Sequence[int]) -> tuple[int, int]:
    """First and last of the fewest neighbouring bins with nine tenths of the scores; of several, the fullest."""
    total = sum(bins)
    rows = [(first, last) for first in range(5) for last in range(first, 5)]
    held = {row: sum(bins[row[0] : row[1] + 1]) for row in rows}
    most, of = _MOST
    return min(
        (row for row in rows if of * held[row] >= most * total), key=lambda row: (row[1] - row[0], -held[row], row)
    )
