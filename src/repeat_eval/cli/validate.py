"""`repeat-eval validate`: everything that is wrong with suite files, at once."""

from __future__ import annotations

from pathlib import Path

import click

from repeat_eval.errors import Problem, UserError
from repeat_eval.reports.escape import terminal
from repeat_eval.suite.load import load_suite
from repeat_eval.suite.settings import resolve


@click.command("validate")
@click.argument("suites", nargs=-1, required=True, type=click.Path(path_type=Path))
def command(suites: tuple[Path, ...]) -> int:
    """Check SUITES (YAML files) without running anything; exit code 2 when something is wrong."""
    problems: list[Problem] = []
    for path in suites:
        try:
            spec = load_suite(path)
        except UserError as error:
            problems += error.problems
            continue
        for warning in spec.warnings:
            click.echo(terminal(f"{path}: warning: {warning}"), err=True)
        try:
            resolve(("suite", spec.settings))
        except UserError as error:  # an option of `run` can mend it, as it can name a target
            click.echo(terminal(f"{path}: warning: {error}"), err=True)
        target = "" if spec.target else " (no target: give one with --target)"
        count = "1 case is" if len(spec.cases) == 1 else f"{len(spec.cases)} cases are"
        click.echo(terminal(f"{path}: {spec.name}: {count} fine{target}"))
    if problems:
        raise UserError(problems)
    return 0
