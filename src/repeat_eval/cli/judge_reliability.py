"""`repeat-eval judge-reliability`: can the checks that judge be trusted?"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from repeat_eval.cli.numbers import whole
from repeat_eval.cli.options import (
    GATE_OPTIONS,
    RUN_OPTIONS,
    SELECTION_OPTIONS,
    SHOW_OPTIONS,
    Folder,
    only,
    option,
    settings_from,
    with_options,
)
from repeat_eval.cli.show import Screen, show_rendered
from repeat_eval.steps.judge_reliability import (
    RUNS,
    USED_SETTINGS,
    JudgeWishes,
    judge_reliability,
    requirement,
    write_reliability,
)
from repeat_eval.steps.request import Request

_FILE = click.Path(path_type=Path, dir_okay=False)


def _requirements(measure: Any) -> Callable[..., Any]:
    def convert(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> Any:
        try:
            return tuple(requirement(value, measure) for value in values)
        except ValueError as error:
            raise click.BadParameter(str(error), ctx, param) from None

    return convert


@click.command("judge-reliability")
@click.argument("suite", type=click.Path(path_type=Path))
@option(
    "--traces",
    metavar="PATH",
    required=True,
    type=click.Path(path_type=Path, exists=True),
    help="Outputs to judge: a run file, a folder of recordings, or JSON Lines with id and output.",
)
@option(
    "--runs",
    "-n",
    callback=whole(1, 1000),
    metavar="N",
    default=str(RUNS),
    show_default=True,
    help="How often each check judges each output.",
)
@option(
    "--sample-size", callback=whole(1, 1_000_000), metavar="N", help="Judge a random sample of so many (default: all)."
)
@option("--check", "checks", metavar="GLOB", multiple=True, help="Only checks whose name matches; may be repeated.")
@option(
    "--model",
    "models",
    metavar="MODEL",
    multiple=True,
    help="Ask this model instead of the judges' own; repeated, they are compared.",
)
@option(
    "--raters",
    metavar="GLOB",
    multiple=True,
    help="Checks that should agree with each other (default: judges with the same rubric).",
)
@option("--labels", type=_FILE, metavar="FILE", help="What humans said: CSV or JSON Lines with trace, label, check.")
@option(
    "--min-pass-to",
    callback=_requirements("pass-to"),
    metavar="K=RATE",
    multiple=True,
    help="Each check's mean pass-to-K must be greater than this, e.g. 3=0.9.",
)
@option(
    "--min-agree-to",
    callback=_requirements("agree-to"),
    metavar="K=RATE",
    multiple=True,
    help="The chance that K runs say the same, pass or fail, must be greater.",
)
@option("--baseline", type=_FILE, metavar="FILE", help="Compare with what was saved here.")
@option("--save-baseline", type=_FILE, metavar="FILE", help="Save what was found, to compare with later.")
@option("--fail-on-drift", is_flag=True, help="A check that drifted from --baseline fails the gate.")
@with_options(SELECTION_OPTIONS)
@option("--out", "-o", type=Folder(), help="Folder for judge-reliability.json and .md (default: none).")
@with_options(only((*RUN_OPTIONS, *GATE_OPTIONS), USED_SETTINGS))
@option("--json", "as_json", is_flag=True, help="Print what was found as JSON.")
@with_options(only(SHOW_OPTIONS, ("quiet", "no_color")))
@click.pass_context
def command(ctx: click.Context, /, suite: Path, **values: Any) -> int:
    """Can the checks that judge be trusted? Run them again and again on outputs that stay the same.

    Only checks of SUITE that can vary are run: judge, similar, python, and checks of your own. Its target is not.

    \b
      repeat-eval judge-reliability evals/refunds.yaml --traces repeat-eval-report/run.jsonl
      repeat-eval judge-reliability evals/refunds.yaml --traces traces.jsonl --sample-size 100 --runs 5
      repeat-eval judge-reliability evals/refunds.yaml --traces traces.jsonl --set judge.temperature=0.1
      repeat-eval judge-reliability evals/refunds.yaml --traces traces.jsonl --min-pass-to 3=0.9
    """
    options, variables = settings_from(ctx, values)
    screen = Screen(quiet=values["quiet"], no_color=values["no_color"])
    request = Request(
        suite=suite,
        options=options,
        variables=variables,
        cases=values["cases"],
        tags=values["tags"],
        out=values["out"],
        progress=screen.progress(),
        say=screen.say,
    )
    wishes = JudgeWishes(
        traces=values["traces"],
        runs=values["runs"],
        sample_size=values["sample_size"],
        checks=values["checks"],
        models=values["models"],
        raters=values["raters"],
        requirements=(*values["min_pass_to"], *values["min_agree_to"]),
        labels=values["labels"],
        baseline=values["baseline"],
        save_baseline=values["save_baseline"],
        fail_on_drift=values["fail_on_drift"],
    )
    report = judge_reliability(wishes, request)
    written = [] if request.out is None else write_reliability(report, request.out)
    from repeat_eval.reports.reliability_text import render_reliability, verdict_of

    if values["quiet"] and not values["as_json"]:
        click.echo(verdict_of(report))
    else:
        show_rendered(report, render_reliability, as_json=values["as_json"], no_color=values["no_color"])
    if written and not values["quiet"]:
        click.echo(f"\nReports: {written[0].parent}/ ({', '.join(path.name for path in written)})", err=True)
    return report.exit_code
