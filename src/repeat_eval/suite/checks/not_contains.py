"""`not_contains`: the output has none of the given texts."""

from __future__ import annotations

from itertools import compress

from repeat_eval.suite.checks._texts import TextCheck
from repeat_eval.suite.checks._wording import listed, quoted
from repeat_eval.suite.checks.base import HOLDS, Observation, Score, fails


class NotContains(TextCheck):
    """No text may be in the output; the score is the share that is not."""

    kind = "not_contains"

    def evaluate(self, observation: Observation) -> Score:
        """Holds when no text is in the output. Raises NoVerdict when the output is no text and no JSON value."""
        found = self.found_in(observation)
        if not any(found):
            return HOLDS
        present = [quoted(text) for text in compress(self.texts, found)]
        return fails(f"output contains {listed(present[:5])}", 1 - sum(found) / len(found))
