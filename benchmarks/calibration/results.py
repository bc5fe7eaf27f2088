"""What a calibration found, as one file that tables and pictures are made of. Standard library only."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).with_name("results.json")

SUITE, GATE, ANY_DROP = "suite test", "regression gate", "any drop"
SUITE_HALF, CASE_HALF = "suite half", "case half"
OURS = (SUITE, GATE)
NO_CHANGE, BROKEN = "no change", "one stable case breaks"
"""Changes of the scenario."""
ALLOWED = 0.059
"""The largest share of false alarms in a cell at a level of 5 %: what is above it is no longer luck of the draw."""


@dataclass(frozen=True, slots=True)
class CellResult:
    """Shares of simulated pairs of runs in which each method alarmed, in one cell; `kind` is "" without a change."""

    population: str
    cases: int
    base_n: int
    head_n: int
    kind: str
    rates: dict[str, float]


@dataclass(frozen=True, slots=True)
class ScenarioResult:
    """As `benchmarks.calibration.scenario.Row`."""

    change: str
    repeats: int
    rates: dict[str, float]
    paired_gate: float | None
    regressgate: float | None


@dataclass(frozen=True, slots=True)
class Results:
    """Everything that a calibration found.

    Attributes:
        seed: of all draws. versions: of what was measured, and of what draws the numbers.
        replicates: pairs of runs a cell or row, by part. checked: pairs that the program itself decided as well.
        methods: in the order of the tables.
        cells: the grid. scenario: regressgate's scenario.
    """

    seed: int
    versions: dict[str, str]
    replicates: dict[str, int]
    checked: int
    methods: tuple[str, ...]
    cells: tuple[CellResult, ...]
    scenario: tuple[ScenarioResult, ...]

    def null(self) -> list[CellResult]:
        """The cells without a change."""
        return [cell for cell in self.cells if not cell.kind]

    def worst(self, method: str) -> CellResult:
        """The cell without a change in which a method alarms most often."""
        return max(self.null(), key=lambda cell: cell.rates[method])

    def holds_level(self, method: str) -> bool:
        """Whether a method's false alarms stay within `ALLOWED` in every cell."""
        return self.worst(method).rates[method] <= ALLOWED

    def power(self, method: str, kind: str, cases: int | None = None) -> float:
        """Mean power over the cells of a kind of change, or over those with so many cases."""
        return mean(cell.rates[method] for cell in self.cells if cell.kind == kind and cases in (None, cell.cases))

    def best_peer(self, kind: str) -> float:
        """The largest mean power of a peer's method that holds its level; 0 when none does."""
        peers = [method for method in self.methods if method not in OURS and self.holds_level(method)]
        return max((self.power(method, kind) for method in peers), default=0.0)


def mean(values: Iterable[float]) -> float:
    """Mean of at least one value."""
    listed = list(values)
    return sum(listed) / len(listed)


def write(results: Results, path: Path) -> None:
    """Write a results file, one line a cell."""
    head = {
        "seed": results.seed,
        "versions": results.versions,
        "replicates": results.replicates,
        "checked": results.checked,
        "methods": results.methods,
    }
    cells = [
        [cell.population, cell.cases, cell.base_n, cell.head_n, cell.kind, *(cell.rates[m] for m in results.methods)]
        for cell in results.cells
    ]
    rows = [[row.change, row.repeats, row.rates, row.paired_gate, row.regressgate] for row in results.scenario]
    parts = [json.dumps(head)[1:-1], f'"cells": {_lines(cells)}', f'"scenario": {_lines(rows)}']
    path.write_text("{" + ",\n".join(parts) + "}\n", encoding="utf-8")


def read(path: Path = RESULTS) -> Results:
    """Read a results file."""
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    methods = tuple(found["methods"])
    return Results(
        seed=found["seed"],
        versions=found["versions"],
        replicates=found["replicates"],
        checked=found["checked"],
        methods=methods,
        cells=tuple(
            CellResult(population, cases, base_n, head_n, kind, dict(zip(methods, rates, strict=True)))
            for population, cases, base_n, head_n, kind, *rates in found["cells"]
        ),
        scenario=tuple(ScenarioResult(*row) for row in found["scenario"]),
    )


def _lines(rows: Sequence[Sequence[object]]) -> str:
    return "[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]"
