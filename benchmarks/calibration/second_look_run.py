"""All cells of the second look on all processors; its goals; what was found as second_look.json and second_look.md."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from math import ceil
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from benchmarks.calibration import scenario, second_look
from benchmarks.calibration.results import mean
from benchmarks.calibration.second_look import ABOUT, ALPHAS, CASES, METHODS, NO_CHANGE, SUITES, Measured
from repeat_eval.statistics.second_look import SecondLookSettings

FOLDER = Path(__file__).parent
SEED = 7
NULL, POWER = 20_000, 2_000
"""Pull requests a cell, without a change and with one. The goals look at the worst of 48 cells, and with 4,000 a true
0.8 % can show as 1.2 %: the standard error of one cell is 0.14 points, with 20,000 it is 0.06."""
SAMPLE = 20
PEER_CASES = 24
CHOSEN = "3+20"
"""What the goals are set for."""
MAX_FALSE_BLOCKS = {0.05: 0.05, 0.01: 0.011}
MIN_FOUND = 0.78
MAX_COST = 5.2


@dataclass(frozen=True, slots=True)
class Beside:
    """Two looks and regressgate on the same true rates, regressgate with at least as many calls.

    Attributes:
        population: the suites. change: a name in `ABOUT`.
        cost: mean repeats that 3+20 took. repeats: what regressgate got: the next whole number.
        ours: share that 3+20 blocks. fixed: our gate with as many repeats. regressgate: its own gate on the same pairs.
        pairs: pull requests that were judged.
    """

    population: str
    change: str
    cost: float
    repeats: int
    ours: float
    fixed: float
    regressgate: float
    pairs: int


@dataclass(frozen=True, slots=True)
class Goal:
    """What is promised, what was measured, and whether it holds."""

    name: str
    value: float
    limit: float
    least: bool = False

    @property
    def met(self) -> bool:
        """Whether the value keeps to the limit."""
        return self.value >= self.limit if self.least else self.value <= self.limit


def run(
    *, seed: int, null: int, power: int, alphas: Sequence[float], sample: int, cases: Sequence[int] = CASES
) -> list[Measured]:
    """Measure every cell of these sizes.

    Args:
        seed: of all draws. null: pull requests in a cell without a change. power: in one with a change.
        alphas: levels. sample: pull requests of each cell that the program itself decides as well. cases: sizes.
    """
    cells = [cell for cell in second_look.grid(alphas=tuple(alphas)) if cell.cases in cases]
    # Each process has one core; libraries that start threads of their own would only get in each other's way.
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        return list(pool.map(partial(_measure, seed=seed, null=null, power=power, sample=sample), cells, chunksize=2))


def goals(found: Iterable[Measured]) -> list[Goal]:
    """What the second look promises, as far as the cells that were measured can tell."""
    listed = list(found)
    kept: list[Goal] = []
    for alpha, limit in MAX_FALSE_BLOCKS.items():
        null = _chosen(listed, alpha=alpha, change=NO_CHANGE)
        if null:
            worst = max(cell.blocked[name] for cell in null for name in second_look.LOOKS)
            kept.append(Goal(f"false blocks at alpha {alpha}, worst cell of all looks", worst, limit))
            kept.append(Goal(f"false blocks at alpha {alpha}, worst cell of {CHOSEN}", _worst(null, CHOSEN), limit))
        wrong = [max(cell.wrong[name] for name in second_look.LOOKS) for cell in listed if cell.cell.alpha == alpha]
        if wrong:
            kept.append(Goal(f"a healthy case named at alpha {alpha}, worst cell", max(wrong), alpha))
    found_half = _chosen(listed, alpha=0.05, change="b.5", cases=24)
    if found_half:
        share = mean(cell.blocked[CHOSEN] for cell in found_half)
        kept.append(Goal(f"b.5 found by {CHOSEN}, 24 cases, mean of populations", share, MIN_FOUND, least=True))
    unchanged = _chosen(listed, alpha=0.05, change=NO_CHANGE, cases=24)
    if unchanged:
        cost = mean(cell.cost[CHOSEN] for cell in unchanged)
        kept.append(Goal(f"repeats that {CHOSEN} costs, 24 cases, nothing changed", cost, MAX_COST))
    return kept


def beside_regressgate(python: Path, *, seed: int, pairs: int, cost: Callable[[str, str], float]) -> list[Beside]:
    """3+20 and regressgate on the same true rates of 24 cases.

    Args:
        python: an interpreter that has regressgate. seed: of all draws. pairs: pull requests a row.
        cost: mean repeats that 3+20 takes, by population and change.
    """
    cells = [
        cell
        for cell in second_look.grid(changes=(NO_CHANGE, "b.2", "b.5", "broad"), alphas=(0.05,))
        if cell.cases == PEER_CASES
    ]

    def judge(cell: second_look.Cell) -> Beside:
        random = np.random.default_rng([seed, 1, cell.number])
        base, head = second_look.rates(cell, pairs, random)
        looks = second_look.look_twice(base, head, SecondLookSettings(), random)
        mean_cost = cost(cell.population, cell.change)
        repeats = ceil(mean_cost)
        one, other = random.binomial(repeats, base), random.binomial(repeats, head)
        blocked = scenario.regressgate_blocks(python, one, other, repeats, f"{cell.population}, {cell.change}")
        fixed = second_look.fixed(base, head, repeats, 0.05, random)
        return Beside(
            population=cell.population,
            change=cell.change,
            cost=round(mean_cost, 2),
            repeats=repeats,
            ours=round(float(looks.blocked.mean()), 4),
            fixed=round(float(fixed.blocked.mean()), 4),
            regressgate=round(sum(blocked) / pairs, 4),
            pairs=pairs,
        )

    with ThreadPoolExecutor(os.cpu_count() or 1) as threads:
        return list(threads.map(judge, cells))


def page(found: Sequence[Measured], beside: Sequence[Beside]) -> str:
    """What was found, as Markdown."""
    counts = {True: 0, False: 0}
    for one in found:
        counts[one.cell.change == NO_CHANGE] = one.replicates
    parts = [
        "# Calibration of the second look: results",
        "Made by `python -m benchmarks.calibration second-look`. A pull request is blocked when the regression gate is "
        "red. N: mean trials of both sides divided by twice the cases, which compares with a fixed number of repeats. "
        f"Populations: {', '.join(SUITES)}; {counts[True]:,} pull requests in each cell without a change, "
        f"{counts[False]:,} in each with one; "
        f"{sum(one.checked for one in found):,} were decided by the program itself too, with the same result.",
        "Changes: " + "; ".join(f"{name}: {about}" for name, about in ABOUT.items()) + ".",
        "## Goals",
        _table(
            ["goal", "measured", "limit", "met"],
            [[g.name, _number(g), _limit(g), "yes" if g.met else "**no**"] for g in goals(found)],
        ),
    ]
    for alpha in sorted({one.cell.alpha for one in found}, reverse=True):
        parts += [
            f"## Blocked pull requests at alpha {alpha}, in per cent, mean of the populations",
            _shares(found, alpha),
        ]
    if beside:
        pairs = beside[0].pairs
        parts += [
            f"## Beside regressgate, {PEER_CASES} cases, {pairs:,} pull requests a row, in per cent",
            "regressgate gets as many repeats as 3+20 takes on the average, rounded up.",
            _table(
                ["population", "change", "N of 3+20", "repeats", "3+20", "our gate, fixed", "regressgate"],
                [
                    [
                        b.population,
                        b.change,
                        f"{b.cost:.1f}",
                        str(b.repeats),
                        *map(_percent, (b.ours, b.fixed, b.regressgate)),
                    ]
                    for b in beside
                ],
            ),
        ]
    return "\n\n".join(parts) + "\n"


def main(arguments: Sequence[str]) -> int:
    """Calibrate the second look; 0 when everything ran and every goal was met, 1 otherwise."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.calibration second-look", description=__doc__)
    parser.add_argument("--seed", type=int, default=SEED, help=f"of all draws (default {SEED})")
    parser.add_argument(
        "--replicates", type=int, default=NULL, help=f"pull requests a cell without a change (default {NULL})"
    )
    parser.add_argument(
        "--power-replicates", type=int, default=POWER, help=f"pull requests a cell with a change (default {POWER})"
    )
    parser.add_argument("--alpha", type=float, action="append", choices=ALPHAS, help="one level only")
    parser.add_argument("--cases", type=int, action="append", choices=CASES, help="one size only")
    parser.add_argument("--peer-pairs", type=int, default=500, help="pull requests a row beside regressgate")
    parser.add_argument("--no-peers", action="store_true", help="without regressgate, which is installed for it")
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="write there, not into benchmarks/calibration")
    chosen = parser.parse_args(list(arguments))
    begin = time.perf_counter()
    found = run(
        seed=chosen.seed,
        null=chosen.replicates,
        power=chosen.power_replicates,
        alphas=chosen.alpha or ALPHAS,
        sample=SAMPLE,
        cases=chosen.cases or CASES,
    )
    print(f"simulated in {time.perf_counter() - begin:.0f} s", file=sys.stderr)
    whole = not (chosen.alpha or chosen.cases) and chosen.replicates >= NULL
    beside: list[Beside] = []
    if not chosen.no_peers:
        with tempfile.TemporaryDirectory(prefix="repeat-eval-peers-") as folder:
            python = scenario.peer_environment(Path(folder) / "venv")
            if python is not None:
                beside = beside_regressgate(
                    python, seed=chosen.seed, pairs=chosen.peer_pairs, cost=partial(_cost_in, found)
                )
    table = page(found, beside)
    if chosen.out is None and not (whole and beside):
        print("not kept: the files in the repository hold whole calibrations only; see --out", file=sys.stderr)
    else:
        out = chosen.out or FOLDER
        out.mkdir(parents=True, exist_ok=True)
        lines = ",\n".join(json.dumps(asdict(one)) for one in found)
        peers = ",\n".join(json.dumps(asdict(one)) for one in beside)
        (out / "second_look.json").write_text(
            f'{{"seed": {chosen.seed},\n"cells": [\n{lines}\n],\n"regressgate": [\n{peers}\n]}}\n', encoding="utf-8"
        )
        (out / "second_look.md").write_text(table, encoding="utf-8")
    print(table)
    return 0 if all(goal.met for goal in goals(found)) else 1


