"""Which trial comes next."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from repeat_eval.execution.scheduler import Scheduler


def hand_out(scheduler: Scheduler, count: int) -> list[tuple[int, int]]:
    """Ask `count` times without any trial ending."""
    return [pair for pair in (scheduler.next() for _ in range(count)) if pair is not None]


def simulate(scheduler: Scheduler, workers: int, chance: random.Random) -> tuple[list[tuple[int, int]], list[int]]:
    """Run to the end with trials ending in random order; the pairs, and how many of one case overlapped at most."""
    flying: list[tuple[int, int]] = []
    pairs: list[tuple[int, int]] = []
    overlap: list[int] = []
    while True:
        while len(flying) < workers and (pair := scheduler.next()) is not None:
            flying.append(pair)
            pairs.append(pair)
            overlap.append(max(Counter(index for index, _ in flying).values()))
        if not flying:
            return pairs, overlap
        index, _ = flying.pop(chance.randrange(len(flying)))
        scheduler.ended(index)


def test_the_case_with_the_fewest_trials_in_flight_comes_first() -> None:
    scheduler = Scheduler([3, 3, 3])
    assert hand_out(scheduler, 3) == [(0, 1), (1, 1), (2, 1)]
    scheduler.ended(1)
    assert scheduler.next() == (1, 2)


def test_repeats_are_spread_so_that_a_run_cut_short_has_equally_many_of_each_case() -> None:
    scheduler = Scheduler([10, 10, 10])
    for _ in range(15):
        pair = scheduler.next()
        assert pair is not None
        scheduler.ended(pair[0])
    assert scheduler.remaining == 15
    rest, _ = simulate(scheduler, 1, random.Random(1))
    assert Counter(index for index, _ in rest) == {0: 5, 1: 5, 2: 5}


def test_with_enough_cases_the_trials_of_a_case_run_one_after_another() -> None:
    _, overlap = simulate(Scheduler([10] * 20), 8, random.Random(2))
    full = overlap[: 20 * 10 - 8 * 10]
    assert max(full) == 1


def test_with_spare_workers_the_trials_of_a_case_overlap() -> None:
    assert hand_out(Scheduler([5, 5]), 6) == [(0, 1), (1, 1), (0, 2), (1, 2), (0, 3), (1, 3)]


def test_sequential_never_has_two_trials_of_one_case_in_flight() -> None:
    scheduler = Scheduler([5, 5], sequential=True)
    assert hand_out(scheduler, 6) == [(0, 1), (1, 1)]
    scheduler.ended(0)
    assert scheduler.next() == (0, 2)
    assert scheduler.next() is None
    assert scheduler.remaining == 7


def test_what_is_done_is_not_handed_out_again() -> None:
    scheduler = Scheduler([3, 2], done=[(0, 1), (0, 3), (1, 1), (1, 2)])
    assert scheduler.remaining == 1
    assert hand_out(scheduler, 5) == [(0, 2)]


def test_a_resumed_run_catches_up_with_the_cases_that_are_behind() -> None:
    scheduler = Scheduler([4, 4], done=[(0, 1), (0, 2), (0, 3)])
    assert scheduler.next() == (1, 1)
    scheduler.ended(1)
    assert scheduler.next() == (1, 2)


def test_nothing_asked_gives_nothing() -> None:
    assert Scheduler([]).next() is None
    assert Scheduler([2], done=[(0, 1), (0, 2)]).next() is None


@given(
    asked=st.lists(st.integers(0, 6), max_size=6),
    workers=st.integers(1, 9),
    sequential=st.booleans(),
    chance=st.randoms(use_true_random=False),
    data=st.data(),
)
def test_each_trial_is_handed_out_exactly_once_whatever_the_order_in_which_they_end(
    asked: list[int], workers: int, sequential: bool, chance: random.Random, data: st.DataObject
) -> None:
    wanted = [(index, repetition) for index, count in enumerate(asked) for repetition in range(1, count + 1)]
    done: Sequence[tuple[int, int]] = data.draw(st.lists(st.sampled_from(wanted), unique=True)) if wanted else []
    scheduler = Scheduler(asked, done=done, sequential=sequential)
    pairs, overlap = simulate(scheduler, workers, chance)
    assert sorted(pairs) == sorted(set(wanted) - set(done))
    assert scheduler.remaining == 0
    if sequential:
        assert max(overlap, default=1) == 1
