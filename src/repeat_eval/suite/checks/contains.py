"""`contains`: the output has every one of the given texts."""

from __future__ import annotations

from itertools import compress

from repeat_eval.suite.checks._texts import TextCheck
from repeat_eval.suite.checks._wording import listed, quoted
from repeat_eval.suite.checks.base import HOLDS, Observation, Score, fails


class Contains(TextCheck):
    """Every text must be in the output; the score is the share that is."""

    kind = "contains"

    def evaluate(self, observation: Observation) -> Score:
        """Holds when all texts are in the output. Raises NoVerdict when the output is no text and no JSON value."""
        found = self.found_in(observation)
        if all(found):
            return HOLDS
        missing = [quoted(text) for text in compress(self.texts, (not hit for hit in found))]
        return fails(f"output does not contain {listed(missing[:5], 'or')}", sum(found) / len(found))
