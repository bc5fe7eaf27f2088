"""`matches`: the output as JSON has at least these keys and values (deep subset)."""

from __future__ import annotations

from typing import Any

from repeat_eval.suite.checks._values import difference, value_problem
from repeat_eval.suite.checks._wording import shown
from repeat_eval.suite.checks.base import HOLDS, Check, Observation, Score, fails


class Matches(Check):
    """Deep subset: every expected key is there and matches; lists element by element; `{regex: …}` for texts."""

    kind = "matches"
    Argument = dict[str, Any] | list[Any]
    takes = "a mapping or a list"

    @classmethod
    def problem(cls, argument: Any) -> str | None:
        """Values that JSON does not have, too many levels, and patterns that do not compile."""
        return "is empty, which every output matches" if argument == {} else value_problem(argument)

    def evaluate(self, observation: Observation) -> Score:
        """Holds when the expected value is a deep subset of the output. Raises NoVerdict when a pattern hangs."""
        try:
            actual = observation.value
        except ValueError as error:
            return fails(f"output is not JSON ({_reason(error)}): {shown(observation.text)}")
        found = difference(self.argument, actual)
        return fails(found) if found else HOLDS


def _reason(error: ValueError) -> str:
    return str(error)[:100]
