"""Files of plain rows: CSV with a header line, and JSON Lines."""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NoReturn

import msgspec

from repeat_eval.errors import Problem
from repeat_eval.readers.base import FileResults, ReadError, ReadOptions
from repeat_eval.readers.rows import ALIASES, FIELDS, RANK, Rows, canonical, is_no_error, normal
from repeat_eval.records.rows import ROW_COLUMNS, plain
from repeat_eval.records.trial import one_line

_DELIMITERS = (",", ";", "\t")
_VERDICTS = frozenset({"passed", "outcome", "result"})


def _columns(header: list[str]) -> dict[str, int]:
    """Fields of a CSV header that are known, each with the preferred column."""
    columns: dict[str, list[int]] = defaultdict(list)
    for index, name in enumerate(header):
        if (field := FIELDS.get(normal(name))) is not None:
            columns[field].append(index)
    return {name: min(places, key=lambda place: RANK[normal(header[place])]) for name, places in columns.items()}


def _header(line: str) -> tuple[list[str], str]:
    """The columns of a header line and the delimiter that gives the most of them that are known."""
    best: tuple[list[str], str] = ([], ",")
    score = (-1, -1)
    for delimiter in _DELIMITERS:
        try:
            header = next(csv.reader([line], delimiter=delimiter, strict=True), [])
        except csv.Error:
            continue
        if (quality := (len(_columns(header)), len(header))) > score:
            best, score = (header, delimiter), quality
    return best


def sniff_csv(head: bytes, path: Path) -> bool:
    """Whether the first line is a header that names a case and a verdict."""
    del path
    line = head.removeprefix(b"\xef\xbb\xbf").split(b"\n", 1)[0]
    try:
        columns = _columns(_header(line.decode().rstrip("\r"))[0])
    except UnicodeDecodeError:
        return False
    return "case" in columns and bool(columns.keys() & _VERDICTS)


def sniff_jsonl(head: bytes, path: Path) -> bool:
    """Whether the first line is a JSON object of its own."""
    del path
    lines = head.removeprefix(b"\xef\xbb\xbf").lstrip().split(b"\n", 1)
    if not lines[0].startswith(b"{"):
        return False
    if len(lines) == 1:
        return lines[0].rstrip().endswith(b"}") or len(head) > 10_000
    return lines[0].rstrip().endswith(b"}")


def read_csv(path: Path, options: ReadOptions) -> FileResults:
    """Read rows from a CSV file with a header line; `,`, `;` and tab separate.

    Where the columns are those of our own writer, the apostrophes that it puts before formulas are taken off again.

    Raises:
        ReadError: with every problem of the file, each with its line.
    """
    name = str(path)
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            header, delimiter = _header(file.readline(1_000_000).rstrip("\r\n"))
            columns = _columns(header)
            _check_columns(columns, header, path)
            rows = Rows(path, options, decimal_comma=delimiter == ";")
            ours = tuple(header) == ROW_COLUMNS
            reader = csv.reader(file, delimiter=delimiter, strict=True)
            try:
                for cells in reader:
                    line = reader.line_num + 1
                    if not any(cells):
                        continue
                    if len(cells) != len(header):
                        rows.problem(line, f"the row has {len(cells)} columns, the header has {len(header)}")
                        continue
                    if any("\0" in cell for cell in cells):
                        rows.problem(line, "the row holds a NUL character")
                        continue
                    found = {field: cell for field, place in columns.items() if (cell := cells[place]) and cell.strip()}
                    if "error" in found and is_no_error(found["error"]):
                        del found["error"]
                    if ours:
                        found = {field: plain(cell) for field, cell in found.items()}
                    rows.add(line, found)
            except csv.Error as error:
                rows.problem(reader.line_num + 1, f"the row is no CSV: {error}")
    except UnicodeDecodeError as error:
        raise ReadError(Problem(f"is no UTF-8: {error.reason}", name, _line_of_bad_text(path))) from error
    return rows.results("csv")


def _check_columns(columns: Mapping[str, int], header: list[str], path: Path) -> None:
    problems = []
    if "case" not in columns:
        problems.append(f"no column names the case; known names are {', '.join(ALIASES['case'])}")
    if not columns.keys() & _VERDICTS:
        known = ", ".join(ALIASES["passed"] + ALIASES["outcome"] + ALIASES["result"])
        problems.append(f"no column says whether a row passed; known names are {known}; a score is no verdict")
    names = [normal(name) for name in header]
    twice = sorted({name for name in names if name in FIELDS and names.count(name) > 1})
    problems += [f"two columns have the name {name}" for name in twice]
    if problems:
        raise ReadError([Problem(text, str(path), 1) for text in problems])


def _line_of_bad_text(path: Path) -> int | None:
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                line.decode()
            except UnicodeDecodeError:
                return number
    return None


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def _decode(line: bytes) -> object:
    """One line of JSON. Python writes lone surrogates as escapes, which only the slower decoder reads."""
    try:
        return msgspec.json.decode(line)
    except (msgspec.DecodeError, ValueError, RecursionError):
        if b"\\u" not in line:
            raise
        return json.loads(line, parse_constant=_refuse_constant)


def _numbered_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    with path.open("rb") as file:
        for number, raw in enumerate(file, 1):
            line = (raw.removeprefix(b"\xef\xbb\xbf") if number == 1 else raw).strip()
            if line:
                yield number, line


def read_jsonl(path: Path, options: ReadOptions) -> FileResults:
    """Read rows from JSON Lines: an object a line.

    Raises:
        ReadError: with every problem of the file, each with its line.
    """
    rows = Rows(path, options)
    for number, line in _numbered_lines(path):
        try:
            row = _decode(line)
        except (ValueError, RecursionError) as error:
            rows.problem(number, f"the line is no JSON: {one_line(str(error), 200)}")
            continue
        if not isinstance(row, dict):
            rows.problem(number, "the line is no JSON object")
            continue
        if "promptIdx" in row and "testIdx" in row:
            text = "are promptfoo's own rows, which are no plain rows: --format promptfoo reads them"
            raise ReadError(Problem(text, str(path), number))
        found = canonical(row)
        if not found.keys() & {"case", *_VERDICTS}:
            rows.problem(number, "the line names no case and no verdict")
            continue
        rows.add(number, found)
    return rows.results("jsonl")
