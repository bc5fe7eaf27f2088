"""One cell of the grid: a population, a size, a kind of change. How often does each method alarm there?"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from benchmarks.calibration import peers
from benchmarks.calibration.fast import ALPHA, check, decisions, fell
from benchmarks.calibration.populations import KINDS, POPULATIONS, draw, worsened
from benchmarks.calibration.results import ANY_DROP, GATE, SUITE
from repeat_eval.statistics.gates import DECIMALS

METHODS = (SUITE, GATE, *peers.TESTS, ANY_DROP)
"""Ours first. The tests are two-sided at 5 %; the gate and any drop look downwards only."""

CASES = (5, 20, 100)
REPEATS = ((3, 3), (5, 5), (10, 10), (20, 20), (5, 10), (20, 3), (3, 20), (10, 5), (3, 10))
SUITES = 50
"""Suites drawn from the population in each cell; each is run equally often."""


@dataclass(frozen=True, slots=True)
class Cell:
    """What is simulated. `kind` is None where nothing changes; `number` is its place in the whole grid."""

    number: int
    population: str
    cases: int
    base_n: int
    head_n: int
    kind: str | None


@dataclass(frozen=True, slots=True)
class Measured:
    """A cell with the share of pairs of runs in which each method alarmed.

    Without a change that is any rejection, in either direction for the two-sided tests; with one, a rejection
    downwards. `checked` pairs were decided by the program as well.
    """

    cell: Cell
    rates: dict[str, float]
    replicates: int
    checked: int


def grid() -> list[Cell]:
    """All cells: first those without a change."""
    settings = list(product(POPULATIONS, CASES, REPEATS))
    kinds: list[str | None] = [None, *KINDS]
    return [
        Cell(number, population, cases, base_n, head_n, kind)
        for number, (kind, (population, cases, (base_n, head_n))) in enumerate(product(kinds, settings))
    ]


def measure(cell: Cell, *, seed: int, replicates: int, sample: int) -> Measured:
    """Simulate a cell.

    Args:
        cell: what to simulate.
        seed: of the whole calibration; a cell draws from its own stream.
        replicates: pairs of runs, rounded up to a multiple of `SUITES`.
        sample: pairs that the program itself decides as well.

    Raises:
        CalibrationBroken: the program decides otherwise on one of the sample.
    """
    random = np.random.default_rng([seed, cell.number])
    rates = draw(cell.population, SUITES, cell.cases, random, cell.kind)
    changed = rates if cell.kind is None else worsened(rates, cell.kind, cell.base_n, cell.head_n, random)
    each = -(-replicates // SUITES)
    # Suites in turn, so that a sample from the start holds all of them.
    base = random.binomial(cell.base_n, np.tile(rates, (each, 1)))
    head = random.binomial(cell.head_n, np.tile(changed, (each, 1)))
    sides = (base, cell.base_n, head, cell.head_n)
    ours, down = decisions(*sides), fell(*sides)
    wanted = np.ones_like(down) if cell.kind is None else down
    alarms = {SUITE: ours.suite_changed & wanted, GATE: ours.gate}
    for name, test in peers.TESTS.items():
        alarms[name] = (np.round(test(*sides), DECIMALS) < ALPHA) & wanted
    alarms[ANY_DROP] = down
    checked = check(base[:sample], cell.base_n, head[:sample], cell.head_n, ours)
    return Measured(cell, {name: round(float(alarms[name].mean()), 5) for name in METHODS}, len(base), checked)
