"""What people see while trials run: a live bar in a terminal, plain lines in logs, nothing with --quiet."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, TextIO

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID

LINE_SECONDS = 10.0


class Progress(Protocol):
    """Follows a run. `start` once, `step` for each trial (or run of a command) that ends, `stop` at the end."""

    def start(self, total: int, done: int, unit: str = "trials") -> None:
        """So many are wanted, so many are done already."""

    def step(self, *, failed: bool = False, error: bool = False, cost: float | None = None) -> None:
        """One ended."""

    def stop(self) -> None:
        """No more."""


class Silent:
    """Shows nothing."""

    def start(self, total: int, done: int, unit: str = "trials") -> None:
        """Shows nothing."""

    def step(self, *, failed: bool = False, error: bool = False, cost: float | None = None) -> None:
        """Shows nothing."""

    def stop(self) -> None:
        """Shows nothing."""


class Counter:
    """Counts what ended, and tells time left and money spent in words."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self.total = self.done = self.failed = self.errors = 0
        self.cost: float | None = None
        self.unit = "trials"
        self._begin, self._first = clock(), 0

    def start(self, total: int, done: int, unit: str) -> None:
        """Start counting."""
        self.unit = unit
        self.total, self.done, self._first, self._begin = total, done, done, self._clock()

    def step(self, *, failed: bool, error: bool, cost: float | None) -> None:
        """Count one that ended."""
        self.done += 1
        self.failed += failed
        self.errors += error
        if cost is not None:
            self.cost = (self.cost or 0.0) + cost

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return self._clock() - self._begin

    def left(self) -> float | None:
        """Estimated seconds left; None before anything ended."""
        fresh = self.done - self._first
        return self.elapsed / fresh * (self.total - self.done) if fresh else None

    def text(self, *, ended: bool = False) -> str:
        """Everything in one line; when it has `ended`, no time is left."""
        parts = [f"{self.done}/{self.total} {self.unit}"]
        if self.failed:
            parts.append(f"{self.failed} failed")
        if self.errors:
            parts.append(f"{self.errors} error" if self.errors == 1 else f"{self.errors} errors")
        if self.cost is not None:
            parts.append(f"${self.cost:.2f}")
        left = self.left()
        if left is not None and self.done < self.total and not ended:
            parts.append(f"about {_seconds(left)} left")
        return ", ".join(parts)


def _seconds(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


class Lines:
    """A plain line now and then, for logs: each tenth of the trials, but not more often than every ten seconds."""

    def __init__(
        self, stream: TextIO, clock: Callable[[], float] = time.monotonic, every: float = LINE_SECONDS
    ) -> None:
        self._stream = stream
        self._clock = clock
        self._every = every
        self._last = clock()
        self._counter = Counter(clock)

    def start(self, total: int, done: int, unit: str = "trials") -> None:
        """Say how much there is to do."""
        self._counter.start(total, done, unit)
        self._last = self._clock()
        kept = f", {done} are there already" if done else ""
        self._say(f"running {total - done} {unit}{kept}")

    def step(self, *, failed: bool = False, error: bool = False, cost: float | None = None) -> None:
        """Say how far it is, if it is time."""
        self._counter.step(failed=failed, error=error, cost=cost)
        if self._clock() - self._last >= self._every:
            self._last = self._clock()
            self._say(self._counter.text())

    def stop(self) -> None:
        """Say how it ended."""
        self._say(f"{self._counter.text(ended=True)} in {_seconds(self._counter.elapsed)}")

    def _say(self, text: str) -> None:
        # Whoever reads the log may have gone; the run goes on.
        with contextlib.suppress(BrokenPipeError):
            self._stream.write(f"repeat-eval: {text}\n")
            self._stream.flush()


class Bar:
    """A live bar in a terminal."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._counter = Counter()
        self._progress: RichProgress | None = None
        self._task: TaskID | None = None
        self._drawn = 0.0

    def start(self, total: int, done: int, unit: str = "trials") -> None:
        """Draw the bar."""
        from rich.progress import BarColumn, Progress, TextColumn

        self._counter.start(total, done, unit)
        self._progress = Progress(
            TextColumn(f"[cyan]{unit}[/]"),
            BarColumn(bar_width=32),
            TextColumn("{task.fields[text]}", markup=False),
            console=self._console,
            transient=True,
            refresh_per_second=8,
        )
        self._task = self._progress.add_task(unit, total=total, completed=done, text=self._counter.text())
        self._progress.start()

    def step(self, *, failed: bool = False, error: bool = False, cost: float | None = None) -> None:
        """Move the bar, at most a dozen times a second."""
        self._counter.step(failed=failed, error=error, cost=cost)
        now = time.monotonic()
        if now - self._drawn > 0.08 and self._progress is not None and self._task is not None:
            self._drawn = now
            self._progress.update(self._task, completed=self._counter.done, text=self._counter.text())

    def stop(self) -> None:
        """Remove the bar."""
        if self._progress is not None:
            self._progress.stop()
