"""Judge results that were made already: files of other tools, or a run file or report of our own."""

from __future__ import annotations

import glob
from collections.abc import Sequence
from pathlib import Path

import msgspec

from repeat_eval.analysis.report import Report
from repeat_eval.errors import Problem, UserError
from repeat_eval.readers.base import ReadOptions
from repeat_eval.readers.collect import collect
from repeat_eval.records.journal import looks_like_run_file, read_run
from repeat_eval.records.run import CasePlan, Run, RunHeader
from repeat_eval.reports.json_report import looks_like_report, read
from repeat_eval.steps.judging import report_of, rules_of, settings_of_run
from repeat_eval.steps.recording import now, recording
from repeat_eval.steps.request import Request
from repeat_eval.steps.run_suite import Finished
from repeat_eval.suite.settings import resolve
from repeat_eval.version import __version__


def find_files(patterns: Sequence[str]) -> list[Path]:
    """The files that paths and globs name; UserError when one names none."""
    files: list[Path] = []
    problems = []
    for pattern in patterns:
        found = [Path(name) for name in glob.glob(pattern, recursive=True)] or [Path(pattern)]
        found = [path for path in found if path.is_file()]
        if not found:
            problems.append(Problem("no file matches", pattern))
        files += found
    if problems:
        raise UserError(problems)
    return list(dict.fromkeys(files))


def run_results(request: Request) -> Finished:
    """Read results files of other tools into a run file, and judge them.

    Raises:
        UserError: no file matches, or the files cannot go together.
    """
    settings = resolve(("option", request.options), ("variable", request.variables))
    files = find_files(request.results)
    asked = settings["repeats"] if settings.source("repeats") != "default" else None
    collected = collect(files, repeats=asked, options=ReadOptions(duplicates=request.duplicates))
    header = RunHeader(
        suite=request.name or "results",
        source="results",
        repeats=asked or max(collected.asked.values(), default=1),
        cases=tuple(CasePlan(id=case, asked=collected.asked[case]) for case in collected.cases),
        settings=rules_of(settings).as_settings(),
        seed=settings["seed"],
        tool_version=__version__,
        started=now(),
        warnings=tuple(collected.warnings),
    )
    missing = [*collected.missing]
    missing += [f"{file.path}: {file.reason}" for file in collected.unreadable if not collected.cases]
    request.progress.start(len(collected.trials), 0)
    with recording(header, request) as record:
        for trial in collected.trials:
            record.add(trial)
        run = record.finish(missing=tuple(missing))
    request.progress.stop()
    return Finished(report_of(run, settings, files=[str(path) for path in files]), record)


def report_from(files: Sequence[str], request: Request) -> Report:
    """Make a report from files without running anything: one run file, one report, or other tools' results.

    A report file is shown as it is; a run file is judged anew, by its own rules where no option or variable says
    otherwise.

    Raises:
        UserError: no file matches, several run files, gate options for a report file, or unreadable files.
    """
    paths = find_files(files)
    if len(paths) == 1 and looks_like_report(paths[0]):
        if request.options.model_dump(exclude_none=True):
            raise UserError(
                Problem("is a report, shown as it is; to judge anew, give its run file (run.jsonl)", str(paths[0]))
            )
        return read(paths[0])
    own = [path for path in paths if looks_like_run_file(path)]
    if own and len(paths) > 1:
        raise UserError(Problem("is a run file; give one run file alone, or other tools' results", str(own[0])))
    if own:
        return _from_run(read_run(own[0]), own[0], request)
    return run_results(_quiet(request, files)).report


def _from_run(run: Run, path: Path, request: Request) -> Report:
    settings = resolve(("option", request.options), ("variable", request.variables), ("run file", settings_of_run(run)))
    return report_of(run, settings, files=[str(path)])


def _quiet(request: Request, files: Sequence[str]) -> Request:
    return msgspec.structs.replace(request, results=tuple(files), out=None)
