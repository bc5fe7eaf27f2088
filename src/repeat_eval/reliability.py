"""Can an evaluator be trusted? Its verdicts on outputs that stay the same, and figures of scores that are there.

`analyse` runs the checks of a suite; the other functions need no suite and run nothing. All figures follow
docs/judge-reliability.md: pass@k and pass-to-k are the plug-in forms, (c / n)^k for c passes of n runs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from repeat_eval.analysis.evaluator_model import (
    Distribution,
    EvaluatorReliability,
    Summary,
    TraceReliability,
    Vote,
)
from repeat_eval.analysis.evaluator_reliability import distribution as score_distribution
from repeat_eval.analysis.evaluator_reliability import of_scores, summarise
from repeat_eval.api import Suite, load_suite, outside_event_loop
from repeat_eval.errors import Problem, UserError
from repeat_eval.execution.progress import Progress, Silent
from repeat_eval.records.thresholds import parse_threshold
from repeat_eval.statistics import repeats
from repeat_eval.statistics.reliability import rating_of
from repeat_eval.steps.judge_reliability import (
    RUNS,
    USED_SETTINGS,
    JudgeWishes,
    judge_reliability,
    requirement,
    write_reliability,
)
from repeat_eval.steps.judge_traces import labels_of
from repeat_eval.steps.request import Request
from repeat_eval.suite.settings import DEFAULTS, setting_problems, settings_of

__all__ = [
    "Distribution",
    "EvaluatorReliability",
    "ReliabilityCheck",
    "Summary",
    "TraceReliability",
    "Vote",
    "analyse",
    "analyse_scores",
    "is_reliable",
    "majority_vote",
    "pass_at_k",
    "pass_to_k",
    "rating_of",
    "score_distribution",
    "summarise",
]


@dataclass(frozen=True, slots=True)
class ReliabilityCheck:
    """Whether pass-to-k is above a threshold, its value, and what to do."""

    reliable: bool
    pass_to_k: float
    recommendation: str


def pass_at_k(passes: int, runs: int, k: int) -> float:
    """Chance that at least one of k runs passes: 1 - ((n - c) / n)^k.

    Raises:
        ValueError: counts that cannot be, no run, or k below 1.
    """
    return _known(repeats.pass_at_k_plugin(passes, runs, k))


def pass_to_k(passes: int, runs: int, k: int) -> float:
    """Chance that all of k runs pass: (c / n)^k.

    Raises:
        ValueError: counts that cannot be, no run, or k below 1.
    """
    return _known(repeats.pass_to_k(passes, runs, k))


def is_reliable(passes: int, runs: int, *, threshold: str | float = "0.9", k: int = 3) -> ReliabilityCheck:
    """Whether one run can be trusted: pass-to-k must be greater than the threshold, compared exactly.

    Raises:
        ValueError: counts that cannot be, no run, k below 1, or a threshold outside [0, 1].
    """
    value = pass_to_k(passes, runs, k)
    reliable = passes**k > parse_threshold(str(threshold)) * runs**k
    advice = "Single runs can be trusted" if reliable else "Increase evaluation runs or adjust pass threshold"
    return ReliabilityCheck(reliable, value, advice)


def majority_vote(scores: Sequence[float], *, pass_score: float = 0.5) -> Vote:
    """What most scores say, and the share of them that agrees; a score of `pass_score` or more is for passing.

    Raises:
        ValueError: no score, or one that is no number: it is neither for passing nor against it.
    """
    if any(map(math.isnan, scores)):
        raise ValueError("scores must be numbers")
    vote = repeats.majority_vote(sum(score >= pass_score for score in scores), len(scores))
    return Vote(vote.verdict, vote.confidence)


def analyse_scores(scores: Sequence[float], *, pass_score: float = 0.5) -> TraceReliability:
    """All figures of scores in [0, 1] that an evaluator gave one output.

    Raises:
        ValueError: a score outside [0, 1].
    """
    if not all(0 <= score <= 1 for score in scores):
        raise ValueError("scores must lie between 0 and 1")
    return of_scores([(score >= pass_score, float(score)) for score in scores])


def analyse(
    suite: Suite | str | Path,
    traces: str | Path | Iterable[Mapping[str, Any]],
    *,
    runs: int = RUNS,
    sample_size: int | None = None,
    checks: Sequence[str] = (),
    cases: Sequence[str] = (),
    models: Sequence[str] = (),
    raters: Sequence[str] = (),
    labels: str | Path | Iterable[Mapping[str, Any]] | None = None,
    min_pass_to: Mapping[int, str | float] | None = None,
    min_agree_to: Mapping[int, str | float] | None = None,
    baseline: str | Path | None = None,
    save_baseline: str | Path | None = None,
    out: str | Path | None = None,
    progress: Progress | None = None,
    **settings: Any,
) -> EvaluatorReliability:
    """Run the checks of a suite that can vary again and again on fixed outputs.

    Args:
        suite: a suite, or its file. Its target is not run.
        traces: a run file, a folder of recordings, a file of JSON Lines, or mappings with `id` and `output`.
        runs: of each check on each output. sample_size: outputs that are judged; None for all.
        checks, cases: globs on their names. models: ask these instead of the judges' own.
        raters: globs on checks that should agree with each other.
        labels: what humans said: a file, or mappings with `trace`, `label` and perhaps `check`.
        min_pass_to, min_agree_to: gates by k; each check's mean must be greater.
        baseline: file to compare with. save_baseline: file to write.
        out: folder for judge-reliability.json and .md; None writes nothing.
        progress: follows the runs.
        settings: seed, workers, timeout, max_cost, `judge={"settings": {"temperature": 0.1}}` and the like.

    Returns:
        What was found; its `exit_code` says what the gates made of it, nothing is raised for that.

    Raises:
        UserError: something that was given is wrong.
        Incomplete: no run gave a verdict.
    """
    problems = [Problem(text) for _, text in setting_problems(settings)]
    problems += [
        Problem(f"`{name}` does nothing here") for name in settings if name in DEFAULTS and name not in USED_SETTINGS
    ]
    requirements = []
    for measure, gates in (("pass-to", min_pass_to), ("agree-to", min_agree_to)):
        for k, rate in (gates or {}).items():
            try:
                requirements.append(requirement(f"{k}={rate}", "pass-to" if measure == "pass-to" else "agree-to"))
            except ValueError as error:
                problems.append(Problem(f"`min_{measure.replace('-', '_')}` {error}"))
    for name, number in (("runs", runs), ("sample_size", sample_size)):
        if number is not None and (type(number) is not int or number < 1):
            problems.append(Problem(f"`{name}` must be a whole number from 1; found {number!r}"))
    if problems:
        raise UserError(problems)
    loaded = suite if isinstance(suite, Suite) else load_suite(suite)
    wishes = JudgeWishes(
        traces=Path(traces) if isinstance(traces, str | Path) else list(traces),
        runs=runs,
        sample_size=sample_size,
        checks=tuple(checks),
        models=tuple(models),
        raters=tuple(raters),
        requirements=tuple(requirements),
        labels=_labels(labels),
        baseline=None if baseline is None else Path(baseline),
        save_baseline=None if save_baseline is None else Path(save_baseline),
    )
    request = Request(
        options=settings_of(settings),
        cases=tuple(cases),
        out=None if out is None else Path(out),
        progress=progress or Silent(),
    )
    spec = loaded.as_spec()
    found = outside_event_loop(lambda: judge_reliability(wishes, request, spec=spec))
    if request.out is not None:
        write_reliability(found, request.out)
    return found


def _labels(labels: str | Path | Iterable[Mapping[str, Any]] | None) -> Any:
    if labels is None or isinstance(labels, str | Path):
        return None if labels is None else Path(labels)
    return labels_of((place, dict(row)) for place, row in enumerate(labels, 1))


def _known(value: float | None) -> float:
    if value is None:
        raise ValueError("at least one run is needed")
    return value
