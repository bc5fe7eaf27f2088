"""`calls_tool`: the target calls every one of these tools."""

from __future__ import annotations

from typing import Any

from repeat_eval.suite.checks._tool_calls import call_difference, reported_calls, wanted, wanted_problem
from repeat_eval.suite.checks.base import HOLDS, Check, Observation, Score, fails


class CallsTool(Check):
    """Every named tool is called at least once, with at least the given arguments; the score is the share that is."""

    kind = "calls_tool"
    Argument = str | list[str] | dict[str, Any]
    takes = "a tool's name, a list of names, or a mapping from name to arguments"

    def __init__(self, argument: str | list[str] | dict[str, Any]) -> None:
        super().__init__(argument)
        self.wanted = wanted(argument)

    @classmethod
    def problem(cls, argument: Any) -> str | None:
        """No name, an empty name, or arguments that JSON does not have."""
        return wanted_problem(argument)

    def evaluate(self, observation: Observation) -> Score:
        """Holds when all tools were called. Raises NoVerdict when the target does not report tool calls."""
        calls = reported_calls(observation)
        missing = [found for name, arguments in self.wanted if (found := call_difference(calls, name, arguments))]
        if not missing:
            return HOLDS
        return fails("; ".join(missing[:3]), 1 - len(missing) / len(self.wanted))
