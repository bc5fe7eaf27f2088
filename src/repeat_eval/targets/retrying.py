"""Retrying errors, never failures: a target that gave an answer is not asked again, whatever the answer is."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable

from repeat_eval.records.trial import ErrorKind
from repeat_eval.suite.checks.base import Answer
from repeat_eval.targets.base import Call, Target, TargetError

FIRST_DELAY = 0.5
MAX_DELAY = 30.0
MAX_RETRY_AFTER = 120.0
"""Seconds that a provider's Retry-After may hold us back at most."""


class Retrying:
    """Wraps a target and repeats calls that end in an error, with exponential back-off."""

    def __init__(
        self,
        target: Target,
        retries: int,
        retry_on: frozenset[ErrorKind],
        *,
        seed: int = 0,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        """Wrap `target`.

        Args:
            target: what is asked.
            retries: how often a call may be repeated; 0 never.
            retry_on: the kinds of errors worth another try.
            seed: makes the jitter of the delays repeatable.
            sleep: waits so many seconds.
        """
        self._target = target
        self._retries = retries
        self._retry_on = retry_on
        self._seed = seed
        self._sleep = sleep

    async def start(self) -> None:
        """Start the wrapped target."""
        await self._target.start()

    async def answer(self, call: Call) -> tuple[Answer, int]:
        """Answer one call; the number of attempts counts every try.

        Raises:
            TargetError: the last try's error, with `attempts`; its message says how many there were.
        """
        attempts = 0
        draw: random.Random | None = None
        while True:
            try:
                answer, tries = await self._target.answer(call)
            except TargetError as error:
                attempts += error.attempts
                retries_made = attempts - 1
                if not error.retryable or error.kind not in self._retry_on or retries_made >= self._retries:
                    raise _after(error, attempts) from error
                if draw is None:
                    draw = random.Random(f"{self._seed}/{call.case}/{call.repetition}")  # noqa: S311 - jitter
                await self._sleep(delay_before_retry(attempts, error.retry_after, draw.random()))
            else:
                return answer, attempts + tries

    async def close(self) -> None:
        """Close the wrapped target."""
        await self._target.close()


def delay_before_retry(retry: int, retry_after: float | None, jitter: float) -> float:
    """Seconds to wait before the `retry`-th retry (counted from 1).

    Without Retry-After about 0.5, 1, 2, 4 … seconds, at most 30; the jitter, in [0, 1), spreads calls that failed
    together over half to one and a half times that. A Retry-After is obeyed up to 120 s, and spread over half a
    second more.
    """
    usual = min(FIRST_DELAY * 2.0 ** min(retry - 1, 16), MAX_DELAY)
    spread = min(usual * (0.5 + jitter), MAX_DELAY)
    if retry_after is None:
        return spread
    return max(spread, min(retry_after, MAX_RETRY_AFTER) + FIRST_DELAY * jitter)


def _after(error: TargetError, attempts: int) -> TargetError:
    message = error.message if attempts == 1 else f"{error.message} ({attempts} attempts)"
    final = TargetError(error.kind, message, retry_after=error.retry_after, retryable=error.retryable)
    final.attempts = attempts
    return final
