"""How many calls an endpoint takes, learned from its refusals: a common pause, then evenly spaced calls."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from repeat_eval.targets.retrying import MAX_RETRY_AFTER

USUAL_PAUSE = 1.0
"""Seconds to pause after a refusal that names no time."""
MIN_INTERVAL, MAX_INTERVAL = 0.001, 30.0
CAREFUL, FASTER = 0.995, 0.97
"""By these factors the interval between calls shrinks with each call: the first ones after a pause, and the others."""
CAREFUL_CALLS = 20
CREEP = 1.05
"""By how much the interval that once held may grow after a refusal, unless it was plainly wrong."""


@dataclass(slots=True)
class Period:
    """The calls between two pauses: when the first started, how many started, how many of them were refused."""

    began: float
    interval_before: float
    started: int = 0
    refused: int = 0


class Throttle:
    """Holds calls to one endpoint back after it said "too many", all of them together.

    A refusal stops every call until its Retry-After is over. The calls of the period before that were not refused,
    over its time with the pause, tell how many the endpoint takes in the long run. Calls are then spaced like that, and
    slowly come closer until the next refusal. Nothing is held back before the first one.
    """

    def __init__(
        self,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        """Nothing was refused yet.

        Args:
            clock: tells seconds, from any beginning.
            sleep: waits so many seconds.
        """
        self._clock = clock
        self._sleep = sleep
        self._turn = asyncio.Lock()  # wakes those who wait in the order in which they came
        self._interval = 0.0
        self._learned = math.inf
        self._next = -math.inf
        self._paused_until = -math.inf
        self._open: Period | None = None
        self._closed: Period | None = None

    async def wait_for_turn(self) -> Period:
        """Wait until a call may start; gives what `refused` wants to know."""
        async with self._turn:
            while (wait := max(self._next, self._paused_until) - (now := self._clock())) > 0:
                # Looked at again after every sleep: another call may have been refused meanwhile.
                await self._sleep(wait)
            period = self._open
            if period is None:
                period = self._open = Period(now, self._learned)
                self._next = now
            # Timers ring late. A credit of one interval keeps the pace without ever letting a crowd through.
            self._next = max(self._next, now - self._interval) + self._interval
            period.started += 1
            shrinking = CAREFUL if period.started <= CAREFUL_CALLS else FASTER
            self._interval = self._interval * shrinking if self._interval > MIN_INTERVAL else 0.0
            return period

    def refused(self, period: Period, retry_after: float | None) -> None:
        """A call was refused because there were too many.

        Args:
            period: what `wait_for_turn` gave that call.
            retry_after: seconds that the endpoint asks to wait, at most two minutes; None if it named none.
        """
        pause = min(USUAL_PAUSE if retry_after is None else retry_after, MAX_RETRY_AFTER)
        self._paused_until = max(self._paused_until, self._clock() + pause)
        period.refused += 1
        if period is self._open:
            self._open, self._closed = None, period
        if period is self._closed:  # also for calls that were on their way when the first one was refused
            self._learn(period, pause)

    def _learn(self, period: Period, pause: float) -> None:
        taken = period.started - period.refused
        before = period.interval_before
        measured = (self._paused_until - period.began) / taken if taken else max(2 * self._interval, pause)
        # After a pause that is longer than it had to be, a period looks slower than the endpoint is.
        wrong = measured < before or measured > 2 * before
        self._learned = measured if wrong else min(measured, before * CREEP)
        self._interval = min(max(self._learned, MIN_INTERVAL), MAX_INTERVAL)
