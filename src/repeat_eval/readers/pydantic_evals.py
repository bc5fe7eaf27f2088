"""Reports of pydantic-evals: an EvaluationReport that was dumped with a TypeAdapter."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import msgspec

from repeat_eval.errors import Problem
from repeat_eval.readers.base import FileResults, FoundTrial, ReadError, ReadOptions, identity
from repeat_eval.readers.documents import listed, number, read_document, text, tokens
from repeat_eval.readers.kinds import error_kind
from repeat_eval.records.trial import ErrorKind, Outcome, one_line

_START = re.compile(rb'\{\s*(?:"name"\s*:\s*(?:"(?:[^"\\]|\\.)*"|null)\s*,\s*)?"cases"\s*:\s*\[')
_KEYS = (b'"assertions"', b'"evaluator_failures"', b'"report_evaluator_failures"', b'"error_stacktrace"', b'"failures"')
_INDEX = re.compile(r"(?P<case>.*) \[(?P<index>[1-9][0-9]{0,5})/(?P<of>[1-9][0-9]{0,5})\]", re.DOTALL)


class _Result(msgspec.Struct):
    value: Any = None
    reason: Any = None


class _EvaluatorFailure(msgspec.Struct):
    name: Any = None
    error_message: Any = None


class _Case(msgspec.Struct):
    name: str
    assertions: dict[str, _Result]
    output: Any = None
    metrics: dict[str, Any] | None = None
    scores: dict[str, _Result] | None = None
    task_duration: Any = None
    source_case_name: str | None = None
    evaluator_failures: list[_EvaluatorFailure] | None = None


class _Failure(msgspec.Struct):
    name: str
    error_message: Any = None
    source_case_name: str | None = None


class _Report(msgspec.Struct):
    cases: list[_Case]
    failures: list[_Failure] | None = None
    report_evaluator_failures: list[_EvaluatorFailure] | None = None
    dataset_name: Any = None


def sniff(head: bytes, path: Path) -> bool:
    """Whether the file begins as a report of pydantic-evals does."""
    del path
    head = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    return _START.match(head) is not None and any(key in head for key in _KEYS)


def read(path: Path, options: ReadOptions) -> FileResults:
    """Read a report of pydantic-evals.

    Raises:
        ReadError: with the file and, where it is known, the line or the key.
    """
    report = read_document(path, _Report)
    failures = report.failures or []
    if len(report.cases) + len(failures) > options.max_testcases:
        raise ReadError(Problem(f"has more than {options.max_testcases:,} cases", file=str(path)))
    warnings: list[str] = []
    asked: dict[str, int] = {}
    trials: list[FoundTrial] = []
    seen: set[tuple[str, int]] = set()
    equal: list[str] = []
    last: dict[str, int] = defaultdict(int)
    rows: list[_Case | _Failure] = [*report.cases, *failures]
    for row in rows:
        case, repetition, of = _place(row)
        if of:
            asked[case] = max(of, asked.get(case, 0))
        number = repetition or last[case] + 1
        if (case, number) in seen or (repetition is None and number > 1):
            equal.append(case)
            number = max(number, last[case] + 1)
        seen.add((case, number))
        last[case] = max(last[case], number)
        trials.append(_passed_or_not(row, case, number) if isinstance(row, _Case) else _raised(row, case, number))
    if equal:
        names = list(dict.fromkeys(equal))
        if options.duplicates == "error":
            raise ReadError([Problem(f"several cases have the name {name}", file=str(path)) for name in names[:20]])
        warnings.append(f"{len(names)} names are there several times and count as repetitions: {listed(names)}")
    counts: dict[str, int] = defaultdict(int)
    for trial in trials:
        counts[trial.case] += 1
    if fewer := [case for case, count in asked.items() if counts[case] < count]:
        warnings.append(f"{len(fewer)} cases have fewer runs than repetitions: {listed(fewer)}")
    if report.report_evaluator_failures:
        warnings.append(f"{len(report.report_evaluator_failures)} evaluators of the report failed; they judge no case")
    return FileResults(
        path=path,
        format="pydantic-evals",
        trials=tuple(trials),
        warnings=tuple(warnings),
        asked=asked,
        variant=text(report.dataset_name),
    )


def _place(row: _Case | _Failure) -> tuple[str, int | None, int | None]:
    """Case, repetition and repetitions asked for. Without repeats there is no source, and the name is the case's."""
    source = row.source_case_name
    if source is None:
        return identity(row.name.strip() or "case without a name"), None, None
    match = _INDEX.fullmatch(row.name)
    if match is None or int(match["index"]) > int(match["of"]):
        return identity(source), None, None
    return identity(source), int(match["index"]), int(match["of"])


def _raised(row: _Failure, case: str, repetition: int) -> FoundTrial:
    message = text(row.error_message) or "the task raised"
    return FoundTrial(
        case=case,
        repetition=repetition,
        outcome="error",
        error_kind=error_kind("", message),
        message=one_line(message) or None,
    )


def _passed_or_not(row: _Case, case: str, repetition: int) -> FoundTrial:
    outcome, kind, message = _verdict(row)
    scores = [score for result in (row.scores or {}).values() if (score := number(result.value)) is not None]
    metrics = row.metrics or {}
    return FoundTrial(
        case=case,
        repetition=repetition,
        outcome=outcome,
        error_kind=kind,
        # Scores of several evaluators have no common measure.
        score=scores[0] if len(scores) == 1 and len(row.scores or {}) == 1 else None,
        duration=number(row.task_duration, least=0),
        cost=number(metrics.get("cost"), least=0),
        tokens=tokens(metrics.get("input_tokens"), metrics.get("output_tokens")),
        message=message,
        output=text(row.output),
    )


def _verdict(row: _Case) -> tuple[Outcome, ErrorKind | None, str | None]:
    """A failed assertion fails the trial, also where another evaluator broke."""
    for name, result in row.assertions.items():
        if result.value is False:
            reason = text(result.reason)
            return "failed", None, one_line(f"{name}: {reason}" if reason else f"{name} is false")
    for failure in row.evaluator_failures or ():
        said = ": ".join(part for part in (text(failure.name), text(failure.error_message)) if part)
        return "error", "judge", one_line(said) or "an evaluator failed"
    if not row.assertions:
        return "error", "harness", "the case has no assertion, so it has no verdict; a score is none"
    if any(result.value is not True for result in row.assertions.values()):
        return "error", "judge", "an assertion is neither true nor false"
    return "passed", None, None
