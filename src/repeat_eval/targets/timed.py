"""Measures how long the target itself takes, without the waiting of rate limits and retries around it."""

from __future__ import annotations

import dataclasses
import time

from repeat_eval.suite.checks.base import Answer
from repeat_eval.targets.base import Call, Target


class Timed:
    """Wraps a target and gives answers that do not tell their duration the measured one."""

    def __init__(self, target: Target) -> None:
        self._target = target

    async def start(self) -> None:
        """Start the wrapped target."""
        await self._target.start()

    async def answer(self, call: Call) -> tuple[Answer, int]:
        """Ask the wrapped target and look at the clock."""
        begin = time.perf_counter()
        answer, attempts = await self._target.answer(call)
        if answer.duration is None:
            answer = dataclasses.replace(answer, duration=time.perf_counter() - begin)
        return answer, attempts

    async def close(self) -> None:
        """Close the wrapped target."""
        await self._target.close()
