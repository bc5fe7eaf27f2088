"""Running one command to its end: bounded in time and output, with no process of it left behind.

Why not `asyncio.create_subprocess_exec`: up to Python 3.11 it starts a thread for every process, and on every version
three transports with their streams. Here the process is started by `subprocess.Popen` (which uses vfork) and three file
descriptors are watched by the event loop: stdout, stderr, and one that becomes readable when the process ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from repeat_eval.targets.run_as import RunAs, popen_user

MAX_OUTPUT_BYTES = 10_000_000
MAX_STDERR_BYTES = 64_000
"""How much of the end of stderr is kept."""

GRACE_SECONDS = 1.0
"""From SIGTERM to SIGKILL."""
DRAIN_SECONDS = 0.25
"""How long the output may still come in when the process has ended but a child of it keeps the pipe open."""
LAST_WAIT_SECONDS = 5.0
"""After SIGKILL; only a process stuck in the kernel needs longer, and it is not waited for."""

_CHUNK_BYTES = 65_536
_MAX_CHUNKS_AT_END = 32

Ending = Literal["exited", "timeout", "full"]


class Finished(msgspec.Struct, frozen=True):
    """A command that came to its end.

    Attributes:
        exit_code: as the operating system gave it; -n when signal n killed the process.
        stdout: the first `max_output` bytes that it printed.
        stderr_tail: the last 64,000 bytes that it wrote to stderr.
        duration: seconds from its start to its end.
        timed_out: it was stopped because its time was up.
        truncated: it printed more than `max_output` bytes.
    """

    exit_code: int
    stdout: bytes
    stderr_tail: bytes
    duration: float
    timed_out: bool = False
    truncated: bool = False


async def run_process(
    command: Sequence[str] | str,
    *,
    cwd: Path | str,
    environ: Mapping[str, str],
    stdin: bytes = b"",
    timeout: float | None = None,  # noqa: ASYNC109 - the whole group of processes is stopped, not only the waiting
    max_output: int = MAX_OUTPUT_BYTES,
    stop_when_full: bool = False,
    grace: float = GRACE_SECONDS,
    run_as: RunAs | None = None,
) -> Finished:
    """Run a command in a session of its own and wait for its end.

    When its time is up, or when the caller is cancelled, the whole group of processes gets SIGTERM and after `grace`
    SIGKILL. Whatever is left of the group when the command itself has ended is killed, so nothing outlives this call,
    except for processes that leave the group by starting a session of their own.

    Args:
        command: program and arguments; a string is run by `/bin/sh -c`.
        cwd: the folder it runs in.
        environ: its whole environment.
        stdin: what it can read.
        timeout: seconds; None without limit.
        max_output: bytes of stdout that are kept; the rest is read and dropped.
        stop_when_full: stop the command as soon as it printed more than `max_output`.
        grace: seconds between SIGTERM and SIGKILL.
        run_as: the user it runs as; None for our own.

    Raises:
        OSError: the command cannot be started (not found, not executable, arguments too long).
        ValueError: an argument or variable holds a zero byte.
    """
    arguments = ["/bin/sh", "-c", command] if isinstance(command, str) else list(command)
    started = time.perf_counter()
    child = _start(
        arguments,
        cwd=cwd,
        environ=environ,
        stdin=stdin,
        max_output=max_output,
        stop_when_full=stop_when_full,
        run_as=run_as,
    )
    timer = asyncio.get_running_loop().call_later(timeout, child.end, "timeout") if timeout is not None else None
    try:
        ending = await child.ending
        if ending == "exited":
            await child.drain(DRAIN_SECONDS)
        else:
            await child.stop(grace)
    except asyncio.CancelledError:
        await child.stop(grace)
        raise
    finally:
        if timer is not None:
            timer.cancel()
        exit_code = child.release()
    return Finished(
        exit_code=exit_code,
        stdout=bytes(child.stdout.kept),
        stderr_tail=bytes(child.stderr.kept[-MAX_STDERR_BYTES:]),
        duration=time.perf_counter() - started,
        timed_out=ending == "timeout",
        truncated=child.stdout.truncated,
    )


def describe_exit(code: int) -> str:
    """What an exit code means, in the shell's words: `exit 3`, `exit 137, killed by SIGKILL (out of memory?)`.

    Args:
        code: an exit code, or -n for a process that signal n killed.
    """
    if code < 0:
        code = 128 - code
    if code in _EXIT_HINTS:
        return f"exit {code} ({_EXIT_HINTS[code]})"
    if code > 128:
        with contextlib.suppress(ValueError):
            name = signal.Signals(code - 128).name
            return f"exit {code}, killed by {name}" + (" (out of memory?)" if name == "SIGKILL" else "")
    return f"exit {code}"


_EXIT_HINTS = {126: "not executable", 127: "command not found"}


class _Stream:
    """The reading end of a pipe: keeps the first or the last `limit` bytes of what comes in."""

    def __init__(self, loop: asyncio.AbstractEventLoop, descriptor: int, limit: int, *, keep_end: bool) -> None:
        self.kept = bytearray()
        self.truncated = False
        self.on_change: Callable[[], None] | None = None
        self._loop = loop
        self._descriptor = descriptor
        self._limit = limit
        self._keep_end = keep_end
        os.set_blocking(descriptor, False)
        loop.add_reader(descriptor, self.read)

    @property
    def closed(self) -> bool:
        """Whether all writers have closed their ends, or we ours."""
        return self._descriptor < 0

    def read(self) -> bool:
        """Take one chunk of what is there; says whether there was any."""
        if self.closed:
            return False
        try:
            data = os.read(self._descriptor, _CHUNK_BYTES)
        except BlockingIOError:
            return False
        if not data:
            self.close()
            return False
        if self._keep_end:
            self.kept += data
            if len(self.kept) > 4 * self._limit:
                del self.kept[: -self._limit]
        elif not self.truncated:
            self.kept += data
            if len(self.kept) > self._limit:
                del self.kept[self._limit :]
                self.truncated = True
                self._changed()
        return True

    def close(self) -> None:
        """Stop reading."""
        if not self.closed:
            self._loop.remove_reader(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = -1
            self._changed()

    def _changed(self) -> None:
        if self.on_change is not None:
            self.on_change()


class _Child:
    """A running process, watched by the event loop."""

    def __init__(
        self, popen: subprocess.Popen[bytes], stdout: _Stream, stderr: _Stream, *, stop_when_full: bool
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self.ending: asyncio.Future[Ending] = self._loop.create_future()
        self.stdout = stdout
        self.stderr = stderr
        self._popen = popen
        self._stop_when_full = stop_when_full
        self._exited: asyncio.Future[None] = self._loop.create_future()
        self._drained: asyncio.Future[None] = self._loop.create_future()
        stdout.on_change = stderr.on_change = self._stream_changed
        self._exit_descriptor = -1
        try:
            self._exit_descriptor = os.pidfd_open(popen.pid)
        except (AttributeError, OSError):  # not Linux, an old kernel, or a sandbox that does not know it
            threading.Thread(target=self._wait_in_thread, daemon=True).start()
        else:
            self._loop.add_reader(self._exit_descriptor, self._has_exited)

    def end(self, ending: Ending) -> None:
        """Say why the wait is over; the first reason stays."""
        if not self.ending.done():
            self.ending.set_result(ending)

    async def drain(self, seconds: float) -> None:
        """Wait until everything that was printed is read, but not for ever."""
        if not self._drained.done():
            await asyncio.wait([self._drained], timeout=seconds)

    async def stop(self, grace: float) -> None:
        """Ask all processes of the group to stop; after `grace` seconds, make them."""
        self._signal(signal.SIGTERM)
        try:
            # The pipes tell whether a child of the process is still cleaning up.
            await asyncio.wait([self._exited, self._drained], timeout=grace)
        finally:
            self._signal(signal.SIGKILL)
        if not self._exited.done():
            await asyncio.wait([self._exited], timeout=LAST_WAIT_SECONDS)

    def release(self) -> int:
        """Kill what is left of the group, close everything and give the exit code."""
        # The process is not reaped yet, so its number cannot belong to another group by now.
        self._signal(signal.SIGKILL)
        self.stdout.close()
        self.stderr.close()
        if self._exit_descriptor >= 0:
            self._loop.remove_reader(self._exit_descriptor)
            os.close(self._exit_descriptor)
        # It has ended, or (when the caller was cancelled twice) was killed a moment ago.
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._popen.wait(LAST_WAIT_SECONDS)
        code: int | None = self._popen.returncode
        return code if code is not None else -signal.SIGKILL

    def _signal(self, number: signal.Signals) -> None:
        if self._popen.returncode is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._popen.pid, number)

    def _stream_changed(self) -> None:
        if self.stdout.truncated and self._stop_when_full:
            self.end("full")
        if self.stdout.closed and self.stderr.closed and not self._drained.done():
            self._drained.set_result(None)

    def _has_exited(self) -> None:
        if self._exited.done():
            return
        if self._exit_descriptor >= 0:
            self._loop.remove_reader(self._exit_descriptor)
        self._exited.set_result(None)
        for stream in (self.stdout, self.stderr):
            # What one pipe holds; a child that goes on printing cannot keep us here.
            for _ in range(_MAX_CHUNKS_AT_END):
                if not stream.read():
                    break
        self.end("exited")

    def _wait_in_thread(self) -> None:
        if hasattr(os, "waitid"):
            with contextlib.suppress(ChildProcessError):
                os.waitid(os.P_PID, self._popen.pid, os.WEXITED | os.WNOWAIT)
        else:
            self._popen.wait()
        with contextlib.suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._has_exited)


def _start(
    arguments: list[str],
    *,
    cwd: Path | str,
    environ: Mapping[str, str],
    stdin: bytes,
    max_output: int,
    stop_when_full: bool,
    run_as: RunAs | None,
) -> _Child:
    loop = asyncio.get_running_loop()
    with contextlib.ExitStack() as ours, contextlib.ExitStack() as theirs:
        source = _readable(stdin)
        theirs.callback(os.close, source)
        readers = []
        writers = []
        for _ in range(2):
            reader, writer = os.pipe()
            ours.callback(os.close, reader)
            theirs.callback(os.close, writer)
            readers.append(reader)
            writers.append(writer)
        popen = subprocess.Popen(
            arguments,
            cwd=cwd,
            env=environ,
            stdin=source,
            stdout=writers[0],
            stderr=writers[1],
            start_new_session=True,
            **popen_user(run_as),
        )
        ours.pop_all()  # from here on the streams own them
    return _Child(
        popen,
        _Stream(loop, readers[0], max_output, keep_end=False),
        _Stream(loop, readers[1], MAX_STDERR_BYTES, keep_end=True),
        stop_when_full=stop_when_full,
    )


def _readable(data: bytes) -> int:
    """A descriptor from which `data` can be read, with nobody needed to write: a filled pipe or an unnamed file."""
    if len(data) <= _CHUNK_BYTES:
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        try:
            if not data or os.write(writer, data) == len(data):
                return reader
        except BlockingIOError:
            pass  # a machine that is short of pipe space gives pipes of one page
        finally:
            os.close(writer)
        os.close(reader)
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.seek(0)
        return os.dup(file.fileno())
