"""The trials behind a report, from the run files beside it or named with it: what only report.html shows in full."""

from __future__ import annotations

from pathlib import Path

from repeat_eval.analysis.report import Report
from repeat_eval.errors import UserError
from repeat_eval.records.journal import looks_like_run_file, read_run
from repeat_eval.records.run import Run
from repeat_eval.records.trial import Trial
from repeat_eval.steps.files import find_files
from repeat_eval.steps.recording import BASE_FILE, RUN_FILE
from repeat_eval.steps.request import Request


def trials_beside(path: Path, report: Report) -> tuple[Trial, ...] | None:
    """The trials of a report file, where the run file that it was made from lies beside it; None otherwise."""
    run = _run_in(path.with_name(RUN_FILE))
    origin = report.provenance
    if run is None or (run.header.suite, run.header.commit) != (report.suite, origin.commit):
        return None
    return run.trials if run.header.started == origin.started else None


def base_trials(report: Report, request: Request) -> tuple[Trial, ...]:
    """Base's trials, where their run file is known: beside the reports, beside the report that is shown, or named."""
    comparison = report.comparison
    if comparison is None or comparison.base is None or comparison.base.source == "stored":
        return ()
    if comparison.base.source == "side-by-side":
        places = [path.with_name(BASE_FILE) for path in _files(request.results)]
        places += [request.out / BASE_FILE] if request.out is not None else []
    else:
        named = _files(request.base)
        places = named if len(named) == 1 else []
    for place in places:
        run = _run_in(place)
        if run is not None and run.header.started == comparison.base.started:
            return run.trials
    return ()


def _files(names: tuple[str, ...]) -> list[Path]:
    try:
        return list(find_files(names)) if names else []
    except UserError:
        return []


def _run_in(path: Path) -> Run | None:
    """The run in a file; None where there is none that can be read, since the report is whole without it."""
    try:
        return read_run(path) if path.is_file() and looks_like_run_file(path) else None
    except (OSError, UserError):
        return None
