"""The step's log: our own lines, folded groups, and annotations."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TextIO

from repeat_eval.github import commands


class Log:
    """Says things in the step's log; nothing that is said can become a command to the runner."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def say(self, text: str) -> None:
        """One line."""
        self._write(f"repeat-eval: {commands.inert_line(text)}")

    def error(self, text: str, title: str | None = None) -> None:
        """An annotation that makes the step look red."""
        self._write(commands.annotation("error", text, title=title or "repeat-eval"))

    def warning(self, text: str) -> None:
        """An annotation that warns."""
        self._write(commands.annotation("warning", text, title="repeat-eval"))

    def notice(self, text: str) -> None:
        """An annotation that tells."""
        self._write(commands.annotation("notice", text, title="repeat-eval"))

    @contextlib.contextmanager
    def group(self, title: str) -> Iterator[None]:
        """What is said meanwhile is folded."""
        with commands.group(self.stream, title):
            yield

    @contextlib.contextmanager
    def foreign(self) -> Iterator[TextIO]:
        """A place for text that others wrote, in which the runner obeys nothing."""
        with commands.commands_stopped(self.stream):
            yield self.stream

    def _write(self, line: str) -> None:
        self.stream.write(f"{line}\n")
        self.stream.flush()
