"""One worker process as its pool sees it: start, requests and replies, cancelling, log, death."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import socket
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from repeat_eval.records.trial import ErrorKind
from repeat_eval.targets.base import TargetError
from repeat_eval.targets.log_reader import LogReader
from repeat_eval.targets.processes import describe_exit
from repeat_eval.targets.run_as import RunAs, popen_user

WORKER_FILE = Path(__file__).with_name("worker.py")
CANCEL_GRACE = 1.0
"""Seconds that an async function has to end after it was cancelled; after that its worker is given up."""
MAX_REPLY_BYTES = 16_000_000
_LATE_REPLIES = 0.5
"""Seconds to wait for the end of the connection of a process that has ended; a child of its may hold it open."""


class FunctionSpec(msgspec.Struct, frozen=True):
    """A function that workers load: `module:name`, and whether it is a target or a check."""

    reference: str
    kind: Literal["target", "check"] = "target"


class LoadedFunction(msgspec.Struct, frozen=True):
    """A function as a worker found it: the file of its module (None if it has none), and whether it is async."""

    file: str | None
    is_async: bool


class Loaded(msgspec.Struct, frozen=True):
    """What a worker found when it started: its Python version, and its functions in the order asked for.

    `modules`: files of all modules that loading them loaded, but for installed packages and the standard library.
    """

    version: str
    functions: tuple[LoadedFunction, ...]
    modules: tuple[str, ...] = ()


class WorkerSettings(msgspec.Struct, frozen=True):
    """What it takes to start a worker: see WorkerPool."""

    interpreter: Path
    folder: Path
    functions: Sequence[FunctionSpec]
    threads: int
    environ: Mapping[str, str]
    scratch: str | None
    on_log: Callable[[str], None]
    run_as: RunAs | None = None


class StartFailed(Exception):
    """A worker did not get ready. `problems` says what could not be loaded: trying again does not help then."""

    def __init__(self, message: str, problems: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.problems = tuple(problems)


class Reply(msgspec.Struct, frozen=True, gc=False):
    """What a function returned, as JSON values, and the seconds that it took."""

    value: Any
    seconds: float


class _Failure(msgspec.Struct, frozen=True, gc=False):
    kind: ErrorKind
    message: str
    retry_after: float | None = None


class _Line(msgspec.Struct, frozen=True, array_like=True, gc=False):
    id: int
    seconds: float
    value: Any = None
    error: _Failure | None = None


class _CallRequest(msgspec.Struct, frozen=True, tag_field="do", tag="call", gc=False):
    id: int
    function: int
    value: Any
    trial: dict[str, Any]


_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder(_Line)
_ID = re.compile(rb"\[(\d+),([\d.]+),")


class WorkerProcess(asyncio.Protocol):
    """A worker process. Made, started once, asked many times, then closed or killed; `gone` tells when it has ended.

    Attributes:
        loaded: what it found at its start; None before.
        draining: whether it gets no new calls, since something in it hangs; it ends when its other calls have ended.
        in_flight: the calls that wait for a reply.
    """

    def __init__(self, settings: WorkerSettings, on_free: Callable[[WorkerProcess], None]) -> None:
        """Describe the process; nothing is started yet.

        Args:
            settings: interpreter, folder, functions and so on.
            on_free: called whenever a call has ended or the process has.
        """
        self.loaded: Loaded | None = None
        self.draining = False
        self.in_flight: dict[int, asyncio.Future[Reply]] = {}
        self._settings = settings
        self._on_free = on_free
        self._loop = asyncio.get_running_loop()
        self.gone: asyncio.Future[None] = self._loop.create_future()
        self._ready: asyncio.Future[Loaded] = self._loop.create_future()
        self._process: subprocess.Popen[bytes] | None = None
        self._transport: asyncio.Transport | None = None
        self._pidfd: int | None = None
        self._log: LogReader | None = None
        self._cancelling: dict[int, asyncio.TimerHandle] = {}
        self._next_id = 1
        self._outbox: list[bytes] = []
        self._chunks: list[bytes] = []
        self._chunk_bytes = 0
        self._disconnected = False
        self._ended: str | None = None
        self._reason: str | None = None

    @property
    def pid(self) -> int | None:
        """Number of the process; None if it could not be started."""
        return None if self._process is None else self._process.pid

    @property
    def usable(self) -> bool:
        """Whether it may get calls now: one that has not yet answered a cancel may be hanging, and would waste them."""
        return not self.draining and not self._cancelling

    # ---- start

    async def start(self, limit: float) -> Loaded:
        """Start the process and wait until it has loaded its functions, at most `limit` seconds. Raises StartFailed."""
        settings = self._settings
        ours, theirs = socket.socketpair()
        log_read, log_write = os.pipe()
        try:
            self._process = subprocess.Popen(  # noqa: ASYNC220 - returns as soon as the program is there
                [str(settings.interpreter), "-u", str(WORKER_FILE)],
                stdin=theirs.fileno(),
                stdout=theirs.fileno(),
                stderr=log_write,
                cwd=settings.folder,
                env=settings.environ,
                start_new_session=True,  # Ctrl-C in the terminal is ours to handle
                **popen_user(settings.run_as),
            )
        except (OSError, ValueError) as exc:
            ours.close()
            os.close(log_read)
            self.gone.set_result(None)
            reason = (exc.strerror if isinstance(exc, OSError) else None) or str(exc)
            raise StartFailed(f"cannot be started: {reason}") from None
        finally:
            theirs.close()
            os.close(log_write)
        self._log = LogReader(self._loop, log_read, settings.on_log)
        self._watch_exit(self._process)
        ours.setblocking(False)
        try:
            await self._loop.create_connection(lambda: self, sock=ours)
        except BaseException:
            ours.close()
            self._disconnected = True
            self.kill()
            raise
        request = {
            "do": "init",
            "folder": str(settings.folder),
            "threads": settings.threads,
            "scratch": settings.scratch,
            "functions": [{"reference": one.reference, "kind": one.kind} for one in settings.functions],
        }
        self._post(_ENCODER.encode(request))
        try:
            async with asyncio.timeout(limit):
                self.loaded = await self._ready
        except TimeoutError:
            self.kill()
            raise StartFailed(f"did not get ready within {limit:g} s") from None
        return self.loaded

    def _watch_exit(self, process: subprocess.Popen[bytes]) -> None:
        if hasattr(os, "pidfd_open"):
            self._pidfd = os.pidfd_open(process.pid)
            self._loop.add_reader(self._pidfd, self._exited)
            return

        def wait() -> None:
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
            with contextlib.suppress(RuntimeError):  # the loop may be closed by now
                self._loop.call_soon_threadsafe(self._exited)

        threading.Thread(target=wait, daemon=True).start()

    # ---- calls

    async def call(self, function: int, value: Any, trial: dict[str, Any], limit: float | None) -> Reply:
        """Have a function called. Counts as in flight before the first wait.

        Args:
            function: its place among the functions loaded.
            value: the argument; `trial`: what the function's context is made of.
            limit: seconds; None without limit.

        Raises:
            TargetError: the function raised, took too long, or the process died.
        """
        call = self._next_id
        self._next_id = call + 1
        try:
            line = _ENCODER.encode(_CallRequest(call, function, value, trial))
        except (TypeError, ValueError, RecursionError, msgspec.MsgspecError) as exc:
            raise TargetError("harness", f"the input cannot be written as JSON: {exc}", retryable=False) from None
        future: asyncio.Future[Reply] = self._loop.create_future()
        self.in_flight[call] = future
        self._post(line)
        timer = None
        if limit is not None:
            timer = self._loop.call_later(limit, self._time_out, call, function, limit)
        try:
            return await future
        except asyncio.CancelledError:
            self._abandon(call, function)
            raise
        finally:
            if timer is not None:
                timer.cancel()

    def _time_out(self, call: int, function: int, limit: float) -> None:
        future = self.in_flight.get(call)
        if future is not None and not future.done():
            future.set_exception(TargetError("timeout", f"no answer within {limit:g} s"))
            self._abandon(call, function)

    def _abandon(self, call: int, function: int) -> None:
        """Nobody waits for this call any more: cancel the function, or give the process up where that is impossible."""
        if self.in_flight.pop(call, None) is None:
            return
        if self.loaded is not None and self.loaded.functions[function].is_async:
            self._post(_ENCODER.encode({"do": "cancel", "id": call}))
            self._cancelling[call] = self._loop.call_later(CANCEL_GRACE, self.drain)
            self._on_free(self)
        else:
            self.drain()

    def drain(self) -> None:
        """Take no new calls, and end when the calls in flight have ended (each has its own timeout)."""
        self.draining = True
        if not self.in_flight:
            self.kill()
        self._on_free(self)

    def _post(self, line: bytes) -> None:
        self._outbox.append(line)
        if len(self.in_flight) <= 1:
            self._flush()  # nobody to share the write with
        elif len(self._outbox) == 1:
            self._loop.call_soon(self._flush)  # requests of one turn of the loop leave in one write

    def _flush(self) -> None:
        if not self._outbox:
            return
        self._outbox.append(b"")
        data = b"\n".join(self._outbox)
        self._outbox.clear()
        if self._transport is not None and not self._disconnected:
            self._transport.write(data)

    # ---- replies

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Part of asyncio.Protocol."""
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - what asyncio promises for a socket
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Part of asyncio.Protocol: cut what came into lines."""
        if b"\n" not in data:
            self._chunks.append(data)
            self._chunk_bytes += len(data)
            if self._chunk_bytes > MAX_REPLY_BYTES:
                self._corrupt()
            return
        if self._chunks:
            data = b"".join((*self._chunks, data))
            self._chunks.clear()
        *lines, rest = data.split(b"\n")
        if rest:
            self._chunks.append(rest)
        self._chunk_bytes = len(rest)
        for line in lines:
            self._line(line)

    def _line(self, line: bytes) -> None:
        try:
            reply = _DECODER.decode(line)
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as exc:
            # An answer may be beyond us alone; then it still says whose it is.
            if (head := _ID.match(line)) is None:
                self._corrupt()
                return
            reason = "it is nested too deeply" if isinstance(exc, RecursionError) else str(exc)
            reply = _Line(int(head[1]), 0.0, None, _Failure("crash", f"the answer cannot be read: {reason}"))
        if reply.id == 0:
            self._set_ready(reply.value)
            return
        future = self.in_flight.pop(reply.id, None)
        if future is None:
            if (timer := self._cancelling.pop(reply.id, None)) is not None:
                timer.cancel()
                self._on_free(self)
            return
        if not future.done():
            if (error := reply.error) is None:
                future.set_result(Reply(reply.value, reply.seconds))
            else:
                future.set_exception(TargetError(error.kind, error.message, retry_after=error.retry_after))
        if self.draining and not self.in_flight:
            self.kill()
        self._on_free(self)

    def _set_ready(self, value: Any) -> None:
        if self._ready.done():
            return
        try:
            problems = [(one["reference"], one["message"], one["place"]) for one in value["problems"]]
            functions = tuple(LoadedFunction(**one) for one in value["functions"])
            loaded = Loaded(value["version"], functions, tuple(value["modules"]))
        except (TypeError, KeyError):
            self._corrupt()
            return
        if problems:
            hint = f" (interpreter {self._settings.interpreter}; name another with `interpreter:` or `--python`)"
            texts = [f"{reference}: {message}{hint if place else ''}" for reference, message, place in problems]
            self._ready.set_exception(StartFailed(texts[0], texts))
        else:
            self._ready.set_result(loaded)

    def _corrupt(self) -> None:
        """What came is not from our worker file: some other program, or code that writes into our connection."""
        self._reason = "it does not answer like a Python worker"
        self._chunks.clear()
        self.kill()

    # ---- end

    def connection_lost(self, exc: Exception | None) -> None:
        """Part of asyncio.Protocol."""
        self._disconnected = True
        if self._ended is None:
            self.kill()
        else:
            self._finish()

    def ask_to_exit(self) -> None:
        """Let the process end by itself, with everything that it does at its exit."""
        self.draining = True
        self._post(b'{"do":"exit"}')

    async def wait_until_gone(self) -> None:
        """Wait for the end of the process, if it was ever started."""
        if self._process is not None:
            await asyncio.shield(self.gone)

    def kill(self) -> None:
        """End the process and its children at once."""
        self.draining = True
        if self._process is not None and self._process.returncode is None:
            _kill_group(self._process.pid)

    def _exited(self) -> None:
        process = self._process
        if process is None or self._ended is not None:
            return
        _kill_group(process.pid)  # what it left behind; before its number is free for others
        self._ended = describe_exit(process.wait())
        self.draining = True
        if self._pidfd is not None:
            self._loop.remove_reader(self._pidfd)
            os.close(self._pidfd)
        if self._disconnected:
            self._finish()
        else:  # replies that it wrote before its death are still on the way
            self._loop.call_later(_LATE_REPLIES, self._finish)

    def _finish(self) -> None:
        if self.gone.done():
            return
        if self._transport is not None:
            self._transport.abort()
        if self._log is not None:
            self._log.close()
        for timer in self._cancelling.values():
            timer.cancel()
        last = f": {self._log.last_line}" if self._log is not None and self._log.last_line else ""
        if not self._ready.done():
            self._ready.set_exception(StartFailed(f"ended before it was ready ({self._reason or self._ended}){last}"))
            self._ready.exception()  # nobody may be waiting any more
        message = f"the worker process died ({self._ended}) while it ran this trial"
        for future in self.in_flight.values():
            if not future.done():
                future.set_exception(TargetError("crash", message))
        self.in_flight.clear()
        self.gone.set_result(None)
        self._on_free(self)


def _kill_group(pid: int) -> None:
    # PermissionError: a system that refuses for a group of zombies.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
