"""Run a suite on one side or on two, base and head, interleaved in the same minutes."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from repeat_eval.errors import Problem, UserError
from repeat_eval.execution.prepare import Prepared, Workshop
from repeat_eval.execution.run_trials import Lane, run_lanes, started
from repeat_eval.execution.stopping import Stop, signals_stop
from repeat_eval.records.run import Run, RunHeader
from repeat_eval.steps.recording import BASE_FILE, RUN_FILE, Recording, recordings, target_log
from repeat_eval.steps.request import Request
from repeat_eval.steps.sides import check_imports, check_side, root_of, side_environ
from repeat_eval.suite.settings import ResolvedSettings
from repeat_eval.suite.spec import CaseSpec, SuiteSpec

if TYPE_CHECKING:
    from repeat_eval.targets.function_target import FunctionTarget


class SidePlan(msgspec.Struct, frozen=True, kw_only=True):
    """One side of a run before it starts.

    `root` is the root of the side's checkout, when its targets must not come from anywhere else.
    """

    spec: SuiteSpec
    cases: Sequence[CaseSpec]
    settings: ResolvedSettings
    header: RunHeader
    function: FunctionTarget | None = None
    root: Path | None = None


class SidesDone(msgspec.Struct, frozen=True):
    """What was run: head, base if there is one, and head's recording."""

    run: Run
    base_run: Run | None
    recording: Recording


def run_sides(head: SidePlan, base: SidePlan | None, request: Request) -> SidesDone:
    """Run head, and base beside it if there is one.

    Raises:
        UserError: a target cannot be started, comes from the other side, or the output folder cannot be used.
    """
    headers = {RUN_FILE: head.header} if base is None else {BASE_FILE: base.header, RUN_FILE: head.header}
    with recordings(headers, request) as records, target_log(request) as on_log:
        record = records[-1]
        environ = side_environ(request, head.spec.folder)
        workshop = Workshop(head.spec, head.settings, environ, on_log, head.function, run_as=request.run_as)
        sides = [_Side("head", record, workshop.prepare(head.cases, head.header.cases))]
        if base is not None:

            def on_base_log(line: str) -> None:
                on_log(f"[base] {line}")

            other = Workshop(
                base.spec,
                base.settings,
                side_environ(request, base.spec.folder),
                on_base_log,
                judge=sides[0].prepared.remote,
                spare_interpreter=workshop.interpreter,
                pace=workshop.pace,
                run_as=request.run_as,
            )
            sides.insert(0, _Side("base", records[0], other.prepare(base.cases, base.header.cases)))
        roots = {} if base is None or base.root is None else {"base": base.root, "head": root_of(head.spec.folder)}
        stop = Stop(max_cost=head.settings["max_cost"], grace=request.grace)
        asyncio.run(_run(sides, roots, head.settings, stop, request))
        warnings = _cost_warnings(head.settings, stop, record)
        base_run = None
        if base is not None:
            base_run = records[0].finish(stopped=stop.reason if records[0].left else None)
        run = record.finish(stopped=stop.reason if record.left else None, warnings=warnings)
        return SidesDone(run, base_run, record)


class BaseNotStarted(UserError):
    """Base's targets cannot be started, and head's perhaps can. Nothing was run."""


class _Side(msgspec.Struct, frozen=True):
    """One side of a run that is ready to start."""

    name: str
    record: Recording
    prepared: Prepared


async def _run(
    sides: Sequence[_Side], roots: dict[str, Path], settings: ResolvedSettings, stop: Stop, request: Request
) -> None:
    total = sum(case.asked for side in sides for case in side.prepared.cases)
    async with contextlib.AsyncExitStack() as stack:
        for side in sides:
            with _named(side.name if len(sides) > 1 else None):
                await stack.enter_async_context(started(side.prepared.to_start))
        _check_sides(sides, roots)
        for side in sides:
            side.record.begin()
        request.progress.start(total, sum(len(side.record.kept) for side in sides))
        lanes = [
            Lane(
                cases=side.prepared.cases,
                seed=side.record.header.seed,
                on_trial=side.record.add,
                remote=side.prepared.remote,
                done={trial.key for trial in side.record.kept},
            )
            for side in sides
        ]
        try:
            with signals_stop(stop, asyncio.get_running_loop(), request.say):
                await run_lanes(
                    lanes,
                    workers=settings["workers"],
                    stop=stop,
                    sequential=settings["repeat_order"] == "sequential",
                    time_budget=settings["time_budget"],
                    blocking=sides[0].prepared.blocking if len(sides) == 1 else None,
                )
        finally:
            request.progress.stop()


@contextlib.contextmanager
def _named(side: str | None) -> Iterator[None]:
    """Say which side a problem is of."""
    try:
        yield
    except UserError as error:
        if side is None:
            raise
        problems = [msgspec.structs.replace(one, message=f"{side}: {one.message}") for one in error.problems]
        raise (BaseNotStarted if side == "base" else UserError)(problems) from None


def _check_sides(sides: Sequence[_Side], roots: dict[str, Path]) -> None:
    problems = []
    for side in sides if roots else ():
        own, other = roots[side.name], roots["head" if side.name == "base" else "base"]
        found = [check_side(side.name, file, own, other) for file in side.prepared.target_files()]
        found = [one for one in found if one] or [check_imports(side.name, side.prepared.modules(), own, other)]
        problems += [Problem(one) for one in found if one]
    if problems:
        raise UserError(problems)


def _cost_warnings(settings: ResolvedSettings, stop: Stop, record: Recording) -> tuple[str, ...]:
    if settings["max_cost"] is not None and not stop.costs_known and record.trials:
        return ("max-cost is set, but the target reports no cost: it could not be watched",)
    return ()
