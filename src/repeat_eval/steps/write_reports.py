"""Write every report of a run into its output folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from repeat_eval.analysis.report import Report
from repeat_eval.records.trial import Trial
from repeat_eval.reports import registry
from repeat_eval.steps.files import make_output_folder
from repeat_eval.steps.request import Request
from repeat_eval.steps.trial_details import base_trials


def write_reports(report: Report, request: Request, *, trials: Sequence[Trial] | None = None) -> list[Path]:
    """Render and write every report; nothing when there is no output folder.

    Args:
        report: what is rendered. request: where to, and which.
        trials: head's trials, for junit.xml and report.html. Base's are read from their file where that is known.

    Raises:
        UserError: the folder cannot be written.
    """
    if request.out is None:
        return []
    make_output_folder(request.out)
    return registry.write_reports(
        report,
        request.out,
        trials=trials,
        base_trials=base_trials(report, request) if request.html and trials is not None else (),
        names=[name for name in registry.REPORT_FILES if request.html or name != registry.HTML],
        junit_strict=request.junit_strict,
        badges=request.badge,
        ctrf=request.ctrf,
        reproduce=reproduce(report, request),
        templates=request.templates,
    )


def reproduce(report: Report, request: Request) -> str | None:
    """The command that makes these figures again; None where results were only read."""
    from repeat_eval.reports.reproduce import reproduce_command

    if request.command is not None:
        source = ["--command", request.command]
    elif request.suite is not None:
        source = [str(request.suite)]
    else:
        return None
    source += ["--target", request.target] if request.target else []
    base = [word for file in request.base for word in ("--base", file)]
    base += ["--base-dir", str(request.base_dir)] if request.base_dir else []
    base += ["--base-ref", request.base_ref] if request.base_ref else []
    base += ["--base-target", request.base_target] if request.base_target else []
    base += ["--base-stored", str(request.base_stored)] if request.base_stored else []
    return reproduce_command(report, source, base=base)
