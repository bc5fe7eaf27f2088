"""Which trial comes next. Repeats of a case are spread out when there is room, and overlap only when there is not.

The next trial comes from the case with the fewest trials in flight; among those from the one with the fewest trials
started, then in the order asked for, as a rule the suite's. So a run that is cut short has about equally many trials of
every case.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Sequence


class Scheduler:
    """Hands out (case index, repetition) pairs, each exactly once.

    Not safe for threads: it lives in the event loop.
    """

    def __init__(
        self,
        asked: Sequence[int],
        *,
        done: Collection[tuple[int, int]] = (),
        sequential: bool = False,
        order: Callable[[int, int], tuple[int, int]] | None = None,
    ) -> None:
        """Plan the trials.

        Args:
            asked: number of trials of each case.
            done: (case index, repetition) pairs that are not wanted any more.
            sequential: never two trials of one case at the same time.
            order: rank of a case (by index) when so many of its trials were started; None is the suite's order.
        """
        finished = set(done)
        self._sequential = sequential
        self._order = order or _in_suite_order
        self._pending = [
            [repetition for repetition in range(count, 0, -1) if (index, repetition) not in finished]
            for index, count in enumerate(asked)
        ]
        self._started = [count - len(pending) for count, pending in zip(asked, self._pending, strict=True)]
        self._in_flight = [0] * len(asked)
        self._heap = [self._entry(index) for index, pending in enumerate(self._pending) if pending]
        heapq.heapify(self._heap)
        self.remaining = sum(len(pending) for pending in self._pending)
        """Trials not handed out yet."""

    def next(self) -> tuple[int, int] | None:
        """The next trial to start, or None.

        None means that nothing is left, or (when sequential) that every case with trials left has one in flight:
        whoever runs that one will be given the next, so the asker may stop asking.
        """
        heap = self._heap
        while heap:
            in_flight, started, _, index = heap[0]
            if in_flight != self._in_flight[index] or started != self._started[index]:
                heapq.heappop(heap)
                continue
            if self._sequential and in_flight:
                return None
            repetition = self._pending[index].pop()
            self.remaining -= 1
            self._in_flight[index] += 1
            self._started[index] += 1
            if self._pending[index]:
                heapq.heapreplace(heap, self._entry(index))
            else:
                heapq.heappop(heap)
            return index, repetition
        return None

    def ended(self, index: int) -> None:
        """A trial of this case ended, however."""
        self._in_flight[index] -= 1
        if self._pending[index]:
            heapq.heappush(self._heap, self._entry(index))

    def _entry(self, index: int) -> tuple[int, int, tuple[int, int], int]:
        started = self._started[index]
        return self._in_flight[index], started, self._order(index, started), index


def _in_suite_order(index: int, started: int) -> tuple[int, int]:
    return index, 0
