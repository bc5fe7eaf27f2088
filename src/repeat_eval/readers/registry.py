"""The formats that can be read, and which of them a file has. The content decides, then the file's ending."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn

from repeat_eval.errors import Problem, UserError
from repeat_eval.readers import (
    ctrf,
    deepeval,
    inspect_logs,
    junit,
    lm_eval,
    promptfoo,
    pydantic_evals,
    tables,
    tau2_bench,
    tau_bench,
)
from repeat_eval.readers.base import FileResults, Format, ReadError, ReadOptions, check_file
from repeat_eval.records.run import RUN_SCHEMA
from repeat_eval.records.trial import one_line

RUN_FORMAT = "run"
_HEAD = 65_536


def _sniff_run(head: bytes, path: Path) -> bool:
    del path
    first = head.removeprefix(b"\xef\xbb\xbf").lstrip().split(b"\n", 1)[0]
    family = RUN_SCHEMA.rpartition("/")[0].encode()
    return first.startswith(b"{") and b'"schema"' in first and b'"' + family + b"/" in first[:2_000]


def _read_run(path: Path, options: ReadOptions) -> NoReturn:
    del options
    raise ReadError(Problem("is a run file of repeat-eval, not another tool's results", file=str(path)))


FORMATS: tuple[Format, ...] = (
    Format(RUN_FORMAT, "run files of repeat-eval", (), _sniff_run, _read_run),
    Format("junit", "JUnit XML", (".xml",), junit.sniff, junit.read),
    Format("ctrf", "CTRF", (), ctrf.sniff, ctrf.read),
    Format("tau2-bench", "tau2-bench results", (), tau2_bench.sniff, tau2_bench.read),
    Format("tau-bench", "tau-bench results", (), tau_bench.sniff, tau_bench.read),
    Format("lm-eval", "samples of lm-evaluation-harness", (), lm_eval.sniff, lm_eval.read),
    Format("promptfoo", "promptfoo's results in JSON or JSON Lines", (), promptfoo.sniff, promptfoo.read),
    Format("inspect", "logs of Inspect", (".eval",), inspect_logs.sniff, inspect_logs.read),
    Format("deepeval", "test runs of DeepEval", (), deepeval.sniff, deepeval.read),
    Format("pydantic-evals", "reports of pydantic-evals", (), pydantic_evals.sniff, pydantic_evals.read),
    Format("jsonl", "rows in JSON Lines", (".jsonl", ".ndjson"), tables.sniff_jsonl, tables.read_jsonl),
    Format("csv", "rows in CSV", (".csv", ".tsv"), tables.sniff_csv, tables.read_csv),
)


def format_names() -> list[str]:
    """Names of the formats of other tools, in the order of the alphabet: what a user may force."""
    return sorted(candidate.name for candidate in FORMATS if candidate.name != RUN_FORMAT)


def format_named(name: str) -> Format:
    """The format that a user names.

    Raises:
        UserError: there is none of that name; the text lists those that there are.
    """
    for candidate in FORMATS:
        if candidate.name == name != RUN_FORMAT:
            return candidate
    raise UserError(f"there is no format {name!r} to read; there are {', '.join(format_names())}")


def format_of(path: Path, options: ReadOptions | None = None) -> Format:
    """The format of a file.

    Args:
        path: the file. options: a format that is forced, and limits.

    Returns:
        The format; its name is `run` for our own run files, which `records` reads.

    Raises:
        ReadError: there is no such file, it is empty or too large, or its format is unknown.
        UserError: the options force a format that there is not.
    """
    options = options or ReadOptions()
    forced = format_named(options.format) if options.format is not None else None
    check_file(path, options)
    if forced is not None:
        return forced
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
    except OSError as error:
        raise ReadError(Problem(f"cannot be opened: {error}", file=str(path))) from error
    for candidate in FORMATS:
        if candidate.sniff(head, path):
            return candidate
    for candidate in FORMATS:
        if path.suffix.lower() in candidate.suffixes:
            return candidate
    known = ", ".join(candidate.title for candidate in FORMATS)
    raise ReadError(Problem(f"has no format that is known; known are {known}", file=str(path)))


def read_file(path: Path, options: ReadOptions | None = None) -> FileResults:
    """Read a results file of any known format but our own.

    Args:
        path: the file. options: what equal names mean, and limits.

    Raises:
        ReadError: whatever the reason why the file cannot be read.
    """
    options = options or ReadOptions()
    found = format_of(path, options)
    try:
        return found.read(path, options)
    except ReadError:
        raise
    except Exception as error:
        # A parser's exception of any class is a fact about the file: it must cost this repetition and nothing else.
        text = f"cannot be read as {found.title}: {type(error).__name__}: {one_line(str(error), 200)}"
        raise ReadError(Problem(text, file=str(path))) from error
