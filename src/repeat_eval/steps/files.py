"""Paths and globs into files; the output folder."""

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
            problems.append(Problem(_why_none(pattern), pattern))
        files += found
    if problems:
        raise UserError(problems)
    return list(dict.fromkeys(files))


def _why_none(pattern: str) -> str:
    folder = Path(pattern)
    if not folder.is_dir():
        return "no file matches"
    run_file = folder / "run.jsonl"
    return f"is a folder; give its run file, {run_file}" if run_file.is_file() else "is a folder, not a file"


def make_output_folder(folder: Path) -> None:
    """Make the folder for a run file and reports, if it is not there.

    A folder that is new or empty keeps itself out of the user's commits with a .gitignore of its own. One that holds
    other things is left alone: it may be the folder that the user works in.

    Raises:
        UserError: the folder cannot be made or written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        empty = next(folder.iterdir(), None) is None
    except OSError as error:
        raise UserError(Problem(f"cannot be made: {error.strerror}", str(folder))) from None
    if empty:
        try:
            (folder / ".gitignore").write_text("*\n", encoding="utf-8")
        except OSError as error:
            raise UserError(Problem(f"cannot be written: {error.strerror}", str(folder))) from None
