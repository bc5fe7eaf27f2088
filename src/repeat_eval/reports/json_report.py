"""report.json: all that any surface shows, so that surfaces can be rendered later and elsewhere from it alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

from repeat_eval.analysis.report import REPORT_SCHEMA, Report, to_json
from repeat_eval.errors import Problem, UserError
from repeat_eval.records.thresholds import parse_threshold
from repeat_eval.records.trial import OUTCOME_LETTERS
from repeat_eval.reports.files import write_atomic

_FAMILY, _, _MAJOR = REPORT_SCHEMA.rpartition("/")
MAX_PROBLEMS = 20
_LETTERS = frozenset(OUTCOME_LETTERS.values())
_AT_BYTE = re.compile(r"\(byte (\d+)\)")


class _Head(msgspec.Struct):
    """The one key that is read before everything else."""

    schema: str | None = None


def write(report: Report, path: Path) -> None:
    """Write `report` to `path` whole or not at all.

    Raises:
        UserError: the file cannot be written.
    """
    write_atomic(path, to_json(report))


def read(path: Path) -> Report:
    """Read a report file. Unknown keys are ignored.

    Raises:
        UserError: the file cannot be read, is not JSON (with line and column), is not a report, or has a newer major
            schema than this version knows (with both versions).
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UserError(Problem(f"cannot be read: {error.strerror or error}", file=str(path))) from error
    return decode(data, str(path))


def decode(data: bytes, name: str) -> Report:
    """The report in `data`; `name` is what errors call it. See `read`."""
    try:
        schema = msgspec.json.decode(data, type=_Head).schema
    except msgspec.ValidationError as error:
        raise UserError(Problem(f"is not a report file: {error}", file=name)) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UserError(_broken(data, name, error)) from error
    _check_schema(schema, name)
    try:
        report = msgspec.json.decode(data, type=Report)
    except msgspec.ValidationError as error:
        raise UserError(Problem(f"is not a valid report file: {error}", file=name)) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UserError(_broken(data, name, error)) from error
    if wrong := list(_impossible(report)):
        shown = [Problem(f"is not a valid report file: {text}", file=name) for text in wrong[:MAX_PROBLEMS]]
        raise UserError(shown)
    return report


def _impossible(report: Report) -> Iterator[str]:
    """What no program of ours writes, and no surface could show: rates, counts and thresholds that are none."""
    totals = report.totals
    intervals = [("the suite", totals.interval), ("the suite", totals.new_cases_interval)]
    for case in report.case_reports:
        who = f"case {case.id[:60]!r}"
        intervals.append((who, case.interval))
        if min(case.asked, case.passed, case.failed, case.errors, case.skipped, case.missing) < 0:
            yield f"{who} has a count below 0"
        if not _LETTERS.issuperset(case.outcomes):
            yield f"{who} has outcomes other than {', '.join(sorted(_LETTERS))}"
        try:
            parse_threshold(case.threshold)
        except ValueError as error:
            yield f"the threshold of {who}: {error}"
    for compared in report.comparison.cases if report.comparison is not None else ():
        if not _LETTERS.issuperset(compared.base.outcomes + compared.head.outcomes):
            yield f"case {compared.id[:60]!r} of the comparison has outcomes other than {', '.join(sorted(_LETTERS))}"
    for who, interval in intervals:
        if interval is not None and not 0 <= interval[0] <= interval[1] <= 1:
            yield f"the interval of {who} is none of a rate: {interval[0]!r} to {interval[1]!r}"


def _check_schema(schema: str | None, name: str) -> None:
    if schema is None:
        raise UserError(Problem(f"is not a report file: it has no schema (a report has {REPORT_SCHEMA!r})", file=name))
    family, _, major = schema[:200].rpartition("/")
    if family != _FAMILY or not (major.isascii() and major.isdigit()) or len(major) > 9:
        raise UserError(
            Problem(f"is not a report file: its schema is {schema[:100]!r}, not {REPORT_SCHEMA!r}", file=name)
        )
    if int(major) != int(_MAJOR):
        raise UserError(
            Problem(
                f"has the schema {schema!r}, and this version of repeat-eval reads {REPORT_SCHEMA!r}: "
                "use the version that wrote it, or a newer one",
                file=name,
            )
        )


def _broken(data: bytes, name: str, error: Exception) -> Problem:
    """Broken JSON with its place: the decoder tells the byte, people look for line and column."""
    text = "too deeply nested" if isinstance(error, RecursionError) else str(error)
    found = _AT_BYTE.search(text)
    position = int(found[1]) if found else len(data) if "truncated" in text else None
    if isinstance(error, UnicodeDecodeError):
        position = error.start
    if position is None:
        return Problem(f"is not JSON: {text}", file=name)
    before = data[:position]
    column = len(before[before.rfind(b"\n") + 1 :].decode("utf-8", "replace")) + 1
    return Problem(f"is not JSON: {text}", file=name, line=before.count(b"\n") + 1, column=column)


def looks_like_report(path: Path) -> bool:
    """Whether a file is a report of ours, of any version; raises OSError."""
    with path.open("rb") as file:
        head = file.read(4096).lstrip()
    return head.startswith(b"{") and b'"repeat-eval/report/' in head
