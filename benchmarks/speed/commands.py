"""Command targets: a process a trial, against a bare loop that starts the same processes."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable

from benchmarks.speed.figures import Bench, Figure, net
from benchmarks.speed.measuring import interleave, program, repeat_eval
from benchmarks.speed.suites import write_suite

_COMMANDS = {"cat": ["cat"], "python -c pass": [sys.executable, "-I", "-S", "-c", "pass"]}
"""The cheapest process that answers, and one like those that people have."""


def against_raw(bench: Bench) -> Iterable[Figure]:
    """Trials of a command target, one at a time, as a multiple of the same processes started bare, with no shell."""
    cases, repeats = bench.size(20), 10
    trials = cases * repeats
    commands = {}
    for name, words in bench.kinds(_COMMANDS.items()):
        for size, (many, times) in {"start": (1, 1), "full": (cases, repeats)}.items():
            suite = write_suite(bench.folder, f"command: {json.dumps(words)}", cases=many, repeats=times)
            out = bench.folder / f"{suite.stem}-out"
            arguments = ("--quiet", "--workers", 1, "--gate", "none", "-o", out)
            commands[f"{name} {size}"] = repeat_eval("run", suite, *arguments)
            commands[f"{name} raw {size}"] = program("raw_commands", many * times, bench.folder / "raw.jsonl", *words)
    samples = interleave(commands, rounds=bench.rounds, folder=bench.folder)
    for name in bench.kinds(_COMMANDS):
        raw = net("", samples[f"{name} raw full"], samples[f"{name} raw start"])
        ours = net("", samples[f"{name} full"], samples[f"{name} start"])
        yield Figure(f"raw loop, `{name}`", raw.value / trials * 1e6, raw.best / trials * 1e6, "us")
        used = ours.processor / raw.processor if ours.processor and raw.processor else None
        title = f"command target, `{name}`, {trials} trials / raw loop"
        yield Figure(title, ours.value / raw.value, ours.best / raw.best, "x", 1.3, used)
