"""tau-bench: one JSON list of trials, as its `run.py` writes it.

A trial that raised is there with reward 0 and `info.error`. It is no verdict on the agent, so here it is an error.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec

from repeat_eval.errors import Problem
from repeat_eval.readers.base import MAX_PROBLEMS, FileResults, FoundTrial, ReadError, ReadOptions, identity
from repeat_eval.readers.documents import number, read_document, text
from repeat_eval.readers.kinds import error_kind
from repeat_eval.records.trial import one_line

TOLERANCE = 1e-6
"""How near to 1 a reward has to be to count as a pass: the benchmark's own rule."""

MAX_REPETITION = 1_000_000
"""Highest number of a trial that is read."""

_KEYS = (b'"task_id"', b'"reward"')
_START = re.compile(rb"\[\s*\{")


class _Row(msgspec.Struct, gc=False):
    task_id: int | str
    reward: Any
    trial: int = 0
    info: dict[str, Any] | None = None


def passes(reward: float) -> bool:
    """Whether a reward is a pass."""
    return abs(reward - 1) < TOLERANCE


def sniff(head: bytes, path: Path) -> bool:
    """Whether the first bytes of a file look like tau-bench's results."""
    del path
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    return _START.match(start) is not None and all(key in head for key in _KEYS)


def read(path: Path, options: ReadOptions) -> FileResults:
    """Read tau-bench's results.

    Args:
        path: the file. options: limits.

    Returns:
        Its trials; the identity of a case is `task N`, and `trial` counts from 0.

    Raises:
        ReadError: the file is no JSON or no such list, a trial is there twice, or it is beyond the limits.
    """
    rows = read_document(path, list[_Row])
    if len(rows) > options.max_testcases:
        raise ReadError(Problem(f"has more than {options.max_testcases:,} trials", file=str(path)))
    trials: list[FoundTrial] = []
    problems: list[Problem] = []
    seen: set[tuple[str, int]] = set()
    for place, row in enumerate(rows, 1):
        case = identity(f"task {row.task_id}")
        if not 0 <= row.trial <= MAX_REPETITION:
            problems.append(Problem(f"row {place}: trial is {row.trial}; it counts from 0", file=str(path)))
        if (case, row.trial) in seen:
            problems.append(Problem(f"row {place}: {case} has trial {row.trial} twice", file=str(path)))
        seen.add((case, row.trial))
        trials.append(_trial(case, row))
    if problems:
        raise ReadError(problems[:MAX_PROBLEMS])
    errors = sum(trial.outcome == "error" for trial in trials)
    warnings = []
    if errors:
        warnings.append(
            f"{errors} trials raised an error and are errors here; tau-bench itself counts them as failures "
            "(reward 0), so its pass^k is lower"
        )
    return FileResults(path=path, format="tau-bench", trials=tuple(trials), warnings=tuple(warnings))


def _trial(case: str, row: _Row) -> FoundTrial:
    info = row.info or {}
    reward = number(row.reward)
    # What the simulated user's model cost; the file does not tell what the agent's did, so the cost is unknown.
    found = FoundTrial(case=case, outcome="failed", repetition=row.trial + 1, score=reward)
    if info.get("error") is not None:
        message = one_line(text(info["error"]) or "") or "the trial raised an error"
        kind = error_kind("", message)
        return msgspec.structs.replace(found, outcome="error", error_kind=kind, score=None, message=message)
    if reward is None:
        return msgspec.structs.replace(found, outcome="error", error_kind="judge", message="the trial has no reward")
    if passes(reward):
        return msgspec.structs.replace(found, outcome="passed")
    return msgspec.structs.replace(found, message=f"reward {reward:g}")
