"""The least that any runner has to do: an asyncio loop, a call, one flushed JSON line a trial.

raw_loop.py TRIALS FILE
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path


async def target(value: str) -> str:
    return value


async def main(trials: int, path: Path) -> None:
    with path.open("w", encoding="utf-8") as file:
        for number in range(trials):
            output = await target("ping")
            line = {"case": f"case-{number // 10}", "repetition": number % 10 + 1, "passed": output == "ping"}
            file.write(json.dumps(line) + "\n")
            file.flush()


asyncio.run(main(int(sys.argv[1]), Path(sys.argv[2])))