def _measure(cell: second_look.Cell, *, seed: int, null: int, power: int, sample: int) -> Measured:
    return second_look.measure(cell, seed=seed, replicates=null if cell.change == NO_CHANGE else power, sample=sample)


def _chosen(found: Iterable[Measured], *, alpha: float, change: str, cases: int | None = None) -> list[Measured]:
    return [
        one
        for one in found
        if one.cell.alpha == alpha and one.cell.change == change and cases in (None, one.cell.cases)
    ]


def _cost_in(found: Sequence[Measured], population: str, change: str) -> float:
    """Mean repeats of 3+20 with 24 cases at 0.05; where that was not measured, what it costs when nothing changes."""
    for one in found:
        cell = one.cell
        if (cell.population, cell.change, cell.cases, cell.alpha) == (population, change, PEER_CASES, 0.05):
            return one.cost[CHOSEN]
    return 5.0


def _worst(cells: Iterable[Measured], method: str) -> float:
    return max(one.blocked[method] for one in cells)


def _shares(found: Sequence[Measured], alpha: float) -> str:
    sizes = sorted({one.cell.cases for one in found})
    rows = []
    for method in METHODS:
        for cases in sizes:
            null = _chosen(found, alpha=alpha, change=NO_CHANGE, cases=cases)
            shares = [
                mean(one.blocked[method] for one in _chosen(found, alpha=alpha, change=change, cases=cases))
                for change in ABOUT
            ]
            cost = mean(one.cost[method] for one in null)
            rows.append([method, str(cases), f"{cost:.1f}", *map(_percent, shares), _percent(_worst(null, method))])
    return _table(["method", "cases", "N", *ABOUT, "no change, worst"], rows)


def _number(goal: Goal) -> str:
    return f"{goal.value:.2f}" if goal.limit > 1 else f"{goal.value * 100:.2f} %"


def _limit(goal: Goal) -> str:
    shown = f"{goal.limit:.1f}" if goal.limit > 1 else f"{goal.limit * 100:.1f} %"
    return f"{'at least' if goal.least else 'at most'} {shown}"


def _percent(share: float) -> str:
    return f"{share * 100:.1f}"


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
