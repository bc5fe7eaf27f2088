"""Recordings: a run whose every call of a model is replayed, 200 cases of 10 trials."""

from __future__ import annotations

from collections.abc import Iterable

from benchmarks.speed.figures import Bench, Figure, per_trial
from benchmarks.speed.measuring import interleave, measure, repeat_eval
from benchmarks.speed.suites import write_suite

_MODEL = "model: {system: Answer in a word., script: [{turns: [{say: 'ping, and a few more words than a ping has'}]}]}"


def two_thousand_trials(bench: Bench) -> Iterable[Figure]:
    """A replayed trial of a model, 200 x 10 with 50 workers, net of start-up, reading the cassettes included."""
    cases, repeats = bench.size(200), 10
    commands = {}
    for size in ((1, 1), (cases, repeats)):
        suite = write_suite(bench.folder, _MODEL, cases=size[0], repeats=size[1])
        shared = ("--quiet", "--workers", 50, "--cassettes", bench.folder / f"cassettes-{size[0]}x{size[1]}")
        out = bench.folder / f"replay-{size[0]}x{size[1]}"
        measure(repeat_eval("run", suite, *shared, "-o", out, "--cassette-mode", "record"), bench.folder)
        replay = repeat_eval("run", suite, *shared, "-o", out, "--cassette-mode", "replay", "--fresh")
        commands["start" if size == (1, 1) else "all"] = replay
    samples = interleave(commands, rounds=bench.rounds, folder=bench.folder)
    title = f"replayed calls of a model, {cases} x {repeats} with 50 workers"
    yield per_trial(title, samples["all"], samples["start"], cases * repeats, goal=200)
