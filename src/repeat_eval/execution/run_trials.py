"""Run all trials of a plan: so many at once, each appended to the journal as it ends, until done or stopped."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any

from repeat_eval.execution.grading import RemoteCheck
from repeat_eval.execution.scheduler import Scheduler
from repeat_eval.execution.stopping import GRACE_SECONDS, Stop
from repeat_eval.execution.trials import PlannedCase, run_trial
from repeat_eval.records.trial import Trial
from repeat_eval.targets.base import Target

if TYPE_CHECKING:
    from repeat_eval.targets.function_target import FunctionTarget


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
    grace: float = GRACE_SECONDS,
) -> None:
    """Run every trial that is asked for and not done, handing each to `on_trial` as it ends.

    When the stop is triggered no further trial starts. Those in flight are waited for; after an interruption only for
    `grace` seconds, then they are cancelled and stay missing.

    Args:
        cases: what to run. workers: trials in flight at once. seed: the run's seed.
        stop: says when to stop; costs are accounted there.
        on_trial: called in the event loop for every trial; must be quick.
        remote: judges with checks whose code is the user's.
        done: (case id, repetition) pairs that need not be run again.
        sequential: never two trials of one case at once.
        time_budget: seconds after which the stop is triggered.
        blocking: the function, when it is a blocking one of this process that all cases ask: trials then run in
            threads, and `on_trial` is called in them, one at a time.
    """
    index = {case.spec.id: position for position, case in enumerate(cases)}
    scheduler = Scheduler(
        [case.asked for case in cases],
        done=[(index[case], repetition) for case, repetition in done if case in index],
        sequential=sequential,
    )
    if not scheduler.remaining:
        return

    async def work() -> None:
        while stop.reason is None and (chosen := scheduler.next()) is not None:
            position, repetition = chosen
            trial = await run_trial(cases[position], repetition, seed, remote)
            scheduler.ended(position)
            on_trial(trial)
            stop.spend(trial.cost)

    loop = asyncio.get_running_loop()
    timer = loop.call_later(time_budget, stop.trigger, "time-budget") if time_budget is not None else None
    interrupted = asyncio.Event()

    def hurry() -> None:
        if stop.reason == "interrupted":
            loop.call_soon_threadsafe(interrupted.set)

    stop.on_trigger(hurry)
    at_once = min(workers, scheduler.remaining)
    try:
        if blocking is not None:
            from repeat_eval.execution.threads import ThreadedRun

            threaded = ThreadedRun(cases, scheduler, blocking, seed=seed, stop=stop, on_trial=on_trial)
            await threaded.run(at_once, interrupted, grace)
        else:
            await _in_tasks([loop.create_task(work()) for _ in range(at_once)], interrupted, grace)
    finally:
        if timer is not None:
            timer.cancel()


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
