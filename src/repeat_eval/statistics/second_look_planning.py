"""What two looks cost, what they can find, and how many fixed repeats would find as much."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from repeat_eval.statistics.comparison import case_exact
from repeat_eval.statistics.gates import DECIMALS
from repeat_eval.statistics.second_look import MIN_CASES, SecondLookSettings

MAX_FIXED = 200
"""The largest fixed number of repeats that is looked at."""


@dataclass(frozen=True, slots=True)
class CostBound:
    """Trials that two looks can take, of both sides together.

    Attributes:
        first: the first look; all that is run when there is no suspect.
        without_alarm: the most without an alarm. most: the most of all.
    """

    first: int
    without_alarm: int
    most: int


def looks_twice(cases: int) -> bool:
    """Whether so many cases are enough for two looks; below 6 a fixed number of repeats is used."""
    return cases >= MIN_CASES


def cost_bound(cases: int, settings: SecondLookSettings) -> CostBound:
    """Trials that two looks can take: with an alarm, side by side, 2 [K (n1 + n3) + cap (n2 - n3)].

    Where a stored base screens, the first look runs head alone; where base cannot be run, head alone is run in both.

    Args:
        cases: K, cases that both sides have. settings: see there.

    Raises:
        ValueError: a negative number of cases.
    """
    if cases < 0:
        raise ValueError(f"a number of cases from 0 on is needed, not {cases}")
    first_sides = 2 if settings.mode == "side-by-side" else 1
    fresh_sides = 1 if settings.mode == "split" else 2
    most_suspects = min(cases, settings.cap_of(cases) * (2 if settings.both else 1))
    first = first_sides * cases * settings.n1
    without = first + fresh_sides * most_suspects * settings.n2
    others = fresh_sides * (cases - most_suspects) * settings.n3 if settings.alarm > 0.0 else 0
    return CostBound(first, without, without + others)


def largest_rejecting(n: int, suspects: int, level: float) -> int | None:
    """The most passes of n with which a case that passed all n on base is named among so many testable suspects.

    Args:
        n: trials a side. suspects: m, at least 1; the smallest p is multiplied by it.
        level: what single cases may spend, half of alpha.

    Returns:
        The number, or None when not even zero passes would do.

    Raises:
        ValueError: n or suspects below 1.
    """
    if suspects < 1:
        raise ValueError(f"at least one suspect is needed, not {suspects}")
    found = None
    for passes in range(n):
        if round(case_exact(n, n, passes, n).p_less * suspects, DECIMALS) > level:
            break
        found = passes
    return found


def least_cut(n1: int) -> float:
    """The smallest cut with which any case can be suspected: p of n1/n1 on base against 0/n1 on head."""
    return round(case_exact(n1, n1, 0, n1).p_less, DECIMALS)


def chance_to_find(rate: float, settings: SecondLookSettings, *, suspects: int = 3) -> float:
    """Chance that a case that always passed is named after falling to `rate`.

    It must be seen in the first look (side by side: it fails at least once, as far as the cut allows) and then be
    rejected by its fresh trials: (1 - q^n1) P(Bin(n2, q) <= k) at the usual cut.

    Args:
        rate: q, its true rate on head, in [0, 1]. settings: see there.
        suspects: m, testable suspects with this one among them; that it is not cut off by the cap is taken for granted.

    Raises:
        ValueError: a rate outside [0, 1], or suspects below 1.
    """
    n1 = settings.n1
    seen = [c for c in range(n1) if round(case_exact(n1, n1, c, n1).p_less, DECIMALS) <= settings.cut]
    most = largest_rejecting(settings.n2, suspects, settings.alpha / 2.0)
    if not seen or most is None:
        return 0.0
    return _binomial_at_most(seen[-1], n1, rate) * _binomial_at_most(most, settings.n2, rate)


@lru_cache(maxsize=256)
def fixed_repeats(settings: SecondLookSettings, *, testable: int, rate: float = 0.5) -> int | None:
    """The fixed number of repeats that finds a fallen case as often as two looks do.

    It is the smallest N with which a case that always passed and fell to `rate` is named at least as often. With a
    fixed N all testable cases share the budget, not only the suspects; those that varied in the first look are counted,
    of which there would be more at a larger N, so N is a cautious figure.

    Args:
        settings: of the two looks. testable: cases that share the budget, with the fallen one among them, at least 1.
        rate: true rate of the fallen case on head, in [0, 1].

    Returns:
        N, or None when there is none up to 200, or two looks find nothing.

    Raises:
        ValueError: a rate outside [0, 1], or testable below 1.
    """
    wanted = chance_to_find(rate, settings, suspects=min(testable, 3))
    for n in range(1, MAX_FIXED + 1) if wanted > 0.0 else ():
        most = largest_rejecting(n, testable, settings.alpha / 2.0)
        if most is not None and _binomial_at_most(most, n, rate) >= wanted:
            return n
    return None


def _binomial_at_most(most: int, n: int, rate: float) -> float:
    """P(X <= most) for X binomial(n, rate)."""
    if not 0.0 <= rate <= 1.0:
        raise ValueError(f"the rate must lie between 0 and 1, not {rate!r}")
    return min(1.0, math.fsum(math.comb(n, c) * rate**c * (1.0 - rate) ** (n - c) for c in range(most + 1)))
