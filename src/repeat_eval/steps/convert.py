"""Convert results: any files that hold a run into a run file, a CTRF report or plain rows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import msgspec

from repeat_eval.errors import ExitCode, Problem, UserError
from repeat_eval.records.journal import looks_like_run_file, read_run
from repeat_eval.records.run import Run
from repeat_eval.records.scrubbing import scrub_header, scrub_trial
from repeat_eval.reports.files import write_atomic
from repeat_eval.steps.bases import run_from
from repeat_eval.steps.files import find_files
from repeat_eval.steps.judging import report_of, settings_of_run
from repeat_eval.steps.request import Request
from repeat_eval.suite.settings import resolve
from repeat_eval.targets.environment import Scrubber
from repeat_eval.version import __version__

Form = Literal["run", "ctrf", "rows-csv", "rows-jsonl"]
FORMS: tuple[Form, ...] = ("run", "ctrf", "rows-csv", "rows-jsonl")


class Converted(msgspec.Struct, frozen=True):
    """What was written: the file, its form, how many trials, what the file does not tell, and the exit code."""

    path: Path
    form: Form
    cases: int
    trials: int
    lost: tuple[str, ...]
    exit_code: ExitCode


def form_of(path: Path) -> Form:
    """The form that a file's name asks for.

    Raises:
        UserError: its ending belongs to none.
    """
    name = path.name.lower()
    if name.endswith(".csv"):
        return "rows-csv"
    if name == "rows.jsonl" or name.endswith((".rows.jsonl", "-rows.jsonl")):
        return "rows-jsonl"
    if name.endswith(".jsonl"):
        return "run"
    if name.endswith(".json"):
        return "ctrf"
    raise UserError(
        Problem(
            "does not say what to write: end it in .jsonl, .json or .csv, or give --to " + "|".join(FORMS), str(path)
        )
    )


def convert(files: Sequence[str], out: Path, request: Request, *, form: Form | None = None) -> Converted:
    """Write the run in some files in another form.

    Args:
        files: one run file, one report, or other tools' results; globs too.
        out: the file to write, whole or not at all.
        request: how foreign files are read, and the settings that a CTRF report is judged by; those of a run file hold
            where it says nothing.
        form: what to write; None: what the ending of `out` says.

    Returns:
        What was written. The exit code is INCOMPLETE where the run lacks evidence and the file cannot say so.

    Raises:
        UserError: no file matches, they cannot be read, there is no trial, or `out` cannot be written or holds what
            must not be overwritten.
    """
    form = form or form_of(out)
    _check_place(out, find_files(files))
    run = run_from(files, request)
    if not run.trials:
        reasons = (run.footer.missing if run.footer else ()) or ("they hold no trial",)
        raise UserError([Problem(f"nothing to convert: {reason}") for reason in reasons[:20]])
    scrub = Scrubber(request.environ).scrub
    header = scrub_header(run.header, scrub)
    if header.tool_version is None:
        header = msgspec.structs.replace(header, tool_version=__version__)
    run = msgspec.structs.replace(run, header=header, trials=tuple(scrub_trial(trial, scrub) for trial in run.trials))
    write_atomic(out, _content(run, form, request))
    for warning in dict.fromkeys((*run.warnings, *header.warnings)):
        request.say(warning)
    lost = () if form == "run" else tuple(_lacking(run, by_case=form != "ctrf"))
    return Converted(
        path=out,
        form=form,
        cases=len({trial.case for trial in run.trials}),
        trials=len(run.trials),
        lost=lost,
        exit_code=ExitCode.INCOMPLETE if lost else ExitCode.PASSED,
    )


def _check_place(out: Path, sources: Sequence[Path]) -> None:
    if not out.exists():
        return
    if any(out.samefile(source) for source in sources):
        raise UserError(Problem("is one of the files that are read: name another file with --out", str(out)))
    try:
        unfinished = looks_like_run_file(out) and not read_run(out, lean=True).complete
    except (OSError, UserError):
        unfinished = False
    if unfinished:
        raise UserError(Problem("holds an unfinished run and is not overwritten", str(out)))


def _content(run: Run, form: Form, request: Request) -> bytes:
    if form == "run":
        encode = msgspec.json.Encoder().encode
        lines: list[object] = [run.header, *run.trials]
        # Without a footer the run was interrupted, and stays so.
        lines += [{"footer": run.footer}] if run.footer is not None else []
        return b"".join(encode(line) + b"\n" for line in lines)
    if form == "ctrf":
        from repeat_eval.reports.ctrf import write_ctrf

        settings = resolve(
            ("option", request.options), ("variable", request.variables), ("run file", settings_of_run(run))
        )
        return write_ctrf(report_of(run, settings), run.trials)
    from repeat_eval.reports.rows import write_rows

    return write_rows(run.trials, "csv" if form == "rows-csv" else "jsonl")


def _lacking(run: Run, *, by_case: bool) -> list[str]:
    """Evidence that the run lacks and the file cannot tell of; `by_case` also trials, which CTRF counts."""
    from repeat_eval.analysis.sides import plans_of

    lacking = list(run.footer.missing) if run.footer is not None else []
    if not run.complete:
        lacking.append("the run is not finished")
    if not by_case:
        return lacking
    there: dict[str, int] = {}
    for trial in run.trials:
        there[trial.case] = there.get(trial.case, 0) + 1
    for plan in plans_of(run, there):
        count, asked = there.get(plan.id, 0), run.header.most_asked(plan)
        if count < asked:
            lacking.append(f"{plan.id} has {count} of {asked} trials that were asked for")
    return lacking
