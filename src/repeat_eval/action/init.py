"""The first process of a container: hands signals on, and collects the processes that nobody else collects.

As process 1 a program gets none of the default actions of signals, and becomes the parent of every process whose own
parent has ended. The program itself should do neither job beside its own: a loop that collects every child would take
the exit codes of those that it waits for. So process 1 does only that, and the program is its one child.
"""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path

_HANDED_ON = frozenset(
    {signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGWINCH}
)


def become_init() -> None:
    """Where this is process 1, stay behind as such; only the program's own process comes back from here.

    To be called before threads are started and before secrets are in memory: what comes back is a copy. When the
    program ends, process 1 ends with its exit code (128 + n if signal n killed it), and the kernel kills what is left
    in the container. Does nothing where this is not process 1.
    """
    if os.getpid() == 1:
        _fork_under_init()


def end_everything_else() -> None:
    """Kill all other processes of the container, also those that left their group, as user code may have them do.

    After this nobody is left who could write to a file that the next step reads. Does nothing where process 1 is not
    ours: all processes would be the whole machine's.
    """
    if _is_under_init():
        with contextlib.suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)  # all but the caller and process 1


def _is_under_init() -> bool:
    if os.getppid() != 1:
        return False
    try:  # a copy of ours was started with the same words
        return Path("/proc/1/cmdline").read_bytes() == Path("/proc/self/cmdline").read_bytes()
    except OSError:
        return False


def _fork_under_init() -> None:
    waited_for = _HANDED_ON | {signal.SIGCHLD}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, waited_for)
    program = os.fork()
    if program == 0:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return
    # Nobody but the program itself may keep its output open, or read what is handed to it.
    with contextlib.suppress(OSError):
        os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    while True:
        number = signal.sigwait(waited_for)
        if number != signal.SIGCHLD:
            with contextlib.suppress(ProcessLookupError):
                os.kill(program, number)
            continue
        status = _collect(program)
        if status is not None:
            code = os.waitstatus_to_exitcode(status)
            os._exit(code if code >= 0 else 128 - code)


def _collect(program: int) -> int | None:
    """Collect every process that has ended; the status of the program if it is among them."""
    found = None
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return found
        if pid == 0:
            return found
        if pid == program:
            found = status
