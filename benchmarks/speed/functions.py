"""Functions that do nothing: what a trial costs, how that grows with the number of cases, and how much memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from benchmarks.speed.figures import Bench, Figure, per_trial
from benchmarks.speed.measuring import interleave, memory, program, repeat_eval
from benchmarks.speed.suites import write_suite

_Way = Callable[[Bench, str, int, int, int], list[str]]
"""Makes a command line of kind (sync or async), workers, cases and repeats."""
_KINDS = ("sync", "async")
_WORKERS = (1, 8)
_TARGETS = {"sync": "python: speed_target:noop", "async": "python: speed_target:noop_async"}


def _api(bench: Bench, kind: str, workers: int, cases: int, repeats: int) -> list[str]:
    out = bench.folder / f"api-{kind}-{workers}-{cases}x{repeats}"
    return program("api_run", cases, repeats, workers, kind, 0, out)


def _suite(bench: Bench, kind: str, workers: int, cases: int, repeats: int) -> list[str]:
    suite = write_suite(bench.folder, _TARGETS[kind], cases=cases, repeats=repeats)
    out = bench.folder / f"run-{kind}-{workers}-{cases}x{repeats}"
    return repeat_eval("run", suite, "--quiet", "--workers", workers, "-o", out)


def _raw(bench: Bench, trials: int) -> list[str]:
    return program("raw_loop", trials, bench.folder / "raw.jsonl")


def through_api(bench: Bench) -> Iterable[Figure]:
    """A trial through the Python API, with run file, a check and all report files."""
    yield from _cost_a_trial(bench, _api, "Python API", goal=100)


def through_workers(bench: Bench) -> Iterable[Figure]:
    """A trial through `repeat-eval run SUITE`, with workers under the user's interpreter and all report files."""
    yield from _cost_a_trial(bench, _suite, "workers", goal=200)


def _cost_a_trial(bench: Bench, way: _Way, name: str, *, goal: float) -> Iterable[Figure]:
    cases, repeats = bench.size(1000), 10
    trials = cases * repeats
    commands = {"raw 1": _raw(bench, 1), "raw": _raw(bench, trials)}
    for kind in bench.kinds(_KINDS):
        for workers in bench.kinds(_WORKERS):
            commands[f"{kind} {workers} start"] = way(bench, kind, workers, 1, 1)
            commands[f"{kind} {workers}"] = way(bench, kind, workers, cases, repeats)
    samples = interleave(commands, rounds=bench.rounds, folder=bench.folder)
    raw = per_trial("raw asyncio loop, a flushed line a trial", samples["raw"], samples["raw 1"], trials)
    yield raw
    for kind in bench.kinds(_KINDS):
        for workers in bench.kinds(_WORKERS):
            key = f"{kind} {workers}"
            title = f"{name}, {kind}, {workers} worker{'s' * (workers > 1)}, {cases:,} x {repeats}"
            yield per_trial(title, samples[key], samples[f"{key} start"], trials, goal=goal, raw=raw)


def growth(bench: Bench) -> Iterable[Figure]:
    """What a trial costs at 1,000 cases, as a multiple of what it costs at 200."""
    few, many, repeats = bench.size(200), bench.size(1000), 10
    commands = {}
    for name, way in _WAYS.items():
        for kind in bench.kinds(_KINDS):
            for cases, times in ((1, 1), (few, repeats), (many, repeats)):
                commands[f"{name}, {kind} {cases}"] = way(bench, kind, 8, cases, times)
    samples = interleave(commands, rounds=bench.rounds, folder=bench.folder)
    for name in _WAYS:
        for kind in bench.kinds(_KINDS):
            key = f"{name}, {kind}"
            small = per_trial("", samples[f"{key} {few}"], samples[f"{key} 1"], few * repeats)
            large = per_trial("", samples[f"{key} {many}"], samples[f"{key} 1"], many * repeats)
            used = None
            if small.processor and large.processor:
                used = large.processor / small.processor
            yield Figure(
                f"{key}, 8 workers: cost of a trial at {many:,} cases / at {few:,}",
                large.value / small.value,
                large.best / small.best,
                "x",
                1.1,
                used,
            )


def peak_memory(bench: Bench) -> Iterable[Figure]:
    """Peak memory of the whole process at 10,000 trials, report and JSON included."""
    cases, repeats = bench.size(1000), 10
    run_file = bench.folder / "memory.jsonl"
    commands = {"make": program("make_run_file", run_file, cases, repeats, 1, 0)}
    for name, way in _WAYS.items():
        for kind in bench.kinds(_KINDS):
            commands[f"{name}, {kind}"] = way(bench, kind, 8, cases, repeats)
    commands["report of a run file"] = repeat_eval("report", run_file, "-o", bench.folder / "memory-report")
    samples = interleave(commands, rounds=max(1, bench.rounds // 2), folder=bench.folder)
    for name in commands:
        if name != "make":
            median, best = samples[name].median(memory), samples[name].best(memory)
            yield Figure(f"{name}, {cases:,} x {repeats}, every report", median, best, "MB", 80)


_WAYS = {"Python API": _api, "workers": _suite}
