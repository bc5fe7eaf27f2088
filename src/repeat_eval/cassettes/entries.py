"""What a cassette holds: recorded calls of models, and recorded responses of targets whose code did not run again."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from repeat_eval.models.call import CallSlot, ModelReply, ModelRequest
from repeat_eval.suite.checks.base import Answer

PARTS_OF_A_REQUEST = ("model", "url", "system prompt", "messages", "settings", "tools", "output schema")
_SYSTEM_ROLES = ("system", "developer")


class Asked(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a recorded call asked: enough to tell what has changed since.

    Attributes:
        model: provider and model. url: the endpoint, where it is not the provider's own.
        last: the end of the conversation, cut, for whoever reviews the recording.
        hashes: one short hash for each part of the request that can change, by its name.
    """

    model: str
    url: str | None = None
    last: str | None = None
    hashes: dict[str, str] = {}


class RecordedCall(msgspec.Struct, frozen=True, kw_only=True):
    """One call of a model with its reply, and how long it took.

    `fingerprint` is that of the request, without secrets.
    """

    slot: CallSlot
    fingerprint: str
    asked: Asked
    reply: ModelReply
    seconds: float | None = None


class RecordedResponse(msgspec.Struct, frozen=True, kw_only=True):
    """What a target answered in one trial. `request_key` says to what, `seconds` how long it took."""

    repetition: int
    request_key: str
    answer: Answer
    seconds: float | None = None


def asked_of(request: ModelRequest) -> Asked:
    """Describe a request that has no secrets in it any more."""
    last = next((text for message in reversed(request.messages) if (text := _text_of(message))), None)
    return Asked(
        model=request.model,
        url=request.url,
        last=None if last is None else _cut(last),
        hashes={
            "system prompt": _hash([one for one in request.messages if one.get("role") in _SYSTEM_ROLES]),
            "messages": _hash([one for one in request.messages if one.get("role") not in _SYSTEM_ROLES]),
            "settings": _hash(request.settings),
            "tools": _hash(request.tools),
            "output schema": _hash(request.output_schema),
        },
    )


def what_changed(before: Asked, now: Asked, *, part: str) -> str:
    """Which parts of a request differ from the recorded one, in words; the prompts of a judge are its rubric."""
    changed = [name for name in ("model", "url") if getattr(before, name) != getattr(now, name)]
    changed += [name for name in PARTS_OF_A_REQUEST if before.hashes.get(name) != now.hashes.get(name)]
    names = {} if part == "target" else {"system prompt": "rubric", "messages": "output (or what else is judged)"}
    words = [names.get(name, name) for name in changed]
    return " and ".join(words) if words else "request"


def _text_of(message: dict[str, Any]) -> str | None:
    content = message.get("content")
    if isinstance(content, dict):  # values that a judge is shown
        content = content.get("output")
    return content.strip() if isinstance(content, str) and content.strip() else None


def _cut(text: str, limit: int = 160) -> str:
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def _hash(value: Any) -> str:
    return hashlib.sha256(msgspec.json.encode(value, order="deterministic")).hexdigest()[:12]
