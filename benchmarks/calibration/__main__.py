"""`python -m benchmarks.calibration`: simulate, and write results.json, results.md and the pictures.

`python -m benchmarks.calibration second-look` does the same for the second look: second_look.json and second_look.md.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.calibration import plots, results, second_look_run, tables
from benchmarks.calibration.run import SAMPLE, Size, calibrate

SEED = 7


def main(arguments: Sequence[str] | None = None) -> int:
    """Calibrate; 0 when everything ran."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given[:1] == ["second-look"]:
        return second_look_run.main(given[1:])
    parser = argparse.ArgumentParser(prog="python -m benchmarks.calibration", description=__doc__)
    parser.add_argument("--seed", type=int, default=SEED, help=f"of all draws (default {SEED})")
    parser.add_argument("--scale", type=float, default=1.0, help="less than 1: fewer simulated pairs of runs")
    parser.add_argument("--no-peers", action="store_true", help="without regressgate, which is installed for it")
    parser.add_argument(
        "--out", type=Path, metavar="FOLDER", help="write there, not into benchmarks/calibration and docs/images"
    )
    chosen = parser.parse_args(given)
    begin = time.perf_counter()
    sample = SAMPLE if chosen.scale >= 1.0 else 5
    found = calibrate(Size().scaled(chosen.scale), seed=chosen.seed, peers=not chosen.no_peers, sample=sample)
    print(f"simulated in {time.perf_counter() - begin:.0f} s", file=sys.stderr)
    table = tables.page(found)
    whole = chosen.scale == 1.0 and "regressgate" in found.versions
    if chosen.out is None and not whole:
        print("not kept: the files in the repository hold whole calibrations only; see --out", file=sys.stderr)
    else:
        out = chosen.out or results.RESULTS.parent
        out.mkdir(parents=True, exist_ok=True)
        results.write(found, out / results.RESULTS.name)
        (out / tables.PAGE.name).write_text(table, encoding="utf-8")
        plots.write(found, chosen.out or plots.FOLDER)
    print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
