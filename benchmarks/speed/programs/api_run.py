"""A suite through the Python API, with run file, one check a case and all report files.

api_run.py CASES REPEATS WORKERS sync|async DELAY OUT
"""

from __future__ import annotations

import asyncio
import sys
import time

from repeat_eval import Case, Suite

cases, repeats, workers, kind, delay, out = sys.argv[1:]
seconds = float(delay)


def answer(value: str) -> str:
    if seconds:
        time.sleep(seconds)
    return value


async def answer_async(value: str) -> str:
    if seconds:
        await asyncio.sleep(seconds)
    return value


suite = Suite("speed", [Case(id=f"case-{n}", input="ping", expect=[{"contains": "ping"}]) for n in range(int(cases))])
report = suite.run(
    answer_async if kind == "async" else answer, repeats=int(repeats), workers=int(workers), out=out, gate_raises=False
)
assert report.totals.passed == int(cases) * int(repeats), report.totals
