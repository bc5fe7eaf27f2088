"""What a check is: an assertion on what a target answered. One file a kind; users may register their own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar

import msgspec

from repeat_eval.records.trial import ErrorKind, Judge, Tokens, ToolCall


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What a target answered in one trial.

    Attributes:
        output: text, or any JSON value.
        tool_calls: tools called, in order; None if the target does not report them.
        turns: turns of the conversation; None if unknown.
        tokens: tokens read and written; None if unknown.
        cost: US dollars; None if unknown.
        duration: seconds that the target itself reports; None means the measured time holds.
        cached: whether the answer came from a cache; None if unknown.
        note: what a reader of a failing trial should know, for instance that the conversation was cut short.
        failure: why the trial fails whatever the checks say; None if it does not.
    """

    output: Any = None
    tool_calls: tuple[ToolCall, ...] | None = None
    turns: int | None = None
    tokens: Tokens | None = None
    cost: float | None = None
    duration: float | None = None
    cached: bool | None = None
    note: str | None = None
    failure: str | None = None


class Observation(msgspec.Struct, frozen=True, dict=True):
    """What a check sees of one trial: the case's input, the target's answer, and how long it took."""

    case: str
    repetition: int
    input: Any
    answer: Answer
    duration: float
    """Seconds; the time that the target reports, or else the measured time."""
    expected: Any = None
    """What the case's `expected:` says, for `python:` checks; None if it says nothing."""
    variables: Mapping[str, Any] = msgspec.field(default_factory=dict)

    @cached_property
    def text(self) -> str:
        """The output as text; values other than text as JSON."""
        output = self.answer.output
        if isinstance(output, str):
            return output
        if output is None:
            return ""
        import json

        return json.dumps(output, ensure_ascii=False)

    @cached_property
    def value(self) -> Any:
        """The output as a JSON value; raises ValueError when it is text that is not JSON."""
        output = self.answer.output
        if not isinstance(output, str):
            return output
        import json

        try:
            return json.loads(output)
        except RecursionError:
            raise ValueError("the output is nested too deeply") from None


class Spent(msgspec.Struct, frozen=True):
    """What judging cost: US dollars, and tokens read and written; None if unknown."""

    cost: float | None = None
    tokens: Tokens | None = None


class Score(msgspec.Struct, frozen=True):
    """What a check says: whether it holds, how well in [0, 1], and in one line why not.

    `judge` says which model judged, and `spent` what that cost; None where no model was asked.
    """

    passed: bool
    score: float
    message: str | None = None
    judge: Judge | None = None
    spent: Spent | None = None


HOLDS = Score(True, 1.0)


def fails(message: str, score: float = 0.0) -> Score:
    """A check that does not hold, and why."""
    return Score(False, score, message)


class NoVerdict(Exception):
    """A check could not judge: the trial is an error of this `kind`. `spent` is what was paid for trying."""

    def __init__(self, message: str, *, kind: ErrorKind = "judge", spent: Spent | None = None) -> None:
        super().__init__(message)
        self.kind: ErrorKind = kind
        self.spent = spent


class Check(ABC):
    """One assertion, made from one entry of `expect:`.

    A subclass names its `kind`, the type of its `Argument` (anything pydantic can validate) and what it asserts.
    """

    kind: ClassVar[str]
    """The key in the suite file, for instance `contains`."""
    Argument: ClassVar[Any] = Any
    """Type of the value behind the key, validated by pydantic."""
    takes: ClassVar[str] = ""
    """The same for people, for instance `a text or a list of texts`; used in error messages."""

    def __init__(self, argument: Any) -> None:
        self.argument = argument

    @classmethod
    def problem(cls, argument: Any) -> str | None:
        """What is wrong with a well-typed argument, found when the suite is loaded; None if nothing is."""
        return None

    @abstractmethod
    def evaluate(self, observation: Observation) -> Score:
        """Judge one trial. Raises NoVerdict when no verdict is possible."""
