"""Run a suite: load, plan, run every trial, judge."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from repeat_eval.analysis.report import Report
from repeat_eval.execution.plan import describe_target, fingerprint_targets, plan_cases
from repeat_eval.execution.prepare import Prepared, Workshop
from repeat_eval.execution.run_trials import run_trials, started
from repeat_eval.execution.stopping import Stop, signals_stop
from repeat_eval.records.revision import commit_of
from repeat_eval.records.run import RunHeader, Selection
from repeat_eval.reports.registry import preload
from repeat_eval.steps.judging import report_of, rules_of
from repeat_eval.steps.recording import Recording, now, recording, target_log
from repeat_eval.steps.request import Request
from repeat_eval.suite.load import load_suite, target_from_text
from repeat_eval.suite.selection import nothing_selected, select
from repeat_eval.suite.settings import ResolvedSettings, resolve
from repeat_eval.suite.spec import CaseSpec, SuiteSpec
from repeat_eval.version import __version__

if TYPE_CHECKING:
    from repeat_eval.targets.function_target import FunctionTarget


class Finished(msgspec.Struct, frozen=True):
    """A run that came to its end or was stopped: its report, and the trials behind it."""

    report: Report
    recording: Recording


def run_suite(request: Request, *, spec: SuiteSpec | None = None, function: FunctionTarget | None = None) -> Finished:
    """Run a suite as requested.

    Args:
        request: what is asked for.
        spec: the suite, if it is loaded already.
        function: a target that is in this process already; it stands for the suite's.

    Raises:
        UserError: suite, settings, target or output folder are wrong; nothing was run.
    """
    if spec is None:
        assert request.suite is not None  # noqa: S101 - the caller chose this step
        spec = load_suite(request.suite)
    if request.target is not None:
        spec = _with_target(spec, request.target)
    settings = resolve(("option", request.options), ("variable", request.variables), ("suite", spec.settings))
    cases = select(spec.cases, request.cases, request.tags)
    header = _header(spec, cases, settings, request, in_process=function is not None)
    loading = load_reports_meanwhile()
    with recording(header, request) as record, target_log(request) as on_log:
        workshop = Workshop(spec, settings, request.environ, on_log, function)
        prepared = workshop.prepare(cases, header.cases)
        stop = Stop(max_cost=settings["max_cost"])
        asyncio.run(_run(prepared, settings, stop, record, request))
        warnings = _cost_warnings(settings, stop, record)
        run = record.finish(stopped=stop.reason if record.left else None, warnings=warnings)
        wall = record.wall
    loading.join()
    return Finished(report_of(run, settings, wall=wall), record)


def _with_target(spec: SuiteSpec, text: str) -> SuiteSpec:
    return msgspec.structs.replace(spec, target=target_from_text(text))


def _header(
    spec: SuiteSpec, cases: Sequence[CaseSpec], settings: ResolvedSettings, request: Request, *, in_process: bool
) -> RunHeader:
    warnings = list(spec.warnings)
    if not cases and (request.cases or request.tags):
        warnings.append(nothing_selected(spec.cases, request.cases, request.tags))
    return RunHeader(
        suite=spec.name,
        source="suite",
        commit=commit_of(spec.folder),
        selection=Selection(cases=request.cases, tags=request.tags),
        repeats=settings["repeats"],
        cases=plan_cases(spec, cases, settings),
        settings=rules_of(settings).as_settings(),
        seed=settings["seed"],
        target_fingerprint=None if in_process else fingerprint_targets(spec, cases),
        target="a function of this process" if in_process else describe_target(spec.target),
        tool_version=__version__,
        started=now(),
        warnings=tuple(warnings),
    )


async def _run(prepared: Prepared, settings: ResolvedSettings, stop: Stop, record: Recording, request: Request) -> None:
    total = sum(case.asked for case in prepared.cases)
    async with started(prepared.to_start):
        record.begin()
        request.progress.start(total, len(record.kept))
        try:
            with signals_stop(stop, asyncio.get_running_loop(), request.say):
                await run_trials(
                    prepared.cases,
                    workers=settings["workers"],
                    seed=settings["seed"],
                    stop=stop,
                    on_trial=record.add,
                    remote=prepared.remote,
                    done={trial.key for trial in record.kept},
                    sequential=settings["repeat_order"] == "sequential",
                    time_budget=settings["time_budget"],
                    blocking=prepared.blocking,
                )
        finally:
            request.progress.stop()


def _cost_warnings(settings: ResolvedSettings, stop: Stop, record: Recording) -> tuple[str, ...]:
    if settings["max_cost"] is not None and not stop.costs_known and record.trials:
        return ("max-cost is set, but the target reports no cost: it could not be watched",)
    return ()


def load_reports_meanwhile() -> threading.Thread:
    """Load what renders reports while the first trials run; join the thread before rendering."""
    thread = threading.Thread(target=preload, daemon=True)
    thread.start()
    return thread
