"""The HTML report of many cases: how large its file is, and how long its reader waits."""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
from collections.abc import Iterable
from pathlib import Path

from benchmarks.speed.figures import Bench, Figure
from benchmarks.speed.files import run_file
from benchmarks.speed.measuring import BenchmarkBroken, measure, program, repeat_eval

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
WAITS = {
    "paint": ("first paint", 1.0),
    "filter": ("slowest filter", 0.1),
    "search": ("slowest search", 0.1),
    "sort": ("slowest order", None),
    "threshold": ("another threshold", None),
    "open": ("opening a case", None),
}
"""What is measured in the browser: its name and its goal in seconds."""
_MANY = 600
"""Seconds that the browser may take over all rounds."""


def page(bench: Bench) -> Iterable[Figure]:
    """report.html of 5,000 x 10 with every trial: size; first paint, filters and more in headless Chromium."""
    cases, repeats = bench.size(5000), 10
    folder = bench.folder / "page"
    measure(repeat_eval("report", run_file(bench, cases, repeats), "-o", folder), bench.folder)
    file = folder / "report.html"
    size = file.stat().st_size / 1e6
    title = f"page of {cases:,} x {repeats}"
    yield Figure(f"{title}, file", size, size, "MB", 15)
    chromium = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if chromium is None:
        print("page: no Chromium is found (scripts/install_chromium.sh); what its reader waits for is left out")
        return
    # The first round fills the caches of files and is not counted.
    rounds = bench.rounds + (bench.rounds > 1)
    for name, seconds in _browse(chromium, file, rounds).items():
        counted = seconds[-bench.rounds :]
        what, goal = WAITS[name]
        yield Figure(f"{title}, {what}", statistics.median(counted), min(counted), "s", goal)


def _browse(chromium: str, file: Path, rounds: int) -> dict[str, list[float]]:
    command = program("browse_page", chromium, file, rounds)
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_MANY)
    if done.returncode:
        raise BenchmarkBroken(f"exit code {done.returncode} of {' '.join(command)}\n{done.stderr[-2000:]}")
    found: dict[str, list[float]] = json.loads(done.stdout)
    return found
