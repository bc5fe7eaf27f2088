"""What a test hands over about the trial that it is in: score, cost, tokens. Imports nothing, so that tests may."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

_TOKENS = ("input", "output")


@dataclass(slots=True)
class Usage:
    """What was handed over in one trial. None is unknown.

    Attributes:
        score: the last score that was given.
        cost: US dollars, all calls added up.
        tokens: tokens by `input` and `output`, all calls added up.
    """

    score: float | None = None
    cost: float | None = None
    tokens: dict[str, int] = field(default_factory=dict)


class _Trials:
    """The trials under way in this process; the innermost takes what is recorded, from any thread."""

    def __init__(self) -> None:
        self.open: list[Usage] = []


_TRIALS = _Trials()


def record(*, score: float | None = None, cost: float | None = None, tokens: Mapping[str, int] | None = None) -> None:
    """Hand over what is known about the running trial of a pytest test. Outside of a repeated test it does nothing.

    Args:
        score: how good the answer was, a finite number, usually in [0, 1]; the last one given counts. It does not
            decide whether the trial passes: assertions do.
        cost: US dollars, 0 or more; several calls add up.
        tokens: `{"input": 1200, "output": 80}`, either key may be missing; several calls add up.

    Raises:
        ValueError: a value is out of its range.
        TypeError: a value is of the wrong type.
    """
    problems = [*_number("score", score, None), *_number("cost", cost, 0.0)]
    for key, number in (tokens or {}).items():
        if key not in _TOKENS:
            problems.append(f"tokens must have the keys input and output, found {key!r}")
        elif isinstance(number, bool) or not isinstance(number, int):
            raise TypeError(f"tokens[{key!r}] must be a whole number, found {number!r}")
        elif number < 0:
            problems.append(f"tokens[{key!r}] must not be negative, found {number}")
    if problems:
        raise ValueError("; ".join(problems))
    if not _TRIALS.open:
        return
    usage = _TRIALS.open[-1]
    if score is not None:
        usage.score = float(score)
    if cost is not None:
        usage.cost = (usage.cost or 0.0) + float(cost)
    for key, number in (tokens or {}).items():
        usage.tokens[key] = usage.tokens.get(key, 0) + number


@contextmanager
def taking_usage() -> Iterator[Usage]:
    """Take what is recorded inside the block."""
    usage = Usage()
    _TRIALS.open.append(usage)
    try:
        yield usage
    finally:
        _TRIALS.open.remove(usage)


def _number(name: str, value: float | None, minimum: float | None) -> list[str]:
    if value is None:
        return []
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{name} must be a number, found {value!r}")
    if not math.isfinite(value) or (minimum is not None and value < minimum):
        return [f"{name} must be a finite number{'' if minimum is None else ', 0 or more'}, found {value!r}"]
    return []
