"""`repeat-eval run`: run a suite, repeat a command, or read results; judge and report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from repeat_eval.cli.options import (
    COMPARISON_OPTIONS,
    EXECUTOR_OPTIONS,
    GATE_OPTIONS,
    READING_OPTIONS,
    RESUME_OPTIONS,
    RUN_OPTIONS,
    SELECTION_OPTIONS,
    SHARD_OPTIONS,
    SHOW_OPTIONS,
    TARGET,
    Folder,
    option,
    refuse_resume_with_fresh,
    settings_from,
    with_options,
)
from repeat_eval.cli.show import Screen
from repeat_eval.errors import UserError
from repeat_eval.steps.finished import Finished
from repeat_eval.steps.request import Request
from repeat_eval.steps.run_suite import run_suite
from repeat_eval.steps.write_reports import write_reports

DEFAULT_OUT = "repeat-eval-report"

_OF_A_SUITE = {
    "judge": ("--set", "judges belong to the checks of a suite"),
    "target": ("--target", "it stands for a suite's target"),
    "cases": ("--case", "which cases there are is decided by what runs them"),
    "tags": ("--tag", "which cases there are is decided by what runs them"),
    "settings_from": ("--settings-from", "there is no suite file to take them from"),
    "base_stored": ("--base-stored", "single cases of a suite only can be run again; give --base"),
    "executor": ("--executor", "only trials of a suite can run on a cluster"),
    "scheduler": ("--scheduler", "only trials of a suite can run on a cluster"),
    "base_target": (
        "--base-target",
        "there is no suite to run; give --base, or with --command --base-dir or --base-ref",
    ),
}
_OF_A_RUN = {
    "base_dir": ("--base-dir", "nothing is run; give base's results as --base"),
    "base_ref": ("--base-ref", "nothing is run; give base's results as --base"),
}
_OF_LOOKS = {"second_look": ("--second-look", "nothing is run")}
_OF_SHARDS = {"shard": ("--shard", "nothing is run")}
_OF_RECORDINGS = {
    "cassettes": ("--cassettes", "nothing is run"),
    "cassette_mode": ("--cassette-mode", "nothing is run"),
}
_WITHOUT_EFFECT = {
    "SUITE": {"name": ("--name", "the suite file has a name, or is one")},
    "--command": _OF_A_SUITE,
    "--results": _OF_A_SUITE | _OF_A_RUN | _OF_LOOKS | _OF_SHARDS | _OF_RECORDINGS,
}
"""Options that one way in does not know, each with the reason."""


@click.command("run")
@click.argument("suite", required=False, type=click.Path(path_type=Path))
@option("--command", "command_line", metavar="LINE", help="Repeat this command; {results} is its results file.")
@option("--results", metavar="GLOB", multiple=True, help="Read result files that exist already; may be repeated.")
@TARGET
@option("--base", metavar="FILE", multiple=True, help="Compare with this run file, report, store file or results.")
@option("--base-dir", type=Folder(), help="Run base's checkout beside head.")
@option("--base-ref", metavar="REF", help="Run this revision beside head, from a worktree that is removed afterwards.")
@option("--base-target", metavar="TARGET", help="Run this target beside the suite's, in the same folder.")
@option(
    "--base-stored",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Run base only for what head's first look suspects beside this store or run file of base.",
)
@option("--settings-from", type=click.Choice(["head", "base"]), default="head", help="Whose suite file sets the gate.")
@with_options(SELECTION_OPTIONS)
@option("--name", metavar="NAME", help="Name of the suite with --command and --results.")
@with_options(READING_OPTIONS)
@option(
    "--out",
    "-o",
    type=Folder(),
    default=DEFAULT_OUT,
    show_default=True,
    help="Folder for run.jsonl and the reports.",
)
@with_options(RESUME_OPTIONS, SHARD_OPTIONS, EXECUTOR_OPTIONS)
@with_options(RUN_OPTIONS, GATE_OPTIONS, COMPARISON_OPTIONS, SHOW_OPTIONS)
@click.pass_context
def command(ctx: click.Context, /, suite: Path | None, **values: Any) -> int:
    """Run SUITE (a YAML file), repeat a --command, or read --results; judge and report.

    \b
      repeat-eval run evals/refunds.yaml
      repeat-eval run evals/refunds.yaml --repeats 20 --case 'escalates_*'
      repeat-eval run --command 'pytest evals --junitxml {results}' --repeats 10
      repeat-eval run --results 'out/**/*.xml' --repeats 10
      repeat-eval run evals/refunds.yaml --base-ref main    base and head side by side
      repeat-eval run evals/refunds.yaml --base-ref main --base-stored main/run.jsonl

    Every option can also be given as an environment variable REPEAT_EVAL_…, for instance REPEAT_EVAL_REPEATS=20.
    """
    command_line, results = values["command_line"], values["results"]
    given = [what for what in (suite and "SUITE", command_line and "--command", results and "--results") if what]
    if len(given) != 1:
        found = " and ".join(str(what) for what in given) or "none of them"
        raise UserError(f"give exactly one of SUITE, --command and --results; found {found}")
    _refuse_without_effect(ctx, str(given[0]))
    refuse_resume_with_fresh(values)
    bases = [name for name in ("base", "base_dir", "base_ref", "base_target") if values[name]]
    if len(bases) > 1:
        names = " and ".join("--" + name.replace("_", "-") for name in bases)
        raise UserError(f"there is one base; found {names}")
    shard = _shard(ctx, values)
    options, variables = settings_from(ctx, values)
    if values["base_stored"] is not None and (values["base"] or not (bases or options.gate_stored)):
        raise UserError(
            "--base-stored goes before a base that can be run: give --base-ref, --base-dir or --base-target too; "
            "where base cannot be run, --gate-stored lets the stored trials decide"
        )
    screen = Screen(quiet=values["quiet"], no_color=values["no_color"], all_cases=values["all_cases"])
    request = Request(
        suite=suite,
        command=command_line,
        results=tuple(results),
        options=options,
        variables=variables,
        target=values["target"],
        base=values["base"],
        base_dir=values["base_dir"],
        base_ref=values["base_ref"],
        base_target=values["base_target"],
        base_stored=values["base_stored"],
        settings_from=values["settings_from"],
        cases=values["cases"],
        tags=values["tags"],
        shard=shard,
        durations=None if shard is None else values["durations"],
        scheduler=_scheduler(ctx, values) if suite is not None else None,
        out=values["out"],
        resume=values["resume"],
        fresh=values["fresh"],
        name=values["name"],
        duplicates=values["duplicates"],
        scorer=values["scorer"],
        format=values["format"],
        junit_strict=values["junit_strict"],
        badge=values["badge"],
        ctrf=values["ctrf"],
        templates=values["templates"],
        html=values["html"] is not False,
        progress=screen.progress(),
        say=screen.say,
    )
    if values["explain_settings"]:
        screen.explain(request)
    finished = _run(request)
    if request.shard is not None:
        from repeat_eval.steps.shards import shard_done

        done = shard_done(finished.recording)
        screen.show_line(done.text)
        return done.exit_code
    written = write_reports(finished.report, request, trials=finished.recording.trials)
    screen.show(finished.report, written)
    return finished.report.exit_code


def _shard(ctx: click.Context, values: dict[str, Any]) -> tuple[int, int] | None:
    """The shard that is asked for. With --results a variable may be meant for another step."""
    if values["shard"] is None or values["results"]:
        if values["durations"] is not None and ctx.get_parameter_source("durations") is ParameterSource.COMMANDLINE:
            raise UserError("--durations does nothing without --shard")
        return None
    from repeat_eval.execution.shards import parse_shard

    return parse_shard(values["shard"])


def _scheduler(ctx: click.Context, values: dict[str, Any]) -> str | None:
    """The cluster's scheduler, if trials are to run on one. A variable with its address alone asks for nothing."""
    if values["executor"] == "dask":
        if not values["scheduler"]:
            raise UserError("--executor dask runs trials on a cluster that is there: give its address with --scheduler")
        return str(values["scheduler"])
    if ctx.get_parameter_source("scheduler") is ParameterSource.COMMANDLINE:
        raise UserError("--scheduler does nothing without --executor dask")
    return None


def _refuse_without_effect(ctx: click.Context, given: str) -> None:
    """Refuse what is written on the command line and would do nothing; a variable may be meant for another step."""
    for name, (option_name, reason) in _WITHOUT_EFFECT[given].items():
        if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise UserError(f"{option_name} does nothing with {given}: {reason}")


def _run(request: Request) -> Finished:
    if request.command is not None:
        from repeat_eval.steps.run_command import run_command

        return run_command(request)
    if request.results:
        from repeat_eval.steps.read_results import run_results

        return run_results(request)
    return run_suite(request)
