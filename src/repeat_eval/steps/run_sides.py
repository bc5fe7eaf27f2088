"""Run a suite on one side or on two, base and head, interleaved in the same minutes."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from repeat_eval.errors import Problem, UserError
from repeat_eval.execution.prepare import Prepared, Workshop
from repeat_eval.execution.run_trials import Lane, run_lanes, started
from repeat_eval.execution.stopping import Stop, signals_stop
from repeat_eval.execution.trials import PlannedCase
from repeat_eval.records.run import Run, RunHeader
from repeat_eval.records.two_looks import TwoLooks
from repeat_eval.steps.budgets import stop_of
from repeat_eval.steps.cassette_session import (
    cassette_folder,
    child_variables,
    misses_file,
    noted_misses,
    replays_responses,
    session_of,
)
from repeat_eval.steps.recording import BASE_FILE, RUN_FILE, Recording, asked_of, recordings, target_log
from repeat_eval.steps.request import Request
from repeat_eval.steps.sides import check_imports, check_side, root_of, side_environ
from repeat_eval.suite.settings import ResolvedSettings
from repeat_eval.suite.spec import CaseSpec, SuiteSpec

if TYPE_CHECKING:
    from repeat_eval.cassettes.session import Session
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
    session = _session(head, request, "head")
    headers = {RUN_FILE: _marked(head, session)}
    other_session = None
    if base is not None:
        other_session = _session(base, request, "base")
        headers = {BASE_FILE: _marked(base, other_session), **headers}
    with (
        recordings(headers, request) as records,
        target_log(request) as on_log,
        misses_file(cassette_folder(head.settings, head.spec.folder), request) as misses,
    ):
        record = records[-1]
        environ = _environ(head, request, "head", misses)
        workshop = Workshop(
            head.spec, head.settings, environ, on_log, head.function, run_as=request.run_as, seed=head.header.seed
        )
        _record(workshop, session)
        sides = [_Side("head", record, workshop.prepare(head.cases, head.header.cases), session)]
        if base is not None:

            def on_base_log(line: str) -> None:
                on_log(f"[base] {line}")

            other = Workshop(
                base.spec,
                base.settings,
                _environ(base, request, "base", misses),
                on_base_log,
                base.function,
                judge=sides[0].prepared.remote,
                spare_interpreter=workshop.interpreter,
                pace=workshop.pace,
                run_as=request.run_as,
                seed=base.header.seed,
                throttles=workshop.throttles,
            )
            _record(other, other_session)
            sides.insert(0, _Side("base", records[0], other.prepare(base.cases, base.header.cases), other_session))
        roots = {} if base is None or base.root is None else {"base": base.root, "head": root_of(head.spec.folder)}
        stop = stop_of(head.settings, records, request)
        ended = [one for one in (other_session, session) if one is not None]
        try:
            asyncio.run(_run(sides, roots, head.settings, stop, request))
        finally:
            refused = [text for one in ended for text in one.close()]
        for one in ended:
            request.say(one.summary())
        warnings = (*_cost_warnings(head.settings, stop, record), *refused)
        base_run = None
        # Two looks are one evidence: when one side was cut short, neither run is whole.
        cut = bool(record.header.second_look) and any(one.left for one in records)
        if base is not None:
            lacking = () if other_session is None else other_session.missing()
            base_run = records[0].finish(stopped=stop.reason if cut or records[0].left else None, missing=lacking)
        lacking = (*[text for one in reversed(ended) for text in one.missing()], *noted_misses(misses))
        run = record.finish(stopped=stop.reason if cut or record.left else None, warnings=warnings, missing=lacking)
        return SidesDone(run, base_run, record)


def _session(side: SidePlan, request: Request, name: str) -> Session | None:
    return session_of(side.spec, side.cases, side.settings, request, function=side.function is not None, side=name)


def _record(workshop: Workshop, session: Session | None) -> None:
    """Put recordings around what a workshop builds."""
    if session is not None:
        from repeat_eval.cassettes.model_calls import RecordedCalls

        workshop.session = session
        workshop.wrap = partial(RecordedCalls, session=session)


def _marked(side: SidePlan, session: Session | None) -> RunHeader:
    """The side's header, which says so when recordings may stand for the code under test."""
    looks = side.header.second_look
    fresh = looks.fresh if looks else 0
    asked = [plan.asked + fresh for plan in side.header.cases]
    if not replays_responses(session, side.spec, side.cases, asked, function=side.function is not None):
        return side.header
    return msgspec.structs.replace(side.header, replayed=True)


def _environ(side: SidePlan, request: Request, name: str, misses: Path | None) -> Mapping[str, str]:
    environ = side_environ(request, side.spec.folder)
    folder = cassette_folder(side.settings, side.spec.folder, name)
    told = child_variables(folder, side.settings["cassette_mode"], environ, misses)
    return {**environ, **told} if told else environ


class BaseNotStarted(UserError):
    """Base's targets cannot be started, and head's perhaps can. Nothing was run."""


class _Side(msgspec.Struct, frozen=True):
    """One side of a run that is ready to start."""

    name: str
    record: Recording
    prepared: Prepared
    session: Session | None = None


