"""The note about a requested re-run in our own comment: one line to be read, one hidden one.

It stands before the comment's marker, which stays the last line. The run that it asks for writes the comment anew, and
the note is gone with the result that it was about.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from repeat_eval.reports.escape import markdown

_HIDDEN = re.compile(
    r"<!-- repeat-eval-request v1 head=(?P<head>[0-9a-f]{7,64}) run=(?P<run>[0-9]{1,18})"
    r" attempt=(?P<attempt>[0-9]{1,9}) -->"
)


@dataclass(frozen=True, slots=True)
class RequestNote:
    """A request: `head` is the commit it is for, `run` the run that is to be run again, `attempt` the one asked for."""

    head: str
    run: int
    attempt: int

    def __str__(self) -> str:
        """The hidden line."""
        return f"<!-- repeat-eval-request v1 head={self.head} run={self.run} attempt={self.attempt} -->"


def find_note(body: str) -> RequestNote | None:
    """The note that stands right before the comment's last line; None if there is none."""
    lines = body.replace("\r\n", "\n").rstrip().split("\n")
    match = _HIDDEN.fullmatch(lines[-2]) if len(lines) > 1 else None
    return None if match is None else RequestNote(match["head"], int(match["run"]), int(match["attempt"]))


def with_note(body: str, note: RequestNote, author: str) -> str:
    """The comment with a note, in place of an earlier one.

    Args:
        body: the comment, its marker in the last line. note: what is asked for. author: who asked.
    """
    lines = body.replace("\r\n", "\n").rstrip().split("\n")
    if find_note(body) is not None:
        lines[-5:-1] = []
    sentence = f"🔁 {markdown(author, 60)} asked for a second look: attempt {note.attempt} of the run is on its way."
    return "\n".join([*lines[:-1], "", sentence, "", str(note), lines[-1]])
