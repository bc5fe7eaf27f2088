"""Run a suite on one side or on two, base and head, interleaved in the same minutes."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from repeat_eval.errors import Problem, UserError
from repeat_eval.execution.prepare import Prepared, Workshop
from repeat_eval.execution.run_trials import started
from repeat_eval.execution.stopping import Stop, signals_stop
from repeat_eval.records.run import Run, RunHeader
from repeat_eval.steps.budgets import stop_of
from repeat_eval.steps.cassette_session import (
    BASE_FOLDER,
    cassette_folder,
    child_variables,
    misses_file,
    noted_misses,
    recordings_changed,
    replays_responses,
    session_of,
)
from repeat_eval.steps.recording import BASE_FILE, RUN_FILE, Recording, recordings, target_log
from repeat_eval.steps.request import Request
from repeat_eval.steps.sides import check_imports, check_side, root_of, side_environ
from repeat_eval.steps.waves import Late, Side, look_twice, wave
from repeat_eval.suite.settings import ResolvedSettings
from repeat_eval.suite.spec import CaseSpec, SuiteSpec

if TYPE_CHECKING:
    from repeat_eval.cassettes.session import Session
    from repeat_eval.steps.screening import Screening
    from repeat_eval.targets.function_target import FunctionTarget


class SidePlan(msgspec.Struct, frozen=True, kw_only=True):
    """One side of a run before it starts.

    `root` is the root of the side's checkout, when its targets must not come from anywhere else. `recordings` is where
    base's own checkout holds recordings, which head's and base's in this run are compared with; None for nowhere.
    """

    spec: SuiteSpec
    cases: Sequence[CaseSpec]
    settings: ResolvedSettings
    header: RunHeader
    function: FunctionTarget | None = None
    root: Path | None = None
    recordings: Path | None = None


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
        if changed := _recordings_changed(head, base, (session, other_session), request):
            headers[RUN_FILE] = msgspec.structs.replace(headers[RUN_FILE], recordings_changed=changed)
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
        sides = [Side("head", record, prepare[0](), session)]
        late = None
        if base is not None and screening is None:
            sides.insert(0, Side("base", records[0], prepare[1](), other_session))
        elif base is not None:
            records[0].fresh_only = True
            late = Late(records[0], lambda: Side("base", records[0], prepare[1](), other_session))
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


def _recordings_changed(
    head: SidePlan, base: SidePlan, sessions: tuple[Session | None, Session | None], request: Request
) -> tuple[str, ...]:
    """Where what head and base replay, in this order of sessions, answers otherwise than base's own checkout."""
    if base.recordings is None:
        return ()
    return (
        *recordings_changed(sessions[0], head.cases, base.recordings, request),
        *recordings_changed(sessions[1], base.cases, base.recordings / BASE_FOLDER, request, side="base"),
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


async def _run(
    sides: Sequence[Side],
    roots: dict[str, Path],
    settings: ResolvedSettings,
    stop: Stop,
    request: Request,
    *,
    screening: Screening | None,
    late: Late | None,
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

                async def start_base() -> Side | None:
                    return (
                        None
                        if late is None
                        else await _start_late(late, sides[-1], roots, request, stop=stop, stack=stack)
                    )

                await look_twice(sides, settings, stop, request, screening=screening, late=late, start_base=start_base)
            else:
                await wave(sides, settings, stop, request, time_budget=settings["time_budget"])


async def _start_late(
    late: Late, head: Side, roots: dict[str, Path], request: Request, *, stop: Stop, stack: contextlib.AsyncExitStack
) -> Side | None:
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


def _check_sides(sides: Sequence[Side], roots: dict[str, Path]) -> None:
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
