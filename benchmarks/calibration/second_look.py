"""The second look beside fixed numbers of repeats: false blocks, power and cost, on many simulated pull requests.

What `repeat_eval.statistics.second_look` decides for one pair of runs is decided here for thousands at once, with the
program's own p-values a case and the suite test of `fast`. On a sample of every cell the program decides too.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfc, ndtri

from benchmarks.calibration.fast import CalibrationBroken, Counts, Flags, suite_p_down
from benchmarks.calibration.populations import POPULATIONS, Rates
from repeat_eval.statistics.comparison import case_exact
from repeat_eval.statistics.counts import Row
from repeat_eval.statistics.gates import DECIMALS
from repeat_eval.statistics.second_look import CLAMP, SecondLookSettings, second_look

SUITES = ("solid", "nearperf", "ushape", "flaky")
"""The four populations of the second look."""
CASES = (8, 24, 50, 100)
ALPHAS = (0.05, 0.01)
FIXED = (5, 10, 20)
LOOKS: dict[str, tuple[int, int]] = {"3+10": (3, 10), "3+20": (3, 20), "5+20": (5, 20)}
METHODS = (*(f"fixed {n}" for n in FIXED), *LOOKS)

NO_CHANGE = "no change"
ABOUT = {
    NO_CHANGE: "head is base",
    "b.2": "one case falls from 1 to 0.2",
    "b.5": "one case falls from 1 to 0.5",
    "few": "5 % of the cases, at least one, lose half of their rate",
    "broad": "every case loses 6 % of its rate",
    "logit": "every flaky case loses half a logit",
}
"""Kinds of change."""

_STREAM = 2_000_000
"""These cells draw from streams beyond those of the other parts."""


@dataclass(frozen=True, slots=True)
class Cell:
    """What is simulated; `number` is its place in the whole grid."""

    number: int
    population: str
    cases: int
    alpha: float
    change: str


@dataclass(frozen=True, slots=True)
class Measured:
    """A cell, by method: how often a pull request is blocked, how often some healthy case is named, and the cost.

    Attributes:
        cell: what was simulated. replicates: simulated pull requests. checked: those the program decided as well.
        blocked: share of pull requests with a red gate.
        wrong: share in which a case that did not fall was named.
        cost: mean trials of both sides divided by 2 K: what compares with a fixed number of repeats.
        alarms: share in which every case was re-run.
    """

    cell: Cell
    replicates: int
    checked: int
    blocked: dict[str, float]
    wrong: dict[str, float]
    cost: dict[str, float]
    alarms: dict[str, float]


@dataclass(frozen=True, slots=True)
class Blocks:
    """One method on all simulated pull requests: what it blocks, which cases it names, trials of both sides, alarms."""

    blocked: Flags
    named: Flags
    trials: NDArray[np.int64]
    alarm: Flags


def grid(*, changes: tuple[str, ...] = tuple(ABOUT), alphas: tuple[float, ...] = ALPHAS) -> list[Cell]:
    """All cells, those without a change first."""
    return [
        Cell(number, population, cases, alpha, change)
        for number, (change, alpha, population, cases) in enumerate(product(ABOUT, ALPHAS, SUITES, CASES))
        if change in changes and alpha in alphas
    ]


def measure(cell: Cell, *, seed: int, replicates: int, sample: int) -> Measured:
    """Simulate a cell.

    Args:
        cell: what to simulate. seed: of all draws; a cell draws from its own stream.
        replicates: pull requests, each with a suite of its own.
        sample: pull requests that the program itself decides as well, by every way of looking twice.

    Raises:
        CalibrationBroken: the program decides otherwise on one of the sample.
    """
    random = np.random.default_rng([seed, _STREAM + cell.number])
    base, head = rates(cell, replicates, random)
    fell = head < base
    found = {f"fixed {n}": fixed(base, head, n, cell.alpha, random) for n in FIXED}
    for name, (n1, n2) in LOOKS.items():
        settings = SecondLookSettings(alpha=cell.alpha, n1=n1, n2=n2)
        found[name] = look_twice(base, head, settings, random, sample=sample)

    def share(flags: Flags) -> float:
        return round(float(flags.mean()), 5)

    return Measured(
        cell=cell,
        replicates=replicates,
        checked=min(sample, replicates) * len(LOOKS),
        blocked={name: share(one.blocked) for name, one in found.items()},
        wrong={name: share(np.asarray((one.named & ~fell).any(axis=1))) for name, one in found.items()},
        cost={name: round(float(one.trials.mean()) / (2 * cell.cases), 4) for name, one in found.items()},
        alarms={name: share(one.alarm) for name, one in found.items()},
    )


def rates(cell: Cell, replicates: int, random: np.random.Generator) -> tuple[Rates, Rates]:
    """True pass rates of base and head: one row a pull request, one column a case."""
    shape = (replicates, cell.cases)
    base = POPULATIONS[cell.population](random, shape)
    if cell.change == NO_CHANGE:
        return base, base
    rows = np.arange(replicates)
    if cell.change in ("b.2", "b.5"):
        case = random.integers(0, cell.cases, replicates)
        base[rows, case] = 1.0
        head = base.copy()
        head[rows, case] = float(cell.change[1:])
    elif cell.change == "few":
        head = base.copy()
        fallen = np.argsort(random.random(shape), axis=1)[:, : max(1, round(cell.cases / 20))]
        head[rows[:, None], fallen] /= 2.0
    elif cell.change == "broad":
        head = base * 0.94
    else:
        odds = np.exp(-0.5)
        head = np.where((base > 0.0) & (base < 1.0), base * odds / (1.0 - base + base * odds), base)
    return base, head


def fixed(base: Rates, head: Rates, n: int, alpha: float, random: np.random.Generator) -> Blocks:
    """The regression gate after a fixed number of repeats."""
    one, other = random.binomial(n, base), random.binomial(n, head)
    table = case_table(n, n)
    named = holm(table.p[one, other], table.smallest[one, other], alpha / 2.0)
    red = np.round(suite_p_down(one, n, other, n), DECIMALS) < alpha / 2.0
    trials = np.full(len(base), 2 * n * base.shape[1])
    return Blocks(red | named.any(axis=1), named, trials, np.zeros(len(base), dtype=np.bool_))


def look_twice(
    base: Rates, head: Rates, settings: SecondLookSettings, random: np.random.Generator, *, sample: int = 0
) -> Blocks:
    """The regression gate after two looks, step by step as the program takes them."""
    runs, cases = base.shape
    n1, n2, n3, half = settings.n1, settings.n2, settings.n3, settings.alpha / 2.0
    first = random.binomial(n1, base), random.binomial(n1, head)
    p1 = suite_p_down(first[0], n1, first[1], n1)
    alarm = np.round(p1, DECIMALS) < settings.alarm
    places, chosen = _suspects(*first, settings)
    # The first n3 fresh trials of every case; only those of re-run cases are looked at.
    begun = random.binomial(n3, base), random.binomial(n3, head)
    row = np.arange(runs)[:, None]
    fresh = tuple(
        np.where(chosen, part[row, places] + random.binomial(n2 - n3, side[row, places]), 0)
        for part, side in zip(begun, (base, head), strict=True)
    )
    table = case_table(n2, n2)
    smallest = np.where(chosen, table.smallest[fresh], 1.0)
    rejected = holm(table.p[fresh], smallest, half)
    # A suspect that is none has no passes and so adds nothing.
    p2 = np.where(alarm, suite_p_down(begun[0], n3, begun[1], n3), suite_p_down(fresh[0], n2, fresh[1], n2))
    z1, z2 = (-ndtri(np.clip(p, CLAMP, 1.0 - CLAMP)) for p in (p1, p2))
    combined = erfc((z1 + z2) / 2.0) / 2.0
    red = (np.round(combined, DECIMALS) < half) & (np.round(p2, DECIMALS) < 0.5)
    named = np.zeros((runs, cases), dtype=np.bool_)
    np.put_along_axis(named, places, rejected, axis=1)
    suspects = chosen.sum(axis=1)
    trials = 2 * (cases * n1 + suspects * n2 + np.where(alarm, (cases - suspects) * n3, 0))
    found = Blocks(red | rejected.any(axis=1), named, trials, alarm)
    _check(found, (first, begun, fresh), (places, chosen), settings, min(sample, runs))
    return found


@dataclass(frozen=True, slots=True)
class Table:
    """The program's one-sided p of each possible case, and the smallest that it could have had."""

    p: NDArray[np.float64]
    smallest: NDArray[np.float64]


