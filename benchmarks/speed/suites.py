"""Suite files and their targets, written for a benchmark."""

from __future__ import annotations

from pathlib import Path

_TARGETS = '''\
"""Functions that do nothing, at once or after 50 ms."""

import asyncio
import time


def noop(value):
    return value


async def noop_async(value):
    return value


def wait(value):
    time.sleep(0.05)
    return value


async def wait_async(value):
    await asyncio.sleep(0.05)
    return value
'''


def write_suite(folder: Path, target: str, *, cases: int, repeats: int) -> Path:
    """Write a suite file of `cases` cases with one check each.

    Args:
        folder: where it goes, and beside it the functions that `target` may name: `python: speed_target:noop`,
            `noop_async`, `wait` (50 ms) and `wait_async`.
        target: the suite's target as it stands in YAML, for instance `command: cat`.
        cases: their number.
        repeats: trials of each.

    Returns:
        The suite file.
    """
    (folder / "speed_target.py").write_text(_TARGETS, encoding="utf-8")
    name = "".join(letter if letter.isalnum() else "-" for letter in target)[-60:]
    path = folder / f"{name}-{cases}x{repeats}.yaml"
    entries = "".join(
        f"  - id: case-{number}\n    input: ping\n    expect:\n      - contains: ping\n" for number in range(cases)
    )
    path.write_text(
        f"name: speed\ntarget:\n  {target}\nrepeats: {repeats}\nthreshold: 0.8\ncases:\n{entries}", encoding="utf-8"
    )
    return path
