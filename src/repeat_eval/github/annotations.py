"""Annotations: the cases that stand in the way, each at its line in the suite file.

GitHub refuses a whole call for one annotation that it does not like. So every place is looked at before: the path must
be a file inside the repository, the line must exist in it. What has no such place is told as text instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Literal

from repeat_eval.analysis.report import CaseReport, LowCase, Report
from repeat_eval.analysis.second_look_model import ReRunCase
from repeat_eval.reports import second_look_text, wording
from repeat_eval.reports.escape import cut_middle, terminal

Level = Literal["failure", "warning", "notice"]

MOST_ANNOTATIONS = 50
"""Annotations of one report, unless the caller says otherwise: as many as GitHub takes in one request."""
TITLE_LIMIT = 200
"""Characters of a title; GitHub takes 255."""
MESSAGE_LIMIT = 2_000
"""Characters of a message; GitHub takes 64 KB."""
_LARGEST_FILE = 10_000_000
"""Bytes of a file whose lines are counted."""


@dataclass(frozen=True, slots=True)
class Annotation:
    """One message about one line.

    Attributes:
        title, message: plain text of one line each, bounded and without control characters.
        level: how it shows: `failure` for what blocks, `warning` for what got worse without blocking.
        path: relative to the repository's root, with slashes; None where the place is not known or not valid.
        line: counted from 1; None where the place is not known or not valid.
    """

    title: str
    message: str
    level: Level = "failure"
    path: str | None = None
    line: int | None = None

    @property
    def has_place(self) -> bool:
        """Whether it can be shown at a line."""
        return self.path is not None and self.line is not None

    def fields(self) -> dict[str, object]:
        """The annotation as a check run takes it. Only for one that has a place."""
        return {
            "path": self.path,
            "start_line": self.line,
            "end_line": self.line,
            "annotation_level": self.level,
            "title": self.title,
            "message": self.message,
        }


def annotations_of(report: Report, root: Path, *, limit: int = MOST_ANNOTATIONS) -> list[Annotation]:
    """One annotation for each case that blocks, has no verdict or got worse, the blocking ones first.

    Args:
        report: what is told. Its cases' files are relative to `root`, or absolute inside it.
        root: the repository's root folder, in which the files are looked for.
        limit: most annotations, 0 or more.
    """
    places = _Places(root)
    return [
        Annotation(title, message, level, *places.of(case.file, case.line))
        for case, title, message, level in islice(_told(report), limit)
    ]


def _told(report: Report) -> Iterator[tuple[CaseReport, str, str, Level]]:
    reasons = wording.reasons_by_case(report)
    rerun = wording.rerun_cases(report)
    blocking = wording.failing_cases(report)
    for case in blocking:
        what = "no verdict" if case.verdict == "incomplete" else "failed"
        yield case, _title(case, what), _message(reasons.get(case.id, case.text), case, rerun.get(case.id)), "failure"
    left = {case.id: case for case in report.case_reports}
    for case in blocking:
        left.pop(case.id, None)
    for compared in report.comparison.cases if report.comparison else ():
        if compared.change in ("regressed", "newly broken") and compared.id in left:
            case, base, head = left[compared.id], compared.base, compared.head
            fell = f"{base.passed} of {base.verdicts} passed on base, {head.passed} of {head.verdicts} here"
            suspect = rerun.get(compared.id)
            told = second_look_text.both(suspect) if isinstance(suspect, ReRunCase) else fell
            yield case, _title(case, "worse than base"), _message(told, case, suspect), "warning"


def _title(case: CaseReport, what: str) -> str:
    return f"{cut_middle(terminal(case.id), TITLE_LIMIT)}: {what}"


def _message(reason: str, case: CaseReport, suspect: ReRunCase | LowCase | None) -> str:
    text = terminal(reason, MESSAGE_LIMIT // 2)
    evidence = wording.evidence(case, suspect)
    if evidence is not None:
        number = f"#{evidence.repetition}: " if evidence.repetition is not None else ""
        likeness = f" ({evidence.likeness})" if evidence.likeness else ""
        text = f"{text}. " * bool(text) + f"{number}{terminal(evidence.message)}{likeness}"
    return text or "no reason is known"


class _Places:
    """Which places of the repository exist; every file is read once."""

    def __init__(self, root: Path) -> None:
        self._root = root.resolve()
        self._lines: dict[str, int | None] = {}

    def of(self, file: str | None, line: int | None) -> tuple[str | None, int | None]:
        """Path and line as GitHub takes them; both None when there is no such place."""
        if not file or line is None or line < 1 or any(not letter.isprintable() for letter in file):
            return None, None
        try:
            # Resolved, so that neither ".." nor a link leads out of the repository.
            path = (self._root / file).resolve().relative_to(self._root).as_posix()
        except (ValueError, OSError, RuntimeError):
            return None, None
        if path not in self._lines:
            self._lines[path] = _count_lines(self._root / path)
        lines = self._lines[path]
        return (path, line) if lines is not None and line <= lines else (None, None)


def _count_lines(path: Path) -> int | None:
    """Lines of a regular file; None for anything else, and for a file that is too large to be a suite."""
    try:
        if not path.is_file() or path.stat().st_size > _LARGEST_FILE:
            return None
        return len(path.read_bytes().splitlines())
    except OSError:
        return None
