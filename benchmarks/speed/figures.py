"""What a benchmark gives: figures with their goals, and how they are reckoned from samples."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from benchmarks.speed.measuring import Sample, Samples, processor, wall

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured figure.

    Attributes:
        name: what was measured.
        value: median over the rounds, in `unit`. best: the smallest round.
        unit: `us` (microseconds a trial), `s`, `MB`, `x` (a ratio) or `%`.
        goal: what `value` should not exceed; None without a goal.
        processor: the same from user and system time instead of wall time; None where that says nothing.
        raw: `value` as a multiple of the raw loop measured in the same rounds; None without one.
    """

    name: str
    value: float
    best: float
    unit: str
    goal: float | None = None
    processor: float | None = None
    raw: float | None = None

    @property
    def met(self) -> bool | None:
        """Whether the goal is met; None without one."""
        return None if self.goal is None else self.value <= self.goal


@dataclass(frozen=True, slots=True)
class Bench:
    """What a benchmark is run with.

    Attributes:
        folder: an empty folder for its files.
        rounds: how often each command is measured.
        scale: 1 for the real sizes; less makes every size smaller, to see whether the benchmark runs at all.
    """

    folder: Path
    rounds: int = 5
    scale: float = 1.0

    def size(self, count: int) -> int:
        """A number of cases or trials, scaled; at least 2."""
        return max(2, round(count * self.scale))

    def kinds(self, names: Iterable[_T]) -> list[_T]:
        """All of these, or only the last one when scaled: the others run the same code."""
        return list(names)[0 if self.scale == 1 else -1 :]


def whole(name: str, samples: Samples, *, goal: float | None = None, raw: float | None = None) -> Figure:
    """Seconds that a whole process takes."""
    return Figure(name, samples.median(wall), samples.best(wall), "s", goal, samples.median(processor), raw)


def net(name: str, samples: Samples, start: Samples, *, goal: float | None = None) -> Figure:
    """Seconds that a process takes beyond those of its smallest run, `start`."""
    return Figure(
        name,
        _beyond(samples.median, start.median, wall),
        _beyond(samples.best, start.best, wall),
        "s",
        goal,
        _beyond(samples.median, start.median, processor),
    )


def per_trial(
    name: str, samples: Samples, start: Samples, trials: int, *, goal: float | None = None, raw: Figure | None = None
) -> Figure:
    """Microseconds a trial, net of start-up: what a process takes beyond its smallest run, shared among its trials."""
    seconds = net(name, samples, start)
    share = 1e6 / trials
    value = seconds.value * share
    return Figure(
        name,
        value,
        seconds.best * share,
        "us",
        goal,
        None if seconds.processor is None else seconds.processor * share,
        None if raw is None or raw.value <= 0 else value / raw.value,
    )


_Reduce = Callable[[Callable[[Sample], float]], float]


def _beyond(of_full: _Reduce, of_start: _Reduce, what: Callable[[Sample], float]) -> float:
    return of_full(what) - of_start(what)
