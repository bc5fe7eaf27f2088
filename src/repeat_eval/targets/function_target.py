"""A Python function of this process as a target: for the Python API, where the function is already here."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

from repeat_eval.errors import UserError
from repeat_eval.suite.checks.base import Answer
from repeat_eval.targets.base import Call, TargetError
from repeat_eval.targets.python_target import answer_from_object, error_from_exception
from repeat_eval.targets.worker import TrialContext, bind, is_async


class FunctionTarget:
    """Calls a function, sync or async, with the case's input and, if it takes a second argument, the trial's context.

    Sync functions run in as many threads as there are workers. A sync function that does not come back in time is a
    timeout, but its thread cannot be stopped: it goes on until the function ends.
    """

    def __init__(self, function: Callable[..., Any], *, workers: int) -> None:
        try:
            self._function = bind(function)
        except TypeError as error:
            raise UserError(f"the function {getattr(function, '__name__', function)!r} {error}") from None
        self._workers = workers
        self._is_async = is_async(function)
        self._threads: ThreadPoolExecutor | None = None

    async def start(self) -> None:
        """Make the threads for a sync function."""
        if not self._is_async:
            self._threads = ThreadPoolExecutor(self._workers, thread_name_prefix="repeat-eval-trial")

    async def answer(self, call: Call) -> tuple[Answer, int]:
        """Call the function once.

        Raises:
            TargetError: it raised (kind `crash`, or `provider` for troubles of a provider), took too long, or returned
                something that is no answer.
        """
        context = TrialContext(
            case=call.case,
            repetition=call.repetition,
            repeats=call.repeats,
            seed=call.seed,
            input=call.input,
        )
        try:
            if call.timeout is None:
                value = await self._call(call.input, context)
            else:
                async with asyncio.timeout(call.timeout) as limit:
                    value = await self._call(call.input, context)
        except TimeoutError as error:
            if call.timeout is not None and limit.expired():
                raise TargetError("timeout", f"no answer within {call.timeout:g} s") from None
            raise error_from_exception(error) from error
        except KeyboardInterrupt:
            raise
        except (Exception, SystemExit) as error:
            raise error_from_exception(error) from error
        finally:
            context.cleanup()
        return answer_from_object(value), 1

    def _call(self, value: Any, context: TrialContext) -> Awaitable[Any]:
        if self._is_async:
            return cast("Awaitable[Any]", self._function(value, context))
        return asyncio.get_running_loop().run_in_executor(self._threads, self._function, value, context)

    async def close(self) -> None:
        """Let go of the threads; one that hangs is not waited for."""
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)
