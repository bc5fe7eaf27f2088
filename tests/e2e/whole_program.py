"""The real program in a process of its own, and the little it needs: suites, targets, and waiting with a deadline."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "refund_desk" / "suite.yaml"
DEADLINE = 60.0


@dataclass(frozen=True)
class Ended:
    """How a program ended: its exit code and what it wrote."""

    code: int
    out: str
    err: str

    @property
    def text(self) -> str:
        return self.out + self.err


def environment(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """This process's environment without anything that changes how the program behaves."""
    dropped = ("REPEAT_EVAL_", "INPUT_", "ACTIONS_", "GITHUB_", "PYTEST_", "NO_COLOR", "FORCE_COLOR", "COLUMNS", "CI")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    return {**kept, "COLUMNS": "160", **(more or {})}


def program(*arguments: str | Path, cwd: Path, env: Mapping[str, str] | None = None, stdin: str | None = None) -> Ended:
    """Run the program to its end."""
    done = subprocess.run(
        [sys.executable, "-m", "repeat_eval", *map(str, arguments)],
        cwd=cwd,
        env=environment(env),
        input=stdin,
        stdin=subprocess.DEVNULL if stdin is None else None,
        capture_output=True,
        encoding="utf-8",
        timeout=DEADLINE,
        check=False,
    )
    return Ended(done.returncode, done.stdout, done.stderr)


@contextlib.contextmanager
def running(*arguments: str | Path, cwd: Path, env: Mapping[str, str] | None = None) -> Iterator[Running]:
    """Run the program in the background; it is killed at the end if it still runs."""
    with (cwd / "stdout.txt").open("wb") as out, (cwd / "stderr.txt").open("wb") as err:
        process = subprocess.Popen(
            [sys.executable, "-m", "repeat_eval", *map(str, arguments)],
            cwd=cwd,
            env=environment(env),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
        )
        try:
            yield Running(process, cwd)
        finally:
            process.kill()
            process.wait(DEADLINE)


@dataclass(frozen=True)
class Running:
    """The program while it runs."""

    process: subprocess.Popen[bytes]
    folder: Path

    def said(self) -> str:
        return (self.folder / "stderr.txt").read_text("utf-8", "replace")

    def until(self, condition: Callable[[], Any]) -> None:
        """Wait for a condition; fails when the program ends before, or after a minute."""
        wait_until(lambda: condition() or self.process.poll() is not None, self.said)
        assert condition(), f"ended with {self.process.returncode}: {self.said()}"

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def end(self) -> Ended:
        code = self.process.wait(DEADLINE)
        return Ended(code, (self.folder / "stdout.txt").read_text("utf-8"), self.said())


def wait_until(condition: Callable[[], Any], explain: Callable[[], str] = str) -> None:
    """Look again and again until the condition holds; fails after a minute."""
    deadline, pause = time.monotonic() + DEADLINE, threading.Event()
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain: {explain()}"
        pause.wait(0.01)


def write(path: Path, text: str) -> Path:
    """Write a file, dedented, with the folders that it needs."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(text).lstrip("\n"), encoding="utf-8")
    return path


def suite(folder: Path, cases: Mapping[str, Any], *, agent: str | None = None, **settings: Any) -> Path:
    """Write a suite of these cases (id to everything else that the case says), and its agent beside it."""
    if agent is not None:
        write(folder / "agent.py", agent)
        settings.setdefault("target", {"python": "agent:answer"})
    entries = [{"id": name, **(fields or {})} for name, fields in cases.items()]
    # JSON is YAML.
    return write(folder / "suite.yaml", json.dumps({"name": "desk", **settings, "cases": entries}))


def report_in(folder: Path) -> Any:
    """The report that a run left in its output folder."""
    return json.loads((folder / "report.json").read_text("utf-8"))


def lines_of(path: Path) -> list[Any]:
    """Every line of a run file, decoded; a torn last line is left out."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines(keepends=True) if line.endswith("\n")]


def trials_in(path: Path) -> list[Any]:
    """The trials of a run file."""
    return [line for line in lines_of(path) if "outcome" in line]


def case_of(report: Any, name: str) -> Any:
    """One case of a report."""
    return next(case for case in report["cases"] if case["id"] == name)
