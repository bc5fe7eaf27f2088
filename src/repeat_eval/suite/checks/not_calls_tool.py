"""`not_calls_tool`: the target calls none of these tools."""

from __future__ import annotations

from typing import Any

from repeat_eval.suite.checks._tool_calls import call_difference, reported_calls, shown_call, wanted, wanted_problem
from repeat_eval.suite.checks._wording import listed
from repeat_eval.suite.checks.base import HOLDS, Check, Observation, Score, fails


class NotCallsTool(Check):
    """No call of a named tool (with these arguments, where they are given); the score is the share not called."""

    kind = "not_calls_tool"
    Argument = str | list[str] | dict[str, Any]
    takes = "a tool's name, a list of names, or a mapping from name to arguments"

    def __init__(self, argument: str | list[str] | dict[str, Any]) -> None:
        super().__init__(argument)
        self.unwanted = wanted(argument)

    @classmethod
    def problem(cls, argument: Any) -> str | None:
        """No name, an empty name, or arguments that JSON does not have."""
        return wanted_problem(argument)

    def evaluate(self, observation: Observation) -> Score:
        """Holds when no such call was made. Raises NoVerdict when the target does not report tool calls."""
        calls = reported_calls(observation)
        culprits = []
        for name, arguments in self.unwanted:
            culprit = next((call for call in calls if call_difference((call,), name, arguments) is None), None)
            if culprit is not None:
                culprits.append(shown_call(culprit))
        if not culprits:
            return HOLDS
        return fails(f"unexpected call {listed(culprits[:5])}", 1 - len(culprits) / len(self.unwanted))
