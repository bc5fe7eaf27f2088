"""A/A: run a suite with twice its repeats, or read a run, and see how often its gates would alarm by luck alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from repeat_eval.analysis.false_alarms import FalseAlarms, false_alarms
from repeat_eval.errors import Incomplete, UserError
from repeat_eval.records.run import Run, RunFooter
from repeat_eval.steps.bases import run_from
from repeat_eval.steps.judging import rules_of, settings_of_run
from repeat_eval.steps.request import Request
from repeat_eval.steps.run_suite import run_suite
from repeat_eval.steps.write_reports import write_reports
from repeat_eval.suite.load import load_suite
from repeat_eval.suite.settings import DEFAULTS, ResolvedSettings, Settings, resolve
from repeat_eval.suite.spec import SuiteSpec


class Draws(msgspec.Struct, frozen=True):
    """How many simulations and splits are made."""

    simulations: int = 2000
    splits: int = 1000


def aa_from_files(files: tuple[str, ...], request: Request, draws: Draws) -> FalseAlarms:
    """A/A from a run that there is: a run file, a report, or other tools' results.

    Settings given as options or variables hold before those that the run was made with; repeats are those of a side.

    Raises:
        UserError: the files cannot be read.
        Incomplete: no case has a verdict.
    """
    run = run_from(files, request)
    settings = resolve(("option", request.options), ("variable", request.variables), ("run file", settings_of_run(run)))
    try:
        return false_alarms(
            run,
            rules_of(settings),
            seed=settings["seed"],
            repeats=request.options.repeats or request.variables.repeats,
            simulations=draws.simulations,
            splits=draws.splits,
            source=", ".join(files),
            **_looks(settings),
        )
    except ValueError as error:
        missing = run.footer.missing[:3] if run.footer is not None else ()
        raise Incomplete(": ".join([str(error), *(["; ".join(missing)] if missing else [])])) from None


def aa_of_suite(request: Request, draws: Draws) -> tuple[FalseAlarms, list[Path]]:
    """A/A by a run of its own: each case gets twice its repeats, half of them for each side.

    Args:
        request: the run; its repeats are those of a side. draws: how many.

    Returns:
        What was found, and the files that were written.

    Raises:
        UserError: suite, settings, target or output folder are wrong; nothing was run.
        Incomplete: no case has a verdict.
    """
    if request.suite is None:
        raise UserError("A/A needs a suite to run, or a run file with --from")
    spec = load_suite(request.suite)
    settings = resolve(("option", request.options), ("variable", request.variables), ("suite", spec.settings))
    # One side is run with a fixed number of repeats, whatever a comparison would take.
    finished = run_suite(_twice(request), spec=_suite_twice(spec))
    record = finished.recording
    footer = RunFooter(complete=not record.left, trials=len(record.trials))
    run = Run(header=record.header, trials=record.trials, footer=footer)
    written = write_reports(finished.report, request, trials=record.trials)
    try:
        found = false_alarms(
            run,
            rules_of(settings),
            seed=settings["seed"],
            repeats="half",
            simulations=draws.simulations,
            splits=draws.splits,
            **_looks(settings),
        )
    except ValueError as error:
        raise Incomplete(str(error)) from None
    return found, written


def _looks(settings: ResolvedSettings) -> dict[str, Any]:
    """The two looks that a comparison of this suite takes, in the arguments of `false_alarms`."""
    from repeat_eval.steps.second_look import USUAL
    from repeat_eval.suite.second_look import parse_second_look, written

    choice = parse_second_look(settings["second_look"] or USUAL)
    return {"looks": choice.looks(rules_of(settings).spent_alpha_text), "looks_written": written(choice)}


def _twice(request: Request) -> Request:
    return msgspec.structs.replace(
        request,
        options=_settings_twice(request.options),
        variables=_settings_twice(request.variables),
        looks_alone=False,
    )


def _settings_twice(settings: Settings) -> Settings:
    return settings if settings.repeats is None else settings.model_copy(update={"repeats": 2 * settings.repeats})


def _suite_twice(spec: SuiteSpec) -> SuiteSpec:
    repeats = spec.settings.repeats or DEFAULTS["repeats"]
    return msgspec.structs.replace(
        spec,
        settings=spec.settings.model_copy(update={"repeats": 2 * repeats}),
        cases=tuple(
            case if case.repeats is None else msgspec.structs.replace(case, repeats=2 * case.repeats)
            for case in spec.cases
        ),
    )
