"""Reasons to start no further trial: a budget is used up, or somebody asked to stop."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable, Iterator
from typing import Any

from repeat_eval.records.run import StopReason

GRACE_SECONDS = 5.0


class Stop:
    """Says whether trials may still start, and if not, why."""

    def __init__(self, *, max_cost: float | None = None, grace: float = GRACE_SECONDS) -> None:
        """A stop that nothing has triggered.

        Args:
            max_cost: US dollars after which no trial starts; None without limit.
            grace: seconds that trials in flight have to end after an interruption.
        """
        self.reason: StopReason | None = None
        self.spent = 0.0
        self.costs_known = 0
        self.grace = grace
        self._max_cost = max_cost
        self._listeners: list[Callable[[], None]] = []

    def trigger(self, reason: StopReason) -> None:
        """Start no further trial; the first reason holds."""
        if self.reason is None:
            self.reason = reason
            for listener in self._listeners:
                listener()

    def interrupt(self) -> None:
        """Somebody asked to stop: holds even after a budget was used up."""
        self.reason = "interrupted"
        for listener in self._listeners:
            listener()

    def on_trigger(self, listener: Callable[[], None]) -> None:
        """Call `listener` when the stop is triggered."""
        self._listeners.append(listener)

    def spend(self, cost: float | None) -> None:
        """Account for the cost of a trial; unknown costs count for nothing, and `costs_known` tells."""
        if cost is None:
            return
        self.spent += cost
        self.costs_known += 1
        if self._max_cost is not None and self.spent >= self._max_cost:
            self.trigger("max-cost")


@contextlib.contextmanager
def signals_stop(stop: Stop, loop: asyncio.AbstractEventLoop, notify: Callable[[str], None]) -> Iterator[None]:
    """While inside, SIGINT and SIGTERM trigger the stop; a second one raises KeyboardInterrupt out of the event loop.

    Whoever runs the loop with `asyncio.run` then has every task cancelled, which kills what they started: nothing goes
    on behind a program that was told to end at once. A third signal is no longer handled here.

    Does nothing outside the main thread, where Python cannot handle signals.
    """

    def handle(number: int) -> None:
        if stop.reason == "interrupted":
            release()
            raise KeyboardInterrupt
        notify(
            f"{signal.Signals(number).name}: no further trial starts; waiting up to {stop.grace:.0f} s for those in "
            "flight (again: end at once)"
        )
        stop.interrupt()

    before: dict[int, Any] = {}

    def release() -> None:
        while before:
            number, handler = before.popitem()
            loop.remove_signal_handler(number)
            signal.signal(number, handler if handler is not None else signal.SIG_DFL)

    with contextlib.suppress(ValueError, RuntimeError, NotImplementedError):
        for number in (signal.SIGINT, signal.SIGTERM):
            handler = signal.getsignal(number)
            loop.add_signal_handler(number, handle, number)
            before[number] = handler
    try:
        yield
    finally:
        release()
