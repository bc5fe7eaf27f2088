"""Paths and globs into files."""

from __future__ import annotations

import glob
from collections.abc import Sequence
from pathlib import Path

from repeat_eval.errors import Problem, UserError


def find_files(patterns: Sequence[str]) -> list[Path]:
    """The files that paths and globs name, each once; UserError when a pattern names none."""
    files: list[Path] = []
    problems = []
    for pattern in patterns:
        found = (
            [Path(pattern)] if Path(pattern).is_file() else [Path(name) for name in glob.glob(pattern, recursive=True)]
        )
        found = [path for path in found if path.is_file()]
        if not found:
            problems.append(Problem("no file matches", pattern))
        files += found
    if problems:
        raise UserError(problems)
    return list(dict.fromkeys(files))
