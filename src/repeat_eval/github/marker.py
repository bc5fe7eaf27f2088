"""The hidden line at the end of a comment by which it is found again and its age is known."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from urllib.parse import quote, unquote

_MARKER = re.compile(
    r"<!-- repeat-eval v1 key=(?P<key>[A-Za-z0-9_.~%-]*) head=(?P<head>[0-9a-f]{7,64})"
    r" run=(?P<run>[0-9]{1,18}) attempt=(?P<attempt>[0-9]{1,9})"
    r"(?: [a-z][a-z-]*=[A-Za-z0-9_.~%-]*)* -->"  # what a later version may add
)
_LOOKS = re.compile(r" looks=([A-Za-z0-9_.]{1,6000})(?= )")
_HEAD = re.compile(r"[0-9a-f]{7,64}")


@dataclass(frozen=True, slots=True)
class Marker:
    """Which comment this is, and what it is about.

    Attributes:
        key: see `key.comment_key`; any text. head: the head commit that it is about.
        run: id of the run that wrote it. attempt: that run's attempt, counted from 1.
        looks: the looks at this commit, see `look_data`; they do not tell one marker from another.
    """

    key: str
    head: str
    run: int
    attempt: int
    looks: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        if not _HEAD.fullmatch(self.head) or not 0 <= self.run < 10**18 or not 0 <= self.attempt < 10**9:
            raise ValueError("a marker needs a commit, and numbers for run and attempt")

    def __str__(self) -> str:
        """The hidden line; nothing in the key can end it early."""
        key = quote(self.key, safe="", errors="surrogatepass").replace("--", "%2D%2D")
        looks = f" looks={self.looks}" if self.looks else ""
        return f"<!-- repeat-eval v1 key={key} head={self.head} run={self.run} attempt={self.attempt}{looks} -->"


def find_marker(body: str) -> Marker | None:
    """The marker in the last line of a comment; None if there is none. One anywhere else is only quoted text."""
    last = body.rstrip()[-10_000:].rpartition("\n")[2].strip()
    match = _MARKER.fullmatch(last)
    if match is None:
        return None
    try:
        key = unquote(match["key"], errors="surrogatepass")
    except UnicodeDecodeError:
        return None
    looks = _LOOKS.search(last, match.end("attempt"))
    return Marker(key, match["head"], int(match["run"]), int(match["attempt"]), looks[1] if looks else "")


def is_newer(one: Marker, other: Marker, current_head: str) -> bool:
    """Whether `one` tells more recent news than `other`: about the current head first, then run id, then attempt."""
    return _rank(one, current_head) > _rank(other, current_head)


def _rank(marker: Marker, current_head: str) -> tuple[bool, int, int]:
    return marker.head == current_head, marker.run, marker.attempt
