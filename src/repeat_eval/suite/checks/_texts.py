"""What `contains` and `not_contains` share: the texts to look for, and how they are compared."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict

from repeat_eval.suite.checks._values import text_of
from repeat_eval.suite.checks.base import Check, Observation


class TextOptions(BaseModel):
    """The long form: one or more texts, and whether upper and lower case count as the same."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    text: str | list[str]
    ignore_case: bool = False


class TextCheck(Check):
    """A check that looks for texts in the output."""

    Argument = str | list[str] | TextOptions
    takes = "a text, a list of texts, or a mapping with `text` and `ignore_case`"

    def __init__(self, argument: str | list[str] | TextOptions) -> None:
        super().__init__(argument)
        texts = argument.text if isinstance(argument, TextOptions) else argument
        self.texts: tuple[str, ...] = (texts,) if isinstance(texts, str) else tuple(texts)
        self.ignore_case = isinstance(argument, TextOptions) and argument.ignore_case
        self._needles = tuple(text.casefold() for text in self.texts) if self.ignore_case else self.texts

    @classmethod
    def problem(cls, argument: Any) -> str | None:
        """An empty list asserts nothing, and an empty text is in every output."""
        texts = argument.text if isinstance(argument, TextOptions) else argument
        if isinstance(texts, list) and not texts:
            return "has an empty list"
        if "" in ([texts] if isinstance(texts, str) else texts):
            return "has an empty text, which every output contains"
        return None

    def found_in(self, observation: Observation) -> list[bool]:
        """For each text, whether the output contains it."""
        text = text_of(observation)
        if self.ignore_case:
            text = text.casefold()
        return [needle in text for needle in self._needles]
