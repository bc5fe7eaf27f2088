"""Results files of other tools, read into counted cases: the reader alone, in a process of its own."""

from __future__ import annotations

from collections.abc import Iterable

from benchmarks.speed.figures import Bench, Figure, net, whole
from benchmarks.speed.measuring import Samples, interleave, measure, memory, program

_FILES = 10


def _beyond(samples: Samples, start: Samples, goal: float | None, name: str) -> Figure:
    """Megabytes beyond those of a process that has loaded the reader and read a file of one testcase."""
    return Figure(
        name, samples.median(memory) - start.median(memory), samples.best(memory) - start.best(memory), "MB", goal
    )


def reading(bench: Bench) -> Iterable[Figure]:
    """JUnit of 100,000 testcases, ten such files, and CSV of 1,000,000 rows, read into counted cases."""
    tests, rows = bench.size(100_000), bench.size(1_000_000)
    for kind, count, number in [("junit", 1, 0), ("csv", 1, 0), ("csv", rows, 1)]:
        measure(program("make_results", kind, bench.folder / f"{kind}-{count}-{number}", count, number), bench.folder)
    files = [bench.folder / f"junit-{tests}-{number}" for number in range(_FILES)]
    for number, path in enumerate(files):
        measure(program("make_results", "junit", path, tests, number), bench.folder)
    one = bench.folder / "junit-1-0"
    commands = {
        "start": program("count_results", "read", one),
        "stream": program("count_results", "iterparse", one),
        "read": program("count_results", "read", files[0]),
        "collect": program("count_results", "collect", files[0]),
        "iterparse": program("count_results", "iterparse", files[0]),
    }
    samples = interleave(commands, rounds=bench.rounds, folder=bench.folder)
    title = f"JUnit of {tests:,} testcases ({files[0].stat().st_size / 1e6:.0f} MB)"
    start = samples["start"]
    bare = net(f"{title}, bare iterparse of the standard library", samples["iterparse"], samples["stream"])
    yield bare
    yield net(f"{title}, read", samples["read"], start)
    yield net(f"{title}, into counted cases", samples["collect"], start, goal=0.7)
    yield _beyond(samples["read"], start, 40, f"{title}, the reader's memory")
    yield _beyond(samples["collect"], start, None, f"{title}, memory with the trials of a run")
    large = {
        "ten": program("count_results", "collect", *files),
        "csv": program("count_results", "collect", bench.folder / f"csv-{rows}-1"),
    }
    few = max(1, bench.rounds // 4)
    samples = interleave(large, rounds=few, folder=bench.folder)
    yield whole(f"ten such files as {_FILES} repetitions", samples["ten"])
    yield _beyond(samples["ten"], start, None, f"ten such files as {_FILES} repetitions, memory")
    yield whole(f"CSV of {rows:,} rows", samples["csv"], goal=15)
    yield _beyond(samples["csv"], start, None, f"CSV of {rows:,} rows, memory")
