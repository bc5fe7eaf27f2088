"""promptfoo's results: `-o results.json`, and `-o results.jsonl`, which has the rows alone.

No row says which repetition it is. `testIdx` counts repetitions too, so it names nothing; rows of one test, one prompt
and one provider are its repetitions, in the order of `testIdx`.
"""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from repeat_eval.errors import Problem
from repeat_eval.readers.base import MAX_PROBLEMS, FileResults, FoundTrial, ReadError, ReadOptions, identity
from repeat_eval.readers.documents import compact, decode, listed, number, text, tokens, whole
from repeat_eval.readers.kinds import error_kind
from repeat_eval.readers.promptfoo_names import Column, Test, name_columns, name_tests
from repeat_eval.records.trial import ErrorKind, Outcome, one_line

# Rows of other tools may have any one of these keys.
_ROW_KEYS = ({b'"promptIdx"', b'"testIdx"'}, {b'"gradingResult"', b'"namedScores"'})
_DOCUMENT = re.compile(rb'\{\s*"(?:evalId|version|results)"\s*:')
_TIMEOUT = re.compile(r"\btim(?:ed|e) ?out\b|ETIMEDOUT|TimeoutError|AbortError", re.IGNORECASE)
_PROVIDER = re.compile(
    r"\b(?:408|425|429|5\d\d)\b|rate.?limit|too many requests|overloaded|ECONN\w+|ENOTFOUND|EAI_AGAIN|socket hang up"
    r"|fetch failed|network error",
    re.IGNORECASE,
)
_HEAD = 500
# Set by promptfoo while it runs; no part of a test.
_RUNTIME_VARIABLES = frozenset({"_conversation", "sessionId"})
_ERROR = 2


class _Options(msgspec.Struct, gc=False):
    repeat: Any = None


class _TestCase(msgspec.Struct, rename={"assertions": "assert"}):
    description: Any = None
    vars: Any = None
    metadata: Any = None
    options: Any = None
    assertions: Any = None


class _Provider(msgspec.Struct):
    id: Any = None
    label: Any = None


class _Prompt(msgspec.Struct):
    label: Any = None
    raw: Any = None


class _Response(msgspec.Struct):
    output: Any = None
    error: Any = None
    cached: Any = None


class _Component(msgspec.Struct, rename={"passed": "pass"}):
    passed: Any = None
    reason: Any = None
    metadata: Any = None


class _Grading(msgspec.Struct, rename="camel"):
    reason: Any = None
    metadata: Any = None
    component_results: list[_Component | None] | None = None


class _Tokens(msgspec.Struct, gc=False):
    prompt: Any = None
    completion: Any = None
    total: Any = None


class _Row(msgspec.Struct, rename="camel"):
    success: bool
    id: Any = None
    test_case: _TestCase | None = None
    vars: Any = None
    provider: _Provider | str | None = None
    prompt: _Prompt | None = None
    prompt_id: Any = None
    prompt_idx: int | None = None
    test_idx: int | None = None
    failure_reason: Any = None
    error: Any = None
    score: Any = None
    latency_ms: Any = None
    cost: Any = None
    token_usage: _Tokens | None = None
    response: _Response | str | None = None
    grading_result: _Grading | None = None
    description: Any = None
    metadata: Any = None


class _Stats(msgspec.Struct):
    successes: Any = None
    failures: Any = None
    errors: Any = None


class _Results(msgspec.Struct):
    results: list[_Row]
    stats: _Stats | None = None


class _Config(msgspec.Struct, rename="camel"):
    evaluate_options: _Options | None = None
    command_line_options: _Options | None = None


class _File(msgspec.Struct, rename="camel"):
    results: _Results
    runtime_options: _Options | None = None
    config: _Config | None = None


def sniff(head: bytes, path: Path) -> bool:
    """Whether the file begins as promptfoo's results do."""
    del path
    head = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if not head.startswith(b"{"):
        return False
    if _DOCUMENT.match(head):
        return b'"results"' in head and (b'"evalId"' in head[:100] or any(pair <= _keys(head) for pair in _ROW_KEYS))
    return any(pair <= _keys(head) for pair in _ROW_KEYS)


def _keys(head: bytes) -> set[bytes]:
    return {key for pair in _ROW_KEYS for key in pair if key in head}


