"""`tool_args`: at least one call of each tool has these arguments."""

from __future__ import annotations

from typing import Any, ClassVar

from repeat_eval.suite.checks._tool_calls import wanted_problem
from repeat_eval.suite.checks._wording import quoted
from repeat_eval.suite.checks.calls_tool import CallsTool


class ToolArgs(CallsTool):
    """Like `calls_tool` with arguments, which are required here: a mapping from tool to a deep subset of them."""

    kind = "tool_args"
    Argument: ClassVar[Any] = dict[str, Any]
    takes = "a mapping from tool name to arguments"

    @classmethod
    def problem(cls, argument: Any) -> str | None:
        """Also a tool without arguments, which would assert nothing about them."""
        for name, arguments in argument.items():
            if arguments is None or arguments == {}:
                return f"gives no arguments for {quoted(name)}; use `calls_tool` to ask for a call with any arguments"
        return wanted_problem(argument)
