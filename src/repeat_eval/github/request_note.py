"""The note about a requested re-run in our own comment: one line to be read, one hidden one.

It stands before the comment's marker, which stays the last line. The run that it asks for writes the comment anew, and
the note is gone with the result that it was about.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import quote, unquote

from repeat_eval.reports.escape import markdown

MAX_PATTERNS = 10
"""Cases, or patterns of cases, that one request may name."""
MAX_PATTERN = 200
"""Characters of one of them."""
MAX_TRIALS = 50
"""Trials a side of a case that may be asked for."""
MAX_AUTHOR = 60

_HIDDEN = re.compile(
    r"<!-- repeat-eval-request v1 head=(?P<head>[0-9a-f]{7,64}) run=(?P<run>[0-9]{1,18})"
    r" attempt=(?P<attempt>[0-9]{1,9})"
    r"(?: look=(?P<look>[0-9]{1,3}))?(?: trials=(?P<trials>[0-9]{1,3}))?(?: by=(?P<by>[A-Za-z0-9_.~%-]{1,400}))?"
    r"(?: cases=(?P<cases>[A-Za-z0-9_.~%,-]{1,30000}))? -->"
)


@dataclass(frozen=True, slots=True)
class RequestNote:
    """A request.

    Attributes:
        head: the commit that it is for. run: the run that is to be run again. attempt: the one asked for, from 2.
        look: number of the look; 0 where a note of an earlier version does not tell.
        cases: ids or patterns of the cases that were named. trials: a side, as they were named; None for neither.
        author: login of who asked; empty where it is not told.
    """

    head: str
    run: int
    attempt: int
    look: int = 0
    cases: tuple[str, ...] = ()
    trials: int | None = None
    author: str = ""

    def __str__(self) -> str:
        """The hidden line; nothing in a name can end it early."""
        parts = [f"head={self.head}", f"run={self.run}", f"attempt={self.attempt}"]
        parts += [f"look={self.look}"] if self.look else []
        parts += [f"trials={self.trials}"] if self.trials is not None else []
        parts += [f"by={_quoted(self.author[:MAX_AUTHOR])}"] if self.author else []
        parts += [f"cases={','.join(map(_quoted, self.cases))}"] if self.cases else []
        return f"<!-- repeat-eval-request v1 {' '.join(parts)} -->"

    def is_for(self, run: int, attempt: int) -> bool:
        """Whether it asked for this attempt of this run."""
        return (self.run, self.attempt) == (run, attempt)


def find_note(body: str) -> RequestNote | None:
    """The note that stands right before the comment's last line; None if there is none, or one beyond its bounds."""
    lines = body.replace("\r\n", "\n").rstrip().split("\n")
    match = _HIDDEN.fullmatch(lines[-2]) if len(lines) > 1 else None
    if match is None:
        return None
    cases = tuple(unquote(case, errors="replace") for case in (match["cases"] or "").split(",") if case)
    trials = int(match["trials"]) if match["trials"] else None
    if len(cases) > MAX_PATTERNS or any(len(case) > MAX_PATTERN for case in cases):
        return None
    if trials is not None and not 1 <= trials <= MAX_TRIALS:
        return None
    return RequestNote(
        match["head"],
        int(match["run"]),
        int(match["attempt"]),
        int(match["look"] or 0),
        cases,
        trials,
        unquote(match["by"] or "", errors="replace"),
    )


def with_note(body: str, note: RequestNote, author: str) -> str:
    """The comment with a note, in place of an earlier one.

    Args:
        body: the comment, its marker in the last line. note: what is asked for. author: who asked.
    """
    lines = body.replace("\r\n", "\n").rstrip().split("\n")
    if find_note(body) is not None:
        lines[-5:-1] = []
    who = f"🔁 {markdown(author, 60)} asked for a further look{_at(note)}"
    sentence = f"{who}: attempt {note.attempt} of the run is on its way."
    return "\n".join([*lines[:-1], "", sentence, "", str(note), lines[-1]])


def _at(note: RequestNote) -> str:
    """What was named, in words; names are made harmless, and only the first ones are shown."""
    shown = ", ".join(markdown(case, 60) for case in note.cases[:3])
    more = f" and {len(note.cases) - 3} more" if len(note.cases) > 3 else ""
    cases = f" at {shown}{more}" if note.cases else ""
    return cases + (f", {note.trials} trials a side" if note.trials is not None else "")


def _quoted(text: str) -> str:
    return quote(text, safe="", errors="replace").replace("--", "%2D%2D")
