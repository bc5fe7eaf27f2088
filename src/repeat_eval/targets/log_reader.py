"""Reading what worker processes print, within bounds."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

MAX_LOG_LINE_CHARACTERS = 2_000
_READ_BYTES = 65_536


class LogReader:
    """Hands what a process writes to a pipe on, line by line, until the pipe ends or it is closed.

    Attributes:
        last_line: the last line that was not empty.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, descriptor: int, on_log: Callable[[str], None]) -> None:
        """Watch a descriptor, which is closed with the reader; lines are cut at 2,000 characters."""
        self.last_line = ""
        self._loop = loop
        self._descriptor = descriptor
        self._on_log = on_log
        self._rest = b""
        self._open = True
        os.set_blocking(descriptor, False)
        loop.add_reader(descriptor, self._read)

    def _read(self) -> bool:
        try:
            data = os.read(self._descriptor, _READ_BYTES)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        if not data:
            self._loop.remove_reader(self._descriptor)
            return False
        *lines, rest = (self._rest + data).split(b"\n")
        if len(rest) > 4 * MAX_LOG_LINE_CHARACTERS:  # a line without end
            lines.append(rest)
            rest = b""
        self._rest = rest
        for line in lines:
            self._hand_on(line)
        return True

    def _hand_on(self, line: bytes) -> None:
        text = line.decode("utf-8", "replace").rstrip("\r")
        if len(text) > MAX_LOG_LINE_CHARACTERS:
            text = text[:MAX_LOG_LINE_CHARACTERS] + "…"
        self.last_line = text.strip() or self.last_line
        self._on_log(text)

    def close(self) -> None:
        """Read what is left, without waiting for more."""
        if not self._open:
            return
        self._open = False
        reads = 0
        while self._read() and reads < 100:  # whoever still writes must not keep us here
            reads += 1
        if self._rest:
            self._hand_on(self._rest)
        self._loop.remove_reader(self._descriptor)
        os.close(self._descriptor)
