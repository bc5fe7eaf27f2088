"""One request, read from any of the wire formats into the same words."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from random import Random
from typing import Any

WIRES = {
    "/chat/completions": "chat",
    "/responses": "responses",
    "/messages": "messages",
    "/embeddings": "embeddings",
}
"""End of the path -> name of the wire format."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call of an earlier turn."""

    id: str
    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Line:
    """One message of the conversation; `answers` is the id of the tool call that a tool's message answers."""

    role: str
    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    answers: str | None = None


@dataclass(frozen=True)
class Asked:
    """One request. `nth` counts the requests that ask the same (model, conversation, tools), from 1."""

    wire: str
    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]
    nth: int = 1
    lines: tuple[Line, ...] = field(default=())

    @property
    def model(self) -> str:
        return str(self.body.get("model", ""))

    @property
    def streams(self) -> bool:
        return bool(self.body.get("stream"))

    @property
    def key(self) -> str | None:
        """The key that was sent; None if there was none."""
        bearer = self.headers.get("authorization", "").removeprefix("Bearer ")
        return self.headers.get("x-api-key") or bearer or None

    @property
    def system(self) -> str:
        return "\n".join(line.text for line in self.lines if line.role == "system")

    @property
    def question(self) -> str:
        """The last text of the user."""
        return next((line.text for line in reversed(self.lines) if line.role == "user"), "")

    @property
    def last(self) -> Line:
        return self.lines[-1]

    @property
    def tool_results(self) -> list[str]:
        """What the tools answered since the user's last text."""
        results: list[str] = []
        for line in self.lines:
            if line.role == "user":
                results.clear()
            elif line.role == "tool":
                results.append(line.text)
        return results

    @property
    def turn(self) -> int:
        """Which turn of the assistant this asks for since the user's last text, from 1."""
        turns = 1
        for line in self.lines:
            turns = 1 if line.role == "user" else turns + (line.role == "assistant")
        return turns

    @property
    def tools(self) -> dict[str, Any]:
        """Name -> JSON Schema of the parameters."""
        return dict(_tools(self.body))

    @property
    def output_schema(self) -> Any:
        """The JSON Schema that the answer has to follow; None for free text."""
        chat = (self.body.get("response_format") or {}).get("json_schema") or {}
        responses = (self.body.get("text") or {}).get("format") or {}
        messages = (self.body.get("output_config") or {}).get("format") or self.body.get("output_format") or {}
        return chat.get("schema") or responses.get("schema") or messages.get("schema")

    @property
    def texts(self) -> list[str]:
        """The texts to be embedded."""
        given = self.body.get("input", [])
        return [given] if isinstance(given, str) else list(given)

    @cached_property
    def digest(self) -> str:
        """Names what was asked, whatever the wire format's other settings."""
        parts = [self.model, [_plain(line) for line in self.lines], sorted(self.tools), self.texts * (not self.lines)]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]

    def random(self, seed: int = 0) -> Random:
        """Randomness of its own for the nth time that this is asked: the same on every machine."""
        return Random(f"{seed}:{self.digest}:{self.nth}")


def read(path: str, headers: Mapping[str, str], body: Mapping[str, Any]) -> Asked | None:
    """Read a request; None if the path is none of a provider's."""
    wire = next((name for end, name in WIRES.items() if path.endswith(end)), None)
    if wire is None:
        return None
    lines = {"chat": _chat, "responses": _responses, "messages": _messages, "embeddings": lambda _: ()}[wire](body)
    return Asked(wire, path, {name.lower(): text for name, text in headers.items()}, body, lines=tuple(lines))


def faults(asked: Asked) -> Iterator[str]:
    """What a provider would refuse with status 400."""
    if not asked.model:
        yield "model: field required"
    if asked.wire == "embeddings":
        return
    if not any(line.role != "system" for line in asked.lines):
        yield "messages: at least one message is required"
    if asked.wire == "messages" and not isinstance(asked.body.get("max_tokens"), int):
        yield "max_tokens: field required"
    open_calls: list[str] = []
    for line in asked.lines:
        if line.role == "tool":
            if line.answers not in open_calls:
                yield f"a tool's message answers {line.answers!r}, which was not called"
            else:
                open_calls.remove(line.answers)
        elif line.role in {"user", "assistant"} and open_calls and not line.calls:
            yield f"tool calls without an answer: {', '.join(open_calls)}"
            open_calls.clear()
        open_calls += [each.id for each in line.calls]
    if open_calls:
        yield f"tool calls without an answer: {', '.join(open_calls)}"
    for name, schema in _tools(asked.body):
        if not name or not isinstance(schema, dict) or schema.get("type") != "object":
            yield f"tool {name!r}: the parameters must be a JSON Schema of type object"


def _plain(line: Line) -> list[Any]:
    return [line.role, line.text, [[each.id, each.name, each.arguments] for each in line.calls], line.answers]


def _tools(body: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for tool in body.get("tools") or ():
        inner = tool.get("function", tool)
        yield inner.get("name", ""), inner.get("parameters") or inner.get("input_schema")


def _text(content: Any) -> str:
    """Text of a content that is a text or a list of parts."""
    if content is None or isinstance(content, str):
        return content or ""
    return "\n".join(part if isinstance(part, str) else part.get("text", "") for part in content)


def _call(call_id: str, name: str, arguments: str) -> ToolCall:
    return ToolCall(call_id, name, json.loads(arguments or "{}"))


def _role(role: str) -> str:
    return "system" if role == "developer" else role


def _chat(body: Mapping[str, Any]) -> Iterator[Line]:
    for message in body.get("messages", ()):
        calls = tuple(
            _call(each["id"], each["function"]["name"], each["function"]["arguments"])
            for each in message.get("tool_calls") or ()
        )
        yield Line(_role(message["role"]), _text(message.get("content")), calls, message.get("tool_call_id"))


def _responses(body: Mapping[str, Any]) -> Iterator[Line]:
    if body.get("instructions"):
        yield Line("system", body["instructions"])
    given = body.get("input", ())
    for item in [{"role": "user", "content": given}] if isinstance(given, str) else given:
        if item.get("type") == "function_call":
            yield Line("assistant", calls=(_call(item["call_id"], item["name"], item["arguments"]),))
        elif item.get("type") == "function_call_output":
            yield Line("tool", _text(item["output"]), answers=item["call_id"])
        elif "role" in item:
            yield Line(_role(item["role"]), _text(item.get("content")))


def _messages(body: Mapping[str, Any]) -> Iterator[Line]:
    if body.get("system"):
        yield Line("system", _text(body["system"]))
    for message in body.get("messages", ()):
        content = message["content"]
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        for part in parts:
            if part["type"] == "tool_result":
                yield Line("tool", _text(part.get("content")), answers=part["tool_use_id"])
        calls = tuple(ToolCall(p["id"], p["name"], p["input"]) for p in parts if p["type"] == "tool_use")
        texts = [part["text"] for part in parts if part["type"] == "text"]
        if texts or calls:
            yield Line(message["role"], "\n".join(texts), calls)
