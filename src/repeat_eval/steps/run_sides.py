"""Run a suite on one side or on two, base and head, interleaved in the same minutes."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
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
    from repeat_eval.steps.screening import Screening
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


def run_sides(
    head: SidePlan, base: SidePlan | None, request: Request, *, screening: Screening | None = None
) -> SidesDone:
    """Run head, and base beside it if there is one; with a stored base that screens, base only on suspicion.

    Raises:
        UserError: a target cannot be started, comes from the other side, or the output folder cannot be used.
    """
    session = _session(head, request, "head")
    headers = {RUN_FILE: _marked(head, session)}
    other_session = None
    if base is not None:
        other_session = _session(base, request, "base", head.spec.folder)
        headers = {BASE_FILE: _marked(base, other_session), **headers}
    with (
        recordings(headers, request, screened=screening is not None) as records,
        target_log(request) as on_log,
        misses_file(cassette_folder(head.settings, head.spec.folder), request) as misses,
    ):
        record = records[-1]
        if request.scheduler is None:
            prepare = _prepare_here(head, base, request, (session, other_session), on_log=on_log, misses=misses)
        else:
            prepare = _prepare_on_cluster(head, base, request)
        sides = [_Side("head", record, prepare[0](), session)]
        late = None
        if base is not None and screening is None:
            sides.insert(0, _Side("base", records[0], prepare[1](), other_session))
        elif base is not None:
            records[0].fresh_only = True
            late = _Late(records[0], lambda: _Side("base", records[0], prepare[1](), other_session))
        roots = {} if base is None or base.root is None else {"base": base.root, "head": root_of(head.spec.folder)}
        stop = stop_of(head.settings, records, request)
        ended = [one for one in (other_session, session) if one is not None]
        try:
            asyncio.run(_run(sides, roots, head.settings, stop, request, screening=screening, late=late))
        finally:
            refused = [text for one in ended for text in one.close()]
        for one in ended:
            request.say(one.summary())
        warnings = (*_cost_warnings(head.settings, stop, record), *refused)
        base_run = None
        # Two looks are one evidence: when one side was cut short, neither run is whole.
        ran = [one for one in records if one is record or late is None or one.begun or one.resumed]
        cut = bool(record.header.second_look) and any(one.left for one in ran)
        if len(ran) > 1:
            lacking = () if other_session is None else other_session.missing()
            base_run = records[0].finish(stopped=stop.reason if cut or records[0].left else None, missing=lacking)
        lacking = (*[text for one in reversed(ended) for text in one.missing()], *noted_misses(misses))
        run = record.finish(stopped=stop.reason if cut or record.left else None, warnings=warnings, missing=lacking)
        return SidesDone(run, base_run, record)


def _prepare_here(
    head: SidePlan,
    base: SidePlan | None,
    request: Request,
    sessions: tuple[Session | None, Session | None],
    *,
    on_log: Callable[[str], None],
    misses: Path | None,
) -> list[Callable[[], Prepared]]:
    """What makes head and base, in this order, ready to be started in this process; `sessions` are theirs."""
    environ = _environ(head, request, "head", misses)
    workshop = Workshop(
        head.spec, head.settings, environ, on_log, head.function, run_as=request.run_as, seed=head.header.seed
    )
    _record(workshop, sessions[0])
    made: list[Prepared] = []

    def on_base_log(line: str) -> None:
        on_log(f"[base] {line}")

    def prepare_head() -> Prepared:
        made.append(workshop.prepare(head.cases, head.header.cases))
        return made[0]

    def prepare_base() -> Prepared:
        assert base is not None  # noqa: S101 - the caller looked
        other = Workshop(
            base.spec,
            base.settings,
            # Its own environment may only be there by now.
            _environ(base, request, "base", misses, head.spec.folder),
            on_base_log,
            base.function,
            judge=made[0].remote,
            spare_interpreter=workshop.interpreter,
            pace=workshop.pace,
            run_as=request.run_as,
            seed=base.header.seed,
            throttles=workshop.throttles,
        )
        _record(other, sessions[1])
        return other.prepare(base.cases, base.header.cases)

    return [prepare_head, prepare_base]


def _prepare_on_cluster(head: SidePlan, base: SidePlan | None, request: Request) -> list[Callable[[], Prepared]]:
    """What makes head and base, in this order, ready to be started on the workers of a cluster."""
    from repeat_eval.execution.cluster.dask_cluster import DaskCluster
    from repeat_eval.steps.cluster import prepare_on_cluster

    assert request.scheduler is not None  # noqa: S101 - the caller looked
    cluster = DaskCluster(request.scheduler)
    prepare = [partial(prepare_on_cluster, head, cluster, request, request.target)]
    if base is not None:
        prepare.append(partial(prepare_on_cluster, base, cluster, request, request.base_target))
    return [*prepare]


def _session(side: SidePlan, request: Request, name: str, beside: Path | None = None) -> Session | None:
    is_function = side.function is not None
    return session_of(
        side.spec, side.cases, side.settings, request, function=is_function, side=name, folder_of_suite=beside
    )


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


def _environ(
    side: SidePlan, request: Request, name: str, misses: Path | None, beside: Path | None = None
) -> Mapping[str, str]:
    environ = side_environ(request, side.spec.folder)
    folder = cassette_folder(side.settings, beside or side.spec.folder, name)
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


class _Late(msgspec.Struct, frozen=True):
    """A base that is started when something is suspected: its recording, and what makes it ready."""

    record: Recording
    prepare: Callable[[], _Side]

    def wanted(self, looks: TwoLooks) -> bool:
        """Whether fresh trials of it are to be run."""
        own = self.record.header.second_look
        return bool(looks.trials) and (not (own and own.first_ended) or self.record.wants_trials)


async def _run(
    sides: Sequence[_Side],
    roots: dict[str, Path],
    settings: ResolvedSettings,
    stop: Stop,
    request: Request,
    *,
    screening: Screening | None,
    late: _Late | None,
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

                async def start_base() -> _Side | None:
                    return (
                        None
                        if late is None
                        else await _start_late(late, sides[-1], roots, request, stop=stop, stack=stack)
                    )

                await _look_twice(sides, settings, stop, request, screening=screening, late=late, start_base=start_base)
            else:
                await _wave(sides, settings, stop, request, time_budget=settings["time_budget"])


async def _start_late(
    late: _Late, head: _Side, roots: dict[str, Path], request: Request, *, stop: Stop, stack: contextlib.AsyncExitStack
) -> _Side | None:
    """Start the base that was not needed before; None when the run was interrupted meanwhile."""
    from repeat_eval.steps.screening import ready

    if request.ready_base is not None and not await ready(request.ready_base, stop):
        return None
    with _named("base"):
        side = late.prepare()
        await stack.enter_async_context(started(side.prepared.to_start))
    _check_sides([side, head], roots)
    side.record.begin()
    return side


async def _look_twice(
    sides: Sequence[_Side],
    settings: ResolvedSettings,
    stop: Stop,
    request: Request,
    *,
    screening: Screening | None,
    late: _Late | None,
    start_base: Callable[[], Awaitable[_Side | None]],
) -> None:
    """The first look, and at once the fresh trials that it asks for; see `after_first_look`."""
    from repeat_eval.steps.second_look import after_first_look, tell

    if screening is not None and request.out is not None:
        from repeat_eval.steps.screening import keep_stored

        keep_stored(request.out, screening.stored)
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
        screening=screening,
    )
    for record in records:
        record.end_first_look(after.looks)
    tell(request, after.text)
    left = None if budget is None else budget - seconds
    if left is not None and left <= 0 and records[-1].wants_trials:
        stop.trigger("time-budget")
    if stop.reason is None and late is not None and late.wanted(after.looks):
        base = await start_base()
        if base is None:
            return
        base.record.end_first_look(after.looks)
        sides, records = [base, *sides], [base.record, *records]
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
            run=side.prepared.run,
        )
        for side in sides
    ]
    try:
        await run_lanes(
            lanes,
            workers=_at_once(sides, settings),
            stop=stop,
            sequential=settings["repeat_order"] == "sequential",
            time_budget=time_budget,
            blocking=sides[0].prepared.blocking if len(sides) == 1 else None,
        )
    finally:
        request.progress.stop()


def _at_once(sides: Sequence[_Side], settings: ResolvedSettings) -> int:
    """Trials in flight at once: what was asked for; where nothing was, a cluster is used as far as it goes."""
    cluster = sides[-1].prepared.cluster
    at_once: int = settings["workers"]
    return at_once if cluster is None or settings.source("workers") != "default" else cluster.threads


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
