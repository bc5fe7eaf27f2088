"""What happens on a worker of a cluster: the suite is set up once in each process, and trials are run, one a call.

Everything of ours runs in one event loop, in a thread beside the worker's own; a call waits for its trial there. So
targets that are started once serve all calls, as they do on one machine.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import hashlib
import logging
import os
import threading
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from repeat_eval.errors import Problem, UserError
from repeat_eval.execution.cluster.messages import Order, Ready, RemotePlan, Reply, fingerprint_of
from repeat_eval.execution.plan import fingerprint_targets, plan_cases
from repeat_eval.execution.prepare import Prepared, Workshop
from repeat_eval.execution.run_trials import started
from repeat_eval.execution.trials import run_trial
from repeat_eval.records.scrubbing import scrub_trial
from repeat_eval.records.trial import Trial
from repeat_eval.suite.load import load_suite, target_from_text
from repeat_eval.suite.selection import select
from repeat_eval.targets.environment import Scrubber
from repeat_eval.version import __version__

IDLE_SECONDS = 600.0
"""A set-up that nobody asks for so long is taken down: the run that made it was killed, perhaps."""

_T = TypeVar("_T")
_LOG = logging.getLogger("repeat_eval.target")


def run_remote_trial(plan: bytes, order: bytes) -> bytes:
    """Run one trial on this worker: a `RemotePlan` and an `Order` in, a `Reply` out, all of them as JSON.

    The first call in a process sets up targets and checks; later ones with the same plan use them.
    """
    from distributed import get_worker

    return _SITES.call(_SITES.trial(plan, order, _threads(get_worker()))).result()


async def probe_site(plan: bytes, dask_worker: Any = None) -> bytes:
    """Set everything up on this worker, and tell what was found: a `RemotePlan` in, a `Ready` out, as JSON."""
    return await asyncio.wrap_future(_SITES.call(_SITES.probe(plan, _threads(dask_worker))))


async def end_site(plan: bytes) -> None:
    """Cancel the trials of a plan that still run on this worker, and close its targets."""
    await asyncio.wrap_future(_SITES.call(_SITES.end(plan)))


def _threads(worker: Any) -> int:
    return 1 if worker is None else max(1, int(worker.state.nthreads))


class _Site:
    """One plan, set up in this process. Lives in the loop of `_Sites`."""

    def __init__(self, raw: bytes, threads: int) -> None:
        self._plan = msgspec.json.decode(raw, type=RemotePlan)
        self._threads = threads
        self._scrub = Scrubber(os.environ).scrub
        self._stack = contextlib.AsyncExitStack()
        self._running: set[asyncio.Task[Any]] = set()
        self.ready = asyncio.get_running_loop().create_task(self._start())

    @property
    def busy(self) -> bool:
        """Whether a trial is running."""
        return bool(self._running)

    async def _start(self) -> Ready:
        plan = self._plan
        if plan.version != __version__:
            raise UserError(f"this worker has repeat-eval {__version__}, the run {plan.version}")
        spec = load_suite(_suite_file(plan))
        if plan.target is not None:
            spec = msgspec.structs.replace(spec, target=target_from_text(plan.target))
        settings = plan.resolved(self._threads)
        chosen = select(spec.cases, plan.cases, plan.tags)
        plans = plan_cases(spec, chosen, settings)
        target = fingerprint_targets(spec, chosen)
        workshop = Workshop(spec, settings, dict(os.environ), self._log, seed=plan.seed)
        self._prepared: Prepared = workshop.prepare(chosen, plans)
        await self._stack.enter_async_context(started(self._prepared.to_start))
        self._cases = {case.spec.id: case for case in self._prepared.cases}
        fingerprints = {one.id: one.case_fingerprint for one in plans}
        self._same = fingerprint_of(fingerprints, target) == plan.fingerprint
        files = _hashes(self._prepared.modules(), spec.folder)
        return Ready(cases=fingerprints, target=target, files=files, threads=self._threads)

    def _log(self, line: str) -> None:
        _LOG.info("%s", self._scrub(line.rstrip("\n")))

    async def run(self, order: Order) -> Trial:
        if not self._same:
            raise UserError("the suite or the target is another one here than where the run was started")
        case = msgspec.structs.replace(self._cases[order.case], asked=order.asked)
        task = asyncio.create_task(run_trial(case, order.repetition, self._plan.seed, self._prepared.remote))
        self._running.add(task)
        try:
            # The keys that must not be shown are known here, and perhaps only here.
            return scrub_trial(await task, self._scrub)
        finally:
            self._running.discard(task)

    async def close(self) -> None:
        self.ready.cancel()
        for task in (running := [*self._running]):
            task.cancel()
        await asyncio.gather(self.ready, *running, return_exceptions=True)
        await self._stack.aclose()


class _Sites:
    """All set-ups of this process, by plan, and the loop that they live in."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._open: dict[bytes, _Site] = {}
        self._idle: dict[bytes, asyncio.TimerHandle] = {}
        self._closing: set[asyncio.Task[None]] = set()

    def call(self, work: Coroutine[Any, Any, _T]) -> concurrent.futures.Future[_T]:
        """Have the loop do something, from any thread."""
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=self._loop.run_forever, name="repeat-eval", daemon=True).start()
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    async def trial(self, raw: bytes, order: bytes, threads: int) -> bytes:
        try:
            site, _ = await self._site(raw, threads)
            return msgspec.json.encode(Reply(await site.run(msgspec.json.decode(order, type=Order))))
        except UserError as error:
            return msgspec.json.encode(Reply(problems=error.problems))

    async def probe(self, raw: bytes, threads: int) -> bytes:
        try:
            _, ready = await self._site(raw, threads)
        except UserError as error:
            ready = Ready(problems=error.problems)
        return msgspec.json.encode(ready)

    async def end(self, raw: bytes) -> None:
        if (timer := self._idle.pop(raw, None)) is not None:
            timer.cancel()
        if (site := self._open.pop(raw, None)) is not None:
            await site.close()

    async def _site(self, raw: bytes, threads: int) -> tuple[_Site, Ready]:
        site = self._open.get(raw)
        if site is None:
            site = self._open[raw] = _Site(raw, threads)
        self._used(raw)
        try:
            return site, await asyncio.shield(site.ready)
        except UserError:
            # What was wrong may be put right until the next run.
            if self._open.get(raw) is site:
                del self._open[raw]
            raise

    def _used(self, raw: bytes) -> None:
        if (timer := self._idle.pop(raw, None)) is not None:
            timer.cancel()
        self._idle[raw] = asyncio.get_running_loop().call_later(IDLE_SECONDS, self._take_down, raw)

    def _take_down(self, raw: bytes) -> None:
        site = self._open.get(raw)
        if site is not None and site.busy:
            self._used(raw)
            return
        task = asyncio.get_running_loop().create_task(self.end(raw))
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)


_SITES = _Sites()
"""A worker's tasks share nothing but their process: what is set up once must be kept in it."""


def _suite_file(plan: RemotePlan) -> Path:
    """The suite at the same path as where the run was started, or else at the same place seen from the worker."""
    path = Path(plan.suite)
    if path.is_file() or plan.seen_from_here is None:
        return path
    beside = Path.cwd() / plan.seen_from_here
    if beside.is_file():
        return beside
    raise UserError(Problem(f"there is no such file, nor {plan.seen_from_here} below {Path.cwd()}", str(path)))


def _hashes(files: tuple[str, ...], folder: Path) -> dict[str, str]:
    """Hash of each file below the folder, by its path seen from there; installed packages are nobody's revision."""
    found = {}
    for name in files:
        path = Path(name)
        with contextlib.suppress(OSError, ValueError):
            found[str(path.resolve().relative_to(folder.resolve()))] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found