def read(path: Path, options: ReadOptions) -> FileResults:
    """Read promptfoo's results.

    Raises:
        ReadError: with the file and, where it is known, the line or the key.
    """
    data = path.read_bytes()
    first = data.removeprefix(b"\xef\xbb\xbf").lstrip()[:100]
    if _DOCUMENT.match(first) or not data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b'{"'):
        file = decode(data, _File, path)
        rows = file.results.results
        repeat = _repeat(file)
        stats = file.results.stats
    else:
        rows, repeat, stats = _lines(data, path), None, None
    if len(rows) > options.max_testcases:
        raise ReadError(Problem(f"has more than {options.max_testcases:,} results", file=str(path)))
    warnings: list[str] = []
    found, broken = _once(rows, warnings)
    broken = _lost(rows, stats) or broken
    cases, variant = _cases(found, warnings)
    trials, asked, equal = _trials(found, cases, repeat, warnings)
    if equal and options.duplicates == "error":
        problems = [Problem(f"several tests cannot be told apart: {case}", file=str(path)) for case in equal]
        raise ReadError(problems[:MAX_PROBLEMS])
    return FileResults(
        path=path,
        format="promptfoo",
        trials=tuple(trials),
        warnings=tuple(warnings),
        broken=broken,
        asked=asked,
        variant=variant,
    )


def _lines(data: bytes, path: Path) -> list[_Row]:
    rows: list[_Row] = []
    problems: list[Problem] = []
    for line, raw in enumerate(data.splitlines(), 1):
        if not raw.strip():
            continue
        try:
            rows.append(decode(raw, _Row, path, line=line))
        except ReadError as error:
            problems += error.problems
            if len(problems) >= MAX_PROBLEMS:
                break
    if problems:
        raise ReadError(problems)
    return rows


def _repeat(file: _File) -> int | None:
    """Repetitions of tests that do not say otherwise; None where the file does not tell."""
    config = file.config or _Config()
    places = (file.runtime_options, config.command_line_options, config.evaluate_options)
    for place in places:
        if place is not None and (repeat := whole(place.repeat)):
            return repeat
    return 1 if file.runtime_options is not None else None


@dataclass(slots=True)
class _Found:
    row: _Row
    attempts: int = 1

    @property
    def outcome(self) -> tuple[Outcome, ErrorKind | None]:
        return _outcome(self.row)


def _once(rows: list[_Row], warnings: list[str]) -> tuple[list[_Found], str | None]:
    """Each row once. A run that is resumed may leave an error and, later, the result that stands for it."""
    kept: dict[object, _Found] = {}
    resumed = 0
    broken = None
    for index, row in enumerate(rows):
        place: object = (row.test_idx, row.prompt_idx) if row.test_idx is not None else ("row", index)
        earlier = kept.get(place)
        if earlier is None:
            kept[place] = _Found(row)
            continue
        if earlier.outcome[0] != "error":
            broken = f"test {row.test_idx} of prompt {row.prompt_idx} is there twice, as in two runs in one file"
            kept["again", index] = _Found(row)
            continue
        resumed += 1
        earlier.row, earlier.attempts = row, earlier.attempts + 1
    if resumed:
        warnings.append(f"{resumed} errors were run again; the later result counts")
    return list(kept.values()), broken


def _lost(rows: list[_Row], stats: _Stats | None) -> str | None:
    if stats is None:
        return None
    declared = (whole(stats.failures) or 0) + (whole(stats.errors) or 0)
    there = sum(not row.success for row in rows)
    return f"declares {declared} failures and errors and lists {there}" if declared > there else None


def _outcome(row: _Row) -> tuple[Outcome, ErrorKind | None]:
    if row.success:
        return "passed", None
    response = row.response if isinstance(row.response, _Response) else None
    refused = response is not None and bool(response.error)
    # Files of older versions have no reason of failure: there a provider that failed left no grading.
    unknown = row.failure_reason is None
    if row.failure_reason == _ERROR or (unknown and (refused or (row.grading_result is None and bool(row.error)))):
        said = (text(row.error) or (text(response.error) if response else None) or "")[:_HEAD]
        if _TIMEOUT.search(said):
            return "error", "timeout"
        return "error", "provider" if _PROVIDER.search(said) else error_kind("", said)
    return ("error", "judge") if _grader_broke(row.grading_result) else ("failed", None)


def _grader_broke(grading: _Grading | None) -> bool:
    """Whether no assertion failed by its own judgement: all that did not pass are those whose grader broke."""
    if grading is None:
        return False
    parts = [part for part in grading.component_results or () if part is not None and part.passed is False]
    broken = [part for part in parts if _marked(part.metadata)]
    return len(broken) == len(parts) if parts else _marked(grading.metadata)


def _marked(metadata: object) -> bool:
    return isinstance(metadata, dict) and metadata.get("graderError") is True


