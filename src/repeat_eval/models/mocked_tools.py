"""The tools of a model target, which are not the real ones: each call is answered by what the suite says."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import msgspec

from repeat_eval.models.provider_messages import NOT_JSON
from repeat_eval.records.trial import ToolCall
from repeat_eval.suite.checks._tool_calls import shown_call
from repeat_eval.suite.checks._values import difference
from repeat_eval.suite.model_target import Rule, Step, Tool
from repeat_eval.targets.base import Call, TargetError

CallFunction = Callable[[str, Call, dict[str, Any]], Awaitable[Any]]
"""Calls a Python function of the user's, named module:function, with a tool's arguments."""


class Unmocked(Exception):
    """A tool was called in a way that no mock is made for, and the suite says that the trial fails then."""


class Returned(msgspec.Struct, frozen=True):
    """What a tool gave back, as the model reads it."""

    text: str


class MockedTools:
    """The tools of one trial. Where a mock is a sequence, it begins anew in every trial."""

    def __init__(self, tools: Sequence[Tool], on_unmocked: Any, function: CallFunction) -> None:
        """Take the suite's tools.

        Args:
            tools: with their mocks. on_unmocked: `error`, `fail`, or `{"returns": value}`, where a tool says nothing.
            function: calls the functions behind `python:`.
        """
        self._tools: Mapping[str, Tool] = {tool.name: tool for tool in tools}
        self._on_unmocked = on_unmocked
        self._function = function
        self._calls: dict[tuple[str, int], int] = {}

    async def call(self, tool_call: ToolCall, call: Call) -> Returned:
        """Answer one call of a tool.

        A tool that does not exist and arguments that are not JSON are the model's doing: it is told so, as a real
        framework would tell it.

        Args:
            tool_call: name and arguments. call: the trial.

        Raises:
            Unmocked: no mock is made for the call, and the trial fails for that.
            TargetError: no mock is made for it (harness), or the Python function behind it broke.
        """
        tool = self._tools.get(tool_call.name)
        if tool is None:
            known = ", ".join(self._tools) or "none"
            return _error(f"there is no tool {tool_call.name!r}; there are: {known}")
        arguments = tool_call.arguments
        if NOT_JSON in arguments and len(arguments) == 1:
            return _error("the arguments are not a JSON object")
        for position, rule in enumerate(tool.mock):
            if rule.when is None or difference(rule.when, arguments, tool.name) is None:
                return await self._do(self._step(tool, position, rule), tool_call, call)
        return self._unmocked(tool, tool_call)

    def _step(self, tool: Tool, position: int, rule: Rule) -> Step:
        if rule.then is None:
            return rule
        count = self._calls.get((tool.name, position), 0)
        self._calls[tool.name, position] = count + 1
        return rule.then[min(count, len(rule.then) - 1)]

    async def _do(self, step: Step, tool_call: ToolCall, call: Call) -> Returned:
        if step.delay:
            await asyncio.sleep(step.delay)
        if step.error is not None:
            return _error(step.error)
        if step.python is None:
            return _returned(step.returns)
        try:
            value = await self._function(step.python, call, tool_call.arguments)
        except TargetError as error:
            message = f"the tool {tool_call.name} broke: {error.message}"
            raise TargetError(error.kind, message, retryable=False) from None
        return _returned(value)

    def _unmocked(self, tool: Tool, tool_call: ToolCall) -> Returned:
        rule = self._on_unmocked if tool.on_unmocked is None else tool.on_unmocked
        if isinstance(rule, dict):
            return _returned(rule["returns"])
        message = f"no mock is made for the call {shown_call(tool_call)}"
        if rule == "fail":
            raise Unmocked(message)
        raise TargetError("harness", f"{message}; add one to the tool, or set `on_unmocked`", retryable=False)


def _returned(value: Any) -> Returned:
    return Returned(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _error(text: str) -> Returned:
    return _returned({"error": text})