@lru_cache(maxsize=16)
def case_table(base_n: int, head_n: int) -> Table:
    """p by passes on base and on head, rounded as the program rounds it."""
    tests = [[case_exact(b, base_n, h, head_n) for h in range(head_n + 1)] for b in range(base_n + 1)]
    p = np.array([[test.p_less for test in row] for row in tests])
    smallest = np.array([[test.smallest_less for test in row] for row in tests])
    return Table(np.round(p, DECIMALS), np.round(smallest, DECIMALS))


def holm(p: NDArray[np.float64], smallest: NDArray[np.float64], level: float) -> Flags:
    """Which cases Holm rejects among the testable ones of each row: the j-th of m while p (m - j + 1) <= level."""
    testable = smallest <= level
    sorted_p = np.where(testable, p, np.inf)
    order = np.argsort(sorted_p, axis=1, kind="stable")
    number = testable.sum(axis=1)[:, None] - np.arange(p.shape[1])
    ranked = np.take_along_axis(sorted_p, order, axis=1)
    with np.errstate(invalid="ignore"):
        held = (number > 0) & (np.round(ranked * np.maximum(number, 1), DECIMALS) <= level)
    rejected = np.zeros_like(testable)
    np.put_along_axis(rejected, order, np.logical_and.accumulate(held, axis=1), axis=1)
    return rejected


