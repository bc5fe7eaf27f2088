"""What it takes to start: the version, and the smallest whole run with every report."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from benchmarks.speed.figures import Bench, Figure, whole
from benchmarks.speed.measuring import interleave, repeat_eval, wall
from benchmarks.speed.suites import write_suite


def smallest(bench: Bench) -> Iterable[Figure]:
    """Whole processes, from the start of the interpreter to the end, beside an interpreter that does nothing."""
    suite = write_suite(bench.folder, "python: speed_target:noop", cases=1, repeats=1)
    run = repeat_eval("run", suite, "-o", bench.folder / "smallest")
    commands = {
        "python -c pass": [sys.executable, "-c", "pass"],
        "--version": repeat_eval("--version"),
        "run, quiet": [*run, "--quiet"],
        "run, with the terminal report": run,
    }
    rounds = bench.rounds * 3 if bench.rounds > 1 else 1  # short, and noise weighs most here
    samples = interleave(commands, rounds=rounds, folder=bench.folder)
    bare = samples["python -c pass"].median(wall)
    yield whole("python -c pass", samples["python -c pass"])
    yield whole("repeat-eval --version", samples["--version"], goal=0.15, raw=samples["--version"].median(wall) / bare)
    for name in ("run, quiet", "run, with the terminal report"):
        title = f"smallest {name}: one case, one repeat, python target, every report"
        yield whole(title, samples[name], goal=0.30, raw=samples[name].median(wall) / bare)
