"""`repeat-eval merge`: join the shards of a run, judge and report."""

from __future__ import annotations

from typing import Any

import click

from repeat_eval.cli.options import (
    COMPARISON_OPTIONS,
    GATE_OPTIONS,
    SHOW_OPTIONS,
    Folder,
    option,
    settings_from,
    with_options,
)
from repeat_eval.cli.show import Screen
from repeat_eval.steps.merge import merge_shards
from repeat_eval.steps.request import Request
from repeat_eval.steps.write_reports import write_reports


@click.command("merge")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@option("--base", metavar="FILE", multiple=True, help="Compare with this, where base did not run beside the shards.")
@option(
    "--out",
    "-o",
    type=Folder(),
    default="repeat-eval-report",
    show_default=True,
    help="Folder for run.jsonl and the reports.",
)
@with_options(GATE_OPTIONS, COMPARISON_OPTIONS, SHOW_OPTIONS)
@click.pass_context
def command(ctx: click.Context, /, runs: tuple[str, ...], **values: Any) -> int:
    """Join the shards of a run (run --shard i/n), judge and report.

    RUN is a shard's run file, its folder, or a pattern. A base.jsonl beside a shard's run.jsonl is joined too. Files
    that do not belong together are refused; a missing shard makes the run incomplete (exit code 3).

    \b
      repeat-eval merge shards/*/run.jsonl --out repeat-eval-report
    """
    options, variables = settings_from(ctx, values)
    screen = Screen(quiet=values["quiet"], no_color=values["no_color"], all_cases=values["all_cases"])
    request = Request(
        results=runs,
        base=values["base"],
        options=options,
        variables=variables,
        out=values["out"],
        junit_strict=values["junit_strict"],
        badge=values["badge"],
        ctrf=values["ctrf"],
        templates=values["templates"],
        say=screen.say,
    )
    finished = merge_shards(request)
    if values["explain_settings"]:
        screen.explain_report(finished.report)
    written = write_reports(finished.report, request, trials=finished.recording.trials)
    screen.show(finished.report, written)
    return finished.report.exit_code
