"""Each benchmark runs and measures something. Tiny sizes; how quick it was is not judged here."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SPEED = (
    "start",
    "api",
    "workers",
    "growth",
    "memory",
    "commands",
    "waiting",
    "replay",
    "cluster",
    "reading",
    "report",
    "compare",
    "page",
)


def benchmarks(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "benchmarks", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("name", SPEED)
@pytest.mark.e2e
def test_each_benchmark_runs_at_a_tiny_size_and_keeps_its_figures(name: str, tmp_path: Path) -> None:
    done = benchmarks(name, "--tiny", "--results", str(tmp_path))

    assert done.returncode == 0, done.stderr
    kept = json.loads((tmp_path / f"{name}.json").read_text(encoding="utf-8"))
    assert kept["figures"]
    for figure in kept["figures"]:
        assert figure["value"] != 0
        assert figure["unit"] in {"us", "s", "MB", "x"}
        assert figure["met"] is None, "goals are for the real sizes"
        assert f"{name}: {figure['name']}" in done.stdout


def test_the_list_says_what_each_benchmark_measures() -> None:
    done = benchmarks("--list")

    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert [line.split()[0] for line in lines if line.split()[0] in SPEED] == list(SPEED)
    assert all(len(line.split()) > 3 for line in lines)


def test_a_name_that_is_no_benchmark_is_refused_with_those_that_are() -> None:
    done = benchmarks("sped")

    assert done.returncode == 2
    assert "unknown benchmark 'sped'" in done.stderr
    assert "start, api" in done.stderr
