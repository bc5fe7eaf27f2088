"""`regex`: every given pattern is found in the output."""

from __future__ import annotations

from itertools import compress
from typing import Any

from pydantic import BaseModel, ConfigDict

from repeat_eval.suite.checks import _patterns
from repeat_eval.suite.checks._values import text_of
from repeat_eval.suite.checks._wording import listed, quoted, shown
from repeat_eval.suite.checks.base import HOLDS, Check, Observation, Score, fails


class PatternOptions(BaseModel):
    """The long form: one or more patterns and how they are read. `full`: the pattern must cover the whole output."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    pattern: str | list[str]
    ignore_case: bool = False
    multiline: bool = False
    dotall: bool = False
    full: bool = False


class Regex(Check):
    """Every pattern must be found somewhere in the output; the score is the share that is."""

    kind = "regex"
    Argument = str | list[str] | PatternOptions
    takes = (
        "a pattern, a list of patterns, or a mapping with `pattern`, `ignore_case`, `multiline`, `dotall` and `full`"
    )

    def __init__(self, argument: str | list[str] | PatternOptions) -> None:
        super().__init__(argument)
        self.patterns = _patterns_of(argument)
        self._options = argument.model_dump(exclude={"pattern"}) if isinstance(argument, PatternOptions) else {}

    @classmethod
    def problem(cls, argument: Any) -> str | None:
        """An empty list, an empty pattern, or a pattern that does not compile."""
        patterns = _patterns_of(argument)
        if not patterns:
            return "has an empty list"
        if "" in patterns:
            return "has an empty pattern, which every output has"
        flags = (
            argument.model_dump(include={"ignore_case", "multiline", "dotall"})
            if isinstance(argument, PatternOptions)
            else {}
        )
        return next((found for pattern in patterns if (found := _patterns.problem(pattern, **flags))), None)

    def evaluate(self, observation: Observation) -> Score:
        """Holds when all patterns are found. Raises NoVerdict when a search takes longer than two seconds."""
        text = text_of(observation)
        found = [_patterns.found(pattern, text, **self._options) for pattern in self.patterns]
        if all(found):
            return HOLDS
        missing = [quoted(pattern) for pattern in compress(self.patterns, (not hit for hit in found))]
        verb = "is not as a whole" if self._options.get("full") else "does not have the pattern"
        return fails(f"output {verb} {listed(missing[:5], 'or')}: {shown(text)}", sum(found) / len(found))


def _patterns_of(argument: str | list[str] | PatternOptions) -> tuple[str, ...]:
    patterns = argument.pattern if isinstance(argument, PatternOptions) else argument
    return (patterns,) if isinstance(patterns, str) else tuple(patterns)
