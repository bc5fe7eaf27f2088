"""A/A of two looks: how often they would block an unchanged system, and whether its trials are independent.

Fresh trials decide, so two looks rest on trials of a case that are independent of each other. Where a run's earlier and
later trials of the same cases differ more than luck explains, something lasts: then more fresh trials see more of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from random import Random

import msgspec

from repeat_eval.analysis.unchanged import SeenCase, drawn_half, drawn_passes
from repeat_eval.statistics.counts import Row
from repeat_eval.statistics.second_look import SecondLookSettings, first_look, second_look
from repeat_eval.statistics.second_look_planning import looks_twice

SHOWN = 0.05
"""p below which earlier and later trials are said to differ."""
PERMUTATIONS = 2000
LEAST_SPLIT = 3
"""Fresh trials a side that a split needs at least."""

Take = Callable[[SeenCase, int], Row]
"""Takes so many trials a side of a case."""


class LooksShare(msgspec.Struct, frozen=True, kw_only=True):
    """How often two looks blocked an unchanged system.

    Attributes:
        blocked, of: draws that were red, and all. first, fresh: trials a side of each look.
        trials: mean of the trials that a draw took, both sides together.
    """

    blocked: int
    of: int
    first: int
    fresh: int
    trials: float

    @property
    def rate(self) -> float:
        """The share of red draws."""
        return self.blocked / self.of


class LooksAlarms(msgspec.Struct, frozen=True, kw_only=True):
    """Two looks on an unchanged system.

    Attributes:
        looks: as written. simulated: both looks of both sides drawn anew from the seen rates.
        split: the seen trials divided at random into both looks of both sides; None when there are too few.
        lasting: p of the test that earlier and later trials of the same cases differ no more than luck makes them; None
            where no case with 4 verdicts varies.
    """

    looks: str
    simulated: LooksShare
    split: LooksShare | None
    lasting: float | None

    @property
    def depends(self) -> bool:
        """Whether trials of a case are seen to depend on each other."""
        return self.lasting is not None and round(self.lasting, 12) < SHOWN


def looks_alarms(
    cases: Sequence[SeenCase],
    passed: Mapping[str, Sequence[bool]],
    settings: SecondLookSettings,
    *,
    looks: str,
    simulations: int,
    splits: int,
    seed: int,
) -> LooksAlarms | None:
    """A/A of two looks; None with fewer than 6 cases.

    Args:
        cases: what was seen, each with a verdict. passed: verdicts by case in the order of repetition.
        settings: of the looks. looks: as written.
        simulations, splits: draws of each kind. seed: of the random numbers.
    """
    if not looks_twice(len(cases)) or not simulations:
        return None
    rng = Random(seed)  # noqa: S311 - a simulation that must come out the same again

    def anew(case: SeenCase, trials: int) -> Row:
        return drawn_passes(rng, case, trials), trials, drawn_passes(rng, case, trials), trials

    simulated = _share(cases, settings, simulations, lambda: anew)
    room = min(case.verdicts for case in cases) // 2 - settings.n1
    split = None
    if room >= LEAST_SPLIT and splits:
        smaller = SecondLookSettings(
            alpha=settings.alpha,
            n1=settings.n1,
            n2=min(settings.n2, room),
            cut=settings.cut,
            alarm=settings.alarm,
            cap=settings.cap,
            both=settings.both,
        )
        split = _share(cases, smaller, splits, lambda: _divided(rng, cases))
    return LooksAlarms(looks=looks, simulated=simulated, split=split, lasting=lasting(cases, passed, seed=seed))


def lasting(cases: Sequence[SeenCase], passed: Mapping[str, Sequence[bool]], *, seed: int) -> float | None:
    """p of "the first half of each case's trials and the second differ no more than luck makes them".

    The statistic is the sum over cases of (x - mean)^2 / variance, x the passes of the first half, which are
    hypergeometric when the order of trials means nothing; its distribution is drawn. Cases may move in opposite ways,
    which a test of the suite's mean would not see.

    Args:
        cases: what was seen. passed: verdicts by case in the order of repetition. seed: of the random numbers.
    """
    rng = Random(seed)  # noqa: S311 - see above
    parts: list[tuple[int, int, int]] = []
    observed = 0.0
    for case in cases:
        verdicts = passed[case.id]
        n, c = len(verdicts), sum(verdicts)
        if n < 4 or not 0 < c < n:
            continue
        half = (n + 1) // 2
        parts.append((c, n, half))
        observed += _distance(sum(verdicts[:half]), c, n, half)
    if not parts:
        return None
    draws = (
        math.fsum(_distance(drawn_half(rng, c, half, n - half), c, n, half) for c, n, half in parts)
        for _ in range(PERMUTATIONS)
    )
    least = observed - 1e-9
    return (1 + sum(drawn >= least for drawn in draws)) / (1 + PERMUTATIONS)


def _distance(x: int, c: int, n: int, half: int) -> float:
    mean = half * c / n
    variance = half * (c / n) * (1 - c / n) * (n - half) / (n - 1)
    return (x - mean) ** 2 / variance


def _divided(rng: Random, cases: Sequence[SeenCase]) -> Take:
    """Takes trials out of those that were seen, none of them twice."""
    left = {case.id: (case.passed, case.verdicts) for case in cases}

    def take(case: SeenCase, trials: int) -> Row:
        sides = []
        for _ in range(2):
            passes, verdicts = left[case.id]
            drawn = drawn_half(rng, passes, trials, verdicts - trials)
            left[case.id] = (passes - drawn, verdicts - trials)
            sides += [drawn, trials]
        return sides[0], sides[1], sides[2], sides[3]

    return take


def _share(
    cases: Sequence[SeenCase], settings: SecondLookSettings, times: int, source: Callable[[], Take]
) -> LooksShare:
    blocked, trials = 0, 0
    for _ in range(times):
        take = source()
        rows = [take(case, settings.n1) for case in cases]
        rerun = first_look(rows, settings).rerun
        trials += 2 * (len(cases) * settings.n1 + sum(rerun.values()))
        if not rerun:
            continue
        whole = {place: take(cases[place], min(number, settings.n3)) for place, number in rerun.items()}
        fresh = {
            place: _added(whole[place], take(cases[place], number - settings.n3))
            if number > settings.n3
            else whole[place]
            for place, number in rerun.items()
        }
        found = second_look(rows, fresh, settings, fresh_suite=whole)
        blocked += found.verdict in ("regressed", "mixed")
    return LooksShare(blocked=blocked, of=times, first=settings.n1, fresh=settings.n2, trials=trials / times)


def _added(one: Row, other: Row) -> Row:
    return one[0] + other[0], one[1] + other[1], one[2] + other[2], one[3] + other[3]
