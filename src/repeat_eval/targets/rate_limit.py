"""A limit on how many calls start in a time, and a common pause when the provider asks for one."""

from __future__ import annotations

import asyncio
import math
import re
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from repeat_eval.records.trial import bounded
from repeat_eval.suite.checks.base import Answer
from repeat_eval.targets.base import Call, Target, TargetError
from repeat_eval.targets.retrying import MAX_RETRY_AFTER

MAX_CREDIT = 1.0
"""Seconds by which a start may come early when the one before came late."""

_UNITS = {"s": 1, "sec": 1, "second": 1, "min": 60, "minute": 60, "h": 3600, "hour": 3600}
_RATE = re.compile(r"\s*(\d{1,9}(?:\.\d{1,6})?)\s*(?:/|per\s)\s*([a-z]+)\s*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Rate:
    """At most `count` starts in `seconds`."""

    count: float
    seconds: float

    @property
    def interval(self) -> float:
        """Seconds between two starts."""
        return self.seconds / self.count


def parse_rate(text: str) -> Rate:
    """Read a rate such as `60/min` or `2.5/s`.

    Raises:
        ValueError: says what is allowed.
    """
    match = _RATE.fullmatch(text)
    if match is None or match[2] not in _UNITS or float(match[1]) == 0:
        allowed = ", ".join(_UNITS)
        raise ValueError(
            f"{bounded(repr(text), 60)} is not a rate; write a number above 0, a slash and one of {allowed}: 60/min"
        )
    return Rate(float(match[1]), float(_UNITS[match[2]]))


class Pace:
    """Spaces the calls of all targets that share it evenly, first come, first served."""

    def __init__(
        self,
        rate: Rate | None,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        """Nothing was started yet.

        Args:
            rate: at most so many starts; None only pauses when the provider asks for it.
            clock: tells seconds, from any beginning.
            sleep: waits so many seconds.
        """
        self._interval = rate.interval if rate is not None else 0.0
        self._clock = clock
        self._sleep = sleep
        self._turn = asyncio.Lock()  # wakes those who wait in the order in which they came
        self._next: float | None = None
        self._paused_until = -math.inf

    async def wait_for_turn(self) -> None:
        """Wait until the next call may start, and count it."""
        async with self._turn:
            while True:
                now = self._clock()
                # Looked at again after every sleep: another call may have been told to wait meanwhile.
                start = max(self._next if self._next is not None else now, self._paused_until)
                if start <= now:
                    break
                await self._sleep(start - now)
            # Timers ring late. A credit of one interval keeps the rate without ever letting a crowd through.
            credit = min(self._interval, MAX_CREDIT)
            self._next = (now if self._next is None else max(self._next, now - credit)) + self._interval

    def pause(self, seconds: float) -> None:
        """Let no call start for so many seconds, at most two minutes."""
        self._paused_until = max(self._paused_until, self._clock() + min(seconds, MAX_RETRY_AFTER))


class RateLimited:
    """Wraps a target, whose calls wait for their turn.

    A call that the provider refuses with a Retry-After holds back all others until then. `Retrying` wraps this class,
    so that every attempt waits for its own turn. Waiting for the turn does not count towards a call's timeout.
    """

    def __init__(self, target: Target, pace: Pace) -> None:
        """Wrap `target`; targets that ask the same provider, such as base's and head's, share their `pace`."""
        self._target = target
        self._pace = pace

    async def start(self) -> None:
        """Start the wrapped target."""
        await self._target.start()

    async def answer(self, call: Call) -> tuple[Answer, int]:
        """Wait for the turn, then answer the call.

        Raises:
            TargetError: what the wrapped target raises.
        """
        await self._pace.wait_for_turn()
        try:
            return await self._target.answer(call)
        except TargetError as error:
            if error.retry_after is not None:
                self._pace.pause(error.retry_after)
            raise

    async def close(self) -> None:
        """Close the wrapped target."""
        await self._target.close()
