"""`repeat-eval convert`: results of any tool as a run file, a CTRF report or plain rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import click

from repeat_eval.cli.options import FILE_OPTIONS, GATE_OPTIONS, only, option, settings_from, with_options
from repeat_eval.cli.show import Screen
from repeat_eval.steps.convert import FORMS, Form, convert
from repeat_eval.steps.request import Request

_SHOWN = 10


@click.command("convert")
@click.argument("files", nargs=-1, required=True)
@option(
    "--out",
    "-o",
    required=True,
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="File to write; .jsonl is a run file (rows.jsonl: rows), .json is CTRF, .csv is rows.",
    envvar=None,
)
@option("--to", type=click.Choice(FORMS), help="What to write, whatever the file is called.")
@with_options(only(FILE_OPTIONS, ("repeats", "name", "duplicates", "format", "scorer")))
@with_options(only(GATE_OPTIONS, ("threshold", "gate", "strict_threshold", "count_as_failed")))
@option("--quiet", "-q", is_flag=True, help="Only errors.")
@click.pass_context
def command(ctx: click.Context, /, files: tuple[str, ...], **values: Any) -> int:
    """Write FILES, results of any tool that is known, in another form.

    FILES are one run file (run.jsonl), one report.json, or other tools' results. Nothing is judged, but the statuses
    of a CTRF report are the gate's verdicts. Exit code 3 says that trials are missing and the written file cannot tell.

    \b
      repeat-eval convert logs/*.eval -o run.jsonl
      repeat-eval convert repeat-eval-report/run.jsonl -o out.ctrf.json
      repeat-eval convert results.json -o rows.csv
    """
    options, variables = settings_from(ctx, values)
    screen = Screen(quiet=values["quiet"], no_color=True)
    request = Request(
        options=options,
        variables=variables,
        name=values["name"],
        duplicates=values["duplicates"],
        format=values["format"],
        scorer=values["scorer"],
        say=screen.say,
    )
    done = convert(files, values["out"], request, form=cast(Form | None, values["to"]))
    for text in done.lost[:_SHOWN]:
        screen.say(f"not told by {done.path.name}: {text}")
    if len(done.lost) > _SHOWN:
        screen.say(f"and {len(done.lost) - _SHOWN:,} more")
    if not values["quiet"]:
        screen.show_line(f"{done.path}: {done.trials:,} trials of {done.cases:,} cases ({done.form})")
    return done.exit_code