async def _run(
    sides: Sequence[_Side], roots: dict[str, Path], settings: ResolvedSettings, stop: Stop, request: Request
) -> None:
    """Run everything, in targets that are started once."""
    async with contextlib.AsyncExitStack() as stack:
        for side in sides:
            with _named(side.name if len(sides) > 1 else None):
                await stack.enter_async_context(started(side.prepared.to_start))
        _check_sides(sides, roots)
        for side in sides:
            side.record.begin()
        with signals_stop(stop, asyncio.get_running_loop(), request.say):
            if sides[-1].record.header.second_look:
                await _look_twice(sides, settings, stop, request)
            else:
                await _wave(sides, settings, stop, request, time_budget=settings["time_budget"])


async def _look_twice(sides: Sequence[_Side], settings: ResolvedSettings, stop: Stop, request: Request) -> None:
    """The first look, and at once the fresh trials that it asks for; see `after_first_look`."""
    from repeat_eval.steps.second_look import after_first_look, tell

    records, begin, budget = [side.record for side in sides], time.monotonic(), settings["time_budget"]
    ended = [looks for record in records if (looks := record.header.second_look) and looks.first_ended]
    for record in records if ended else ():
        # The process may have died between writing the line into one file and into the other.
        record.end_first_look(ended[0])
    before = sum(len(record.trials) for record in records)
    if not ended:
        await _wave(sides, settings, stop, request, time_budget=budget)
        if any(record.wants_trials for record in records):
            return
    seconds = time.monotonic() - begin
    after = after_first_look(
        records,
        settings,
        stop,
        trials=sum(len(record.trials) for record in records) - before,
        seconds=seconds,
        free=any(side.session is not None and side.session.calls == "replay" for side in sides),
    )
    for record in records:
        record.end_first_look(after.looks)
    tell(request, after.text)
    left = None if budget is None else budget - seconds
    if left is not None and left <= 0 and records[-1].wants_trials:
        stop.trigger("time-budget")
    if stop.reason is None and any(record.wants_trials for record in records):
        await _wave(sides, settings, stop, request, time_budget=left, looks=after.looks)


async def _wave(
    sides: Sequence[_Side],
    settings: ResolvedSettings,
    stop: Stop,
    request: Request,
    *,
    time_budget: float | None,
    looks: TwoLooks | None = None,
) -> None:
    """Run what is asked for by now; with `looks` their fresh trials, after a first look that is closed."""
    used = 0 if request.fresh_trials is None else request.fresh_trials.used
    if looks is None:
        request.progress.start(
            sum(asked_of(side.record.header) for side in sides), sum(len(side.record.kept) for side in sides)
        )
    else:
        first = {case.spec.id: case.asked for case in sides[-1].prepared.cases}
        kept = sum(trial.repetition > first[trial.case] for side in sides for trial in side.record.kept)
        total = sum(asked_of(side.record.header) for side in sides) - len(sides) * sum(first.values())
        request.progress.start(total, kept, "fresh trials")
    lanes = [
        Lane(
            cases=_after(side.prepared.cases, used) if looks is None else _fresh(side.prepared.cases, looks),
            seed=side.record.header.seed,
            on_trial=side.record.add,
            remote=side.prepared.remote,
            done={trial.key for trial in side.record.kept}
            | _used(side.prepared.cases, used)
            | (_of_other_shards(side) if looks is None else _first_look(side.prepared.cases)),
            session=side.session,
        )
        for side in sides
    ]
    try:
        await run_lanes(
            lanes,
            workers=settings["workers"],
            stop=stop,
            sequential=settings["repeat_order"] == "sequential",
            time_budget=time_budget,
            blocking=sides[0].prepared.blocking if len(sides) == 1 else None,
        )
    finally:
        request.progress.stop()


def _first_look(cases: Sequence[PlannedCase]) -> set[tuple[str, int]]:
    return {(case.spec.id, repetition) for case in cases for repetition in range(1, case.asked + 1)}


def _fresh(cases: Sequence[PlannedCase], looks: TwoLooks) -> Sequence[PlannedCase]:
    """The cases that are run again, asked for all trials that they have by now; only the fresh ones are left to do."""
    return [
        msgspec.structs.replace(case, asked=case.asked + fresh)
        for case in cases
        if (fresh := looks.fresh_trials(case.spec.id))
    ]


def _after(cases: Sequence[PlannedCase], used: int) -> Sequence[PlannedCase]:
    """The cases, their trials numbered after those that are used up."""
    return [msgspec.structs.replace(case, asked=case.asked + used) for case in cases] if used else cases


def _used(cases: Sequence[PlannedCase], used: int) -> set[tuple[str, int]]:
    return {(case.spec.id, repetition) for case in cases for repetition in range(1, used + 1)}


def _of_other_shards(side: _Side) -> set[tuple[str, int]]:
    shard = side.record.header.shard
    if not shard:
        return set()
    return {
        (case.spec.id, repetition)
        for case in side.prepared.cases
        for repetition in {*range(1, case.asked + 1)} - {*shard.trials.get(case.spec.id, ())}
    }


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
    if settings["max_cost"] is None or not record.trials:
        return ()
    if not stop.costs_known:
        return ("max-cost is set, but the target reports no cost: it could not be watched",)
    judged = [trial for trial in record.trials if any(check.judge for check in trial.checks)]
    unknown = sum(trial.judge_cost is None for trial in judged)
    if unknown:
        return (f"max-cost is set, but what judging cost is unknown for {unknown} trials, and does not count",)
    return ()
