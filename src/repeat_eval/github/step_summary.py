"""The job summary: Markdown in the file that `GITHUB_STEP_SUMMARY` names.

GitHub drops the summary of a step whole when it is larger than 1 MiB, so what would make it too large is cut here.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

BUDGET = 1_000_000
"""Bytes of a step's summary; GitHub's limit is 1,048,576."""

_NOTICE = "\n\n*The rest was left out: a job summary holds at most 1 MB.*\n"
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_DETAILS = re.compile(r"<(/?)details\b", re.IGNORECASE)


def summary_room(path: Path, budget: int = BUDGET) -> int:
    """Bytes that still fit into the summary, so that it can be rendered to fit; 0 when it is full."""
    try:
        there = path.stat().st_size
    except FileNotFoundError:
        there = 0
    return max(budget - there - 2, 0)  # what is added begins on a line of its own, after a blank one


def add_to_summary(path: Path, markdown: str, budget: int = BUDGET) -> bool:
    """Add Markdown to the summary; what does not fit is cut at the end of a line, and said.

    Open code blocks and folds are closed before the notice.

    Args:
        path: the file. markdown: what to add. budget: bytes of everything in the file afterwards, at most.

    Returns:
        Whether all of it was added. False with nothing added when there is not even room for the notice.

    Raises:
        OSError: the file cannot be read or written.
    """
    text = markdown.encode("utf-8", "replace")
    room = summary_room(path, budget)
    whole = len(text) <= room
    if not whole:
        text = _shortened(text, room)
    if text:
        with path.open("ab") as file:
            file.write((b"\n\n" if file.seek(0, os.SEEK_END) else b"") + text)
    return whole


def _shortened(text: bytes, room: int) -> bytes:
    """As many lines as fit with what closes them and the notice; nothing when the notice does not fit."""
    notice = _NOTICE.encode()
    if len(notice) > room:
        return b""
    size, kept, closing = 0, 0, b""
    blocks = _OpenBlocks()
    for line in text.splitlines(keepends=True):
        size += len(line)
        if size + len(notice) > room:
            break
        blocks.read(line.decode("utf-8", "replace"))
        after = blocks.closing().encode()
        if size + len(after) + len(notice) <= room:
            kept, closing = size, after
    return text[:kept].rstrip() + closing + notice


class _OpenBlocks:
    """Which code block and how many folds are open after the lines read so far."""

    def __init__(self) -> None:
        self._fence = ""
        self._folds = 0

    def read(self, line: str) -> None:
        match = _FENCE.match(line)
        if self._fence:
            if match and match[1].startswith(self._fence) and not match[2].strip():
                self._fence = ""
        elif match and not (match[1][0] == "`" and "`" in match[2]):
            self._fence = match[1]
        else:
            for tag in _DETAILS.finditer(line):
                self._folds = max(self._folds + (-1 if tag[1] else 1), 0)

    def closing(self) -> str:
        return (f"\n{self._fence}" if self._fence else "") + "\n\n</details>" * self._folds
