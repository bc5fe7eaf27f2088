"""One case: from its trials to figures and a verdict."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

from repeat_eval.analysis.case_verdicts import Counts, judge
from repeat_eval.analysis.examples import choose_examples
from repeat_eval.analysis.report import (
    CaseReport,
    CheckFigures,
    DurationFigures,
    Majority,
    Reliability,
    ScoreFigures,
)
from repeat_eval.analysis.rules import Rules, exact
from repeat_eval.records.run import CasePlan
from repeat_eval.records.trial import OUTCOME_LETTERS, Trial
from repeat_eval.statistics import gates, intervals, reliability, repeats, scores

PASS_HAT_KS = (2, 3, 5)
PASS_AT_KS = (1, 3, 5)
MAX_LETTERS = 200
MAX_FAILURES = 5


def case_report(plan: CasePlan, trials: Sequence[Trial], rules: Rules) -> CaseReport:
    """Figures and verdict of one case.

    Args:
        plan: what was asked of it.
        trials: its trials, one for each repetition that was done, in any order.
        rules: the rules that hold where the plan says nothing.
    """
    ordered = sorted(trials, key=_repetition)
    outcomes = [_outcome(trial, rules.count_as_failed) for trial in ordered]
    counts = Counter(outcomes)
    passed, failed = counts["passed"], counts["failed"]
    verdicts = passed + failed
    threshold, gate = plan.threshold or rules.threshold, plan.gate or rules.gate
    missing = max(0, plan.asked - len(ordered))
    verdict, text = judge(Counts(passed, failed, counts["error"], counts["skipped"], missing), threshold, gate)
    durations = [trial.duration for trial in ordered if trial.duration is not None]
    costs = [trial.cost for trial in ordered if trial.cost is not None]
    not_passed = [trial for trial, outcome in zip(ordered, outcomes, strict=True) if outcome in ("failed", "error")]
    return CaseReport(
        id=plan.id,
        verdict=verdict,
        threshold=threshold,
        gate=gate,
        needs=gates.gate_min_passes(verdicts, exact(threshold), gate) if verdicts else None,
        asked=plan.asked,
        trials=len(ordered),
        passed=passed,
        failed=failed,
        errors=counts["error"],
        skipped=counts["skipped"],
        missing=missing,
        outcomes="".join([OUTCOME_LETTERS[outcome] for outcome in outcomes[:MAX_LETTERS]]),
        **_count_figures(passed, verdicts),
        score=_score_figures(ordered),
        checks=_check_figures(ordered),
        duration=_duration_figures(durations),
        cost=math.fsum(costs) if costs else None,
        tokens=_mean_tokens(ordered),
        turns=_mean([float(trial.turns) for trial in ordered if trial.turns is not None]),
        retried=sum(1 for trial in ordered if (trial.attempts or 0) > 1),
        error_kinds=dict(Counter(trial.error_kind or "harness" for trial in ordered if _is_error(trial, rules))),
        failures=_failures(not_passed),
        examples=choose_examples(ordered, not_passed),
        text=text,
        tags=plan.tags,
        file=plan.file,
        line=plan.line,
    )


@lru_cache(maxsize=1 << 12)
def _count_figures(passed: int, verdicts: int) -> dict[str, Any]:
    """What follows from the counts alone; a large suite has few different ones."""
    interval = intervals.wilson_interval(passed, verdicts) if verdicts else None
    return {
        "pass_rate": passed / verdicts if verdicts else None,
        "interval": interval,
        "width": interval[1] - interval[0] if interval else None,
        "pass_hat_k": {str(k): repeats.pass_hat_k(passed, verdicts, k) for k in PASS_HAT_KS},
        "pass_at_k": {str(k): repeats.pass_at_k(passed, verdicts, k) for k in PASS_AT_KS},
        "pass_at_k_plugin": {str(k): repeats.pass_at_k_plugin(passed, verdicts, k) for k in PASS_AT_KS},
        "pass_to_k": {str(k): repeats.pass_to_k(passed, verdicts, k) for k in PASS_AT_KS},
        "reliability": _reliability(passed, verdicts),
        "majority": _majority(passed, verdicts),
        "flaky": repeats.is_flaky(passed, verdicts),
        "broken": verdicts > 0 and passed == 0,
    }


def _repetition(trial: Trial) -> int:
    return trial.repetition


def _outcome(trial: Trial, count_as_failed: frozenset[str]) -> str:
    if trial.outcome == "error" and trial.error_kind in count_as_failed:
        return "failed"
    return trial.outcome


def _is_error(trial: Trial, rules: Rules) -> bool:
    return trial.outcome == "error" and trial.error_kind not in rules.count_as_failed


def _reliability(passed: int, verdicts: int) -> Reliability | None:
    if verdicts < 2:
        return None
    found = reliability.reliability(passed, verdicts)
    return Reliability(found.rating, found.value, found.interval, found.insufficient)


def _majority(passed: int, verdicts: int) -> Majority | None:
    if not verdicts:
        return None
    vote = repeats.majority_vote(passed, verdicts)
    return Majority(vote.verdict, vote.confidence)


def _score_figures(trials: Sequence[Trial]) -> ScoreFigures | None:
    values = [trial.score for trial in trials if trial.score is not None]
    if not values:
        return None
    summary = scores.summarise(values)
    if scores.only_binary(values) or min(values) < 0 or max(values) > 1:
        return ScoreFigures(mean=summary.mean, std=summary.std)
    bins = scores.histogram(values)
    return ScoreFigures(
        mean=summary.mean, std=summary.std, histogram=bins, bimodal=scores.is_bimodal(bins) if bins else None
    )


def _check_figures(trials: Sequence[Trial]) -> tuple[CheckFigures, ...]:
    passed: Counter[str] = Counter()
    values: dict[str, list[float]] = {}
    for trial in trials:
        for check in trial.checks:
            values.setdefault(check.name, []).append(check.score)
            if check.passed:
                passed[check.name] += 1
    figures = []
    for name, check_scores in values.items():
        count, total = passed[name], len(check_scores)
        vote = repeats.majority_vote(count, total)
        figures.append(
            CheckFigures(
                name=name,
                passed=count,
                failed=total - count,
                score=math.fsum(check_scores) / total,
                majority=Majority(vote.verdict, vote.confidence),
            )
        )
    return tuple(figures)


def _duration_figures(durations: list[float]) -> DurationFigures | None:
    if not durations:
        return None
    return DurationFigures(
        mean=math.fsum(durations) / len(durations), median=statistics.median(durations), max=max(durations)
    )


def _mean_tokens(trials: Iterable[Trial]) -> float | None:
    sums = [
        float((trial.tokens.input or 0) + (trial.tokens.output or 0))
        for trial in trials
        if trial.tokens is not None and not (trial.tokens.input is None and trial.tokens.output is None)
    ]
    return _mean(sums)


def _mean(values: list[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None


def _failures(not_passed: Sequence[Trial]) -> tuple[tuple[str, int], ...]:
    messages = Counter(trial.message or "no message" for trial in not_passed)
    return tuple(messages.most_common(MAX_FAILURES))
