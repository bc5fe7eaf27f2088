"""Judge results that were made already: files of other tools, or a run file or report of our own."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from repeat_eval.analysis.report import Report
from repeat_eval.errors import Problem, UserError
from repeat_eval.records.trial import Trial
from repeat_eval.reports.json_report import looks_like_report, read
from repeat_eval.steps.bases import base_from, base_from_files, run_from
from repeat_eval.steps.files import find_files
from repeat_eval.steps.finished import Finished
from repeat_eval.steps.judging import report_of, rules_of, settings_of_run
from repeat_eval.steps.recording import now, recording
from repeat_eval.steps.request import Request
from repeat_eval.steps.trial_details import trials_beside
from repeat_eval.suite.settings import resolve
from repeat_eval.version import __version__


class Judged(msgspec.Struct, frozen=True):
    """A report made from files, and head's trials; None where only a report tells of them."""

    report: Report
    trials: tuple[Trial, ...] | None = None


def run_results(request: Request) -> Finished:
    """Read results that exist already into a run file, and judge them: other tools' files, or a run file of our own.

    Raises:
        UserError: no file matches, or the files cannot go together.
    """
    files = find_files(request.results)
    found = run_from(request.results, request)
    settings = resolve(
        ("option", request.options), ("variable", request.variables), ("run file", settings_of_run(found))
    )
    foreign = found.header.source == "results"
    header = msgspec.structs.replace(
        found.header,
        settings=rules_of(settings).as_settings(),
        seed=settings["seed"] if foreign else found.header.seed,
        tool_version=__version__,
        started=now() if foreign else found.header.started,
    )
    base = base_from_files(request, header.suite)
    footer = found.footer
    stopped = None if found.complete else (footer.stopped if footer else None) or "crashed"
    with recording(header, request) as record:
        for trial in found.trials:
            record.add(trial)
        run = record.finish(
            stopped=stopped,
            missing=footer.missing if footer else (),
            warnings=found.warnings,
            without=(footer.without or None) if footer else None,
        )
    shown = [str(path) for path in files]
    report = report_of(run, settings, files=shown, base=base, base_missing=request.base_missing)
    return Finished(report, record)


def report_from(files: Sequence[str], request: Request) -> Judged:
    """Make a report from files without running anything: one run file, one report, or other tools' results.

    A report file is shown as it is; a run file is judged anew, by its own rules where no option or variable says
    otherwise.

    Raises:
        UserError: no file matches, several run files, gate options or a base for a report file, or unreadable files.
    """
    paths = find_files(files)
    if len(paths) == 1 and looks_like_report(paths[0]):
        if request.base or request.options.model_dump(exclude_none=True):
            raise UserError(
                Problem("is a report, shown as it is; to judge anew, give its run file (run.jsonl)", str(paths[0]))
            )
        report = read(paths[0])
        return Judged(report, trials_beside(paths[0], report) if request.out is not None else None)
    return compared(files, request, request.base)


def compared(files: Sequence[str], request: Request, base_files: Sequence[str]) -> Judged:
    """Judge the run behind some files, by its own rules where no option or variable says otherwise.

    Args:
        files: of head. request: how they are read and judged.
        base_files: of base; empty for none.

    Raises:
        UserError: no file matches, several run files, or unreadable files.
    """
    run = run_from(files, request)
    base = base_from(base_files, request, run.header.suite) if base_files else None
    stored = None
    if run.header.second_look and (base is not None or run.header.second_look.mode != "side-by-side"):
        from repeat_eval.steps.screening import stored_beside

        stored = stored_beside(find_files(files), run.header)
    settings = resolve(("option", request.options), ("variable", request.variables), ("run file", settings_of_run(run)))
    paths = find_files(files)
    told_by_report = len(paths) == 1 and looks_like_report(paths[0])
    report = report_of(run, settings, files=list(files), base=base, base_stored=stored)
    return Judged(report, None if told_by_report else run.trials)
