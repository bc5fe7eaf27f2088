"""`repeat-eval compare`: base against head, from files."""

from __future__ import annotations

from typing import Any

import click

from repeat_eval.cli.options import (
    COMPARISON_OPTIONS,
    FILE_OPTIONS,
    GATE_OPTIONS,
    SHOW_OPTIONS,
    settings_from,
    with_options,
)
from repeat_eval.cli.show import Screen
from repeat_eval.steps.read_results import compared
from repeat_eval.steps.request import Request
from repeat_eval.steps.write_reports import write_reports


@click.command("compare")
@click.argument("base")
@click.argument("head")
@with_options(FILE_OPTIONS, GATE_OPTIONS, COMPARISON_OPTIONS, SHOW_OPTIONS)
@click.pass_context
def command(ctx: click.Context, /, base: str, head: str, **values: Any) -> int:
    """Compare BASE with HEAD: is the difference real, or sampling noise?

    Each is a run file (run.jsonl), a report.json, or a file (or glob) of another tool's results.

    \b
      repeat-eval compare main/run.jsonl pr/run.jsonl
      repeat-eval compare 'base/*.xml' 'head/*.xml' --repeats 10
    """
    options, variables = settings_from(ctx, values)
    screen = Screen(quiet=values["quiet"], no_color=values["no_color"], all_cases=values["all_cases"])
    request = Request(
        options=options,
        variables=variables,
        out=values["out"],
        name=values["name"],
        duplicates=values["duplicates"],
        format=values["format"],
        scorer=values["scorer"],
        junit_strict=values["junit_strict"],
        base=(base,),
        badge=values["badge"],
        ctrf=values["ctrf"],
        templates=values["templates"],
        html=bool(values["html"]),
    )
    judged = compared([head], request, request.base)
    report = judged.report
    if values["explain_settings"]:
        screen.explain_report(report)
    written = write_reports(report, request, trials=judged.trials)
    screen.show(report, written)
    return report.exit_code
