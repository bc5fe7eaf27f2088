"""A pool of worker processes that run the user's Python functions under the user's interpreter."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import shutil
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from repeat_eval.errors import Problem, UserError
from repeat_eval.targets.base import Call, TargetError
from repeat_eval.targets.environment import child_environment, trial_variables
from repeat_eval.targets.run_as import RunAs
from repeat_eval.targets.scratch import new_folder
from repeat_eval.targets.worker_process import (
    FunctionSpec,
    Loaded,
    Reply,
    StartFailed,
    WorkerProcess,
    WorkerSettings,
)

Isolation = Literal["worker", "process"]

START_LIMIT = 120.0
"""Seconds that a worker may take to start; importing the user's modules is most of it."""
MAX_FAILED_STARTS = 3
EXIT_GRACE = 2.0
"""Seconds for a worker to end by itself, with what the user's code does at exit, before it is killed."""
GROW_DELAY = 0.03
"""Seconds that calls have to overlap before another process is started for them: a small run needs only one."""


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _ignore(line: str) -> None:
    """Default for `on_log`."""


class WorkerPool:
    """Runs functions in worker processes: the least loaded one gets the next call, one that dies is replaced.

    There are at most min(workers, processors) processes, started when they are needed. Async functions run many at a
    time in one process; the others run in threads of it, if there are more workers than processes.
    """

    def __init__(
        self,
        interpreter: Path,
        folder: Path,
        functions: Sequence[FunctionSpec] = (),
        *,
        workers: int = 1,
        environ: Mapping[str, str] | None = None,
        on_log: Callable[[str], None] = _ignore,
        isolation: Isolation = "worker",
        processes: int | None = None,
        run_as: RunAs | None = None,
    ) -> None:
        """Describe the pool; nothing is started yet.

        Args:
            interpreter: the Python that runs the functions, see `find_interpreter`.
            folder: the suite's folder: first on the functions' sys.path, and their working directory.
            functions: what to load; `add` adds more until `start`.
            workers: how many calls are made at once, at most.
            environ: what the workers inherit, less what children must not see; by default `os.environ`.
            on_log: gets every line that the functions print, to stdout or stderr.
            isolation: `process` gives every call of a target a fresh process, with the trial's variables and a TMPDIR
                of its own in its environment. Checks share the pool's workers in either case.
            processes: at most so many processes instead of one a processor.
            run_as: the user that the workers run as; None for our own.
        """
        self.interpreter = interpreter
        self.folder = folder
        self._functions: list[FunctionSpec] = list(functions)
        self._workers_wanted = max(1, workers)
        self._max_processes = max(1, min(self._workers_wanted, processes or _processors()))
        # More than its share, so that calls go on while the other processes start or are replaced.
        self._threads = 1 if self._workers_wanted <= self._max_processes else self._workers_wanted
        self._capacity = self._threads
        self._environ = child_environment(os.environ if environ is None else environ)
        self._on_log = on_log
        self._isolation = isolation
        self._run_as = run_as
        self._settings: WorkerSettings | None = None
        self._scratch: Path | None = None
        self._start_lock = asyncio.Lock()
        self._loaded: Loaded | None = None
        self._ready: list[WorkerProcess] = []
        self._alive: set[WorkerProcess] = set()
        self._starting: set[asyncio.Task[None]] = set()
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._failed_starts = 0
        self._last_failure = ""
        self._grow_timer: asyncio.TimerHandle | None = None
        self._refusal: str | None = None
        self._trial_numbers = itertools.count(1)

    @property
    def loaded(self) -> Loaded:
        """What the workers loaded: Python version, files of modules. Raises RuntimeError before `start`."""
        if self._loaded is None:
            raise RuntimeError("the pool has not been started")
        return self._loaded

    def target_files(self) -> tuple[str | None, ...]:
        """Files of the modules that target functions were loaded from. Raises RuntimeError before `start`."""
        loaded = self.loaded.functions
        pairs = zip(self._functions, loaded, strict=True)
        return tuple(found.file for spec, found in pairs if spec.kind == "target")

    @property
    def in_flight(self) -> int:
        """Calls that are running now, fresh processes included."""
        return sum(len(worker.in_flight) for worker in self._alive)

    @property
    def process_ids(self) -> tuple[int, ...]:
        """Numbers of the processes that are running now."""
        return tuple(worker.pid for worker in self._alive if worker.pid is not None)

    def add(self, function: FunctionSpec) -> int:
        """Have the workers load one more function; gives the number to call it by. Only before `start`."""
        if self._loaded is not None:
            raise RuntimeError("the pool has been started")
        if function not in self._functions:
            self._functions.append(function)
        return self._functions.index(function)

    # ---- start and end

    async def start(self) -> None:
        """Start the first worker and load the functions; does nothing when that was done.

        Raises:
            UserError: the interpreter cannot be started, or functions cannot be loaded; names all that cannot.
        """
        async with self._start_lock:
            if self._loaded is not None:
                return
            for spec in self._functions:
                module, _, name = spec.reference.partition(":")
                parts = [*module.split("."), *name.split(".")]
                if not all(part.isidentifier() for part in parts):
                    raise UserError(f"{spec.reference!r} must be written module:function")
            self._scratch = new_folder()
            if self._run_as is not None:
                self._run_as.give(self._scratch)
            self._settings = WorkerSettings(
                interpreter=self.interpreter,
                folder=self.folder,
                functions=tuple(self._functions),
                threads=self._threads,
                environ=self._environ,
                scratch=str(self._scratch),
                on_log=self._on_log,
                run_as=self._run_as,
            )
            for last in (*[False] * (MAX_FAILED_STARTS - 1), True):
                worker = self._new_worker(self._settings)
                try:
                    self._loaded = await worker.start(START_LIMIT)
                except StartFailed as exc:
                    if exc.problems:
                        raise UserError([Problem(text) for text in exc.problems]) from None
                    if last or worker.pid is None:
                        raise UserError(
                            f"the interpreter {self.interpreter} {exc}; name another with `interpreter:` in the suite"
                            " or with `--python`"
                        ) from None
                else:
                    if all(function.is_async for function in self._loaded.functions):
                        self._capacity = self._workers_wanted
                    self._ready.append(worker)
                    return

    async def close(self) -> None:
        """Let the workers exit, kill those that do not, and remove what they left. May be called more than once."""
        self._refuse("the run was stopped")
        if self._grow_timer is not None:
            self._grow_timer.cancel()
        for worker in list(self._alive):
            if worker.loaded is not None and not worker.in_flight and not worker.draining:
                worker.ask_to_exit()
            else:
                worker.kill()
        for task in self._starting:
            task.cancel()
        await asyncio.gather(*self._starting, return_exceptions=True)
        workers = list(self._alive)
        ends = [asyncio.ensure_future(worker.wait_until_gone()) for worker in workers]
        if ends:
            _, pending = await asyncio.wait(ends, timeout=EXIT_GRACE)
            for worker in workers:
                worker.kill()
            if pending:
                await asyncio.wait(pending, timeout=EXIT_GRACE)
        if self._scratch is not None:
            shutil.rmtree(self._scratch, ignore_errors=True)
            self._scratch = None

    def _refuse(self, why: str) -> None:
        """Take no more calls, and tell those that wait."""
        self._refusal = why
        while self._waiting:
            self._wake_one()

    # ---- calls

    async def call(self, function: int, call: Call, value: Any, about: Mapping[str, Any] | None = None) -> Reply:
        """Call a function in a worker; waits for a free one first, which does not count as the function's time.

        Args:
            function: its number, as `add` gave it.
            call: the trial, for the function's context; its `timeout` is enforced.
            value: the function's argument.
            about: what a check's context holds besides.

        Raises:
            TargetError: the function raised, took too long, returned what is not JSON, or its process died.
        """
        trial = {"case": call.case, "repetition": call.repetition, "repeats": call.repeats, "seed": call.seed}
        if about is not None:
            trial.update(about)
        if self._isolation == "process" and self._functions[function].kind == "target":
            return await self._call_isolated(function, call, value, trial)
        worker = self._pick()
        while worker is None:
            await self._wait()
            worker = self._pick()
        return await worker.call(function, value, trial, call.timeout)

    def _pick(self) -> WorkerProcess | None:
        """The least loaded worker that has room, if any; sees to it that there will be more where they are needed."""
        if self._refusal is not None:
            raise TargetError("crash", self._refusal, retryable=False)
        best, load = None, self._capacity
        for worker in self._ready:
            if len(worker.in_flight) < load and worker.usable:
                best, load = worker, len(worker.in_flight)
        if best is None:
            self._grow()
            self._give_up_if_alone()
        elif load and self._grow_timer is None and self._may_grow():
            self._grow_timer = asyncio.get_running_loop().call_later(GROW_DELAY, self._grow_if_busy)
        return best

    async def _wait(self) -> None:
        waiter = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled():
                self._wake_one()  # the turn that this one was given and does not take
            raise

    def _wake_one(self) -> None:
        while self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return

    async def _call_isolated(self, function: int, call: Call, value: Any, trial: dict[str, Any]) -> Reply:
        """The same in a process that serves this one call."""
        settings, scratch = self._settings, self._scratch
        if self._refusal is not None or settings is None or scratch is None:
            raise TargetError("crash", self._refusal or "the pool has not been started", retryable=False)
        folder = scratch / f"trial-{next(self._trial_numbers)}"
        folder.mkdir()
        if settings.run_as is not None:
            settings.run_as.give(folder)
        own = WorkerSettings(
            interpreter=settings.interpreter,
            folder=settings.folder,
            functions=(settings.functions[function],),
            threads=1,
            environ={**settings.environ, **trial_variables(call), "TMPDIR": str(folder)},
            scratch=str(folder),
            on_log=settings.on_log,
            run_as=settings.run_as,
        )
        worker = self._new_worker(own)
        try:
            await worker.start(START_LIMIT)
            return await worker.call(0, value, trial, call.timeout)
        except StartFailed as exc:
            raise TargetError("crash", f"the worker process {exc}") from None
        finally:
            worker.kill()
            await worker.wait_until_gone()
            shutil.rmtree(folder, ignore_errors=True)

    # ---- workers

    def _may_grow(self) -> bool:
        living = len(self._starting) + sum(not worker.draining for worker in self._ready)
        return living < self._max_processes and self._failed_starts < MAX_FAILED_STARTS and self._refusal is None

    def _give_up_if_alone(self) -> None:
        """Refuse all calls when no worker lives and none can be started."""
        if self._failed_starts >= MAX_FAILED_STARTS and not self._starting and not self._ready:
            self._refuse(f"no worker process can be started any more: the last one {self._last_failure}")
            raise TargetError("crash", str(self._refusal), retryable=False)

    def _grow_if_busy(self) -> None:
        self._grow_timer = None
        if all(worker.in_flight for worker in self._ready):
            self._grow()

    def _grow(self) -> None:
        if self._settings is not None and self._may_grow():
            task = asyncio.get_running_loop().create_task(self._bring_up(self._new_worker(self._settings)))
            self._starting.add(task)
            task.add_done_callback(self._brought_up)

    def _new_worker(self, settings: WorkerSettings) -> WorkerProcess:
        worker = WorkerProcess(settings, self._on_free)
        self._alive.add(worker)
        worker.gone.add_done_callback(lambda _: self._alive.discard(worker))
        return worker

    async def _bring_up(self, worker: WorkerProcess) -> None:
        try:
            await worker.start(START_LIMIT)
        except StartFailed as exc:
            self._failed_starts += 1
            self._last_failure = str(exc)
        else:
            self._failed_starts = 0
            self._ready.append(worker)
            if worker.draining:  # it died in the very turn in which it got ready
                self._on_free(worker)

    def _brought_up(self, task: asyncio.Task[None]) -> None:
        self._starting.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:  # no file descriptors left, for instance
            self._failed_starts += 1
            self._last_failure = f"could not be started: {error}"
        # As many as there is room for; if the start failed, the first of them starts another one.
        for _ in range(self._threads):
            self._wake_one()

    def _on_free(self, worker: WorkerProcess) -> None:
        """A call has ended, or a worker takes no more."""
        if worker.draining:
            with contextlib.suppress(ValueError):
                self._ready.remove(worker)
        if self._waiting:
            self._wake_one()
