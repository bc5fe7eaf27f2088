"""How a conversation begins: the system prompt, then the case's input as what the user says, or as a history."""

from __future__ import annotations

from typing import Any

from repeat_eval.targets.base import Call
from repeat_eval.targets.placeholders import MissingValue, Template, text_of, what_is

ROLES = ("system", "user", "assistant", "tool")


def opening(system: str | None, prompt: Template | None, call: Call) -> tuple[dict[str, Any], ...]:
    """The first messages of a trial.

    An input that is a list of messages, each with `role` and `content`, is a history. Any other input is what the user
    says, as text or as JSON; with a prompt, that template is what the user says.

    Args:
        system: the system prompt; None for none. prompt: what the user says. call: the trial.

    Raises:
        ValueError: the input is no conversation; says what is wrong.
    """
    before = () if system is None else ({"role": "system", "content": system},)
    if prompt is not None:
        try:
            return (*before, {"role": "user", "content": prompt.text(call)})
        except MissingValue as error:
            raise ValueError(f"`prompt` cannot be filled in: {error}") from None
    value = call.input
    if isinstance(value, dict) and set(value) == {"messages"}:
        value = value["messages"]
    if isinstance(value, list) and value and all(isinstance(one, dict) and "role" in one for one in value):
        return (*before, *_history(value))
    if value is None or value == "":
        raise ValueError("the case has no input, and the target has no `prompt`: the model would be asked nothing")
    return (*before, {"role": "user", "content": text_of(value)})


def _history(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    history = []
    open_calls: dict[str, str] = {}
    for number, message in enumerate(messages, start=1):
        where = f"message {number} of the input"
        role, content = message["role"], message.get("content")
        if role not in ROLES:
            raise ValueError(f"{where} has the role {str(role)[:40]!r}; known are {', '.join(ROLES)}")
        calls = message.get("tool_calls") or ()
        if not isinstance(content, str) and not (content is None and role == "assistant" and calls):
            raise ValueError(f"{where} needs `content` that is text; it is {what_is(content)}")
        kept: dict[str, Any] = {"role": role, "content": content}
        if role == "assistant" and calls:
            kept["tool_calls"] = [_call(one, f"{where}, tool call {place}") for place, one in enumerate(calls, start=1)]
            open_calls.update((one["id"], one["name"]) for one in kept["tool_calls"])
        if role == "tool":
            if message.get("tool_call_id") not in open_calls:
                raise ValueError(f"{where} needs the `tool_call_id` of a tool call before it")
            kept |= {"tool_call_id": message["tool_call_id"], "name": open_calls[message["tool_call_id"]]}
        history.append(kept)
    if history[-1]["role"] not in ("user", "tool"):
        raise ValueError("the last message of the input must be the user's or a tool's, for the model to answer it")
    return history


def _call(value: Any, where: str) -> dict[str, Any]:
    if (
        not isinstance(value, dict)
        or not isinstance(value.get("id"), str)
        or not isinstance(value.get("name"), str)
        or not isinstance(value.get("arguments", {}), dict)
    ):
        raise ValueError(f"{where} needs `id` and `name` that are text, and `arguments` that are a mapping")
    return {"id": value["id"], "name": value["name"], "arguments": value.get("arguments", {})}
