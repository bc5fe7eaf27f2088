"""An existing Dask cluster as the place where trials run: connected, looked at, given trials, and left as it was."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import itertools
import logging
import pkgutil
import uuid
from collections.abc import Callable, Collection, Mapping
from typing import Any

import msgspec

from repeat_eval.errors import UserError
from repeat_eval.execution.cluster.messages import Order, Ready, Reply
from repeat_eval.execution.cluster.site import end_site, probe_site, run_remote_trial
from repeat_eval.records.trial import one_line
from repeat_eval.version import __version__

CONNECT_SECONDS = 10.0
"""Seconds that the scheduler has to answer, and then a first worker to be there."""
NO_WORKER_SECONDS = 60.0
"""Seconds without any worker after which a run ends; it can be resumed."""
END_SECONDS = 15.0
"""Seconds that workers have to close what they set up."""
INSTALL = "pip install 'repeat-eval[dask]'"

_LOGGERS = ("distributed", "distributed.client", "distributed.core", "distributed.utils", "tornado.application")
_RESUMABLE = "what was done is kept: go on with --resume"


class WorkerDied(Exception):
    """A trial whose workers died again and again; Dask does not try it any more."""


class DaskCluster:
    """One connection to a cluster, for all sides of a run: `enter` by each, and `leave` by each."""

    def __init__(self, address: str) -> None:
        """Describe it; nothing is connected yet. `address` is the scheduler's, for instance tcp://10.0.0.5:8786."""
        self.address = address
        self.threads = 0
        """Tasks that all workers together run at once, as far as they were looked at."""
        self._client: Any = None
        self._users = 0
        self._name = f"repeat-eval-{uuid.uuid4().hex}"
        self._numbers = itertools.count(1)
        self._open: set[Any] = set()
        self._watch: asyncio.Task[None] | None = None
        self._why = f"the connection to the scheduler {address} was lost; {_RESUMABLE}"

    async def enter(self) -> None:
        """Connect, unless it is connected, and see that all workers have this version of repeat-eval.

        Raises:
            UserError: Dask is not installed, nobody answers, there is no worker, or workers lack repeat-eval.
        """
        self._users += 1
        if self._client is not None:
            return
        try:
            import distributed  # noqa: F401 - it is looked for
        except ImportError:
            raise UserError(f"--executor dask needs Dask, which is not installed: {INSTALL}") from None
        for name in _LOGGERS:
            # What goes wrong is said by us, in one sentence.
            logging.getLogger(name).setLevel(logging.CRITICAL)
        try:
            self._client = self._connection()
            await self._client
        except (OSError, ValueError, TypeError, RuntimeError) as error:
            why = one_line(str(error)) or type(error).__name__
            raise UserError(f"there is no Dask scheduler at {self.address}: {why}") from None
        try:
            await self._client.wait_for_workers(1, timeout=CONNECT_SECONDS)
        except TimeoutError:
            raise UserError(f"the cluster at {self.address} has no workers") from None
        versions = await self._client.run(pkgutil.resolve_name, "repeat_eval.version:__version__", on_error="return")
        wrong = {worker: text for worker, found in versions.items() if (text := _lacking(found)) is not None}
        if wrong:
            raise UserError(_told(wrong, len(versions)))
        self._watch = asyncio.create_task(self._watch_workers())

    def _connection(self) -> Any:
        from distributed import Client

        connect: Any = Client
        return connect(self.address, asynchronous=True, set_as_default=False, timeout=CONNECT_SECONDS)

    async def leave(self) -> None:
        """Let go of the cluster when all have left; trials that are still wanted are called off."""
        self._users -= 1
        if self._users or self._client is None:
            return
        if self._watch is not None:
            self._watch.cancel()
        client, self._client = self._client, None
        with contextlib.suppress(Exception):
            await client.close(timeout=END_SECONDS)

    async def probe(self, plan: bytes, differs: Callable[[Ready], Collection[str]]) -> None:
        """Have every worker set up a plan; `differs` says what a worker has that is not as it is here.

        Raises:
            UserError: a worker cannot, or what it has differs; every problem once, with the workers that have it.
        """
        replies = await self._client.run(probe_site, plan, on_error="return")
        ready: dict[str, Ready] = {}
        wrong: dict[str, Collection[str]] = {}
        for worker, reply in replies.items():
            if isinstance(reply, bytes):
                ready[worker] = found = msgspec.json.decode(reply, type=Ready)
                wrong[worker] = [str(problem) for problem in found.problems] or differs(found)
            elif not isinstance(reply, OSError):  # a worker that died just now is none
                wrong[worker] = [f"{type(reply).__name__}: {one_line(str(reply))}"]
        self.threads = sum(one.threads for one in ready.values())
        lines = [text for texts in wrong.values() for text in texts]
        if lines:
            by_text = {text: {worker: text for worker in wrong if text in wrong[worker]} for text in lines}
            raise UserError(
                [problem for one in by_text.values() for problem in UserError(_told(one, len(replies))).problems]
            )
        if not ready:
            raise UserError(f"the cluster at {self.address} has no workers")

    async def run(self, plan: bytes, order: Order) -> Reply:
        """Run one trial somewhere; when its worker dies, somewhere else.

        Raises:
            WorkerDied: that happened too often.
            UserError: the scheduler or all workers are gone, or a worker cannot run anything of ours.
        """
        from distributed import KilledWorker

        key = f"{self._name}-{next(self._numbers)}"
        future = self._client.submit(run_remote_trial, plan, msgspec.json.encode(order), key=key, pure=False)
        self._open.add(future)
        try:
            return msgspec.json.decode(await future.result(), type=Reply)
        except KilledWorker as error:
            raise WorkerDied(one_line(str(error))) from None
        except concurrent.futures.CancelledError:
            raise UserError(self._why) from None
        except Exception as error:
            why = f"{type(error).__name__}: {one_line(str(error))}"
            raise UserError(f"the cluster cannot run trials any more: {why}; {_RESUMABLE}") from None
        finally:
            self._open.discard(future)
            if not future.done() and self._client is not None:
                await self._client.cancel([future])

    async def end(self, plan: bytes) -> None:
        """Have every worker cancel what it still runs of a plan, and close its targets."""
        if not self.threads:
            return
        with contextlib.suppress(Exception):
            async with asyncio.timeout(END_SECONDS):
                try:
                    await self._client.run(end_site, plan, on_error="ignore")
                except Exception:
                    # Who was told to end at once has lost the connection with everything else.
                    client = self._connection()
                    try:
                        await client
                        await client.run(end_site, plan, on_error="ignore")
                    finally:
                        await client.close(timeout=END_SECONDS)

    async def _watch_workers(self) -> None:
        """Call everything off when all workers are gone for long: nobody knows whether one will ever come."""
        missing = 0.0
        while True:
            await asyncio.sleep(_EVERY_SECONDS)
            workers = self._client.scheduler_info().get("workers") if self._client.status == "running" else None
            missing = missing + _EVERY_SECONDS if workers == {} else 0.0
            if missing >= NO_WORKER_SECONDS and self._open:
                self._why = f"no worker was left for {NO_WORKER_SECONDS:.0f} s; {_RESUMABLE}"
                await self._client.cancel([*self._open])


_EVERY_SECONDS = 2.0


def _lacking(found: Any) -> str | None:
    """What is wrong with a worker's repeat-eval, if anything; `found` is its version, or what came of asking."""
    if isinstance(found, OSError):
        return None
    if isinstance(found, ImportError):
        return f"cannot import repeat_eval ({one_line(str(found))}): install repeat-eval {__version__} there"
    if isinstance(found, Exception):
        return f"repeat_eval cannot be loaded: {type(found).__name__}: {one_line(str(found))}"
    return None if found == __version__ else f"has repeat-eval {found}, and here is {__version__}: install the same"


def _told(wrong: Mapping[str, str], workers: int) -> str:
    """The same or several problems, each with the workers that have it."""
    lines = []
    for text in dict.fromkeys(wrong.values()):
        have = [worker for worker, other in wrong.items() if other == text]
        where = f"all {workers} workers" if len(have) == workers > 1 else f"worker {have[0]}"
        if 1 < len(have) < workers:
            where += f" and {len(have) - 1} more of {workers}"
        lines.append(f"{where}: {text}")
    return "\n".join(lines)
