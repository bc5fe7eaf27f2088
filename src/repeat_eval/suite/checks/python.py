"""`python`: a function of the user's own. It runs in a worker; here is what its reference and its answer mean."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from repeat_eval.records.trial import one_line
from repeat_eval.suite.checks._wording import kind_of, listed, quoted
from repeat_eval.suite.checks.base import Check, NoVerdict, Observation, Score

DEFAULT_PASS_SCORE = 1.0
"""A bare score passes from here on, until the entry's `pass_score` says otherwise."""

_REFERENCE = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")
_KEYS = ("passed", "score", "message")
_SHAPES = (
    "return true or false, a score from 0 to 1, one of them with a message, or a mapping of passed, score, message"
)


class Python(Check):
    """A reference `module:function`; the function gets the output (and the context) and says whether it is good."""

    kind = "python"
    Argument = str
    takes = "a function as `module:function`"

    def __init__(self, argument: str) -> None:
        super().__init__(argument)
        self.module, _, self.function = argument.partition(":")

    @classmethod
    def problem(cls, argument: Any) -> str | None:
        """A reference that is not of the form `module:function`."""
        if _REFERENCE.fullmatch(argument):
            return None
        return f"must name a function as `module:function`, found {quoted(argument)}"

    def evaluate(self, observation: Observation) -> Score:
        """Always raises NoVerdict: the function is called in a worker, and `interpret` reads what it returned."""
        raise NoVerdict(f"{quoted(self.argument)} has to be called in a worker")

    def interpret(self, value: Any) -> Score:
        """What the function's return value says.

        Args:
            value: a bool; a number in [0, 1]; (bool, message); (score, message); (bool, score, message), as tuple or
                list; or a mapping with `passed` or `score` or both, and perhaps `message`. A score without a verdict
                passes from `DEFAULT_PASS_SCORE` on.

        Raises:
            NoVerdict: anything else, naming the type that was found.
        """
        if isinstance(value, Mapping):
            return self._from_mapping(value)
        if isinstance(value, list | tuple):
            return self._from_sequence(value)
        return self._score(value if isinstance(value, bool) else None, None if isinstance(value, bool) else value, None)

    def _from_mapping(self, value: Mapping[Any, Any]) -> Score:
        unknown = [quoted(str(key), 30) for key in value if key not in _KEYS]
        if unknown:
            raise self._no_verdict(f"a mapping with the unknown key {listed(unknown[:3])}")
        passed, score = value.get("passed"), value.get("score")
        if passed is None and score is None:
            raise self._no_verdict("a mapping without `passed` and `score`")
        if passed is not None and not isinstance(passed, bool):
            raise self._no_verdict(f"{kind_of(passed)} as `passed`")
        return self._score(passed, score, value.get("message"))

    def _from_sequence(self, value: list[Any] | tuple[Any, ...]) -> Score:
        match value:
            case [bool(passed), str() | None as message]:
                return self._score(passed, None, message)
            case [int() | float() as score, str() | None as message]:
                return self._score(None, score, message)
            case [bool(passed), int() | float() as score, str() | None as message]:
                return self._score(passed, score, message)
        inside = ", ".join("null" if item is None else type(item).__name__ for item in value[:4])
        raise self._no_verdict(f"a sequence of {len(value)} ({inside})" if value else "an empty sequence")

    def _score(self, passed: bool | None, score: Any, message: Any) -> Score:
        if message is not None and not isinstance(message, str):
            raise self._no_verdict(f"{kind_of(message)} as message")
        said = one_line(message) or None if message else None
        if score is None:
            if passed is None:
                raise self._no_verdict("nothing (null)")
            return Score(passed, float(passed), said)
        if isinstance(score, bool) or not isinstance(score, int | float):
            raise self._no_verdict(f"{kind_of(score)}" + (" as score" if passed is not None else ""))
        if not 0 <= score <= 1:
            raise self._no_verdict(f"the score {score if isinstance(score, float) else kind_of(score)}")
        if passed is None:
            passed = score >= DEFAULT_PASS_SCORE
        return Score(passed, float(score), said)

    def _no_verdict(self, found: str) -> NoVerdict:
        return NoVerdict(f"{quoted(self.argument)} returned {found}; it must {_SHAPES}")
