"""The gate as a whole on the scenario that regressgate publishes, its own gate judging the same simulated trials."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from benchmarks.calibration import peers
from benchmarks.calibration.fast import ALPHA, CalibrationBroken, Counts, check, decisions, fell
from benchmarks.calibration.results import ANY_DROP, BROKEN, CASE_HALF, GATE, NO_CHANGE, SUITE_HALF
from repeat_eval.statistics.gates import DECIMALS

BASE_RATES = (1.0,) * 12 + (0.95,) * 4 + (0.8, 0.7, 0.6, 0.5)
"""20 cases: 12 always pass, 4 pass 95 %, 4 are flaky."""

CHANGES = {
    NO_CHANGE: BASE_RATES,
    BROKEN: (0.0, *BASE_RATES[1:]),
    "stable cases drop to 85 %": (0.85,) * 12 + BASE_RATES[12:],
}
REPEATS = (1, 3, 5, 10)
CURVE = tuple(range(1, 13))
"""Repeats for the picture of one broken case."""

PEERS = Path(__file__).parents[1] / "requirements-peers.txt"
PROGRAM = Path(__file__).with_name("regressgate_program.py")
_BORDERLINE = 3
_STREAM = 1_000_000
"""Scenarios draw from streams beyond those of the grid's cells."""


@dataclass(frozen=True, slots=True)
class Row:
    """One change at one number of repeats, with the share of simulated pairs of runs that each method blocks.

    Attributes:
        change: a name in `CHANGES`. repeats: trials a case and side.
        rates: by method: our regression gate, its halves alone, and the peers' tests where they find a fall.
        paired_gate: our gate on the pairs that regressgate judged. regressgate: its own gate on them. Both are None
            where it did not run.
    """

    change: str
    repeats: int
    rates: dict[str, float]
    paired_gate: float | None = None
    regressgate: float | None = None


def settings() -> list[tuple[str, int]]:
    """Every change at every number of repeats, and one broken case at more of them."""
    listed = [(change, repeats) for change in CHANGES for repeats in REPEATS]
    return [*listed, *((BROKEN, repeats) for repeats in CURVE if repeats not in REPEATS)]


def simulate(change: str, repeats: int, *, seed: int, replicates: int) -> tuple[Counts, Counts]:
    """Passes of base and head, one row a pair of runs."""
    random = np.random.default_rng([seed, _STREAM + 1000 * list(CHANGES).index(change) + repeats])
    shape = (replicates, len(BASE_RATES))
    return random.binomial(repeats, BASE_RATES, shape), random.binomial(repeats, CHANGES[change], shape)


def measure(change: str, repeats: int, *, seed: int, replicates: int, sample: int) -> Row:
    """Our gate on one change.

    Args:
        change: a name in `CHANGES`. repeats: trials a case and side.
        seed: of the whole calibration. replicates: pairs of runs.
        sample: pairs that the program itself decides as well.

    Raises:
        CalibrationBroken: the program decides otherwise on one of the sample.
    """
    base, head = simulate(change, repeats, seed=seed, replicates=replicates)
    ours = decisions(base, repeats, head, repeats)
    check(base[:sample], repeats, head[:sample], repeats, ours)
    sides = (base, repeats, head, repeats)
    down = fell(*sides)
    blocked = {GATE: ours.gate, SUITE_HALF: ours.suite_down, CASE_HALF: ours.case_down}
    for name, test in peers.TESTS.items():
        blocked[name] = (np.round(test(*sides), DECIMALS) < ALPHA) & down
    blocked[ANY_DROP] = down
    return Row(change, repeats, {name: round(float(flags.mean()), 5) for name, flags in blocked.items()})


def beside_regressgate(rows: Sequence[Row], python: Path, *, seed: int, replicates: int, judged: int) -> list[Row]:
    """The same rows with regressgate's verdicts on the first `judged` pairs of each.

    Args:
        rows: our own. python: an interpreter that has regressgate.
        seed: as for our own. replicates: as for our own. judged: pairs that regressgate judges.

    Raises:
        subprocess.CalledProcessError: its program failed.
        CalibrationBroken: the quicker drawing that its program uses changes its verdicts.
    """
    with ThreadPoolExecutor(os.cpu_count() or 1) as threads:
        return list(threads.map(lambda row: _judged(row, python, seed, replicates, judged), rows))


def peer_environment(folder: Path) -> Path | None:
    """The interpreter of a throw-away environment with the peers of requirements-peers.txt; None if pip cannot."""
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", str(PEERS)]
    done = subprocess.run(install, capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"regressgate is left out, it could not be installed:\n{done.stderr.strip()[-500:]}", file=sys.stderr)
        return None
    return python


def regressgate_blocks(python: Path, base: Counts, head: Counts, repeats: int, name: str) -> list[bool]:
    """Whether regressgate's own gate fails, pair by pair.

    Args:
        python: an interpreter that has regressgate.
        base: passes of base, one row a pair of runs. head: the same of head. repeats: trials a case and side.
        name: what is simulated, for the error.

    Raises:
        subprocess.CalledProcessError: its program failed.
        CalibrationBroken: the quicker drawing that its program uses changes its verdicts.
    """
    pairs = {"repeats": repeats, "base": base.tolist(), "head": head.tolist()}
    done = subprocess.run(
        [str(python), "-I", str(PROGRAM)], input=json.dumps(pairs), capture_output=True, text=True, check=True
    )
    answer = json.loads(done.stdout)
    blocked, own = answer["blocked"], answer["own"]
    # Both ways draw at random, so a pair at the border of its level may fall on either side.
    if sum(one != other for one, other in zip(blocked, own, strict=False)) > _BORDERLINE:
        raise CalibrationBroken(f"regressgate decides otherwise when it draws in its own way: {name}")
    return [bool(one) for one in blocked]


def _judged(row: Row, python: Path, seed: int, replicates: int, judged: int) -> Row:
    base, head = simulate(row.change, row.repeats, seed=seed, replicates=replicates)
    blocked = regressgate_blocks(python, base[:judged], head[:judged], row.repeats, row.change)
    ours = decisions(base[:judged], row.repeats, head[:judged], row.repeats)
    return replace(
        row, paired_gate=round(float(ours.gate.mean()), 5), regressgate=round(sum(blocked) / len(blocked), 5)
    )
