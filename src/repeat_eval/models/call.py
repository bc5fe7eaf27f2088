"""One call of a model: the request, the reply, and the place in a run that the call belongs to."""

from __future__ import annotations

import hashlib
from typing import Any, Protocol

import msgspec

from repeat_eval.records.trial import Tokens


class ModelRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that decides what a model answers, in plain JSON values; never a key or a header.

    Attributes:
        model: provider and model, for instance `openai:gpt-5-mini`.
        url: base URL of the endpoint where it is not the provider's own; without user, password and query.
        messages: the conversation so far: {"role": "system" | "user" | "assistant" | "tool", "content": …}, with
            "tool_calls": [{"id", "name", "arguments"}] on an assistant's message and "tool_call_id" and "name" on a
            tool's.
        settings: temperature, max_tokens, seed and other settings of the model.
        tools: the tools it may call: {"name", "description", "parameters" (JSON Schema)}.
        output_schema: JSON Schema that the answer has to follow; None for free text.
        shows: what is asked about, as values by their names, where the first message of the user puts them into words.
            Recordings go by these: a value that is cleaned of secrets, put into words or cut gives other words than
            the same value put into words and then cleaned.
        mark: a word in the messages that is made of what they show, so says nothing of its own.
    """

    model: str
    url: str | None = None
    messages: tuple[dict[str, Any], ...]
    settings: dict[str, Any] = msgspec.field(default_factory=dict)
    tools: tuple[dict[str, Any], ...] = ()
    output_schema: dict[str, Any] | None = None
    shows: dict[str, Any] | msgspec.UnsetType = msgspec.UNSET
    mark: str | msgspec.UnsetType = msgspec.UNSET

    def in_values(self) -> ModelRequest:
        """The request with values where a message puts them into words, and without its mark; itself without such."""
        if self.shows is msgspec.UNSET:
            return self
        mark = self.mark or ""
        first = next(place for place, one in enumerate(self.messages) if one["role"] == "user")
        messages = [
            {**one, "content": one["content"].replace(mark, "MARK")} if mark and place != first else one
            for place, one in enumerate(self.messages)
        ]
        messages[first] = {**messages[first], "content": self.shows}
        return msgspec.structs.replace(self, messages=tuple(messages), shows=msgspec.UNSET, mark=msgspec.UNSET)

    def fingerprint(self) -> str:
        """SHA-256 over the request in one spelling (sorted keys, no blanks): 64 hexadecimal digits."""
        return hashlib.sha256(msgspec.json.encode(self.in_values(), order="deterministic")).hexdigest()


class RequestedTool(msgspec.Struct, frozen=True):
    """A tool call as the model asked for it; the id ties the tool's answer to it."""

    id: str
    name: str
    arguments: dict[str, Any]


class ModelReply(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a model answered.

    Attributes:
        text: its text; None when it only called tools.
        tool_calls: the tools that it wants called, in order.
        tokens: tokens read and written; None if unknown.
        cost: US dollars; None if unknown.
        model: the model's name as the endpoint gave it; None if it gave none.
        finish_reason: why it stopped, for instance `stop`, `length`, `tool_calls`; None if unknown.
        replayed: whether the reply was read from a cassette; never written into one.
        seconds: what the call took when it was recorded, for a replayed one; else None.
    """

    text: str | None = None
    tool_calls: tuple[RequestedTool, ...] = ()
    tokens: Tokens | None = None
    cost: float | None = None
    model: str | None = None
    finish_reason: str | None = None
    replayed: bool = False
    seconds: float | None = None


class CallSlot(msgspec.Struct, frozen=True):
    """Where in a run a call happens: it tells apart calls that ask the same.

    Attributes:
        case: the case's id. repetition: the trial, counted from 1.
        part: who asks: `target`, or the name of the check, with its vote or judge where there are several.
        index: the how-manieth call of that part in the trial, counted from 1.
    """

    case: str
    repetition: int
    part: str
    index: int


class AskModel(Protocol):
    """Whoever answers model calls: a provider, retries around it, a cassette around those."""

    async def __call__(self, request: ModelRequest, slot: CallSlot) -> ModelReply:
        """Answer one call.

        Raises:
            TargetError: no answer; the kind says whose fault (provider, timeout, recording).
        """
