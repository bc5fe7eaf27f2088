"""What the terminal shows: progress on stderr, the report on stdout."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, TypeVar

import click

from repeat_eval.analysis.report import Report
from repeat_eval.execution.progress import Bar, Lines, Progress, Silent
from repeat_eval.steps.request import Request
from repeat_eval.suite.settings import ResolvedSettings, resolve

if TYPE_CHECKING:
    from rich.console import Console

_T = TypeVar("_T")


class Folded(Lines):
    """Lines in a log of GitHub's, as a group that can be unfolded; for runs outside of our own action."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        self._folds = contextlib.ExitStack()
        self._into = stream

    def start(self, total: int, done: int, unit: str = "trials") -> None:
        """Begin the group."""
        from repeat_eval.github.commands import group

        with contextlib.suppress(BrokenPipeError):
            self._folds.enter_context(group(self._into, f"repeat-eval: run {total - done} {unit}"))
        super().start(total, done, unit)

    def stop(self) -> None:
        """End the group, whatever happened."""
        super().stop()
        with contextlib.suppress(BrokenPipeError):
            self._folds.close()


class Screen:
    """The terminal, as the options ask for it."""

    def __init__(self, *, quiet: bool, no_color: bool, all_cases: bool = False) -> None:
        self.quiet = quiet
        self._no_color = no_color
        self._all_cases = all_cases

    def progress(self) -> Progress:
        """A bar for a terminal, lines for a log, nothing when quiet; on stderr, so that reports can be piped.

        In a log of GitHub's the lines are folded.
        """
        if self.quiet:
            return Silent()
        if not sys.stderr.isatty():
            return Folded(sys.stderr) if os.environ.get("GITHUB_ACTIONS") == "true" else Lines(sys.stderr)
        from repeat_eval.reports.terminal import make_console

        return Bar(make_console(self._no_color, file=sys.stderr))

    def say(self, text: str) -> None:
        """Say on stderr what happens while a run goes on; the text may quote what the user's code printed."""
        from repeat_eval.reports.escape import terminal

        text = terminal(text)
        if os.environ.get("GITHUB_ACTIONS") == "true":
            from repeat_eval.github.commands import inert_line

            text = inert_line(text)
        click.echo(f"repeat-eval: {text}", err=True)

    def show(self, report: Report, written: Sequence[Path]) -> None:
        """Show a report on standard output, and where its files are.

        Whoever read our output may have gone, or the disk that it goes to may be full; that changes no verdict.
        """
        try:
            self._show(report, written)
            sys.stdout.flush()
        except (BrokenPipeError, SystemExit):  # rich makes the second of the first
            _send_to_nowhere()
        except OSError as error:
            _send_to_nowhere()
            self.say(f"the report cannot be shown on standard output: {error.strerror}")

    def _show(self, report: Report, written: Sequence[Path]) -> None:
        if self.quiet:
            from repeat_eval.reports.comparison_wording import verdict_line

            click.echo(verdict_line(report))
            return
        from repeat_eval.reports.terminal import make_console, render

        render(report, make_console(self._no_color), all_cases=self._all_cases)
        if written:
            folder = written[0].parent
            click.echo(f"\nReports: {folder}/ ({', '.join(path.name for path in written)})", err=True)

    def show_line(self, text: str) -> None:
        """Show one line on standard output. Whoever read it may have gone; that changes nothing."""
        from repeat_eval.reports.escape import terminal

        try:
            click.echo(terminal(text))
        except (BrokenPipeError, SystemExit):
            _send_to_nowhere()

    def explain(self, request: Request) -> None:
        """Say where each setting comes from."""
        settings = self._settings(request)
        for name, resolved in settings.values.items():
            if resolved.value is not None:
                shown = ", ".join(resolved.value) if isinstance(resolved.value, list) else resolved.value
                click.echo(f"{name:<18} {shown!s:<12} {resolved.source}", err=True)
        beside = request.base_ref is not None or request.base_dir is not None or request.base_target is not None
        if beside and settings.source("repeats") == settings.source("second_look") == "default":
            from repeat_eval.steps.second_look import USUAL

            where = "default, from 6 cases on, where no case sets repeats"
            click.echo(f"{'second_look':<18} {USUAL:<12} {where}", err=True)

    def explain_report(self, report: Report) -> None:
        """Say where each setting of a report comes from."""
        for name, setting in report.settings.items():
            click.echo(f"{name:<18} {setting.value!s:<12} {setting.source}", err=True)

    @staticmethod
    def _settings(request: Request) -> ResolvedSettings:
        layers = [("option", request.options), ("variable", request.variables)]
        if request.suite is not None:
            from repeat_eval.suite.load import load_suite

            layers.append(("suite", load_suite(request.suite).settings))
        return resolve(*layers)  # type: ignore[arg-type]


def _send_to_nowhere() -> None:
    """What is left of standard output goes nowhere, so that nothing fails again when the process ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def show_rendered(found: _T, render: Callable[[_T, Console], None], *, as_json: bool, no_color: bool) -> None:
    """Show a structure on standard output: rendered for people, or as JSON for programs.

    Whoever read our output may have gone; that changes nothing.
    """
    try:
        if as_json:
            import msgspec

            sys.stdout.write(msgspec.json.format(msgspec.json.encode(found), indent=2).decode() + "\n")
        else:
            from repeat_eval.reports.terminal import make_console

            render(found, make_console(no_color))
        sys.stdout.flush()
    except (BrokenPipeError, SystemExit):  # rich makes the second of the first
        _send_to_nowhere()
