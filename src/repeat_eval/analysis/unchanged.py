"""Two runs of an unchanged system, drawn from one that was seen: by splitting its trials, or by simulating it anew.

A draw holds what a gate sees: counts of both sides, a row a case. Rows of the same case stand at the same place in all
draws; a side without a verdict has 0 verdicts there.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate
from random import Random
from typing import TypeAlias

import msgspec

from repeat_eval.analysis.report import Gate
from repeat_eval.statistics.counts import Row
from repeat_eval.statistics.distributions import hypergeometric

Draw: TypeAlias = tuple[list[Row], list[Row]]
"""Rows of passes among verdicts, and rows of trials without error among attempted ones (empty without any error)."""
Cumulative: TypeAlias = tuple[int, tuple[float, ...]]


class SeenCase(msgspec.Struct, frozen=True, kw_only=True):
    """What one run showed of a case, and how the case is judged.

    Attributes:
        id: the case. passed, failed, errors: trials by outcome; skipped ones count nowhere.
        threshold: T as written. gate: the rule. asked: trials that a run of this suite asks of it.
    """

    id: str
    passed: int
    failed: int
    errors: int
    threshold: str
    gate: Gate
    asked: int

    @property
    def verdicts(self) -> int:
        """Trials that gave a verdict."""
        return self.passed + self.failed

    @property
    def attempted(self) -> int:
        """Trials that gave a verdict or ended in an error."""
        return self.verdicts + self.errors


def split_draws(cases: Sequence[SeenCase], times: int, seed: int) -> Iterator[Draw]:
    """Split each case's trials into random halves, again and again; base gets the odd one.

    How many of a random half's trials passed is hypergeometric, so it is drawn as a number.

    Args:
        cases: what was seen, each with at least two attempted trials.
        times: draws. seed: of the random numbers; the same seed gives the same draws.
    """

    def draw(rng: Random, case: SeenCase) -> tuple[Row, Row]:
        head_n = case.attempted // 2
        base_n = case.attempted - head_n
        head_errors = _value(rng, _hyper(case.errors, base_n, head_n)) if case.errors else 0
        head_v = head_n - head_errors
        base_v = case.verdicts - head_v
        head_c = _value(rng, _hyper(case.passed, base_v, head_v))
        row = (case.passed - head_c, base_v, head_c, head_v)
        return row, (base_v, base_n, head_v, head_n)

    return _draws(cases, times, seed, draw)


def simulated_draws(cases: Sequence[SeenCase], times: int, seed: int) -> Iterator[Draw]:
    """Simulate both sides from the rates that were seen, each case with the trials asked of it, again and again.

    Draws are independent, given the rates. A case that passed every trial passes every simulated one.

    Args:
        cases: what was seen, each with at least one verdict.
        times: draws. seed: of the random numbers; the same seed gives the same draws.
    """

    def side(rng: Random, case: SeenCase) -> tuple[int, int]:
        errors = _value(rng, _binomial(case.asked, case.errors, case.attempted)) if case.errors else 0
        verdicts = case.asked - errors
        return _value(rng, _binomial(verdicts, case.passed, case.verdicts)), verdicts

    def draw(rng: Random, case: SeenCase) -> tuple[Row, Row]:
        base_c, base_v = side(rng, case)
        head_c, head_v = side(rng, case)
        return (base_c, base_v, head_c, head_v), (base_v, case.asked, head_v, case.asked)

    return _draws(cases, times, seed, draw)


def drawn_passes(rng: Random, case: SeenCase, trials: int) -> int:
    """Passes of so many new trials at the rate that was seen; the case has a verdict."""
    return _value(rng, _binomial(trials, case.passed, case.verdicts))


def drawn_half(rng: Random, passes: int, taken: int, left: int) -> int:
    """Passes among `taken` trials when so many of all are taken at random and `left` stay."""
    return _value(rng, _hyper(passes, left, taken))


def _draws(
    cases: Sequence[SeenCase], times: int, seed: int, draw: Callable[[Random, SeenCase], tuple[Row, Row]]
) -> Iterator[Draw]:
    rng = Random(seed)  # noqa: S311 - a simulation that must come out the same again
    any_error = any(case.errors for case in cases)
    for _ in range(times):
        drawn = [draw(rng, case) for case in cases]
        yield [row for row, _ in drawn], [row for _, row in drawn] if any_error else []


def _value(rng: Random, distribution: Cumulative) -> int:
    low, cumulative = distribution
    if len(cumulative) == 1:
        return low
    return low + min(bisect_right(cumulative, rng.random()), len(cumulative) - 1)


@lru_cache(maxsize=4096)
def _hyper(marked: int, base_n: int, head_n: int) -> Cumulative:
    """How many of the marked trials fall to head, when base gets `base_n` and head `head_n` of all at random."""
    low, pmf = hypergeometric(marked, base_n, head_n)
    return low, tuple(accumulate(pmf))


@lru_cache(maxsize=4096)
def _binomial(trials: int, hits: int, of: int) -> Cumulative:
    """How many of `trials` hit at the rate hits / of."""
    if hits in (0, of):
        return (trials if hits else 0), (1.0,)
    logs = math.log(hits / of), math.log1p(-hits / of)
    ways = math.lgamma(trials + 1)
    pmf = [
        math.exp(ways - math.lgamma(x + 1) - math.lgamma(trials - x + 1) + x * logs[0] + (trials - x) * logs[1])
        for x in range(trials + 1)
    ]
    return 0, tuple(accumulate(pmf))
