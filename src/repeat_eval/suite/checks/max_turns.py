"""`max_turns`: the conversation has at most so many turns."""

from __future__ import annotations

from typing import Any

from repeat_eval.suite.checks.base import HOLDS, Check, NoVerdict, Observation, Score, fails


class MaxTurns(Check):
    """The turns that the target reports are at most this many."""

    kind = "max_turns"
    Argument = int
    takes = "a whole number of turns"

    @classmethod
    def problem(cls, argument: Any) -> str | None:
        """Every answer takes a turn."""
        return None if argument >= 1 else f"must be a whole number, 1 or more, found {argument}"

    def evaluate(self, observation: Observation) -> Score:
        """Holds when the turns are within the limit. Raises NoVerdict when the target does not report turns."""
        turns = observation.answer.turns
        if turns is None:
            raise NoVerdict("the target does not report turns")
        return HOLDS if turns <= self.argument else fails(f"took {turns} turns, allowed are {self.argument}")
