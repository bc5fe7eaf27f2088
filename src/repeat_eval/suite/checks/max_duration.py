"""`max_duration`: the answer comes within so many seconds."""

from __future__ import annotations

import math
from typing import Any

from repeat_eval.suite.checks.base import HOLDS, Check, Observation, Score, fails


class MaxDuration(Check):
    """The trial took at most this many seconds: those that the target reports, or else the measured ones."""

    kind = "max_duration"
    Argument = float
    takes = "a number of seconds"

    @classmethod
    def problem(cls, argument: Any) -> str | None:
        """A limit that no answer or every answer keeps."""
        if math.isfinite(argument) and argument > 0:
            return None
        return f"must be a number of seconds above 0, found {argument:g}"

    def evaluate(self, observation: Observation) -> Score:
        """Holds when the duration is within the limit."""
        if observation.duration <= self.argument:
            return HOLDS
        return fails(f"took {observation.duration:.3g} s, allowed are {self.argument:g} s")
