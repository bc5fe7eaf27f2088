"""Reports to look at, all of them written by the program: a real run, and run files of other shapes."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from repeat_eval.records.journal import Journal
from repeat_eval.records.run import CasePlan, RunFooter, RunHeader
from repeat_eval.records.trial import CheckResult, Trial

ROOT = Path(__file__).parents[2]
OUTCOMES = {"P": "passed", "F": "failed", "E": "error", "S": "skipped"}


def program(*arguments: str | Path) -> int:
    """Run the program in a process of its own; its exit code, which no fault of the program may give."""
    command = [sys.executable, "-m", "repeat_eval", *map(str, arguments), "--quiet"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode in (0, 1, 3), done.stderr + done.stdout
    return done.returncode


def refund_desk(out: Path) -> Path:
    """The bundled example beside its earlier revision, run into `out`."""
    program(
        *("run", "examples/refund_desk/suite.yaml", "--base-target", "python:agent_base:answer", "--seed", "7"),
        *("--out", out),
    )
    return out


def trials_of(case: str, letters: str) -> list[Trial]:
    """Trials with these outcomes, P F E S; `-` is one that is missing."""
    return [
        Trial(
            case=case,
            repetition=number,
            outcome=OUTCOMES[letter],  # type: ignore[arg-type]
            error_kind="crash" if letter == "E" else None,
            score=None if letter in "ES" else float(letter == "P"),
            checks=() if letter in "ES" else (CheckResult("contains", letter == "P", float(letter == "P")),),
            message=None if letter == "P" else f"trial {number} did not pass",
            output=None if letter in "ES" else f"the answer of trial {number}",
            duration=0.5,
        )
        for number, letter in enumerate(letters, start=1)
        if letter != "-"
    ]


def write_run(
    path: Path, plans: Sequence[CasePlan], trials: Iterable[Trial], *, suite: str = "shapes", **more: Any
) -> Path:
    """A run file, as a run leaves it."""
    plans = tuple(plans)
    repeats = max([plan.asked for plan in plans], default=1)
    with Journal.create(path, RunHeader(suite=suite, repeats=repeats, cases=plans, **more)) as journal:
        count = 0
        for trial in trials:
            journal.append(trial)
            count += 1
        journal.finish(RunFooter(complete=True, trials=count))
    return path


def write_letters(path: Path, cases: dict[str, str], own: dict[str, dict[str, Any]] | None = None) -> Path:
    """A run file of cases with these outcomes; `own` are thresholds and gates that cases wrote themselves."""
    plans = [CasePlan(id=case, asked=len(letters), **(own or {}).get(case, {})) for case, letters in cases.items()]
    return write_run(path, plans, [trial for case, letters in cases.items() for trial in trials_of(case, letters)])


def every_kind(folder: Path) -> Path:
    """A run file with cases of every verdict, at any number of repeats, some with rules of their own."""
    draw = random.Random(11)
    cases = {}
    for number in range(48):
        weights = (draw.random(), draw.random() / 2, draw.choice((0, 0, 0.2)), draw.choice((0, 0, 0.1)), 0.02)
        repeats = draw.choice((1, 2, 3, 5, 10, 10, 10, 20, 47))
        cases[f"case {number:02d}"] = "".join(draw.choices("PFES-", weights, k=repeats))
    cases |= {
        "all pass": "P" * 10,
        "none passes": "F" * 10,
        "errors": "E" * 10,
        "skipped": "S" * 10,
        "on the line": "PPPPF" * 4,
    }
    own: dict[str, dict[str, Any]] = {
        "case 01": {"threshold": "0.9"},
        "case 02": {"gate": "strict"},
        "case 03": {"threshold": "0.333", "gate": "wilson"},
        "case 04": {"gate": "none"},
    }
    return write_letters(folder / "run.jsonl", cases, own)


def shapes(folder: Path) -> dict[str, Path]:
    """Reports without a base: one case, only errors, many cases."""
    found: dict[str, dict[str, str]] = {
        "one case": {"the only one": "PPFPPPPPPP"},
        "only errors": {f"case {number}": "EEEEE" for number in range(12)},
        "one trial a case": {f"case {number}": "PPPF"[number % 4] for number in range(8)},
        "many cases": {f"case {number:04d}": "PPF"[number % 3 :][:2].ljust(2, "P") for number in range(5000)},
    }
    for name, cases in found.items():
        place = folder / name.replace(" ", "-")
        place.mkdir()
        program("report", write_letters(place / "run.jsonl", cases), "--out", place)
    return {name: folder / name.replace(" ", "-") / "report.html" for name in found}
