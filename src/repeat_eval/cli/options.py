"""Options that several commands share, each with a variable REPEAT_EVAL_…, and how they become settings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from repeat_eval.errors import Problem, UserError
from repeat_eval.suite.settings import Settings, setting_problems, settings_of

PREFIX = "REPEAT_EVAL_"


def option(*names: str, **kwargs: Any) -> Callable[[Any], Any]:
    """A click option with its environment variable, made from its long name."""
    long = next(name for name in names if name.startswith("--")).split("/")[0]
    kwargs.setdefault("envvar", PREFIX + long[2:].upper().replace("-", "_"))
    return click.option(*names, **kwargs)


class Folder(click.Path):
    """A folder that is named. `--out "$UNSET"` is a slip, and would be the folder the user stands in."""

    def __init__(self) -> None:
        super().__init__(path_type=Path, file_okay=False)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The folder; fails when the name is empty."""
        if value == "":
            self.fail("the name of the folder is empty", param, ctx)
        return super().convert(value, param, ctx)


class TemplateFolder(Folder):
    """A folder of templates that override blocks of ours; looked at before anything is run."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The folder; a UserError tells all that is wrong with its templates."""
        from repeat_eval.reports.template_sandbox import check_templates

        folder = Path(super().convert(value, param, ctx)).absolute()
        check_templates(folder)
        return folder


GATE_OPTIONS = (
    option("--threshold", metavar="RATE", help="Pass rate that a case must reach (default 0.8)."),
    option("--gate", metavar="wilson|strict|none", help="How a case is judged (default wilson)."),
    option("--strict-threshold", is_flag=True, help="The same as --gate strict."),
    option("--suite-threshold", metavar="RATE", help="Mean pass rate that the suite must reach."),
    option("--min-stability", metavar="RATE", help="Share of cases that must be stable."),
    option("--min-reliability", metavar="RATE", help="Pass-to-3 that every case must reach."),
    option("--max-failing-cases", metavar="N", help="Cases that may fail (default 0)."),
    option("--max-error-rate", metavar="RATE", help="Share of trials that may be errors (default 0.1)."),
    option("--count-as-failed", metavar="KINDS", help="Error kinds that count as failures, e.g. crash,timeout."),
)

COMPARISON_OPTIONS = (
    option("--fail-on", metavar="WHAT", help="regression (default), suite-regression, case-regression or none."),
    option("--alpha", metavar="SHARE", help="One-sided false-alarm budget of --fail-on (default 0.05)."),
    option("--min-effect", metavar="POINTS", help="Points that a regression must have at least to fail the gate."),
    option("--require", metavar="non-inferior", help="Head must be shown to be at most --margin points worse."),
    option("--margin", metavar="POINTS", help="Points for --require non-inferior, e.g. 3."),
    option("--no-base", metavar="pass|incomplete", help="What a missing base means for the gate (default pass)."),
    option("--removed-cases", metavar="warn|incomplete", help="What cases mean that only base has."),
    option("--extra-looks", metavar="0|1|2", help="Further looks that alpha is kept back for (default 0)."),
    option("--gate-stored", is_flag=True, default=None, help="Regressions against a stored base fail the gate too."),
)

RUN_OPTIONS = (
    option("--repeats", "-n", metavar="N", help="Trials per case; overrides every case."),
    option(
        "--second-look",
        metavar="LOOKS",
        help="3+20 (default beside base), 3+10, 5+20, both, off, or for instance 'first: 4, fresh: 15'; asked for, "
        "it also holds without a base.",
    ),
    option("--workers", "-w", metavar="W", help="Trials in flight at once (default 4; 1 with --command)."),
    option("--seed", metavar="SEED", help="Seed of everything random (default 0)."),
    option("--timeout", metavar="TIME", help="How long a trial may take, e.g. 30s (default 120s)."),
    option("--retries", metavar="N", help="Further tries after an error (default 2)."),
    option("--retry-on", metavar="KINDS", help="Error kinds tried again (default provider)."),
    option("--rate", metavar="RATE", help="At most so many calls, e.g. 60/min."),
    option("--max-cost", metavar="USD", help="Start no trial after this many dollars were spent."),
    option("--time-budget", metavar="TIME", help="Start no trial after this time, e.g. 20m."),
    option("--repeat-order", metavar="spread|sequential", help="sequential: never two trials of a case at once."),
    option("--isolation", metavar="none|process", help="process: each trial its own process."),
    option("--workdir", metavar="shared|copy", help="copy: each trial in a fresh copy of the folder."),
    option(
        "--set",
        "judge",
        metavar="judge.KEY=VALUE",
        multiple=True,
        help="Who grades judge checks and how, whatever the suite says, e.g. judge.temperature=0; may be repeated.",
    ),
    option("--python", "interpreter", metavar="PATH", help="Python for the suite's functions (default: its .venv)."),
    option("--cassettes", metavar="DIR", help="Folder of recorded responses; model calls are then recorded once."),
    option(
        "--cassette-mode",
        metavar="MODE",
        help="auto, record, replay or off. Asked for here it also holds for targets whose code then does not run.",
    ),
)

SELECTION_OPTIONS = (
    option("--case", "cases", metavar="GLOB", multiple=True, help="Only cases whose id matches; may be repeated."),
    option("--tag", "tags", metavar="TAG", multiple=True, help="Only cases with this tag; may be repeated."),
)

RESUME_OPTIONS = (
    option("--resume", is_flag=True, help="Go on with the unfinished run in --out."),
    option("--fresh", is_flag=True, help="Throw the unfinished run in --out away."),
)

