"""The calibration as a benchmark among the others: in a process of its own, its claims as figures with goals.

Standard library only, as everything that the measuring process loads.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.calibration import results
from benchmarks.calibration.results import ALLOWED, GATE, OURS, Results
from benchmarks.speed.figures import Bench, Figure
from benchmarks.speed.measuring import BenchmarkBroken

ROOT = Path(__file__).parents[2]
KINDS = ("broad", "few", "logit")
MINUTES = 10


def false_alarms_and_power(bench: Bench) -> Iterator[Figure]:
    """Seeded simulations: false alarms and power of the comparison, beside other tests and regressgate's gate."""
    out = bench.folder / "calibration"
    command = [sys.executable, "-m", "benchmarks.calibration", "--scale", str(bench.scale), "--out", str(out)]
    if bench.scale < 1.0:
        command.append("--no-peers")
    begin = time.perf_counter()
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    seconds = time.perf_counter() - begin
    if done.returncode:
        raise BenchmarkBroken(f"the calibration ended with {done.returncode}")
    yield Figure("the whole calibration", seconds, seconds, "s", MINUTES * 60.0)
    yield from claims(results.read(out / results.RESULTS.name))


def claims(found: Results) -> Iterator[Figure]:
    """What the comparison claims, each as a figure that should not exceed its goal."""
    for method in OURS:
        yield _figure(
            f"false alarms, {method}, worst cell", found.worst(method).rates[method] * 100, round(ALLOWED * 100, 1), "%"
        )
    for kind in KINDS:
        ratio = found.best_peer(kind) / found.power(results.SUITE, kind)
        yield _figure(f"best other test's power / ours, {kind}", ratio, 1.0, "x")
    unchanged = [row.rates[GATE] for row in found.scenario if row.change == results.NO_CHANGE]
    yield _figure("false alarms of the gate, 20 cases, worst N", max(unchanged) * 100, 5.0, "%")
    pairs = [
        (row.regressgate, row.paired_gate)
        for row in found.scenario
        if row.change != results.NO_CHANGE and row.repeats >= 3
    ]
    ratios = [theirs / ours for theirs, ours in pairs if theirs is not None and ours]
    if ratios:
        yield _figure("regressgate's detection / ours, worst row from N = 3", max(ratios), 1.0, "x")


def _figure(name: str, value: float, goal: float, unit: str) -> Figure:
    return Figure(name, value, value, unit, goal)
