"""Each call of a model waits for its turn and is tried again after an error of the provider; attempts are counted."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from repeat_eval.models.call import AskModel, CallSlot, ModelReply, ModelRequest
from repeat_eval.models.throttle import Throttle
from repeat_eval.records.trial import ErrorKind
from repeat_eval.targets.base import TargetError
from repeat_eval.targets.retrying import delay_before_retry

if TYPE_CHECKING:
    from repeat_eval.targets.rate_limit import Pace

PATIENCE = 600.0
"""Seconds for which a call that is refused with "too many, come back later" comes back without using up a retry."""


class TooManyCalls(TargetError):
    """The provider refused a call only because there were too many of them."""


class RetryingCalls:
    """Wraps whoever answers model calls.

    An endpoint that refuses a call as one too many and says when to come back has not failed: the call waits, together
    with all others to that endpoint, and uses up a retry only after ten minutes. Every other error that may be tried
    again uses up one.
    """

    def __init__(
        self,
        ask: AskModel,
        *,
        retries: int = 0,
        retry_on: frozenset[ErrorKind] = frozenset({"provider"}),
        throttle: Throttle | None = None,
        pace: Pace | None = None,
        seed: int = 0,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        """Wrap `ask`.

        Args:
            ask: answers one call, once.
            retries: how often a call may be repeated after an error.
            retry_on: the kinds of errors worth another try.
            throttle: shared by all calls to the same endpoint. pace: the rate that the user set for all calls.
            seed: makes the jitter of the delays repeatable.
            clock: tells seconds. sleep: waits so many seconds.
        """
        self._ask = ask
        self._retries = retries
        self._retry_on = retry_on
        self._throttle = throttle if throttle is not None else Throttle(clock=clock, sleep=sleep)
        self._pace = pace
        self._seed = seed
        self._clock = clock
        self._sleep = sleep
        self._again: dict[tuple[str, int, str], int] = {}

    async def __call__(self, request: ModelRequest, slot: CallSlot) -> ModelReply:
        """Answer one call.

        Raises:
            TargetError: the last try's error; `attempts` counts the tries of this call, and its message says them.
        """
        attempts = failures = 0
        first_refusal: float | None = None
        draw: random.Random | None = None
        while True:
            attempts += 1
            try:
                reply = await self._once(request, slot)
            except TargetError as error:
                now = self._clock()
                refused = isinstance(error, TooManyCalls) and error.retry_after is not None
                if refused and first_refusal is None:
                    first_refusal = now
                free = refused and first_refusal is not None and now - first_refusal < PATIENCE
                failures += not free
                if not error.retryable or error.kind not in self._retry_on or (not free and failures > self._retries):
                    raise _after(error, attempts) from error
                self._again[_part(slot)] = self._again.get(_part(slot), 0) + 1
                if free:
                    continue  # the throttle makes it wait, with all others
                if draw is None:
                    draw = random.Random(f"{self._seed}/{slot.case}/{slot.repetition}/{slot.part}/{slot.index}")  # noqa: S311 - jitter
                await self._sleep(delay_before_retry(failures, error.retry_after, draw.random()))
            else:
                return reply

    def take_retries(self, slot: CallSlot) -> int:
        """How many further tries the calls of this trial and part took, and forget them."""
        return self._again.pop(_part(slot), 0)

    async def _once(self, request: ModelRequest, slot: CallSlot) -> ModelReply:
        if self._pace is not None:
            await self._pace.wait_for_turn()
        period = await self._throttle.wait_for_turn()
        try:
            return await self._ask(request, slot)
        except TargetError as error:
            if isinstance(error, TooManyCalls) or error.retry_after is not None:
                self._throttle.refused(period, error.retry_after)
            raise


def _part(slot: CallSlot) -> tuple[str, int, str]:
    return slot.case, slot.repetition, slot.part


def _after(error: TargetError, attempts: int) -> TargetError:
    message = error.message if attempts == 1 else f"{error.message} ({attempts} attempts)"
    final = TargetError(error.kind, message, retry_after=error.retry_after, retryable=error.retryable)
    final.attempts = attempts
    return final