SHARD_OPTIONS = (
    option("--shard", metavar="I/N", help="Run only the I-th of N parts; `merge` joins them and judges."),
    option(
        "--durations",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="With --shard: an earlier run file or report by whose times the parts are made equally long.",
    ),
)

EXECUTOR_OPTIONS = (
    option(
        "--executor",
        type=click.Choice(["local", "dask"]),
        default="local",
        show_default=True,
        help="dask: trials run on the workers of an existing cluster; needs repeat-eval[dask].",
    ),
    option("--scheduler", metavar="ADDRESS", help="With --executor dask: the scheduler, e.g. tcp://10.0.0.5:8786."),
)

TARGET = option(
    "--target", metavar="TARGET", help="python:module:function, command:LINE or a URL, instead of the suite's."
)

DUPLICATES = option(
    "--duplicates",
    type=click.Choice(["ask", "repeats", "retries", "error"]),
    default="ask",
    show_default=True,
    help="What equal names within one results file are.",
)

FORMAT = option(
    "--format",
    metavar="NAME",
    help="Read results files as this format (junit, csv, …; see docs/readers.md) instead of by their content.",
)

SCORER = option(
    "--scorer",
    metavar="NAME",
    help="What decides instead of the file's own choice: a scorer of an Inspect log, METRIC,FILTER of lm-eval samples.",
)

READING_OPTIONS = (DUPLICATES, FORMAT, SCORER)
"""How results files of other tools are read."""

FILE_OPTIONS = (
    option("--repeats", "-n", metavar="N", help="Trials asked for per case, for other tools' results."),
    option("--name", metavar="NAME", help="Name of the suite, for other tools' results."),
    *READING_OPTIONS,
    option("--out", "-o", type=Folder(), help="Folder for the reports (default: none)."),
)
"""Options of commands that only read files."""

SHOW_OPTIONS = (
    option("--quiet", "-q", is_flag=True, help="Only errors and the verdict."),
    option("--no-color", is_flag=True, help="No colours; NO_COLOR does the same."),
    option("--all-cases", is_flag=True, help="Show every case in the terminal, also many stable ones."),
    option("--junit-strict", is_flag=True, help="JUnit without properties in testcases, for strict consumers."),
    option("--badge", is_flag=True, help="Also write badges into --out: badge.svg, badge.json and their like."),
    option("--ctrf", is_flag=True, help="Also write ctrf.json into --out: CTRF, for tools that read test reports."),
    option("--html/--no-html", default=None, help="Write report.html into --out (default: yes; compare: no)."),
    option(
        "--templates",
        metavar="DIR",
        type=TemplateFolder(),
        help="Folder of templates that override blocks of comment, summary and page (docs/templates.md).",
    ),
    option("--explain-settings", is_flag=True, help="Say where each setting's value comes from."),
)


def refuse_resume_with_fresh(values: dict[str, Any]) -> None:
    """UserError when a run is to be gone on with and thrown away at once."""
    if values["resume"] and values["fresh"]:
        raise UserError("--resume goes on with a run and --fresh throws it away: give one of them")


def refuse_reading(ctx: click.Context, given: str) -> None:
    """UserError for a reading option on the command line where no file is read; a variable may be for another step."""
    for name in ("duplicates", "format", "scorer"):
        if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise UserError(f"--{name} does nothing {given}: no results file is read")


def with_options(*groups: tuple[Callable[[Any], Any], ...]) -> Callable[[Any], Any]:
    """Add groups of options to a command."""

    def add(function: Any) -> Any:
        for group in reversed(groups):
            for decorate in reversed(group):
                function = decorate(function)
        return function

    return add


def only(group: Sequence[Callable[[Any], Any]], names: Sequence[str]) -> tuple[Callable[[Any], Any], ...]:
    """The options of a group whose parameters have these names, in the group's order."""

    def name_of(decorate: Callable[[Any], Any]) -> str:
        return str(decorate(lambda: None).__click_params__[0].name)

    return tuple(decorate for decorate in group if name_of(decorate) in names)


def settings_from(ctx: click.Context, values: dict[str, Any]) -> tuple[Settings, Settings]:
    """Sort the options of a command into settings given on the command line and in variables.

    Args:
        ctx: tells where each value came from.
        values: the command's parameters by name.

    Returns:
        Settings from options, settings from variables.

    Raises:
        UserError: values that no setting allows, all of them at once.
    """
    layers: dict[ParameterSource, dict[str, Any]] = {ParameterSource.COMMANDLINE: {}, ParameterSource.ENVIRONMENT: {}}
    if values.get("strict_threshold"):
        source = ctx.get_parameter_source("strict_threshold")
        if source in layers:
            layers[source]["gate"] = "strict"
    for name in Settings.model_fields:
        value = values.get(name)
        source = ctx.get_parameter_source(name) if name in values else None
        if value is None or source not in layers:
            continue
        if layers[source].get("gate", value) != value and name == "gate":
            raise UserError(f"--strict-threshold is --gate strict; found --gate {value} as well")
        layers[source][name] = value
    problems = []
    for source, layer in layers.items():
        for name, text in setting_problems(layer):
            shown = _shown(name, source)
            problems.append(Problem(text.replace(f"`{name}`", shown, 1)))
    if problems:
        raise UserError(problems)
    return (
        settings_of(layers[ParameterSource.COMMANDLINE]),
        settings_of(layers[ParameterSource.ENVIRONMENT]),
    )


def _shown(name: str, source: ParameterSource) -> str:
    option_name = {"interpreter": "python", "judge": "set"}.get(name, name)
    if source is ParameterSource.ENVIRONMENT:
        return PREFIX + option_name.upper()
    return "--" + option_name.replace("_", "-")
