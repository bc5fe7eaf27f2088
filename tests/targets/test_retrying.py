from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from repeat_eval.suite.checks.base import Answer
from repeat_eval.targets.base import Call, TargetError
from repeat_eval.targets.retrying import MAX_RETRY_AFTER, Retrying, delay_before_retry

CALL = Call(case="refund", input="x", repetition=1, repeats=3, seed=7)
PROVIDER = frozenset({"provider"})


@dataclass
class Scripted:
    """Raises what it is given, then answers."""

    errors: list[TargetError]
    calls: int = 0
    events: list[str] = field(default_factory=list)

    async def start(self) -> None:
        self.events.append("start")

    async def answer(self, call: Call) -> tuple[Answer, int]:
        self.calls += 1
        if self.errors:
            raise self.errors.pop(0)
        return Answer(output="done"), 1

    async def close(self) -> None:
        self.events.append("close")


def busy(retry_after: float | None = None) -> TargetError:
    return TargetError("provider", "the endpoint answered 429", retry_after=retry_after)


def ask(target: Scripted, retries: int, *, seed: int = 0) -> tuple[Any, list[float]]:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    result: Any
    try:
        result = asyncio.run(Retrying(target, retries, PROVIDER, seed=seed, sleep=sleep).answer(CALL))
    except TargetError as error:
        result = error
    return result, slept


def test_an_answer_at_once_is_one_attempt() -> None:
    (answer, attempts), slept = ask(Scripted([]), 2)
    assert (answer.output, attempts, slept) == ("done", 1, [])


def test_an_answer_after_two_errors_is_three_attempts() -> None:
    (answer, attempts), slept = ask(Scripted([busy(), busy()]), 2)
    assert (answer.output, attempts) == ("done", 3)
    assert len(slept) == 2


def test_the_last_error_says_how_many_attempts_there_were() -> None:
    target = Scripted([busy() for _ in range(9)])
    error, slept = ask(target, 2)
    assert error.message == str(error) == "the endpoint answered 429 (3 attempts)"
    assert (error.kind, error.attempts, target.calls, len(slept)) == ("provider", 3, 3, 2)


def test_without_retries_the_message_is_left_alone() -> None:
    error, _ = ask(Scripted([busy()]), 0)
    assert (error.message, error.attempts) == ("the endpoint answered 429", 1)


def test_kinds_that_are_not_listed_are_not_retried() -> None:
    error, slept = ask(Scripted([TargetError("crash", "exit 3")]), 5)
    assert (error.message, error.attempts, slept) == ("exit 3", 1, [])


def test_what_is_not_retryable_is_not_retried() -> None:
    error, slept = ask(Scripted([TargetError("provider", "no", retryable=False)]), 5)
    assert (error.attempts, slept) == (1, [])


def test_an_error_that_is_no_longer_retryable_ends_the_tries() -> None:
    error, slept = ask(Scripted([busy(), TargetError("crash", "exit 3")]), 5)
    assert (error.message, error.attempts, len(slept)) == ("exit 3 (2 attempts)", 2, 1)


def test_retry_after_is_obeyed() -> None:
    _, slept = ask(Scripted([busy(retry_after=17)]), 1)
    assert 17 <= slept[0] <= 17.5


def test_retry_after_is_bounded() -> None:
    _, slept = ask(Scripted([busy(retry_after=86_400)]), 1)
    assert MAX_RETRY_AFTER <= slept[0] <= MAX_RETRY_AFTER + 0.5


def test_delays_are_the_same_for_the_same_seed_and_others_for_another() -> None:
    def delays(seed: int) -> list[float]:
        return ask(Scripted([busy() for _ in range(9)]), 4, seed=seed)[1]

    assert delays(1) == delays(1)
    assert delays(1) != delays(2)


def test_start_and_close_reach_the_target() -> None:
    target = Scripted([])

    async def scenario() -> None:
        retrying = Retrying(target, 1, PROVIDER, seed=0)
        await retrying.start()
        await retrying.close()

    asyncio.run(scenario())
    assert target.events == ["start", "close"]


def test_cancelling_ends_the_waiting() -> None:
    async def scenario() -> None:
        target = Scripted([busy(retry_after=100)])
        task = asyncio.create_task(Retrying(target, 1, PROVIDER, seed=0).answer(CALL))
        while not target.calls:  # noqa: ASYNC110
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(scenario())


@pytest.mark.parametrize(("retry", "seconds"), [(1, 0.5), (2, 1), (3, 2), (4, 4), (7, 30), (5_000, 30)])
def test_delays_double_up_to_half_a_minute(retry: int, seconds: float) -> None:
    assert delay_before_retry(retry, None, 0.5) == seconds


@settings(deadline=None)
@given(retry=st.integers(1, 10_000), after=st.none() | st.floats(0, 1e9), jitter=st.floats(0, 1, exclude_max=True))
def test_no_delay_is_negative_or_without_bound(retry: int, after: float | None, jitter: float) -> None:
    delay = delay_before_retry(retry, after, jitter)
    assert 0.25 <= delay <= MAX_RETRY_AFTER + 0.5
    assert after is None or delay >= min(after, MAX_RETRY_AFTER)