def _cases(found: list[_Found], warnings: list[str]) -> tuple[list[str], str | None]:
    tests = [_test(item.row) for item in found]
    columns = [_column(item.row) for item in found]
    names = name_tests(tests)
    column_names, variant = name_columns(columns, warnings)
    made: dict[tuple[Test, Column], str] = {}
    owners: dict[str, tuple[Test, Column]] = {}
    cases = []
    for test, column in zip(tests, columns, strict=True):
        key = (test, column)
        if key not in made:
            name = identity(" | ".join(part for part in (names[test], column_names[column]) if part))
            if owners.setdefault(name, key) != key:
                name = identity(f"{name} {hashlib.sha256(repr(key).encode('utf-8', 'replace')).hexdigest()[:8]}")
            made[key] = name
        cases.append(made[key])
    return cases, variant


def _test(row: _Row) -> Test:
    case = row.test_case or _TestCase()
    metadata = case.metadata if isinstance(case.metadata, dict) else {}
    more = row.metadata if isinstance(row.metadata, dict) else {}
    known = next(
        (found for place in (metadata, more) for key in ("testCaseId", "id") if (found := _word(place.get(key)))), ""
    )
    values = case.vars if isinstance(case.vars, dict) and case.vars else row.vars
    pairs = values.items() if isinstance(values, dict) else ()
    return Test(
        description=_word(case.description) or _word(row.description),
        id=known,
        variables=tuple(
            sorted(
                (key, text(value) or "") for key, value in pairs if key not in _RUNTIME_VARIABLES and key[:2] != "__"
            )
        ),
        assertions=compact(case.assertions) if case.assertions else "",
    )


def _column(row: _Row) -> Column:
    provider = row.provider
    if isinstance(provider, _Provider):
        provider = _word(provider.label) or _word(provider.id)
    prompt = row.prompt or _Prompt()
    label = _word(prompt.label) or (_word(prompt.raw) if row.prompt_id is None else "")
    return Column(provider=provider or "", label=label, prompt=_word(row.prompt_id), index=row.prompt_idx or 0)


def _word(value: object) -> str:
    return (text(value) or "").strip() if isinstance(value, str | int) and not isinstance(value, bool) else ""


def _trials(
    found: list[_Found], cases: list[str], repeat: int | None, warnings: list[str]
) -> tuple[list[FoundTrial], dict[str, int], list[str]]:
    """The trials, what was asked for, and the cases that several tests share which cannot be told apart."""
    groups: dict[str, list[int]] = defaultdict(list)
    for index, case in enumerate(cases):
        groups[case].append(index)
    asked: dict[str, int] = {}
    equal: list[str] = []
    lacking: list[str] = []
    trials: list[tuple[int, FoundTrial]] = []
    for case, places in groups.items():
        places.sort(key=lambda place: (found[place].row.test_idx or 0, place))
        own = found[places[0]].row.test_case
        wanted = whole(own.options.get("repeat")) if own is not None and isinstance(own.options, dict) else None
        wanted = wanted or repeat
        if wanted:
            equal += [case] if len(places) > wanted else []
            lacking += [case] if len(places) < wanted else []
            asked[case] = max(wanted, -(-len(places) // wanted) * wanted)
        trials += [(place, _trial(found[place], case, repetition)) for repetition, place in enumerate(places, 1)]
    if equal:
        warnings.append(
            f"{len(equal)} cases have more results than repetitions, because several tests cannot be told apart; all "
            f"count as repetitions of one case, and descriptions would tell them apart: {listed(equal)}"
        )
    if lacking:
        warnings.append(f"{len(lacking)} cases have fewer results than repetitions: {listed(lacking)}")
    if cached := sum(trial.cached is True for _, trial in trials):
        warnings.append(
            f"{cached} of {len(trials)} answers came from promptfoo's cache: they are no new evidence (--no-cache)"
        )
    trials.sort(key=lambda item: item[0])
    return [trial for _, trial in trials], asked, equal


def _trial(found: _Found, case: str, repetition: int) -> FoundTrial:
    row = found.row
    outcome, kind = found.outcome
    response = row.response if isinstance(row.response, _Response) else _Response(output=row.response)
    latency = number(row.latency_ms, least=0)
    usage = row.token_usage or _Tokens()
    message = None
    if outcome != "passed":
        grading = row.grading_result
        said = text(row.error) or text(response.error) or (text(grading.reason) if grading else None)
        message = one_line(said or "") or None
    return FoundTrial(
        case=case,
        repetition=repetition,
        outcome=outcome,
        error_kind=kind,
        # promptfoo writes 0 for what it could not score.
        score=None if outcome == "error" else number(row.score),
        duration=None if latency is None else latency / 1000,
        cost=number(row.cost, least=0),
        # Without any answer the zeros are no measurement.
        tokens=tokens(usage.prompt, usage.completion) if whole(usage.total) else None,
        message=message,
        output=text(response.output),
        attempts=found.attempts,
        cached=response.cached if isinstance(response.cached, bool) else None,
        origin=_word(row.id)[:100] or None,
    )
