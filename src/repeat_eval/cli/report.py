"""`repeat-eval report`: report from files without running anything."""

from __future__ import annotations

from typing import Any

import click

from repeat_eval.cli.options import (
    COMPARISON_OPTIONS,
    FILE_OPTIONS,
    GATE_OPTIONS,
    SHOW_OPTIONS,
    option,
    settings_from,
    with_options,
)
from repeat_eval.cli.show import Screen
from repeat_eval.steps.read_results import report_from
from repeat_eval.steps.request import Request
from repeat_eval.steps.write_reports import write_reports


@click.command("report")
@click.argument("files", nargs=-1, required=True)
@option("--base", metavar="FILE", multiple=True, help="Compare with this run file, report, store file or results.")
@with_options(FILE_OPTIONS, GATE_OPTIONS, COMPARISON_OPTIONS, SHOW_OPTIONS)
@click.pass_context
def command(ctx: click.Context, /, files: tuple[str, ...], **values: Any) -> int:
    """Report from FILES: one run file (run.jsonl), one report.json, or other tools' results.

    A run file is judged anew: by the rules it was run with, or by the options given here.
    """
    options, variables = settings_from(ctx, values)
    screen = Screen(quiet=values["quiet"], no_color=values["no_color"], all_cases=values["all_cases"])
    request = Request(
        results=files,
        base=values["base"],
        options=options,
        variables=variables,
        out=values["out"],
        name=values["name"],
        duplicates=values["duplicates"],
        format=values["format"],
        scorer=values["scorer"],
        junit_strict=values["junit_strict"],
        badge=values["badge"],
        ctrf=values["ctrf"],
        templates=values["templates"],
        html=values["html"] is not False,
    )
    judged = report_from(files, request)
    report = judged.report
    if values["explain_settings"]:
        screen.explain_report(report)
    written = write_reports(report, request, trials=judged.trials)
    screen.show(report, written)
    return report.exit_code