def _suspects(base: Counts, head: Counts, settings: SecondLookSettings) -> tuple[NDArray[np.int64], Flags]:
    """Places of the first `cap` cases in each row by suspicion, and which of them are suspects at all."""
    n1, cases = settings.n1, base.shape[1]
    p = case_table(n1, n1).p
    pairs = [(b, h) for b, h in product(range(n1 + 1), repeat=2) if h < b and p[b, h] <= settings.cut]
    pairs.sort(key=lambda pair: (p[pair], -pair[0]))
    none = len({(p[pair], -pair[0]) for pair in pairs})
    rank = np.full((n1 + 1, n1 + 1), none)
    keys = sorted({(p[pair], -pair[0]) for pair in pairs})
    for pair in pairs:
        rank[pair] = keys.index((p[pair], -pair[0]))
    ranks = rank[base, head]
    places = np.argsort(ranks, axis=1, kind="stable")[:, : min(cases, settings.cap_of(cases))]
    return places, np.take_along_axis(ranks, places, axis=1) < none


def _check(
    found: Blocks,
    looks: tuple[tuple[Counts, Counts], tuple[Counts, Counts], tuple[Counts, ...]],
    suspects: tuple[NDArray[np.int64], Flags],
    settings: SecondLookSettings,
    sample: int,
) -> None:
    """Hold the first rows against the program itself."""
    (first, begun, fresh), (places, chosen) = looks, suspects
    n1, n2, n3 = settings.n1, settings.n2, settings.n3
    for run in range(sample):

        def rows(look: tuple[Counts, ...], n: int, run: int = run) -> list[Row]:
            return [(int(b), n, int(h), n) for b, h in zip(look[0][run], look[1][run], strict=True)]

        whole = dict(enumerate(rows(begun, n3)))
        again = {
            int(place): row
            for place, row, is_one in zip(places[run], rows(fresh, n2), chosen[run], strict=True)
            if is_one
        }
        rerun = whole | again if found.alarm[run] else again
        ours = second_look(rows(first, n1), rerun, settings, fresh_suite=whole)
        trials = 2 * (n1 * len(whole) + sum(ours.first.rerun.values()))
        same = (
            ours.down.changed == found.blocked[run]
            and sorted(ours.down.rejected) == np.flatnonzero(found.named[run]).tolist()
            and ours.first.alarm == found.alarm[run]
            and sorted(ours.first.down.suspects) == sorted(again)
            and trials == found.trials[run]
        )
        if not same:
            raise CalibrationBroken(f"the quick path differs from the program on {rows(first, n1)} and {again}")
