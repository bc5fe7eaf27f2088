"""What the server may answer, before it is put into a wire format."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer.

    `delay` seconds pass before it; with streaming, `pause` seconds pass between its events. `usage` is (tokens read,
    tokens written): None counts the words, an empty pair leaves usage out. `cut` closes the connection: "before" the
    answer or in its "middle". `raw` is sent as it is instead of an answer of the wire format.
    """

    text: str | None = None
    calls: tuple[tuple[str, dict[str, Any]], ...] = ()
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    finish: str | None = None
    usage: tuple[int, int] | tuple[()] | None = None
    delay: float = 0.0
    pause: float = 0.0
    cut: str = ""
    raw: bytes | None = None

    def then_call(self, tool: str, **arguments: Any) -> Reply:
        """The same answer with one more tool call."""
        return replace(self, calls=(*self.calls, (tool, arguments)))

    def but(self, **changes: Any) -> Reply:
        """The same answer with other fields, for instance `delay=0.2`."""
        return replace(self, **changes)


def say(text: str, **more: Any) -> Reply:
    """A text."""
    return Reply(text, **more)


def call(tool: str, **arguments: Any) -> Reply:
    """A call of one tool."""
    return Reply(calls=((tool, arguments),))


def refuse(status: int, message: str = "", *, retry_after: float | str | None = None, **more: Any) -> Reply:
    """An error of the provider; `retry_after` is the header's value, in seconds or as a date."""
    headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
    return Reply(message or f"Answered with {status}", status=status, headers=headers, **more)


def malformed(raw: bytes = b'{"id": "broken", "choices": [{"mess', **more: Any) -> Reply:
    """Status 200 and a body that is no JSON."""
    return Reply(raw=raw, **more)


def cut(text: str = "This answer ends in mid-", *, where: str = "middle", **more: Any) -> Reply:
    """The connection breaks in the middle of the answer, or before it."""
    return Reply(text, cut=where, **more)
