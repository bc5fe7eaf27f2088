"""A provider that takes 5 calls a second and answers 429 to others: how much longer trials take than they must."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable
from pathlib import Path

from benchmarks.speed.figures import Bench, Figure
from benchmarks.speed.measuring import BenchmarkBroken, interleave, repeat_eval, wall
from benchmarks.speed.suites import write_suite

RATE, BURST = 5, 5
_SERVER = Path(__file__).parents[2] / "tests" / "models" / "server"


def two_hundred_trials(bench: Bench) -> Iterable[Figure]:
    """20 x 10 trials with 50 workers, net of start-up, over the time that the limit allows at best."""
    sys.path.insert(0, str(_SERVER))
    from model_server import running
    from model_server.behaviours import Bucket

    cases = bench.size(20)
    trials = cases * 10
    with running() as server:
        target = f"model: {{name: 'openai:gpt-x', url: '{server.url}'}}"
        times: dict[str, list[float]] = {"start": [], "limited": []}
        for _ in range(bench.rounds):
            for name, size in (("start", (1, 1)), ("limited", (cases, 10))):
                server.limit = Bucket(RATE, BURST)
                suite = write_suite(bench.folder, target, cases=size[0], repeats=size[1])
                out = bench.folder / f"{name}-out"
                command = repeat_eval("run", suite, "--quiet", "--fresh", "--workers", 50, "-o", out)
                samples = interleave({name: command}, rounds=1, folder=bench.folder)
                times[name].append(samples[name].best(wall))
            _check(out / "run.jsonl")
    ideal = (trials - BURST) / RATE
    ratios = sorted((full - start) / ideal for full, start in zip(times["limited"], times["start"], strict=True))
    title = f"{trials} trials against {RATE} calls a second, over the ideal {math.floor(ideal)} s"
    yield Figure(title, ratios[len(ratios) // 2], ratios[0], "x", goal=1.10)


def _check(run_file: Path) -> None:
    lines = [json.loads(line) for line in run_file.read_text("utf-8").splitlines()]
    if errors := [line for line in lines if line.get("outcome") == "error"]:
        raise BenchmarkBroken(f"{len(errors)} trials ended in an error: {errors[0]['message']}")
