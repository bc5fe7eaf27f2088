"""`repeat-eval plan`: how many repeats are needed?"""

from __future__ import annotations

from typing import Any

import click

from repeat_eval.cli.numbers import number, rate, whole
from repeat_eval.cli.options import (
    COMPARISON_OPTIONS,
    GATE_OPTIONS,
    READING_OPTIONS,
    RUN_OPTIONS,
    SHOW_OPTIONS,
    option,
    refuse_reading,
    settings_from,
    with_options,
)
from repeat_eval.cli.show import show_rendered
from repeat_eval.errors import UserError
from repeat_eval.steps.plan import Wishes, make_plan

_THRESHOLD, _GATE, _STRICT = GATE_OPTIONS[:3]
_ALPHA = COMPARISON_OPTIONS[1]
_SECOND_LOOK = RUN_OPTIONS[1]
_NO_COLOR = SHOW_OPTIONS[1]


@click.command("plan")
@click.argument("run_files", nargs=-1, metavar="[RUN]")
@option("--from", "from_files", metavar="FILE", multiple=True, help="The same as RUN.")
@with_options(READING_OPTIONS)
@option("--repeats", "-n", metavar="N", help="Trials per case and side (default: the run's, else 10).")
@_THRESHOLD
@_GATE
@_STRICT
@option(
    "--bad-rate", callback=rate, metavar="RATE", help="True pass rate of a case that should be caught (default 0.3)."
)
@option(
    "--power",
    callback=number(0.5, 1, "0.8", below=True),
    metavar="SHARE",
    default="0.8",
    show_default=True,
    help="How often it should be caught, or a change be found.",
)
@option(
    "--cases", "case_count", callback=whole(1, 1_000_000), metavar="K", help="Number of cases (default: the run's)."
)
@option(
    "--base-repeats",
    callback=whole(1, 10_000),
    metavar="N",
    help="Trials a case that a stored base has (default: base is run beside head).",
)
@option("--spread", callback=number(0, 0.5, "0.042"), metavar="V", help="Within-case variance (default: the run's).")
@option(
    "--detect",
    callback=number(0, 100, "5", above=True),
    metavar="POINTS",
    help="Change of the suite's pass rate that should be found.",
)
@option(
    "--cost-per-trial", callback=number(0, 1e6, "0.01"), metavar="USD", help="Dollars a trial (default: the run's)."
)
@_SECOND_LOOK
@_ALPHA
@option("--json", "as_json", is_flag=True, help="Print the plan as JSON.")
@_NO_COLOR
@click.pass_context
def command(ctx: click.Context, /, run_files: tuple[str, ...], **values: Any) -> int:
    """How many repeats do I need: for the gate, and to find a change?

    RUN is a run file (run.jsonl), a report or other tools' results: it tells what that suite could detect, and which
    of its cases vary most. Without one, say what you know.

    \b
      repeat-eval plan --threshold 0.8 --bad-rate 0.3 --power 0.8
      repeat-eval plan --cases 20 --repeats 5 --detect 5
      repeat-eval plan --cases 20 --repeats 5 --base-repeats 20 --cost-per-trial 0.01
      repeat-eval plan repeat-eval-report/run.jsonl
    """
    if run_files and values["from_files"]:
        raise UserError("RUN and --from are the same: give one of them")
    files = run_files or tuple(values["from_files"])
    if not files:
        refuse_reading(ctx, "without RUN")
    options, variables = settings_from(ctx, values)
    wishes = Wishes(
        files=files,
        duplicates=values["duplicates"],
        format=values["format"],
        scorer=values["scorer"],
        bad_rate=values["bad_rate"],
        power=values["power"],
        cases=values["case_count"],
        base_repeats=values["base_repeats"],
        spread=values["spread"],
        detect=values["detect"],
        cost_per_trial=values["cost_per_trial"],
    )
    plan = make_plan(wishes, options, variables)
    from repeat_eval.reports.plan_text import render_plan

    show_rendered(plan, render_plan, as_json=values["as_json"], no_color=values["no_color"])
    return 0
