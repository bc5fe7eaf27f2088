"""Write every report of a run into its output folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from repeat_eval.analysis.report import Report
from repeat_eval.errors import Problem, UserError
from repeat_eval.records.trial import Trial
from repeat_eval.reports.files import write_atomic
from repeat_eval.reports.registry import renderings
from repeat_eval.steps.request import Request


def write_reports(report: Report, request: Request, *, trials: Sequence[Trial] | None = None) -> list[Path]:
    """Render and write report.json, junit.xml and summary.md; nothing when there is no output folder.

    Each is rendered whole and then put in its place at once.

    Raises:
        UserError: the folder cannot be written.
    """
    if request.out is None:
        return []
    written = []
    try:
        request.out.mkdir(parents=True, exist_ok=True)
        ignore = request.out / ".gitignore"
        if not ignore.exists():
            ignore.write_text("*\n", encoding="utf-8")
        for name, data in renderings(report, trials=trials, junit_strict=request.junit_strict):
            path = request.out / name
            write_atomic(path, data)
            written.append(path)
    except OSError as error:
        raise UserError(Problem(f"cannot be written: {error.strerror}", str(request.out))) from None
    return written
