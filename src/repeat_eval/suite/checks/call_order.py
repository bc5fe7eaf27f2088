"""`call_order`: these tools are called in this order, with other calls allowed in between."""

from __future__ import annotations

from typing import Any

from repeat_eval.suite.checks._tool_calls import reported_calls
from repeat_eval.suite.checks._wording import quoted
from repeat_eval.suite.checks.base import HOLDS, Check, Observation, Score, fails

MAX_NAMES_SHOWN = 10


class CallOrder(Check):
    """The names are a subsequence of the tools called; the score is the share of them found in order."""

    kind = "call_order"
    Argument = list[str]
    takes = "a list of tool names"

    @classmethod
    def problem(cls, argument: Any) -> str | None:
        """An order needs two names."""
        if len(argument) < 2:
            return "needs at least two tool names; use `calls_tool` for one"
        return None if all(name.strip() for name in argument) else "has an empty tool name"

    def evaluate(self, observation: Observation) -> Score:
        """Holds when the calls have this order. Raises NoVerdict when the target does not report tool calls."""
        called = [call.name for call in reported_calls(observation)]
        rest = iter(called)
        for position, name in enumerate(self.argument):
            if name not in rest:
                after = f" after {quoted(self.argument[position - 1])}" if position else ""
                got = quoted(_listed(called), 300) if called else "no tool call"
                return fails(
                    f"expected the order {quoted(_listed(self.argument), 300)}, got {got}"
                    f" (no call to {quoted(name)}{after})",
                    position / len(self.argument),
                )
        return HOLDS


def _listed(names: list[str]) -> str:
    return ", ".join(names[:MAX_NAMES_SHOWN]) + (", …" if len(names) > MAX_NAMES_SHOWN else "")
