"""A Python function of this process as a target: for the Python API, where the function is already here."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import get_ident
from typing import Any

from repeat_eval.errors import UserError
from repeat_eval.suite.checks.base import Answer
from repeat_eval.targets.base import Call, TargetError
from repeat_eval.targets.python_target import answer_from_object, error_from_exception
from repeat_eval.targets.worker import TrialContext, bind, is_async


class FunctionTarget:
    """Calls a function, sync or async, with the case's input and, if it takes a second argument, the trial's context.

    A sync function runs in a thread. One that does not come back in time is a timeout, but its thread cannot be
    stopped: it goes on until the function ends.

    Attributes:
        inline: call a sync function in the thread that asks, which must then be one of its own for each trial in
            flight (see `execution.threads`): much quicker than handing it over. Nobody but that module sets it.
        begun: when the call of each thread (by its ident) began, by `time.perf_counter`; only with `inline`.
    """

    def __init__(self, function: Callable[..., Any], *, workers: int) -> None:
        """Describe the target.

        Args:
            function: takes the input, or the input and a TrialContext.
            workers: threads for a sync function.

        Raises:
            UserError: the function cannot be called like that.
        """
        try:
            self._function = bind(function)
        except TypeError as error:
            raise UserError(f"the function {getattr(function, '__name__', function)!r} {error}") from None
        self._workers = workers
        self.is_async = is_async(function)
        self.inline = False
        self.begun: dict[int, float] = {}
        self._threads: ThreadPoolExecutor | None = None

    async def start(self) -> None:
        """Nothing to do; threads are made when they are needed."""

    async def answer(self, call: Call) -> tuple[Answer, int]:
        """Call the function once.

        Raises:
            TargetError: it raised (kind `crash`, or `provider` for troubles of a provider), took too long, or returned
                something that is no answer.
        """
        given = _of_its_own(call.input)
        context = TrialContext(
            case=call.case, repetition=call.repetition, repeats=call.repeats, seed=call.seed, input=given
        )
        begin = time.perf_counter()
        limit: asyncio.Timeout | None = None
        try:
            if self.inline:
                self.begun[get_ident()] = begin
                value = self._function(given, context)
            elif call.timeout is None:
                value = await self._call(given, context)
            else:
                async with asyncio.timeout(call.timeout) as limit:
                    value = await self._call(given, context)
        except (Exception, SystemExit) as error:
            if isinstance(error, TimeoutError) and limit is not None and limit.expired():
                raise TargetError("timeout", f"no answer within {call.timeout:g} s") from None
            raise error_from_exception(error) from error
        finally:
            if self.inline:
                self.begun.pop(get_ident(), None)
            context.cleanup()
        return answer_from_object(value, seconds=time.perf_counter() - begin), 1

    def _call(self, value: Any, context: TrialContext) -> Any:
        if self.is_async:
            return self._function(value, context)
        if self._threads is None:
            self._threads = ThreadPoolExecutor(self._workers, thread_name_prefix="repeat-eval-trial")
        return asyncio.get_running_loop().run_in_executor(self._threads, self._function, value, context)

    async def close(self) -> None:
        """Let go of the threads; one that hangs is not waited for."""
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)


def _of_its_own(value: Any) -> Any:
    """The value with lists and dicts of its own: a function that adds to its input must not change the next trial's."""
    if isinstance(value, dict):
        return {key: _of_its_own(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_of_its_own(inner) for inner in value]
    return value
