"""What the tool checks share: the reported calls, and the search for a call with given arguments."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from repeat_eval.records.trial import ToolCall
from repeat_eval.suite.checks._values import difference, value_problem
from repeat_eval.suite.checks._wording import listed, quoted, shown
from repeat_eval.suite.checks.base import NoVerdict, Observation

MAX_CALLS_SHOWN = 5

Wanted = tuple[tuple[str, Any], ...]
"""Names of tools, each with the arguments that a call must have (deep subset); None stands for any arguments."""


def reported_calls(observation: Observation) -> tuple[ToolCall, ...]:
    """The trial's tool calls; raises NoVerdict when the target does not report them."""
    calls = observation.answer.tool_calls
    if calls is None:
        raise NoVerdict("the target does not report tool calls")
    return calls


def wanted(argument: str | Sequence[str] | Mapping[str, Any]) -> Wanted:
    """The argument of a tool check (a name, a list of names, or names with arguments) in one shape."""
    if isinstance(argument, str):
        return ((argument, None),)
    if isinstance(argument, Mapping):
        return tuple(argument.items())
    return tuple((name, None) for name in argument)


def wanted_problem(argument: str | Sequence[str] | Mapping[str, Any]) -> str | None:
    """What is wrong with the names and arguments of a tool check; None if nothing is."""
    tools = wanted(argument)
    if not tools:
        return "names no tool"
    for name, arguments in tools:
        if not name.strip():
            return "has an empty tool name"
        if arguments is not None and (problem := value_problem(arguments)):
            return f"arguments of {quoted(name)}: {problem}"
    return None


def arguments_of(call: ToolCall) -> Any:
    """The call's arguments; text that is JSON is read, since some models' interfaces hand arguments over as text."""
    arguments = call.arguments
    if arguments is None:
        return {}
    if isinstance(arguments, str):
        try:
            return json.loads(arguments)
        except (ValueError, RecursionError):
            return arguments
    return arguments


def call_difference(calls: Sequence[ToolCall], name: str, arguments: Any) -> str | None:
    """Why none of `calls` is a call of `name` with these arguments (deep subset); None if one is."""
    named = [call for call in calls if call.name == name]
    if not named:
        return f"expected a call to {quoted(name)}, got {shown_calls(calls)}"
    if arguments is None:
        return None
    found: str | None = None
    for call in named:
        found = difference(arguments, arguments_of(call), name)
        if found is None:
            return None
    if len(named) == 1:
        return f"arguments of {shown_call(named[0])} {found}"
    return f"none of the {len(named)} calls to {quoted(name)} has the arguments {shown(arguments)}; the last {found}"


def shown_call(call: ToolCall, limit: int = 160) -> str:
    """A call as it reads in code: `issue_refund(amount=9000)`, between back-ticks, cut to `limit` characters."""
    arguments = arguments_of(call)
    if isinstance(arguments, Mapping):
        items = list(arguments.items())[:MAX_CALLS_SHOWN]
        inside = ", ".join(f"{key}={shown(value, 40)}" for key, value in items)
        if len(arguments) > len(items):
            inside += ", …"
    else:
        inside = shown(arguments, 40)
    return quoted(f"{call.name}({inside})", limit)


def shown_calls(calls: Sequence[ToolCall]) -> str:
    """The first few calls in a sentence, or `no tool call`."""
    if not calls:
        return "no tool call"
    names = [shown_call(call, 300 // min(len(calls), MAX_CALLS_SHOWN)) for call in calls[:MAX_CALLS_SHOWN]]
    if len(calls) > MAX_CALLS_SHOWN:
        names.append(f"{len(calls) - MAX_CALLS_SHOWN} more")
    return listed(names)
