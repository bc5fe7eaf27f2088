"""`repeat-eval aa`: how often would the gates alarm on a system that did not change?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from repeat_eval.cli.numbers import whole
from repeat_eval.cli.options import (
    COMPARISON_OPTIONS,
    GATE_OPTIONS,
    READING_OPTIONS,
    RESUME_OPTIONS,
    RUN_OPTIONS,
    SELECTION_OPTIONS,
    SHOW_OPTIONS,
    TARGET,
    Folder,
    option,
    refuse_reading,
    refuse_resume_with_fresh,
    settings_from,
    with_options,
)
from repeat_eval.cli.show import Screen, show_rendered
from repeat_eval.errors import UserError
from repeat_eval.steps.aa import Draws, aa_from_files, aa_of_suite
from repeat_eval.steps.request import Request

DEFAULT_OUT = "repeat-eval-aa"
_QUIET, _NO_COLOR = SHOW_OPTIONS[:2]


@click.command("aa")
@click.argument("suite", required=False, type=click.Path(path_type=Path))
@option("--from", "from_files", metavar="FILE", multiple=True, help="Run nothing: take this run file or these results.")
@option(
    "--simulations",
    callback=whole(100, 1_000_000),
    metavar="N",
    default="2000",
    show_default=True,
    help="Comparisons simulated from the rates that were seen.",
)
@option(
    "--splits",
    callback=whole(0, 1_000_000),
    metavar="N",
    default="1000",
    show_default=True,
    help="Random halves that the seen trials are split into.",
)
@option("--json", "as_json", is_flag=True, help="Print what was found as JSON.")
@with_options(READING_OPTIONS)
@TARGET
@with_options(SELECTION_OPTIONS)
@option(
    "--out",
    "-o",
    type=Folder(),
    default=DEFAULT_OUT,
    show_default=True,
    help="Folder for run.jsonl and the reports of the run.",
)
@with_options(RESUME_OPTIONS)
@with_options(RUN_OPTIONS, GATE_OPTIONS, COMPARISON_OPTIONS, (_QUIET, _NO_COLOR))
@click.pass_context
def command(ctx: click.Context, /, suite: Path | None, **values: Any) -> int:
    """How often would the gates raise a false alarm on a system that did not change?

    SUITE is run with twice its repeats, half of them for each of two sides that are the same system. Or nothing is run
    and the trials of one run are taken with --from. The exit code is 0 whatever is found.

    \b
      repeat-eval aa evals/refunds.yaml
      repeat-eval aa evals/refunds.yaml --repeats 5 --seed 7
      repeat-eval aa --from repeat-eval-report/run.jsonl
      repeat-eval aa --from repeat-eval-report/run.jsonl --gate strict --repeats 20
      repeat-eval aa --from out.xml --format junit --duplicates repeats
    """
    files = tuple(values["from_files"])
    if (suite is None) == (not files):
        raise UserError("give either SUITE, which is run, or --from with a run file")
    if suite is not None:
        refuse_reading(ctx, "with SUITE")
    refuse_resume_with_fresh(values)
    options, variables = settings_from(ctx, values)
    draws = Draws(values["simulations"], values["splits"])
    screen = Screen(quiet=values["quiet"], no_color=values["no_color"])
    request = Request(
        suite=suite,
        options=options,
        variables=variables,
        target=values["target"],
        cases=values["cases"],
        tags=values["tags"],
        out=values["out"] if suite is not None else None,
        resume=values["resume"],
        fresh=values["fresh"],
        duplicates=values["duplicates"],
        format=values["format"],
        scorer=values["scorer"],
        progress=screen.progress(),
        say=lambda text: click.echo(f"repeat-eval: {text}", err=True),
    )
    written: list[Path] = []
    if files:
        found = aa_from_files(files, request, draws)
    else:
        found, written = aa_of_suite(request, draws)
    from repeat_eval.reports.aa_text import render_aa

    show_rendered(found, render_aa, as_json=values["as_json"], no_color=values["no_color"])
    if written and not values["quiet"]:
        fewest, most = found.simulated_repeats
        # The run file asks for both sides' trials; where cases differ, no one number says what a side has.
        repeats = f" --repeats {most}" if fewest == most else ""
        click.echo(f"\nLook again: repeat-eval aa --from {written[0].parent / 'run.jsonl'}{repeats}", err=True)
    return 0
