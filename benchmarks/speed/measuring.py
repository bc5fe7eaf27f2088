"""Run a command in a fresh process and say what it cost: wall time, processor time, peak memory.

This module and whoever imports it load the standard library only. Linux hands the peak memory of a process on to the
child that it starts, so a fat parent would be measured instead of its lean child.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

PROGRAMS = Path(__file__).parent / "programs"
FINE = (0, 1)
"""Exit codes of a measured command that did its work: the gate passed, or it failed."""


class BenchmarkBroken(Exception):
    """A measured command did not do its work; the text says which, and the end of what it wrote."""


@dataclass(frozen=True, slots=True)
class Sample:
    """What one process cost, with all children that it waited for.

    Attributes:
        wall: seconds from before its start until it was gone.
        processor: seconds of user and system time.
        memory: peak resident megabytes (10^6 bytes) of the largest single process.
    """

    wall: float
    processor: float
    memory: float


@dataclass(frozen=True, slots=True)
class Samples:
    """Several runs of one command."""

    runs: list[Sample] = field(default_factory=list)

    def median(self, what: Callable[[Sample], float]) -> float:
        """Median over the runs of what `what` takes from each."""
        return statistics.median(what(run) for run in self.runs)

    def best(self, what: Callable[[Sample], float]) -> float:
        """The smallest over the runs: what the command needs when nobody else wants the machine."""
        return min(what(run) for run in self.runs)


def wall(sample: Sample) -> float:
    """Wall time of a sample in seconds."""
    return sample.wall


def processor(sample: Sample) -> float:
    """User and system time of a sample in seconds."""
    return sample.processor


def memory(sample: Sample) -> float:
    """Peak memory of a sample in megabytes."""
    return sample.memory


def repeat_eval(*arguments: str | Path | int) -> list[str]:
    """A command line of our program, started as users start it."""
    script = Path(sys.executable).with_name("repeat-eval")
    start = [str(script)] if script.exists() else [sys.executable, "-m", "repeat_eval"]
    return [*start, *map(str, arguments)]


def program(name: str, *arguments: str | Path | int | float) -> list[str]:
    """A command line of one of the small programs beside this module."""
    return [sys.executable, str(PROGRAMS / f"{name}.py"), *map(str, arguments)]


def measure(command: Sequence[str], folder: Path, fine: Sequence[int] = FINE) -> Sample:
    """Run a command in `folder` and measure it.

    Raises:
        BenchmarkBroken: it ended with a code that is not among `fine`.
    """
    said = folder / "said.txt"
    with said.open("wb") as file:
        begin = time.perf_counter()
        process = subprocess.Popen(
            command, cwd=folder, env=_environment(), stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT
        )
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - begin
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in fine:
        end = said.read_text(errors="replace")[-2000:]
        raise BenchmarkBroken(f"exit code {process.returncode} of {' '.join(command)}\n{end}")
    kilobyte = 1 if sys.platform == "darwin" else 1024
    return Sample(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * kilobyte / 1e6)


def _environment() -> dict[str, str]:
    """Ours, without what would change the figures: settings of ours, and a ban on keeping compiled modules."""
    strange = ("REPEAT_EVAL_", "COV_", "PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED")
    return {name: value for name, value in os.environ.items() if not name.startswith(strange)}


def interleave(commands: Mapping[str, Sequence[str]], *, rounds: int, folder: Path) -> dict[str, Samples]:
    """Measure several commands in turn, so many rounds; a noisy minute then falls on all of them alike.

    One round before the first is not counted: it fills the caches of files and of compiled modules. A single round is
    not warmed up, since nobody will read its figures.

    Returns:
        The samples of each command, by its name.
    """
    samples = {name: Samples() for name in commands}
    for number in range(rounds + (rounds > 1)):
        for name, command in commands.items():
            sample = measure(command, folder)
            if number or rounds == 1:
                samples[name].runs.append(sample)
    return samples
