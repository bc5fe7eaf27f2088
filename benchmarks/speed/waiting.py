"""Targets that take 50 ms, as a quick model does: 1,000 trials with 50 workers are ideally done after one second."""

from __future__ import annotations

from collections.abc import Iterable

from benchmarks.speed.figures import Bench, Figure, net
from benchmarks.speed.measuring import interleave, program, repeat_eval
from benchmarks.speed.suites import write_suite

_SHAPES = ((100, 10), (10, 100))
_TARGETS = {
    "sync": ("python: speed_target:noop", "python: speed_target:wait"),
    "async": ("python: speed_target:noop_async", "python: speed_target:wait_async"),
}


def fifty_workers(bench: Bench) -> Iterable[Figure]:
    """50 ms x 1,000 trials with 50 workers, net of start-up (the smallest run of a target that does not wait)."""
    shapes = [(bench.size(cases), bench.size(repeats)) for cases, repeats in bench.kinds(_SHAPES)]
    commands = {}
    for kind, (noop, wait) in bench.kinds(_TARGETS.items()):
        for cases, repeats in ((1, 1), *shapes):
            size = f"{cases}x{repeats}"
            delay = 0 if size == "1x1" else 0.05
            out = bench.folder / f"wait-{kind}-{size}"
            commands[f"Python API {kind} {size}"] = program("api_run", cases, repeats, 50, kind, delay, out)
            suite = write_suite(bench.folder, wait if delay else noop, cases=cases, repeats=repeats)
            arguments = ("--quiet", "--workers", 50, "-o", bench.folder / f"{suite.stem}-out")
            commands[f"workers {kind} {size}"] = repeat_eval("run", suite, *arguments)
    samples = interleave(commands, rounds=bench.rounds, folder=bench.folder)
    for way in ("Python API", "workers"):
        for kind in bench.kinds(_TARGETS):
            for cases, repeats in shapes:
                key = f"{way} {kind}"
                title = f"{way}, {kind}, {cases} x {repeats} of 50 ms with 50 workers"
                yield net(title, samples[f"{key} {cases}x{repeats}"], samples[f"{key} 1x1"], goal=1.10)
