from __future__ import annotations

import asyncio
import heapq
import itertools
from collections.abc import Awaitable, Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from repeat_eval.suite.checks.base import Answer
from repeat_eval.targets.base import Call, TargetError
from repeat_eval.targets.rate_limit import Pace, Rate, RateLimited, parse_rate
from repeat_eval.targets.retrying import Retrying


class Time:
    """A clock that stands still until somebody sleeps, and then goes to the next who wakes."""

    def __init__(self) -> None:
        self.now = 0.0
        self._sleepers: list[tuple[float, int, asyncio.Event]] = []
        self._numbers = itertools.count()

    def clock(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        event = asyncio.Event()
        heapq.heappush(self._sleepers, (self.now + seconds, next(self._numbers), event))
        await event.wait()

    async def run(self, *coroutines: Awaitable[object]) -> list[object]:
        done = asyncio.gather(*coroutines, return_exceptions=True)
        while not done.done():
            for _ in range(50):
                await asyncio.sleep(0)
            if self._sleepers and not done.done():
                when, _, event = heapq.heappop(self._sleepers)
                self.now = max(self.now, when)
                event.set()
        return list(done.result())


class Recorder:
    """Notes when each call started; `behave` may raise or take time."""

    def __init__(self, time: Time, behave: Callable[[Call, int], Awaitable[None]] | None = None) -> None:
        self.starts: list[tuple[str, float]] = []
        self._time = time
        self._behave = behave

    async def start(self) -> None: ...

    async def close(self) -> None: ...

    async def answer(self, call: Call) -> tuple[Answer, int]:
        self.starts.append((call.case, self._time.now))
        if self._behave is not None:
            await self._behave(call, len(self.starts))
        return Answer(output="done"), 1


def call(case: str) -> Call:
    return Call(case=case, input=None, repetition=1, repeats=1, seed=0)


def limited(recorder: Recorder, rate: str | None, time: Time) -> RateLimited:
    return RateLimited(recorder, Pace(parse_rate(rate) if rate else None, clock=time.clock, sleep=time.sleep))


@pytest.mark.parametrize(
    ("text", "count", "seconds"),
    [
        ("60/min", 60, 60),
        ("60/minute", 60, 60),
        ("5/s", 5, 1),
        ("5/sec", 5, 1),
        ("2.5/second", 2.5, 1),
        ("100/h", 100, 3600),
        ("100 / hour", 100, 3600),
        ("60 per min", 60, 60),
    ],
)
def test_a_rate_is_a_number_and_a_unit(text: str, count: float, seconds: float) -> None:
    assert parse_rate(text) == Rate(count, seconds)


@pytest.mark.parametrize(
    "text", ["", "60", "60/day", "0/min", "0.0/s", "-1/s", "nan/s", "1e3/s", "٦/s", "60/min/s", "/s"]
)
def test_other_texts_are_refused_with_what_is_allowed(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not a rate; write a number above 0.*minute"):
        parse_rate(text)


@settings(deadline=None)
@given(st.text(max_size=60))
def test_no_text_breaks_the_reading(text: str) -> None:
    try:
        assert parse_rate(text).interval > 0
    except ValueError as error:
        assert len(str(error)) < 250


def test_calls_start_evenly_spaced_in_the_order_in_which_they_came() -> None:
    async def scenario() -> None:
        time = Time()
        recorder = Recorder(time)
        target = limited(recorder, "60/min", time)
        await time.run(*(target.answer(call(f"c{number}")) for number in range(5)))
        assert recorder.starts == [(f"c{number}", float(number)) for number in range(5)]

    asyncio.run(scenario())


def test_after_an_idle_time_at_most_one_start_is_early() -> None:
    async def scenario() -> None:
        time = Time()
        recorder = Recorder(time)
        target = limited(recorder, "60/min", time)
        await time.run(target.answer(call("first")))
        time.now = 1000.0
        await time.run(*(target.answer(call(f"c{number}")) for number in range(4)))
        assert [when for _, when in recorder.starts[1:]] == [1000, 1000, 1001, 1002]

    asyncio.run(scenario())


def test_a_slow_rate_gives_no_more_credit_than_a_second() -> None:
    async def scenario() -> None:
        time = Time()
        recorder = Recorder(time)
        target = limited(recorder, "1/min", time)
        await time.run(target.answer(call("first")))
        time.now = 1000.0
        await time.run(*(target.answer(call(f"c{number}")) for number in range(3)))
        assert [when for _, when in recorder.starts[1:]] == [1000, 1059, 1119]

    asyncio.run(scenario())


@settings(deadline=None)
@given(
    count=st.integers(1, 50),
    arrivals=st.lists(st.floats(0, 300, allow_nan=False), min_size=1, max_size=40),
)
def test_no_window_sees_more_starts_than_the_rate_and_one(count: int, arrivals: list[float]) -> None:
    async def scenario() -> None:
        time = Time()
        recorder = Recorder(time)
        target = RateLimited(recorder, Pace(Rate(count, 60.0), clock=time.clock, sleep=time.sleep))

        async def arrive(after: float) -> None:
            await time.sleep(after)
            await target.answer(call("c"))

        await time.run(*(arrive(after) for after in arrivals))
        starts = [when for _, when in recorder.starts]
        assert len(starts) == len(arrivals)
        assert starts == sorted(starts)
        for begin in starts:
            assert sum(begin <= when < begin + 59.999 for when in starts) <= count + 1

    asyncio.run(scenario())


def test_targets_that_share_a_pace_keep_the_rate_together() -> None:
    async def scenario() -> None:
        time = Time()
        recorder = Recorder(time)
        pace = Pace(parse_rate("60/min"), clock=time.clock, sleep=time.sleep)
        base, head = RateLimited(recorder, pace), RateLimited(recorder, pace)
        await time.run(*(side.answer(call("c")) for _ in range(3) for side in (base, head)))
        assert [when for _, when in recorder.starts] == [0, 1, 2, 3, 4, 5]

    asyncio.run(scenario())


def test_a_retry_after_holds_back_the_others() -> None:
    async def refuse_the_first(_: Call, number: int) -> None:
        if number == 1:
            raise TargetError("provider", "429", retry_after=30)

    async def scenario() -> None:
        time = Time()
        recorder = Recorder(time, refuse_the_first)
        target = limited(recorder, "60/min", time)
        results = await time.run(*(target.answer(call(f"c{number}")) for number in range(3)))
        assert isinstance(results[0], TargetError)
        assert [when for _, when in recorder.starts] == [0, 30, 30]

    asyncio.run(scenario())


def test_without_a_rate_there_is_only_the_common_pause() -> None:
    async def refuse_the_third(_: Call, number: int) -> None:
        if number == 3:
            raise TargetError("provider", "429", retry_after=600)

    async def scenario() -> None:
        time = Time()
        recorder = Recorder(time, refuse_the_third)
        target = limited(recorder, None, time)
        await time.run(*(target.answer(call(f"c{number}")) for number in range(3)))
        await time.run(target.answer(call("late")))
        assert [when for _, when in recorder.starts] == [0, 0, 0, 120]

    asyncio.run(scenario())


def test_every_attempt_of_a_retry_waits_for_its_own_turn() -> None:
    async def refuse_a_once(asked: Call, number: int) -> None:
        if number == 1:
            raise TargetError("provider", "503")

    async def scenario() -> None:
        time = Time()
        recorder = Recorder(time, refuse_a_once)
        target = Retrying(limited(recorder, "1/s", time), 1, frozenset({"provider"}), seed=0, sleep=time.sleep)
        await time.run(*(target.answer(call(case)) for case in "abc"))
        assert [case for case, _ in recorder.starts] in (["a", "b", "a", "c"], ["a", "b", "c", "a"])
        assert [when for _, when in recorder.starts] == [0, 1, 2, 3]

    asyncio.run(scenario())


def test_one_who_gives_up_waiting_takes_no_turn() -> None:
    async def scenario() -> None:
        time = Time()
        recorder = Recorder(time)
        target = limited(recorder, "1/s", time)
        await time.run(target.answer(call("first")))
        waiting = asyncio.ensure_future(target.answer(call("gives up")))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await time.run(target.answer(call("next")))
        assert recorder.starts == [("first", 0), ("next", 1)]

    asyncio.run(scenario())
