"""The file that an evaluator is held against later: written and read."""

from __future__ import annotations

from pathlib import Path

import msgspec

from repeat_eval.analysis.judge_drift import BASELINE_SCHEMA, Baseline
from repeat_eval.errors import Problem, UserError
from repeat_eval.reports.files import write_atomic

MAX_BASELINE_BYTES = 50_000_000


def read_baseline(path: Path, suite: str) -> Baseline:
    """Read a baseline of this suite.

    Raises:
        UserError: it cannot be read, is none, is of another version or of another suite.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BASELINE_BYTES + 1)
        baseline = msgspec.json.decode(data, type=Baseline)
    except OSError as error:
        raise UserError(Problem(f"cannot be read: {error.strerror or error}", str(path))) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UserError(Problem(f"is no baseline of an evaluator: {error}", str(path))) from None
    if baseline.schema != BASELINE_SCHEMA:
        raise UserError(Problem(f"is of the version {baseline.schema!r}; known is {BASELINE_SCHEMA}", str(path)))
    if baseline.suite != suite:
        raise UserError(Problem(f"is a baseline of the suite {baseline.suite!r}, and this is {suite!r}", str(path)))
    return baseline


def write_baseline(baseline: Baseline, path: Path) -> None:
    """Write a baseline as JSON with one trace a line, so that a repository shows what changed.

    Raises:
        UserError: the file cannot be written.
    """
    head = msgspec.json.encode(msgspec.structs.replace(baseline, traces=()))
    rows = b",\n".join(msgspec.json.encode(one) for one in baseline.traces)
    data = head.replace(b'"traces":[]', b'"traces":[\n' + rows + b"\n]", 1) + b"\n"
    write_atomic(path, data)
