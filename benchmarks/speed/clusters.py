"""Trials on a Dask cluster of four processes on this machine, and the same with one of them killed in the middle."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

from benchmarks.speed.figures import Bench, Figure, per_trial, whole
from benchmarks.speed.measuring import BenchmarkBroken, Samples, interleave, measure, program, repeat_eval
from benchmarks.speed.suites import write_suite

_WORKERS, _THREADS = 4, 2
_TARGET = "python: speed_target:noop"


def on_a_cluster(bench: Bench) -> Iterable[Figure]:
    """A trial on a Dask cluster of 4 processes, 20 x 100, net of start-up; all of it with one process killed."""
    cases, repeats = 20, bench.size(100)
    smallest = write_suite(bench.folder, _TARGET, cases=1, repeats=1)
    suite = write_suite(bench.folder, _TARGET, cases=cases, repeats=repeats)
    with _cluster(bench.folder) as (address, _):
        commands = {
            "start": _run(smallest, address, bench.folder / "one"),
            "all": _run(suite, address, bench.folder / "all"),
        }
        samples = interleave(commands, rounds=bench.rounds, folder=bench.folder)
    title = f"a Dask cluster of {_WORKERS} processes, {cases} x {repeats}"
    yield per_trial(title, samples["all"], samples["start"], cases * repeats)
    killed = Samples()
    with _cluster(bench.folder) as (address, victim):
        out = bench.folder / "killed"
        run = _run(suite, address, out)
        amid = program("run_with_a_kill", victim, cases * repeats, out / "run.jsonl", *run)
        killed.runs.append(measure(amid, bench.folder))
    yield whole(f"{title}, one killed: all trials, none twice", killed)


def _run(suite: Path, address: str, out: Path) -> list[str]:
    on_it = ("--executor", "dask", "--scheduler", address, "--workers", 2 * _WORKERS * _THREADS)
    return repeat_eval("run", suite, "--quiet", "--fresh", *on_it, "-o", out)


@contextlib.contextmanager
def _cluster(folder: Path) -> Iterator[tuple[str, int]]:
    """A cluster's address, and the process id of one of its workers."""
    command = program("cluster", _WORKERS, _THREADS)
    with (folder / "cluster.txt").open("w") as log:
        process = subprocess.Popen(
            command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, start_new_session=True
        )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        address, *workers = process.stdout.readline().decode().split() or [""]
        if not workers:
            raise BenchmarkBroken("there is no Dask cluster: " + (folder / "cluster.txt").read_text()[-2000:])
        yield address, int(workers[0])
    finally:
        # A cluster that lost a worker takes its time to end in good order.
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        process.stdin.close()
        process.stdout.close()
