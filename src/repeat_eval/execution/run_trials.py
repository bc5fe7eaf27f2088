"""Run all trials of a plan: so many at once, each appended to the journal as it ends, until done or stopped."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from repeat_eval.execution.grading import RemoteCheck
from repeat_eval.execution.scheduler import Scheduler
from repeat_eval.execution.stopping import Stop
from repeat_eval.execution.trials import PlannedCase, run_trial
from repeat_eval.records.fingerprints import trial_seed
from repeat_eval.records.trial import Trial
from repeat_eval.targets.base import Target

if TYPE_CHECKING:
    from repeat_eval.cassettes.session import Session
    from repeat_eval.targets.function_target import FunctionTarget


RunTrial = Callable[[PlannedCase, int, int, RemoteCheck | None], Awaitable[Trial]]
"""Runs one trial, see `run_trial`: case, repetition, the side's seed, judges with the user's code."""


class Lane(msgspec.Struct, frozen=True, kw_only=True):
    """One side of a run: its cases, and where its trials go.

    Attributes:
        cases: what to run. seed: the side's seed.
        on_trial: called in the event loop for every trial that ends; must be quick.
        remote: judges with checks whose code is the user's.
        done: (case id, repetition) pairs that need not be run again.
        session: the side's recordings, where there are any.
        run: runs a trial, when that does not happen in this process.
    """

    cases: Sequence[PlannedCase]
    seed: int
    on_trial: Callable[[Trial], None]
    remote: RemoteCheck | None = None
    done: Collection[tuple[str, int]] = ()
    session: Session | None = None
    run: RunTrial = run_trial


async def run_trials(
    cases: Sequence[PlannedCase],
    *,
    workers: int,
    seed: int,
    stop: Stop,
    on_trial: Callable[[Trial], None],
    remote: RemoteCheck | None = None,
    done: Collection[tuple[str, int]] = (),
    sequential: bool = False,
    time_budget: float | None = None,
    blocking: FunctionTarget | None = None,
    grace: float | None = None,
) -> None:
    """Run one side alone; see `Lane` and `run_lanes`."""
    lane = Lane(cases=cases, seed=seed, on_trial=on_trial, remote=remote, done=done)
    await run_lanes(
        [lane],
        workers=workers,
        stop=stop,
        sequential=sequential,
        time_budget=time_budget,
        blocking=blocking,
        grace=grace,
    )


async def run_lanes(
    lanes: Sequence[Lane],
    *,
    workers: int,
    stop: Stop,
    sequential: bool = False,
    time_budget: float | None = None,
    blocking: FunctionTarget | None = None,
    grace: float | None = None,
) -> None:
    """Run every trial of all lanes that is asked for and not done, handing each to its lane as it ends.

    The trials of several lanes are interleaved: in every round of repetitions the cases come in a new random order, and
    the sides of a case one right after the other, which one first is random too. So whatever drifts while the run goes
    on, a provider above all, hits both sides alike.

    When the stop is triggered no further trial starts. Those in flight are waited for; after an interruption only for
    `grace` seconds (the stop's own where it is None), then they are cancelled and stay missing.

    Args:
        lanes: one, or base and head.
        workers: trials in flight at once, over all lanes.
        stop: says when to stop; costs are accounted there.
        sequential: never two trials of one case of a lane at once.
        time_budget: seconds after which the stop is triggered.
        blocking: the function, when it is a blocking one of this process that all cases of a single lane ask: trials
            then run in threads, and `on_trial` is called in them, one at a time.
    """
    units = [(lane, case) for lane in lanes for case in lane.cases]
    done = {(id(lane), *key) for lane in lanes for key in lane.done}
    scheduler = Scheduler(
        [case.asked for _, case in units],
        done=[
            (position, repetition)
            for position, (lane, case) in enumerate(units)
            for repetition in range(1, case.asked + 1)
            if done and (id(lane), case.spec.id, repetition) in done
        ],
        sequential=sequential,
        order=None if len(lanes) == 1 else _interleaved(lanes),
    )
    if not scheduler.remaining:
        return

    async def work() -> None:
        while stop.reason is None and (chosen := scheduler.next()) is not None:
            position, repetition = chosen
            lane, case = units[position]
            if lane.session is not None:
                lane.session.enter()
            trial = await lane.run(case, repetition, lane.seed, lane.remote)
            scheduler.ended(position)
            lane.on_trial(trial)
            replayed = lane.session is not None and lane.session.calls == "replay" and trial.cached
            stop.spend(0.0 if replayed and trial.spent is not None else trial.spent)

    loop = asyncio.get_running_loop()
    timer = loop.call_later(time_budget, stop.trigger, "time-budget") if time_budget is not None else None
    interrupted = asyncio.Event()

    def hurry() -> None:
        if stop.reason == "interrupted":
            loop.call_soon_threadsafe(interrupted.set)

    stop.on_trigger(hurry)
    at_once = min(workers, scheduler.remaining)
    patience = stop.grace if grace is None else grace
    try:
        if blocking is not None:
            from repeat_eval.execution.threads import ThreadedRun

            only = lanes[0]
            threaded = ThreadedRun(only.cases, scheduler, blocking, seed=only.seed, stop=stop, on_trial=only.on_trial)
            await threaded.run(at_once, interrupted, patience)
        else:
            await _in_tasks([loop.create_task(work()) for _ in range(at_once)], interrupted, patience)
    finally:
        if timer is not None:
            timer.cancel()


def _interleaved(lanes: Sequence[Lane]) -> Callable[[int, int], tuple[int, int]]:
    """Rank of a unit in a round: a random number of its case and round, then a coin for the side."""
    seed = lanes[-1].seed
    units = [(side, case.spec.id) for side, lane in enumerate(lanes) for case in lane.cases]

    def order(index: int, started: int) -> tuple[int, int]:
        side, case = units[index]
        rank = trial_seed(seed, case, -started)
        return rank, (side + rank) % len(lanes)

    return order


async def _in_tasks(tasks: Sequence[asyncio.Task[None]], interrupted: asyncio.Event, grace: float) -> None:
    try:
        await _wait(tasks, interrupted, grace)
    finally:
        for task in tasks:
            task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.gather(*tasks, return_exceptions=True)
    for task in tasks:
        if not task.cancelled() and (error := task.exception()) is not None:
            raise error


async def _wait(tasks: Sequence[asyncio.Task[None]], interrupted: asyncio.Event, grace: float) -> None:
    """Wait for all tasks, or after an interruption for at most `grace` seconds; a task that raises ends the wait."""
    watch: asyncio.Task[Any] = asyncio.create_task(interrupted.wait())
    try:
        pending: set[asyncio.Task[Any]] = {*tasks}
        while pending and not watch.done():
            finished, left = await asyncio.wait({*pending, watch}, return_when=asyncio.FIRST_COMPLETED)
            if any(task is not watch and not task.cancelled() and task.exception() for task in finished):
                return
            pending = left - {watch}
        if pending:
            await asyncio.wait(pending, timeout=grace)
    finally:
        watch.cancel()


@contextlib.asynccontextmanager
async def started(targets: Collection[Target]) -> AsyncIterator[None]:
    """Start targets, and close every one of them afterwards, whatever happened."""
    try:
        for target in targets:
            await target.start()
        yield
    finally:
        for target in targets:
            await target.close()
