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
from repeat_eval.records.trial import OUTCOME_LETTERS, CheckResult, Trial
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
    letters = outcome_letters(ordered, rules.count_as_failed)
    passed, failed, errors = letters.count("P"), letters.count("F"), letters.count("E")
    verdicts, skipped = passed + failed, letters.count("S")
    threshold, gate = plan.threshold or rules.threshold, plan.gate or rules.gate
    missing = max(0, plan.asked - len(ordered))
    verdict, text = judge(Counts(passed, failed, errors, skipped, missing), threshold, gate)
    durations = [trial.duration for trial in ordered if trial.duration is not None]
    costs = [trial.cost for trial in ordered if trial.cost is not None]
    judging = [trial.judge_cost for trial in ordered if trial.judge_cost is not None]
    not_passed = [trial for trial, letter in zip(ordered, letters, strict=True) if letter in "FE"]
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
        errors=errors,
        skipped=skipped,
        missing=missing,
        outcomes=letters[:MAX_LETTERS],
        **_count_figures(passed, verdicts),
        score=_score_figures(ordered),
        checks=_check_figures(ordered),
        duration=_duration_figures(durations),
        cost=math.fsum(costs) if costs else None,
        judge_cost=math.fsum(judging) if judging else None,
        tokens=_mean_tokens(ordered),
        turns=_mean([float(trial.turns) for trial in ordered if trial.turns is not None]),
        retried=len([trial for trial in ordered if trial.attempts is not None and trial.attempts > 1]),
        error_kinds=_error_kinds(ordered, letters) if errors else {},
        failures=_failures(not_passed),
        examples=choose_examples(ordered, not_passed),
        text=text,
        tags=plan.tags,
        file=plan.file,
        line=plan.line,
        own_threshold=plan.threshold is not None,
        own_gate=plan.gate is not None,
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


def outcome_letters(trials: Sequence[Trial], count_as_failed: frozenset[str]) -> str:
    """One letter a trial (P, F, E, S); errors of a kind that counts as failed are F."""
    letters = "".join([OUTCOME_LETTERS[trial.outcome] for trial in trials])
    if not count_as_failed or "E" not in letters:
        return letters
    return "".join(
        ["F" if trial.error_kind in count_as_failed else letter for trial, letter in zip(trials, letters, strict=True)]
    )


def _error_kinds(trials: Sequence[Trial], letters: str) -> dict[str, int]:
    return dict(
        Counter(trial.error_kind or "harness" for trial, letter in zip(trials, letters, strict=True) if letter == "E")
    )


def _reliability(passed: int, verdicts: int) -> Reliability | None:
    if verdicts < 2:
        return None
    found = reliability.reliability(passed, verdicts)
    return Reliability(found.rating, found.value, found.interval, found.insufficient)


@lru_cache(maxsize=1 << 12)
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
    by_name: dict[str, list[CheckResult]] = {}
    for trial in trials:
        for check in trial.checks:
            by_name.setdefault(check.name, []).append(check)
    return tuple([_check_figure(name, checks) for name, checks in by_name.items()])


def _check_figure(name: str, checks: Sequence[CheckResult]) -> CheckFigures:
    total = len(checks)
    count = [check.passed for check in checks].count(True)
    vote = repeats.majority_vote(count, total)
    return CheckFigures(
        name=name,
        passed=count,
        failed=total - count,
        score=math.fsum([check.score for check in checks]) / total,
        majority=Majority(vote.verdict, vote.confidence),
    )


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
    if not not_passed:
        return ()
    messages = Counter(trial.message or "no message" for trial in not_passed)
    return tuple(messages.most_common(MAX_FAILURES))
