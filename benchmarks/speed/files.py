"""Reports and comparisons from run files: whole processes, files to reports."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from benchmarks.speed.figures import Bench, Figure, whole
from benchmarks.speed.measuring import BenchmarkBroken, interleave, measure, memory, program, repeat_eval


def run_file(bench: Bench, cases: int, repeats: int, *, seed: int = 1, drop: float = 0) -> Path:
    """A run file of that many cases and repeats, made by a program of its own."""
    path = bench.folder / f"run-{cases}x{repeats}-{seed}.jsonl"
    measure(program("make_run_file", path, cases, repeats, seed, drop), bench.folder)
    return path


def report(bench: Bench) -> Iterable[Figure]:
    """`report` of a run file: terminal and every report file."""
    for shape, goal, rounds in (((200, 10), 0.7, bench.rounds), ((10_000, 20), 10.0, max(1, bench.rounds // 2))):
        cases, repeats = bench.size(shape[0]), shape[1]
        path = run_file(bench, cases, repeats)
        command = repeat_eval("report", path, "-o", bench.folder / f"report-{cases}x{repeats}")
        samples = interleave({"report": command}, rounds=rounds, folder=bench.folder)["report"]
        title = f"report of {cases:,} x {repeats}"
        yield whole(f"{title}, every report", samples, goal=goal)
        yield Figure(f"{title}, peak memory", samples.median(memory), samples.best(memory), "MB")


def compare(bench: Bench) -> Iterable[Figure]:
    """`compare BASE HEAD` of two run files; nothing as long as the program has no such command."""
    try:
        measure(repeat_eval("compare", "--help"), bench.folder, (0,))
    except BenchmarkBroken:
        print("compare: this version has no such command; left out")
        return
    for shape, goals in (((1000, 10), (None, 0.5, None)), ((10_000, 10), (2.0, 5.0, 250))):
        cases, repeats = bench.size(shape[0]), shape[1]
        base = run_file(bench, cases, repeats, seed=1)
        head = run_file(bench, cases, repeats, seed=2, drop=0.3)
        out = bench.folder / f"compare-{cases}"
        commands = {
            "figures and report.json": program("compare_json", base, head, out),
            "every report": repeat_eval("compare", base, head, "-o", out),
        }
        samples = interleave(commands, rounds=bench.rounds, folder=bench.folder)
        for name, goal in zip(commands, goals, strict=False):
            title = f"compare of {cases:,} x {repeats}, {name}"
            yield whole(title, samples[name], goal=goal)
            limit = goals[2] if name == "figures and report.json" else None
            yield Figure(f"{title}, peak memory", samples[name].median(memory), samples[name].best(memory), "MB", limit)
