"""Which report files a run writes into its output folder, and who renders each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from repeat_eval.analysis.report import Report, to_json
from repeat_eval.errors import UserError
from repeat_eval.records.trial import Trial
from repeat_eval.reports.files import write_atomic

HTML = "report.html"


class Options(NamedTuple):
    """What a renderer may need besides the report.

    `trials` gives every failing trial of junit.xml its own message and lets each be opened in report.html,
    `base_trials` likewise; `junit_strict` leaves out testcases' properties; `reproduce` is the command that gives
    the same figures again; `templates` is the folder of the user's own templates.
    """

    trials: Sequence[Trial] | None = None
    base_trials: Sequence[Trial] = ()
    junit_strict: bool = False
    reproduce: str | None = None
    templates: Path | None = None


Render = Callable[[Report, Options], bytes]


def _json(report: Report, options: Options) -> bytes:
    return to_json(report)


def _junit(report: Report, options: Options) -> bytes:
    from repeat_eval.reports.junit import write_junit

    return write_junit(report, strict=options.junit_strict, trials=options.trials)


def _summary(report: Report, options: Options) -> bytes:
    from repeat_eval.reports.markdown import render_summary

    return render_summary(report, templates=options.templates).encode()


def _comment(report: Report, options: Options) -> bytes:
    from repeat_eval.reports.comment import render_comment

    text = render_comment(
        report, base_name="base", head_name="head", reproduce=options.reproduce, templates=options.templates
    )
    return text.encode()


def _html(report: Report, options: Options) -> bytes:
    from repeat_eval.reports.html import render_html

    return render_html(report, options.trials, options.base_trials, options.templates).encode()


REPORT_FILES: dict[str, Render] = {
    "report.json": _json,
    "junit.xml": _junit,
    "summary.md": _summary,
    "comment.md": _comment,
    HTML: _html,
}
"""File name and renderer, in the order of writing: report.json first, since all others can be made again from it."""


def write_reports(
    report: Report,
    folder: Path,
    *,
    trials: Sequence[Trial] | None = None,
    base_trials: Sequence[Trial] = (),
    junit_strict: bool = False,
    reproduce: str | None = None,
    badges: bool = False,
    ctrf: bool = False,
    names: Iterable[str] | None = None,
    templates: Path | None = None,
) -> list[Path]:
    """Write report files into `folder`, which is made if it is not there. Each file is written whole or not at all.

    Args:
        report: what is rendered.
        folder: the output folder.
        trials: the run's trials, for the messages in junit.xml and the detail in report.html.
        base_trials: base's, for report.html.
        junit_strict: junit.xml without properties in testcases.
        reproduce: the command that gives the same figures again, for comment.md.
        badges: also the badges, each as SVG and as JSON.
        ctrf: also ctrf.json.
        names: which files; None means all of `REPORT_FILES`.
        templates: folder of templates that override blocks of ours.

    Returns:
        The files written.

    Raises:
        UserError: the folder cannot be made, a file cannot be written, or a name is unknown.
    """
    chosen = list(REPORT_FILES if names is None else names)
    if unknown := [name for name in chosen if name not in REPORT_FILES]:
        raise UserError(f"unknown report file {unknown[0]!r}; known are {', '.join(REPORT_FILES)}")
    options = Options(trials, base_trials, junit_strict, reproduce, templates)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"the folder {folder} cannot be made: {error.strerror or error}") from error
    written = []
    for name in chosen:
        path = folder / name
        write_atomic(path, REPORT_FILES[name](report, options))
        written.append(path)
    if ctrf:
        from repeat_eval.reports.ctrf import CTRF_FILE, write_ctrf

        write_atomic(folder / CTRF_FILE, write_ctrf(report, trials))
        written.append(folder / CTRF_FILE)
    return written + (_write_badges(report, folder) if badges else [])


def _write_badges(report: Report, folder: Path) -> list[Path]:
    from repeat_eval.reports.badge import badge_files

    files = badge_files(report)
    for name, text in files.items():
        write_atomic(folder / name, text.encode())
    return [folder / name for name in files]


def preload() -> None:
    """Load what judges and renders, so that it can be done while something else is waited for."""
    from repeat_eval.analysis import analyse  # noqa: F401
    from repeat_eval.reports import comment, junit  # noqa: F401
    from repeat_eval.reports.html import load_page
    from repeat_eval.reports.markdown_templates import load_template

    for name in ("summary.md.j2", "comment.md.j2"):
        load_template(name)
    load_page()
