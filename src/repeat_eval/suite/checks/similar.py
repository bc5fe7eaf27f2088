"""`similar`: the output means about the same as a reference text. The comparing is done by `models.embeddings`."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ValidationError

from repeat_eval.suite.checks._wording import kind_of
from repeat_eval.suite.checks.base import Check, NoVerdict, Observation, Score
from repeat_eval.suite.judge_settings import Model, Share, Url, VariableName
from repeat_eval.suite.messages import plain_message

DEFAULT_THRESHOLD = 0.8
EXPECTED = "expected"
"""As the value of `to`: what the case's `expected:` says."""


def _threshold(value: Any) -> Any:
    if value == 0:
        raise ValueError("must be above 0: every text is similar to every other from 0 on")
    return value


class _Options(BaseModel, extra="forbid", frozen=True):
    model: Model
    to: str = EXPECTED
    threshold: Annotated[Share, BeforeValidator(_threshold)] = DEFAULT_THRESHOLD
    url: Url | None = None
    api_key_env: VariableName | None = None


class Similar(Check):
    """The output and a reference are turned into vectors by an embedding model; the score is their cosine."""

    kind = "similar"
    takes = "a mapping with `model`, `to`, `threshold`, `url` and `api_key_env`"

    def __init__(self, argument: Any) -> None:
        super().__init__(argument)
        options = _Options.model_validate(argument)
        self.model = options.model
        self.url = options.url
        self.api_key_env = options.api_key_env
        self.threshold = options.threshold
        self._to = options.to

    @classmethod
    def problem(cls, argument: Any) -> str | None:
        """Everything that is wrong with the value, in one line."""
        if not isinstance(argument, dict):
            return f"takes {cls.takes}; found {kind_of(argument)}"
        try:
            options = _Options.model_validate(argument)
        except ValidationError as error:
            known = list(_Options.model_fields)
            return "cannot be used: " + "; ".join(plain_message(dict(one), known) for one in error.errors())
        return None if options.to.strip() else "needs a text to compare with, or `to: expected`"

    def evaluate(self, observation: Observation) -> Score:
        """Always raises NoVerdict: a model has to be asked."""
        raise NoVerdict("an embedding model has to be asked where models can be")

    def reference(self, expected: Any) -> str | None:
        """The text to compare with; None when it is the case's `expected:` and that is no text."""
        if self._to != EXPECTED:
            return self._to
        return expected if isinstance(expected, str) and expected.strip() else None
