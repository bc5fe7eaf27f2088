"""The results as Markdown: `results.md`, which docs/statistics.md includes. Standard library only."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from benchmarks.calibration.results import (
    ALLOWED,
    ANY_DROP,
    CASE_HALF,
    GATE,
    SUITE_HALF,
    CellResult,
    Results,
    ScenarioResult,
    mean,
)

PAGE = Path(__file__).with_name("results.md")
KINDS = {"broad": "broad: every case", "few": "few: some cases", "logit": "logit: flaky cases"}
SCENARIO_REPEATS = (1, 3, 5, 10)


def page(results: Results) -> str:
    """The whole page."""
    parts = [
        "# Calibration: results",
        "Made by `python -m benchmarks.calibration`; what the tables mean stands in docs/statistics.md.",
        tables(results),
    ]
    return "\n\n".join(parts) + "\n"


def tables(results: Results) -> str:
    """The three tables, each with a sentence on how it was made."""
    count = {name: f"{number:,}" for name, number in results.replicates.items()}
    cells = len(results.null())
    parts = [
        f"**False alarms** at a level of 5 %, in per cent: {cells} cells (6 populations × 5, 20, 100 cases × 9 pairs "
        f"of repeats), {count['null']} pairs of unchanged runs in each. A method holds its level if no cell is above "
        f"{ALLOWED * 100:.1f} %.",
        _false_alarms(results),
        f"**Power**, in per cent: mean over {cells} cells a kind of change, {count['power']} pairs of runs in each; "
        "the fall is near 2.8 standard errors.",
        _power(results),
        "**A whole gate**, share of pull requests that are blocked, in per cent: 20 cases, of which 12 always pass, "
        f"4 pass 95 % and 4 pass 80, 70, 60 and 50 %; {count['scenario']} pairs of runs a row. The last two columns "
        f"are both gates on the same {count['regressgate']} of these pairs.",
        _scenario(results),
        _provenance(results),
    ]
    return "\n\n".join(parts)


def _false_alarms(results: Results) -> str:
    null = results.null()
    columns: Sequence[tuple[str, Callable[[str], str]]] = (
        ("mean", lambda method: _percent(mean(cell.rates[method] for cell in null))),
        ("largest, equal N", lambda method: _percent(_largest(null, method, equal=True))),
        ("largest, unequal N", lambda method: _percent(_largest(null, method, equal=False))),
        ("worst cell", lambda method: _where(results.worst(method))),
        ("holds its level", lambda method: "yes" if results.holds_level(method) else "**no**"),
    )
    return _table(
        ["method", *(name for name, _ in columns)],
        ([_name(method), *(shown(method) for _, shown in columns)] for method in results.methods),
    )


def _power(results: Results) -> str:
    sizes = sorted({cell.cases for cell in results.cells})
    tests = [method for method in results.methods if method != ANY_DROP]

    def row(method: str) -> list[str]:
        kinds = [_percent(results.power(method, kind)) for kind in KINDS]
        by_size = [_percent(mean(results.power(method, kind, cases) for kind in KINDS)) for cases in sizes]
        mark = "" if results.holds_level(method) else " †"
        return [_name(method) + mark, *kinds, *by_size]

    table = _table(["method", *KINDS.values(), *(f"{cases} cases" for cases in sizes)], map(row, tests))
    return table + "\n\n† does not hold its level, so part of this power is bought with false alarms."


def _scenario(results: Results) -> str:
    rows = {(row.change, row.repeats): row for row in results.scenario}
    changes = list(dict.fromkeys(row.change for row in results.scenario))
    methods = (GATE, SUITE_HALF, CASE_HALF, "pooled z", "paired t", ANY_DROP)

    def line(row: ScenarioResult) -> list[str]:
        paired = ["–" if share is None else _percent(share) for share in (row.paired_gate, row.regressgate)]
        return [row.change, str(row.repeats), *(_percent(row.rates[method]) for method in methods), *paired]

    heads = ["change", "N", "our gate", *methods[1:], "our gate, same pairs", "regressgate"]
    return _table(heads, (line(rows[change, n]) for change in changes for n in SCENARIO_REPEATS))


def _provenance(results: Results) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in results.versions.items())
    return (
        f"Seed {results.seed}; {versions}. Of the simulated pairs {results.checked:,} were decided by the program "
        "itself as well, with the same result each time."
    )


def _largest(cells: Iterable[CellResult], method: str, *, equal: bool) -> float:
    return max(cell.rates[method] for cell in cells if (cell.base_n == cell.head_n) == equal)


def _where(cell: CellResult) -> str:
    return f"{cell.population}, {cell.cases} cases, {cell.base_n} against {cell.head_n}"


def _name(method: str) -> str:
    return {
        "suite test": "**repeat-eval, suite test**",
        GATE: "**repeat-eval, regression gate**",
        "pooled z": "z test on pooled trials",
        "paired t": "paired t over case rates",
        "McNemar on majorities": "McNemar on majority votes",
    }.get(method, method)


def _percent(share: float) -> str:
    """In per cent with one decimal; what is neither 0 nor 1 does not look like it."""
    shown = f"{share * 100:.1f}"
    if share > 0.0 and shown == "0.0":
        return "< 0.1"
    return "> 99.9" if share < 1.0 and shown == "100.0" else shown


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [heads, ["---", *["---:"] * (len(heads) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
