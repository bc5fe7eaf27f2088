"""`equals`: the output is exactly this text or this JSON value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from repeat_eval.suite.checks._values import difference, text_of, value_problem
from repeat_eval.suite.checks._wording import kind_of, quoted, shown
from repeat_eval.suite.checks.base import HOLDS, Check, Observation, Score, fails

OPTIONS = ("value", "ignore_case", "strip")


class Equals(Check):
    """Exact comparison.

    A text is compared with the output as text, every other value with the output as JSON. A mapping with the key
    `value` is the long form, every other mapping is the expected value itself.
    """

    kind = "equals"
    Argument = Any
    takes = "a text or any JSON value, or a mapping with `value`, `ignore_case` and `strip`"

    def __init__(self, argument: Any) -> None:
        super().__init__(argument)
        options = _options(argument) or {}
        self.expected: Any = options["value"] if options else argument
        self.ignore_case: bool = options.get("ignore_case", False)
        self.strip: bool = options.get("strip", False)

    @classmethod
    def problem(cls, argument: Any) -> str | None:
        """Unknown options, options that only texts have, and values that JSON does not have."""
        options = _options(argument)
        if options is None:
            return value_problem(argument, patterns=False)
        for key, value in options.items():
            if key not in OPTIONS:
                return (
                    f"has the unknown option {quoted(str(key))}; allowed are `value`, `ignore_case` and `strip` "
                    "(to compare with a mapping that has the key `value`, write it under `value:`)"
                )
            if key != "value" and not isinstance(value, bool):
                return f"`{key}` must be true or false, found {kind_of(value)}"
        if len(options) > 1 and not isinstance(options["value"], str):
            return f"`ignore_case` and `strip` need a text as `value`, found {kind_of(options['value'])}"
        return value_problem(options["value"], patterns=False)

    def evaluate(self, observation: Observation) -> Score:
        """Holds when the output equals the value. Raises NoVerdict when the output is no text and no JSON value."""
        if isinstance(self.expected, str):
            text = text_of(observation)
            if self._plain(text) == self._plain(self.expected):
                return HOLDS
            return fails(f"expected {shown(self.expected)}, got {shown(text)}")
        try:
            actual = observation.value
        except ValueError:
            return fails(f"expected {shown(self.expected)}, got text that is not JSON: {shown(observation.text)}")
        found = difference(self.expected, actual, exact=True)
        return fails(found) if found else HOLDS

    def _plain(self, text: str) -> str:
        if self.strip:
            text = text.strip()
        return text.casefold() if self.ignore_case else text


def _options(argument: Any) -> Mapping[str, Any] | None:
    return argument if isinstance(argument, Mapping) and "value" in argument else None
