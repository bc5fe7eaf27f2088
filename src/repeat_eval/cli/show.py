"""What the terminal shows: progress on stderr, the report on stdout."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import click

from repeat_eval.analysis.report import Report
from repeat_eval.reports.terminal import make_console, render, render_verdict
from repeat_eval.steps.request import Request
from repeat_eval.suite.settings import ResolvedSettings, resolve

if TYPE_CHECKING:
    from rich.console import Console


class Screen:
    """The terminal, as the options ask for it."""

    def __init__(self, *, quiet: bool, no_color: bool, all_cases: bool = False) -> None:
        self.quiet = quiet
        self._no_color = no_color
        self._all_cases = all_cases

    @cached_property
    def console(self) -> Console:
        """Standard output, for the report."""
        return make_console(self._no_color)

    @cached_property
    def progress_console(self) -> Console:
        """Standard error, for progress, so that the report can be piped."""
        return make_console(self._no_color, file=sys.stderr)

    def show(self, report: Report, written: Sequence[Path]) -> None:
        """Show a report and where its files are."""
        if self.quiet:
            render_verdict(report, self.console)
            return
        render(report, self.console, all_cases=self._all_cases)
        if written:
            folder = written[0].parent
            click.echo(f"\nReports: {folder}/ ({', '.join(path.name for path in written)})", err=True)

    def explain(self, request: Request) -> None:
        """Say where each setting comes from."""
        settings = self._settings(request)
        for name, resolved in settings.values.items():
            if resolved.value is not None:
                shown = ", ".join(resolved.value) if isinstance(resolved.value, list) else resolved.value
                click.echo(f"{name:<18} {shown!s:<12} {resolved.source}", err=True)

    @staticmethod
    def _settings(request: Request) -> ResolvedSettings:
        layers = [("option", request.options), ("variable", request.variables)]
        if request.suite is not None:
            from repeat_eval.suite.load import load_suite

            layers.append(("suite", load_suite(request.suite).settings))
        return resolve(*layers)  # type: ignore[arg-type]
