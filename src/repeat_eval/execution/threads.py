"""Run trials of a blocking function in threads, each with an event loop of its own.

Handing every call of a blocking function from an event loop to a thread and back costs several times what a short
trial needs. Here whole trials run in threads instead: each takes the next trial, calls, grades and records it.
A function that does not come back cannot be stopped, so its trial is given up from outside and a new thread takes over.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Sequence

import msgspec

from repeat_eval.execution.scheduler import Scheduler
from repeat_eval.execution.stopping import Stop
from repeat_eval.execution.trials import PlannedCase, run_trial, timed_out
from repeat_eval.records.trial import Trial
from repeat_eval.targets.function_target import FunctionTarget

WATCH_SECONDS = 0.05
GROW_SECONDS = 0.002
SLOW_SECONDS = 0.001
"""A call that takes longer is worth a thread beside it."""


class _Thread(msgspec.Struct):
    """What one thread is doing: which trial, and whether it was given up."""

    ident: int = 0
    position: int = -1
    repetition: int = 0
    given_up: bool = False
    done: bool = False


class ThreadedRun:
    """Runs every trial that a scheduler hands out in so many threads. Same rules as `run_trials`."""

    def __init__(
        self,
        cases: Sequence[PlannedCase],
        scheduler: Scheduler,
        function: FunctionTarget,
        *,
        seed: int,
        stop: Stop,
        on_trial: Callable[[Trial], None],
    ) -> None:
        self._cases = cases
        self._scheduler = scheduler
        self._function = function
        self._seed = seed
        self._stop = stop
        self._on_trial = on_trial
        self._lock = threading.Lock()
        self._threads: list[_Thread] = []
        self._error: BaseException | None = None
        self._wake: Callable[[], None] = lambda: None

    async def run(self, workers: int, interrupted: asyncio.Event, grace: float) -> None:
        """Run until nothing is left or the stop is triggered; after an interruption wait for at most `grace` seconds.

        Raises:
            BaseException: whatever a thread died of.
        """
        loop = asyncio.get_running_loop()
        changed = asyncio.Event()

        def wake() -> None:
            loop.call_soon_threadsafe(changed.set)

        self._wake = wake
        self._function.inline = True
        # Threads that only take turns on the interpreter's lock slow each other down, so a function that comes back at
        # once is called by one thread alone. The others start as soon as a call is seen to take time.
        self._start()
        more = workers - 1
        deadline: float | None = None
        timeouts = [case.timeout for case in self._cases if case.timeout is not None]
        pause = max(WATCH_SECONDS, min(timeouts) / 20) if timeouts else None
        while any(not thread.done and not thread.given_up for thread in self._threads):
            changed.clear()
            if more and self._is_waiting():
                for _ in range(more):
                    self._start()
                more = 0
            if deadline is None and interrupted.is_set():
                deadline = time.perf_counter() + grace
            if deadline is not None and time.perf_counter() >= deadline:
                self._abandon_all()
                break
            wait = (
                GROW_SECONDS
                if more
                else WATCH_SECONDS
                if deadline is not None or self._stop.reason == "interrupted"
                else pause
            )
            await _wait_for(changed, interrupted, wait)
            self._give_up_late_ones()
        if self._error is not None:
            raise self._error

    def _is_waiting(self) -> bool:
        now = time.perf_counter()
        return any(now - begun > SLOW_SECONDS for begun in list(self._function.begun.values()))

    def _start(self) -> None:
        state = _Thread()
        self._threads.append(state)
        threading.Thread(target=self._work, args=(state,), name="repeat-eval-trial", daemon=True).start()

    def _work(self, state: _Thread) -> None:
        state.ident = threading.get_ident()
        try:
            asyncio.run(self._trials(state))
        except BaseException as error:
            if not state.given_up:
                self._error = self._error or error
        finally:
            state.done = True
            self._wake_quietly()

    def _wake_quietly(self) -> None:
        try:
            self._wake()
        except RuntimeError:
            # The loop is closed: this thread was given up long ago, and nobody waits for it.
            return

    async def _trials(self, state: _Thread) -> None:
        trial = None
        while self._hand_over(state, trial):
            trial = await run_trial(self._cases[state.position], state.repetition, self._seed, None)

    def _hand_over(self, state: _Thread, trial: Trial | None) -> bool:
        """Record the trial that ended and take the next, under one lock: threads that wait for it cost most here."""
        with self._lock:
            if state.given_up:
                return False
            if trial is not None:
                self._record(state, trial)
            if self._error is not None or self._stop.reason is not None:
                return False
            chosen = self._scheduler.next()
            if chosen is None:
                return False
            state.position, state.repetition = chosen
            return True

    def _record(self, state: _Thread, trial: Trial) -> None:
        self._scheduler.ended(state.position)
        state.position = -1
        self._on_trial(trial)
        self._stop.spend(trial.spent)

    def _give_up_late_ones(self) -> None:
        """Record a timeout for every trial whose time is up, and let a new thread take over."""
        now = time.perf_counter()
        late = 0
        with self._lock:
            for thread in self._threads:
                begun = self._function.begun.get(thread.ident)
                if thread.position < 0 or thread.given_up or begun is None:
                    continue
                case = self._cases[thread.position]
                if case.timeout is not None and now - begun > case.timeout:
                    thread.given_up = True
                    self._record(thread, timed_out(case, thread.repetition, now - begun))
                    late += 1
        for _ in range(late):
            self._start()

    def _abandon_all(self) -> None:
        with self._lock:
            for thread in self._threads:
                thread.given_up = True


async def _wait_for(changed: asyncio.Event, interrupted: asyncio.Event, seconds: float | None) -> None:
    """Wait until a thread ends or an interruption comes, but no longer than `seconds`."""
    waiting = [asyncio.ensure_future(changed.wait())]
    if not interrupted.is_set():
        waiting.append(asyncio.ensure_future(interrupted.wait()))
    try:
        await asyncio.wait(waiting, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for future in waiting:
            future.cancel()
