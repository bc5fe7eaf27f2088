"""`max_cost`: the answer costs at most so many US dollars."""

from __future__ import annotations

import math
from typing import Any

from repeat_eval.suite.checks.base import HOLDS, Check, NoVerdict, Observation, Score, fails


class MaxCost(Check):
    """The cost that the target reports is at most this many US dollars."""

    kind = "max_cost"
    Argument = float
    takes = "a number of US dollars"

    @classmethod
    def problem(cls, argument: Any) -> str | None:
        """A limit that no answer or every answer keeps. 0 is allowed: some targets are free."""
        if math.isfinite(argument) and argument >= 0:
            return None
        return f"must be a number of US dollars, 0 or more, found {argument:g}"

    def evaluate(self, observation: Observation) -> Score:
        """Holds when the cost is within the limit. Raises NoVerdict when the target does not report its cost."""
        cost = observation.answer.cost
        if cost is None:
            raise NoVerdict("the target does not report its cost")
        return HOLDS if cost <= self.argument else fails(f"cost ${cost:.4g}, allowed are ${self.argument:g}")
