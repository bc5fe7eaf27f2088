"""Test runs of DeepEval: `test_run_*.json` of its results folder, and `.deepeval/.latest_run_full.json`."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import msgspec

from repeat_eval.errors import Problem
from repeat_eval.readers.base import FileResults, FoundTrial, ReadError, ReadOptions, identity
from repeat_eval.readers.documents import compact, listed, number, read_document, text
from repeat_eval.readers.names import number_by_plugin
from repeat_eval.records.trial import ErrorKind, Outcome, one_line

_KEYS = (b'"testCases"', b'"testFile"', b'"metricsData"', b'"conversationalTestCases"', b'"testRunData"')
# What DeepEval calls a test case that was given no name: an index, which names nothing.
_INDEX = re.compile(r"(?:conversational_)?test_case_[0-9]+")


class _Metric(msgspec.Struct):
    name: Any = None
    score: Any = None
    success: bool | None = None
    reason: Any = None
    error: Any = None


class _Turn(msgspec.Struct):
    role: Any = None
    content: Any = None


class _Case(msgspec.Struct, rename="camel"):
    name: str | None = None
    input: Any = None
    scenario: Any = None
    success: bool | None = None
    actual_output: Any = None
    metrics_data: list[_Metric] | None = None
    turns: list[_Turn] | None = None
    token_cost: Any = None
    completion_time: Any = None
    run_duration: Any = None
    order: Any = None


class _Run(msgspec.Struct, rename="camel"):
    test_cases: list[_Case] | None = None
    conversational_test_cases: list[_Case] | None = None
    test_failed: Any = None


class _Wrapped(_Run):
    test_run_data: _Run | None = None


def sniff(head: bytes, path: Path) -> bool:
    """Whether the file begins as a test run of DeepEval does."""
    del path
    head = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    return head.startswith(b"{") and b'"testCases"' in head[:5_000] and sum(key in head for key in _KEYS) >= 2


def read(path: Path, options: ReadOptions) -> FileResults:
    """Read a test run of DeepEval.

    Raises:
        ReadError: with the file and, where it is known, the line or the key.
    """
    wrapped = read_document(path, _Wrapped)
    run: _Run = wrapped.test_run_data or wrapped
    if run.test_cases is None and run.conversational_test_cases is None:
        raise ReadError(Problem("holds no testCases, so it is no test run of DeepEval", file=str(path)))
    found = [*(run.test_cases or ()), *(run.conversational_test_cases or ())]
    if len(found) > options.max_testcases:
        raise ReadError(Problem(f"has more than {options.max_testcases:,} test cases", file=str(path)))
    found.sort(key=lambda case: place if (place := number(case.order)) is not None else float("inf"))
    warnings: list[str] = []
    trials = number_by_plugin([_trial(case) for case in found], options, warnings)
    # The plugin's numbers say how many runs were asked for; a run that raised is not in the file.
    runs = max((trial.repetition or 0 for trial in trials), default=0)
    asked = {trial.case: runs for trial in trials if trial.repetition is not None}
    trials, broken = _numbered(trials, found, warnings)
    lost = number(run.test_failed, least=0)
    failing = sum(trial.outcome != "passed" for trial in trials)
    if lost is not None and lost > failing:
        broken = f"declares {lost:.0f} failed test cases and lists {failing}"
    counts: dict[str, int] = defaultdict(int)
    for trial in trials:
        counts[trial.case] += 1
    most = max(counts.values(), default=0)
    fewer = [case for case, count in counts.items() if count < asked.get(case, most)]
    if fewer:
        warnings.append(f"{len(fewer)} cases lack runs: DeepEval leaves out a run that raised: {listed(fewer)}")
    return FileResults(
        path=path, format="deepeval", trials=tuple(trials), warnings=tuple(warnings), broken=broken, asked=asked
    )


def _trial(case: _Case) -> FoundTrial:
    outcome, kind, message = _verdict(case)
    metrics = case.metrics_data or ()
    scores = [score for metric in metrics if metric.error is None and (score := number(metric.score)) is not None]
    turns = case.turns or ()
    output = case.actual_output if not turns else next((t.content for t in reversed(turns) if t.role != "user"), None)
    duration = number(case.completion_time, least=0)
    return FoundTrial(
        case=_name(case),
        outcome=outcome,
        error_kind=kind,
        score=sum(scores) / len(scores) if scores and outcome != "error" else None,
        duration=duration if duration is not None else number(case.run_duration, least=0),
        cost=number(case.token_cost, least=0),
        message=message,
        output=text(output),
        turns=len(turns) or None,
    )


def _name(case: _Case) -> str:
    name = (case.name or "").strip()
    if not name or _INDEX.fullmatch(name):
        first = case.turns[0].content if case.turns else None
        name = (text(case.input) or text(case.scenario) or text(first) or "").strip() or name
    return identity(name or "test case without name and input")


def _verdict(case: _Case) -> tuple[Outcome, ErrorKind | None, str | None]:
    metrics = case.metrics_data or ()
    failed = [metric for metric in metrics if metric.error is None and metric.success is False]
    broken = [metric for metric in metrics if metric.error is not None]
    if failed:
        return "failed", None, _said(failed[0], failed[0].reason)
    if broken:
        return "error", "judge", _said(broken[0], broken[0].error)
    if case.success is None and not any(metric.success for metric in metrics):
        return "error", "harness", "the test case has no verdict"
    if case.success is False:
        return "failed", None, None
    return "passed", None, None


def _said(metric: _Metric, said: object) -> str:
    return one_line(": ".join(part for part in (text(metric.name), text(said)) if part)) or "a metric did not pass"


def _numbered(trials: list[FoundTrial], found: list[_Case], warnings: list[str]) -> tuple[list[FoundTrial], str | None]:
    """Test cases of one name are repetitions, in the order of the run."""
    seen: dict[str, int] = defaultdict(int)
    given: set[tuple[str, int]] = set()
    inputs: dict[str, set[str]] = defaultdict(set)
    numbered = []
    broken = None
    for trial, case in zip(trials, found, strict=True):
        if case.input is not None and len(inputs[trial.case]) < 2:
            inputs[trial.case].add(compact(case.input))
        if trial.repetition is not None and (trial.case, trial.repetition) in given:
            broken = f"{one_line(trial.case, 80)} has run {trial.repetition} twice"
            continue
        seen[trial.case] += 1
        number = trial.repetition or seen[trial.case]
        given.add((trial.case, number))
        numbered.append(msgspec.structs.replace(trial, repetition=number))
    if unlike := [case for case, values in inputs.items() if len(values) > 1]:
        warnings.append(f"{len(unlike)} names have several inputs and are one case each: {listed(unlike)}")
    return numbered, broken
