"""CTRF, the Common Test Report Format: JSON that reporters of many test runners write.

A test's earlier attempts are in `retryAttempts`; they are the tries of one trial. pytest's reporter tells the step of
pytest-repeat as a parameter, which is the repetition. In files of our own writer a test is a case, and all its attempts
are trials.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from repeat_eval.errors import Problem
from repeat_eval.readers.base import FileResults, FoundTrial, Gap, ReadError, ReadOptions, identity
from repeat_eval.readers.documents import number, read_document, text, tokens, whole
from repeat_eval.readers.kinds import error_kind
from repeat_eval.readers.names import name_trials
from repeat_eval.records.trial import ErrorKind, Outcome, one_line

_STEP = "__pytest_repeat_step_number"
_ENDING = re.compile(r"(?P<mark>[\[-])[1-9][0-9]{0,5}-[1-9][0-9]{0,5}\]\Z")
_ENDING_LONGEST = 16
_SNIFFED = re.compile(rb'"reportFormat"\s*:\s*"CTRF"')
_OLDER = (b'"results"', b'"tool"', b'"summary"', b'"tests"')

_OUTCOMES: dict[str, Outcome] = {"passed": "passed", "failed": "failed", "skipped": "skipped", "pending": "skipped"}
# How reporters write that a test was not judged at all: pytest's set-up, and the words of other runners.
_BEFORE_VERDICT = frozenset({"setup_failed", "teardown_failed", "setup_error", "error", "errored", "broken"})
_TIMEOUTS = frozenset({"timedout", "timed_out", "timeout"})
_OURS = "repeat-eval"
_TOTALS = ("passed", "failed", "skipped", "pending", "other")


class _Attempt(msgspec.Struct, gc=False):
    status: str = ""
    duration: Any = None
    message: Any = None
    trace: Any = None
    raw: Any = msgspec.field(default=None, name="rawStatus")
    start: Any = None
    number: Any = msgspec.field(default=None, name="attempt")
    extra: Any = None


class _Test(_Attempt, gc=False):
    name: str = ""
    suite: Any = None
    file: Any = msgspec.field(default=None, name="filePath")
    retries: Any = None
    attempts: list[_Attempt] | None = msgspec.field(default=None, name="retryAttempts")
    parameters: Any = None


class _Results(msgspec.Struct, gc=False):
    tests: list[_Test]
    summary: dict[str, Any] | None = None
    tool: Any = None


class _Document(msgspec.Struct, gc=False):
    results: _Results


def sniff(head: bytes, path: Path) -> bool:
    """Whether the first bytes of a file look like CTRF: it says so, or it is of the time before it did."""
    del path
    if not head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{"):
        return False
    return _SNIFFED.search(head) is not None or all(key in head for key in _OLDER)


def read(path: Path, options: ReadOptions) -> FileResults:
    """Read a CTRF file.

    Args:
        path: the file. options: what equal names and tries mean, and limits.

    Returns:
        Its trials; the identity of a case is its name, with the file or else the suites before it where the name
        does not begin so.

    Raises:
        ReadError: the file is no JSON, or no CTRF, or is beyond the limits.
    """
    results = read_document(path, _Document).results
    if len(results.tests) > options.max_testcases:
        raise ReadError(Problem(f"has more than {options.max_testcases:,} tests", file=str(path)))
    if isinstance(results.tool, dict) and results.tool.get("name") == _OURS:
        return _own(path, results, options)
    trials: list[FoundTrial] = []
    unknown: set[str] = set()
    undecided = numbered = lost = 0
    for place, test in enumerate(results.tests, 1):
        name = test.name.strip()
        if not name:
            raise ReadError(Problem(f"test {place} has no name", file=str(path)))
        step = whole(test.parameters.get(_STEP)) if isinstance(test.parameters, dict) else None
        if step is not None and options.repetition_suffixes:
            name = _without_ending(name)
            numbered += 1
        else:
            step = None
        case = _case(name, test)
        attempts = test.attempts or []
        if test.status not in (*_OUTCOMES, "other"):
            unknown.add(test.status)
        tries = 1 + max(len(attempts), whole(test.retries) or 0)
        lost += tries - 1 > len(attempts)
        undecided += test.status == "other"
        if attempts and options.duplicates == "repeats":
            # The user says that all tries were always run: each is a trial of its own.
            trials += [_trial(case, attempt, None) for attempt in attempts]
            step = None
        count = tries if tries > 1 and options.duplicates != "repeats" else None
        trials.append(_trial(case, test, None if step is None else step + 1, attempts=count))
    if unknown:
        found = ", ".join(repr(one_line(status, 40)) for status in sorted(unknown)[:5])
        raise ReadError(Problem(f"has statuses that CTRF does not know: {found}", file=str(path)))
    named = name_trials(trials, [""] * len(trials), options, writer="ctrf", path=path)
    warnings = list(named.warnings)
    if numbered:
        warnings.append(f"the steps of pytest-repeat in {numbered} tests are read as repetitions")
    if undecided:
        warnings.append(f"{undecided} tests have the status other, which is no verdict: they are errors")
    if lost:
        warnings.append(f"{lost} tests were retried and do not list every try; each counts once, by the last")
    return FileResults(
        path=path,
        format="ctrf",
        trials=tuple(named.trials),
        warnings=tuple(warnings),
        broken=_contradiction(results),
    )


def _own(path: Path, results: _Results, options: ReadOptions) -> FileResults:
    """A file of our own writer: a test is a case, its attempts are all its trials; `extra` says what CTRF cannot."""
    trials: dict[tuple[str, int], FoundTrial] = {}
    asked: dict[str, int] = {}
    for place, test in enumerate(results.tests, 1):
        case = identity(test.name.strip())
        if not case or case in asked:
            why = "has the name of an earlier one" if case else "has no name"
            raise ReadError(Problem(f"test {place} {why}", file=str(path)))
        asked[case] = _extra(test, "asked") or 0
        for attempt in test.attempts or []:
            if attempt.status not in (*_OUTCOMES, "other"):
                why = f"has a status that CTRF does not know: {one_line(attempt.status, 40)!r}"
                raise ReadError(Problem(f"test {place} {why}", file=str(path)))
            repetition = whole(attempt.number) or 0
            if repetition < 1 or (case, repetition) in trials:
                why = "has an attempt without a number, or two of one number"
                raise ReadError(Problem(f"test {place} {why}", file=str(path)))
            trials[case, repetition] = _own_trial(case, repetition, attempt)
        if len(trials) > options.max_testcases:
            raise ReadError(Problem(f"has more than {options.max_testcases:,} attempts", file=str(path)))
    there = {case for case, _ in trials}
    absent = [case for case in asked if asked[case] and case not in there]
    return FileResults(
        path=path,
        format="ctrf",
        trials=tuple(trials.values()),
        asked={case: count for case, count in asked.items() if count},
        gaps=tuple(Gap(message=f"no trial of {one_line(case, 80)} is listed") for case in absent),
        broken=_contradiction(results),
    )


def _own_trial(case: str, repetition: int, attempt: _Attempt) -> FoundTrial:
    extra = attempt.extra if isinstance(attempt.extra, dict) else {}
    found = _trial(case, attempt, repetition)
    kind = extra.get("errorKind")
    return msgspec.structs.replace(
        found,
        error_kind=error_kind("", "", written=kind if isinstance(kind, str) else "harness")
        if found.outcome == "error"
        else None,
        score=number(extra.get("score")),
        cost=number(extra.get("cost"), least=0),
        tokens=tokens(extra.get("tokensInput"), extra.get("tokensOutput")),
        turns=whole(extra.get("turns")),
        cached=extra["cached"] if isinstance(extra.get("cached"), bool) else None,
    )


def _extra(test: _Attempt, name: str) -> int | None:
    return whole(test.extra.get(name)) if isinstance(test.extra, dict) else None


def _without_ending(name: str) -> str:
    match = _ENDING.search(name, max(0, len(name) - _ENDING_LONGEST))
    if match is None:
        return name
    return name[: match.start()] + ("]" if match["mark"] == "-" else "")


def _case(name: str, test: _Test) -> str:
    owner = text(test.file) if isinstance(test.file, str) else None
    if not owner and isinstance(test.suite, list):
        owner = "::".join(part for part in test.suite if isinstance(part, str))
    elif not owner and isinstance(test.suite, str):
        owner = test.suite
    if not owner or name.startswith(owner):
        return identity(name)
    return identity(f"{owner}::{name}")


def _trial(case: str, test: _Attempt, repetition: int | None, *, attempts: int | None = None) -> FoundTrial:
    outcome = _OUTCOMES.get(test.status, "error")
    raw = test.raw.lower() if isinstance(test.raw, str) else ""
    message = one_line(text(test.message) or "") or (_last_line(text(test.trace) or "") if outcome != "passed" else "")
    kind: ErrorKind | None = None
    if outcome == "failed" and (raw in _BEFORE_VERDICT or raw in _TIMEOUTS):
        outcome = "error"
    if outcome == "error":
        kind = "timeout" if raw in _TIMEOUTS else error_kind("", message)
    duration = number(test.duration, least=0)
    return FoundTrial(
        case=case,
        outcome=outcome,
        repetition=repetition,
        error_kind=kind,
        duration=None if duration is None else duration / 1000,
        message=message or None,
        attempts=attempts,
        started=_time(test.start),
    )


def _last_line(trace: str) -> str:
    """Of a traceback without a message the last error line, else the last line: the first ones are only source."""
    lines = [line for line in trace[-8_000:].splitlines() if line.strip()]
    errors = [line[1:] for line in lines if line.startswith("E  ")]
    return one_line(errors[0] if errors else lines[-1]) if lines else ""


def _time(value: object) -> str | None:
    """Milliseconds since 1970 as RFC 3339; text as it is."""
    if isinstance(value, str):
        return one_line(value, 100) or None
    milliseconds = whole(value)
    if not milliseconds:
        return None
    try:
        moment = datetime.fromtimestamp(milliseconds / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return moment.isoformat(timespec="milliseconds")


def _contradiction(results: _Results) -> str | None:
    """Whether the summary declares what the tests do not show."""
    summary = results.summary or {}
    declared = whole(summary.get("tests"))
    if declared is not None and declared > len(results.tests):
        return f"its summary declares {declared} tests and it lists {len(results.tests)}"
    for status in _TOTALS:
        declared = whole(summary.get(status))
        listed = sum(test.status == status for test in results.tests)
        if declared is not None and declared > listed:
            return f"its summary declares {declared} tests as {status} and it lists {listed}"
    return None
