"""Calls to an endpoint that says "too many" are held back together, and find the rate that it takes."""

from __future__ import annotations

import asyncio
import math
import random
import selectors
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from repeat_eval.models.throttle import Throttle


class _Skipping(selectors.SelectSelector):
    """A selector that does not wait but moves the clock on."""

    now = 0.0

    def select(self, timeout: float | None = None) -> Any:
        self.now += max(timeout or 0.0, 0.0)
        return super().select(0)


def in_skipped_time(scenario: Callable[[Callable[[], float]], Coroutine[Any, Any, Any]]) -> Any:
    """Run a scenario whose sleeps take no time; it is handed the clock."""
    selector = _Skipping()
    loop = asyncio.SelectorEventLoop(selector)
    loop.time = lambda: selector.now  # type: ignore[method-assign]
    try:
        return loop.run_until_complete(scenario(lambda: selector.now))
    finally:
        loop.close()


def seconds_for(calls: int, *, rate: float, burst: float, whole_seconds: bool, workers: int) -> tuple[float, int]:
    """How long so many calls take against a bucket that lets `rate` a second through, and how many were refused."""
    rng = random.Random(1)

    async def scenario(clock: Callable[[], float]) -> tuple[float, int]:
        throttle = Throttle(clock=clock)
        filled, looked, refused, left = burst, 0.0, 0, calls

        def must_wait() -> float:
            nonlocal filled, looked
            filled, looked = min(burst, filled + (clock() - looked) * rate), clock()
            if filled < 1 - 1e-9:
                return (1 - filled) / rate
            filled -= 1
            return 0.0

        async def worker() -> None:
            nonlocal refused, left
            while left > 0:
                left -= 1
                while True:
                    period = await throttle.wait_for_turn()
                    await asyncio.sleep(0.01 + rng.random() * 0.02)
                    wait = must_wait()
                    await asyncio.sleep(0.01)
                    if not wait:
                        break
                    refused += 1
                    throttle.refused(period, math.ceil(wait) if whole_seconds else wait)

        await asyncio.gather(*(worker() for _ in range(workers)))
        return clock(), refused

    took: tuple[float, int] = in_skipped_time(scenario)
    return took


@pytest.mark.parametrize("whole_seconds", [False, True])
@pytest.mark.parametrize("workers", [10, 50])
def test_200_calls_at_5_a_second_take_at_most_a_tenth_longer_than_they_must(whole_seconds: bool, workers: int) -> None:
    took, refused = seconds_for(200, rate=5, burst=5, whole_seconds=whole_seconds, workers=workers)
    assert took <= 1.1 * (200 - 5) / 5
    assert refused <= workers + 40


def test_an_endpoint_that_refuses_nothing_is_not_held_back() -> None:
    took, refused = seconds_for(200, rate=1e6, burst=1e6, whole_seconds=False, workers=10)
    assert took < 200 / 10 * 0.05
    assert refused == 0


def test_a_refusal_stops_all_calls_until_it_is_over() -> None:
    async def scenario(clock: Callable[[], float]) -> list[float]:
        throttle = Throttle(clock=clock)
        first = await throttle.wait_for_turn()
        await throttle.wait_for_turn()
        throttle.refused(first, 7)
        starts = []

        async def start() -> None:
            await throttle.wait_for_turn()
            starts.append(clock())

        await asyncio.gather(*(start() for _ in range(3)))
        return starts

    starts = in_skipped_time(scenario)
    assert starts[0] == pytest.approx(7)
    # One call went through in the seven seconds, and that is how the next ones are spaced.
    assert starts[1] - starts[0] == pytest.approx(7, rel=0.02)


def test_a_retry_after_of_an_hour_is_cut_to_two_minutes() -> None:
    async def scenario(clock: Callable[[], float]) -> float:
        throttle = Throttle(clock=clock)
        throttle.refused(await throttle.wait_for_turn(), 3600)
        await throttle.wait_for_turn()
        return clock()

    assert in_skipped_time(scenario) == pytest.approx(120)
