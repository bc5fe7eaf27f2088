"""What is said about an evaluator: structs of `judge-reliability.json`, schema `repeat-eval/judge-reliability/1`.

Probabilities and scores lie in [0, 1]; intervals are of 95 %; unknown is None. A run is one of a check on one trace.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from repeat_eval.analysis.vocabulary import Interval, Rating, SuiteVerdict

RELIABILITY_SCHEMA = "repeat-eval/judge-reliability/1"
Measure = Literal["pass-to", "agree-to"]


class Vote(msgspec.Struct, frozen=True):
    """What most runs said, `pass`, `fail` or `tie`, and the share of runs that agree with it."""

    verdict: Literal["pass", "fail", "tie"]
    confidence: float


class Distribution(msgspec.Struct, frozen=True, kw_only=True):
    """Scores in five bins.

    Attributes:
        histogram: counts by bin, `0.0-0.2` to `0.8-1.0`.
        bimodal: whether scores cluster at both ends; None where all scores are 0 or 1, which it says nothing about.
        recommendation: in words.
    """

    histogram: dict[str, int]
    bimodal: bool | None
    recommendation: str


class TraceReliability(msgspec.Struct, frozen=True, kw_only=True):
    """One check, run again and again on one fixed output.

    Attributes:
        trace: id of the trace. case: the case whose check it is. check: name of the check.
        asked: runs asked for. passed, failed: runs with a verdict. errors: runs that ended without one; runs that were
            never made are neither.
        scores: of the runs with a verdict, in their order. mean, std: of the scores; std of the population.
        pass_at_k: 1 - ((n - c) / n)^k by k. pass_to_k: (c / n)^k by k. agree_to_k: pass_to_k + ((n - c) / n)^k by k,
            the chance that k runs all say the same.
        rating: by pass-to-3. interval: of pass-to-3, from Wilson's limits cubed.
        insufficient: the rating is `high` and rests on fewer than 5 runs.
        majority: what most runs said. distribution: of the scores.
        recommendation: in words. error: why the first run without verdict had none.
        fingerprint: of what was judged, so that a baseline knows it again.
        truth: what a human said, where labels were given: whether it passes.
    """

    trace: str
    case: str
    check: str
    asked: int
    passed: int
    failed: int
    errors: int
    scores: tuple[float, ...] = ()
    mean: float | None = None
    std: float | None = None
    pass_at_k: dict[str, float] = {}
    pass_to_k: dict[str, float] = {}
    agree_to_k: dict[str, float] = {}
    rating: Rating | None = None
    interval: Interval | None = None
    insufficient: bool = False
    majority: Vote | None = None
    distribution: Distribution | None = None
    recommendation: str = ""
    error: str | None = None
    fingerprint: str | None = None
    truth: bool | None = None

    @property
    def verdicts(self) -> int:
        """Runs that passed or failed."""
        return self.passed + self.failed


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """A check over all its traces, or all checks together.

    Attributes:
        check: its name; None for all together.
        total: traces, counted once for each check. reliable: rated high. moderate: rated moderate. unreliable: rated
            low or unreliable. insufficient: rated high by fewer than 5 runs. unknown: without any verdict.
        always_fails: of those rated unreliable, how many fail in every run: steady, and still never a pass.
        unstable: traces whose runs disagree and that are not rated high.
        overall: mean pass-to-3 of the traces with a verdict. interval: of it, by bootstrap over traces.
        agreement: mean agree-to-3.
        errors, runs: runs without verdict, and all that were made.
        recommendation: in words.
    """

    check: str | None
    total: int
    reliable: int
    moderate: int
    unreliable: int
    insufficient: int
    unknown: int
    always_fails: int
    unstable: int
    overall: float | None
    interval: Interval | None
    agreement: float | None
    errors: int
    runs: int
    recommendation: str


class GateFound(msgspec.Struct, frozen=True, kw_only=True):
    """What a gate made of one check: its mean must be greater than `required`.

    `low` and `high` bound the observed mean: runs without verdict count once as failed and once as passed (for
    `agree-to`, once against and once for what most runs said).
    """

    measure: Measure
    k: int
    required: str
    check: str
    observed: float | None
    low: float
    high: float
    verdict: SuiteVerdict
    text: str


class RaterPair(msgspec.Struct, frozen=True, kw_only=True):
    """How two raters labelled the same traces, and how far they agree.

    The counts name the first rater's label, then the second's.
    """

    first: str
    second: str
    units: int
    both_pass: int
    pass_fail: int
    fail_pass: int
    both_fail: int
    share: float | None
    share_interval: Interval | None
    kappa: float | None
    interval: Interval | None


class RaterGroup(msgspec.Struct, frozen=True, kw_only=True):
    """Judges who were asked the same question about the same traces.

    `alpha` is Krippendorff's over all of them, None for two: they have kappa, in `pairs`.
    """

    raters: tuple[str, ...]
    units: int
    share: float | None
    share_interval: Interval | None
    alpha: float | None
    interval: Interval | None
    pairs: tuple[RaterPair, ...]


class TraceDrift(msgspec.Struct, frozen=True, kw_only=True):
    """A trace on which a check changed: passes of verdicts before and now, and the q-value of the difference."""

    trace: str
    before: tuple[int, int]
    now: tuple[int, int]
    q: float


class Drift(msgspec.Struct, frozen=True, kw_only=True):
    """A check now against its baseline, on the same outputs.

    Attributes:
        check: its name. common: outputs that both judged. changed: outputs of the baseline that are others now. gone:
            traces of the baseline that are not here.
        before, now: weighted pass rates over the common outputs. delta, interval: now minus before.
        p: two-sided mid-p of the stratified exact test. p_exact: its conservative form.
        level: what each of the two tests may spend, a part of 0.05 that is shared with the other checks.
        traces: single traces that changed, by Benjamini-Hochberg at that level.
        drifted: p is below the level, or a single trace changed. None without a common output.
        text: in words.
    """

    check: str
    common: int
    changed: int
    gone: int
    before: float | None = None
    now: float | None = None
    delta: float | None = None
    interval: Interval | None = None
    p: float | None = None
    p_exact: float | None = None
    level: float | None = None
    traces: tuple[TraceDrift, ...] = ()
    drifted: bool | None = None
    text: str = ""


class EvaluatorReliability(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that was found about the evaluators of a suite.

    Attributes:
        suite: its name. source: where the outputs come from. runs: asked of each check and trace. seed: of the sample
            and the resamples.
        available, sampled: traces that there are, and that were judged.
        settings: of judges, as given.
        verdict, exit_code: of the gates; `pass` where none was asked for and there is any verdict.
        summary: all checks together. checks: each by itself. traces: each check on each trace.
        gates: what gates made of the checks. agreement: judges among each other. labels: judges against humans.
        drift: against the baseline; None without one.
        judge_cost: US dollars, None if unknown. stopped: why not all runs were made.
    """

    schema: str = RELIABILITY_SCHEMA
    suite: str
    source: str
    runs: int
    seed: int
    available: int
    sampled: int
    settings: dict[str, Any] = {}
    verdict: SuiteVerdict
    exit_code: int
    summary: Summary
    checks: tuple[Summary, ...]
    traces: tuple[TraceReliability, ...]
    gates: tuple[GateFound, ...] = ()
    agreement: tuple[RaterGroup, ...] = ()
    labels: tuple[RaterPair, ...] = ()
    drift: tuple[Drift, ...] | None = None
    judge_cost: float | None = None
    stopped: str | None = None
    warnings: tuple[str, ...] = ()
