"""The whole calibration: every cell of the grid on all processors, then the scenario of regressgate."""

from __future__ import annotations

import os
import platform
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import numpy
import scipy

from benchmarks.calibration import cells, scenario
from benchmarks.calibration.results import CellResult, Results, ScenarioResult
from repeat_eval.version import __version__

SAMPLE = 50
"""Pairs of runs of each cell and row that the program itself decides as well: one a suite."""


@dataclass(frozen=True, slots=True)
class Size:
    """Pairs of runs: in a cell without a change, in a cell with one, in a row of the scenario, and by regressgate."""

    null: int = 20_000
    power: int = 4_000
    scenario: int = 20_000
    regressgate: int = 1_000

    def scaled(self, scale: float) -> Size:
        """Smaller, at least 50 pairs everywhere."""
        numbers = (self.null, self.power, self.scenario, self.regressgate)
        return Size(*(max(50, round(number * scale)) for number in numbers))


def calibrate(
    size: Size, *, seed: int, grid: Sequence[cells.Cell] | None = None, peers: bool = True, sample: int = SAMPLE
) -> Results:
    """Measure everything.

    Args:
        size: numbers of simulated pairs of runs.
        seed: of all draws.
        grid: some of the cells; None for all.
        peers: whether regressgate is installed and run; otherwise, or when pip cannot, its figures stay unknown.
        sample: pairs of each cell and row that the program itself decides as well.

    Raises:
        CalibrationBroken: the quick path and the program disagree.
        subprocess.CalledProcessError: regressgate's program failed.
    """
    chosen = cells.grid() if grid is None else grid
    # Each process has one core; libraries that start threads of their own would only get in each other's way.
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        measured = list(pool.map(partial(_cell, size=size, seed=seed, sample=sample), chosen, chunksize=4))
        of_row = partial(scenario.measure, seed=seed, replicates=size.scenario, sample=sample)
        rows = list(pool.map(of_row, *zip(*scenario.settings(), strict=True)))
    versions = {
        "repeat-eval": __version__,
        "Python": platform.python_version(),
        "numpy": numpy.__version__,
        "scipy": scipy.__version__,
    }
    if peers:
        with tempfile.TemporaryDirectory(prefix="repeat-eval-peers-") as folder:
            python = scenario.peer_environment(Path(folder) / "venv")
            if python is not None:
                rows = scenario.beside_regressgate(
                    rows, python, seed=seed, replicates=size.scenario, judged=size.regressgate
                )
                versions["regressgate"] = scenario.PEERS.read_text(encoding="utf-8").split("regressgate==")[1].strip()
    print(f"the program itself decided {sum(one.checked for one in measured):,} of the pairs too", file=sys.stderr)
    return Results(
        seed=seed,
        versions=versions,
        replicates={
            "null": size.null,
            "power": size.power,
            "scenario": size.scenario,
            "regressgate": size.regressgate,
        },
        checked=sum(one.checked for one in measured) + sample * len(rows),
        methods=cells.METHODS,
        cells=tuple(_result(one) for one in measured),
        scenario=tuple(
            ScenarioResult(row.change, row.repeats, row.rates, row.paired_gate, row.regressgate) for row in rows
        ),
    )


def _cell(cell: cells.Cell, *, size: Size, seed: int, sample: int) -> cells.Measured:
    replicates = size.null if cell.kind is None else size.power
    return cells.measure(cell, seed=seed, replicates=replicates, sample=sample)


def _result(one: cells.Measured) -> CellResult:
    cell = one.cell
    return CellResult(cell.population, cell.cases, cell.base_n, cell.head_n, cell.kind or "", one.rates)
