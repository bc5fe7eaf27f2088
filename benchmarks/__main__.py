"""`python -m benchmarks [NAME...]`: measure, print one table, and keep the figures in benchmarks/results."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from benchmarks.calibration import bench as calibration
from benchmarks.speed import clusters, commands, files, functions, limited, page, reading, replaying, starting, waiting
from benchmarks.speed.figures import Bench, Figure
from benchmarks.speed.measuring import BenchmarkBroken

BENCHMARKS: dict[str, Callable[[Bench], Iterable[Figure]]] = {
    "start": starting.smallest,
    "api": functions.through_api,
    "workers": functions.through_workers,
    "growth": functions.growth,
    "memory": functions.peak_memory,
    "commands": commands.against_raw,
    "waiting": waiting.fifty_workers,
    "replay": replaying.two_thousand_trials,
    "limited": limited.two_hundred_trials,
    "cluster": clusters.on_a_cluster,
    "reading": reading.reading,
    "report": files.report,
    "compare": files.compare,
    "page": page.page,
    "calibration": calibration.false_alarms_and_power,
}
RESULTS = Path(__file__).parent / "results"
TINY = 0.004
"""Scale of --tiny: whether each benchmark runs, not what it measures."""
_DIGITS = {"us": 1, "s": 3, "MB": 1, "x": 2, "%": 1}
_UNITS = {"us": "µs", "s": "s", "MB": "MB", "x": "×", "%": "%"}
_HEADINGS: tuple[str, ...] = ("figure", "median", "best", "goal", "met", "processor", "× raw")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmarks that were named; 0 when all ran, 2 when one could not, whatever they measured."""
    chosen = _parser().parse_args(arguments)
    if chosen.list:
        for name, benchmark in BENCHMARKS.items():
            print(f"{name:<10} {_about(benchmark)}")
        return 0
    names = chosen.names or list(BENCHMARKS)
    if unknown := [name for name in names if name not in BENCHMARKS]:
        print(f"unknown benchmark {unknown[0]!r}; there are {', '.join(BENCHMARKS)}", file=sys.stderr)
        return 2
    rounds, scale = (1, TINY) if chosen.tiny else (chosen.rounds, 1.0)
    measured: dict[str, list[Figure]] = {}
    broken = False
    for name in names:
        begin = time.perf_counter()
        with tempfile.TemporaryDirectory(prefix="repeat-eval-bench-") as folder:
            try:
                figures = list(BENCHMARKS[name](Bench(Path(folder), rounds, scale)))
            except BenchmarkBroken as error:
                print(f"{name}: {error}", file=sys.stderr)
                broken = True
                continue
        # Goals are set for the real sizes.
        measured[name] = [replace(figure, goal=None) for figure in figures] if chosen.tiny else figures
        if not chosen.quiet:
            print(f"{name}: measured in {time.perf_counter() - begin:.0f} s", file=sys.stderr)
        _keep(chosen.results / f"{name}.json", name, measured[name], rounds, scale)
    print(table(measured))
    print("\nMedians of interleaved rounds in fresh processes; processor is user and system time, in the same unit.")
    return 2 if broken else 0


def table(measured: dict[str, list[Figure]]) -> str:
    """All figures as one table of plain text."""
    rows = [_HEADINGS, *(_row(name, figure) for name, figures in measured.items() for figure in figures)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADINGS))]
    lines = []
    for row in rows:
        cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        lines.append("  ".join(cells).rstrip())
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(lines)


def _row(name: str, figure: Figure) -> tuple[str, ...]:
    def shown(value: float | None) -> str:
        return "" if value is None else f"{value:,.{_DIGITS[figure.unit]}f} {_UNITS[figure.unit]}"

    met = "" if figure.met is None else "yes" if figure.met else "NO"
    raw = "" if figure.raw is None else f"{figure.raw:.1f}"
    values = (shown(figure.value), shown(figure.best), shown(figure.goal))
    return (f"{name}: {figure.name}", *values, met, shown(figure.processor), raw)


def _keep(path: Path, name: str, figures: Sequence[Figure], rounds: int, scale: float) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    kept = {
        "benchmark": name,
        "rounds": rounds,
        "scale": scale,
        "python": platform.python_version(),
        "processors": os.cpu_count(),
        "load": [round(load, 2) for load in os.getloadavg()],
        "figures": [{**asdict(figure), "met": figure.met} for figure in figures],
    }
    path.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _about(benchmark: Callable[[Bench], Iterable[Figure]]) -> str:
    return (benchmark.__doc__ or "").strip().splitlines()[0]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="which; without any, all of them")
    parser.add_argument("--list", action="store_true", help="say what each of them measures, and measure nothing")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each command (default 5)")
    parser.add_argument("--tiny", action="store_true", help="tiny sizes and one round: does everything run?")
    parser.add_argument("--results", type=Path, default=RESULTS, metavar="FOLDER", help="where the figures are kept")
    parser.add_argument("--quiet", action="store_true", help="only the table")
    return parser


if __name__ == "__main__":
    sys.exit(main())
