"""How the trials of a run are divided among machines."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repeat_eval.errors import UserError
from repeat_eval.execution.shards import divide, parse_shard, shard_of_command, shard_of_suite
from repeat_eval.records.run import CasePlan

names = st.text("abcdefgh", min_size=1, max_size=3)
suites = st.dictionaries(names, st.integers(1, 12), max_size=12).map(lambda cases: list(cases.items()))
times = st.dictionaries(names, st.floats(0, 1000), max_size=12)


@given(suites, st.integers(1, 12), times)
def test_every_trial_is_in_exactly_one_shard(
    asked: list[tuple[str, int]], of: int, durations: dict[str, float]
) -> None:
    shards = divide(asked, of, durations)
    trials = Counter((case, number) for shard in shards for case, numbers in shard.items() for number in numbers)
    assert trials == Counter((case, number) for case, count in asked for number in range(1, count + 1))
    assert len(shards) == of


@given(suites, st.integers(1, 12))
def test_without_durations_no_shard_has_two_trials_more_than_another(asked: list[tuple[str, int]], of: int) -> None:
    counts = [sum(map(len, shard.values())) for shard in divide(asked, of)]
    assert max(counts) - min(counts) <= 1


@given(suites, st.integers(1, 12), times)
def test_with_durations_shards_differ_by_one_longest_trial_at_most(
    asked: list[tuple[str, int]], of: int, durations: dict[str, float]
) -> None:
    known = {case: durations[case] for case, _ in asked if case in durations}
    usual = sum(known.values()) / len(known) if known else 1.0
    loads = [
        sum(known.get(case, usual) * len(numbers) for case, numbers in shard.items())
        for shard in divide(asked, of, durations)
    ]
    assert max(loads) - min(loads) <= max(known.get(case, usual) for case, _ in asked or [("", 0)]) + 1e-6


def test_the_repetitions_of_a_case_go_to_different_shards() -> None:
    for shard in divide([("a", 8), ("b", 8), ("c", 8)], 8):
        assert {case: len(numbers) for case, numbers in shard.items()} == {"a": 1, "b": 1, "c": 1}


def test_a_slow_case_weighs_what_it_took() -> None:
    slow, fast = divide([("slow", 1), ("fast", 10)], 2, {"slow": 10.0, "fast": 1.0})
    assert slow == {"slow": (1,)}
    assert fast == {"fast": tuple(range(1, 11))}


def test_a_shard_says_how_all_trials_were_divided() -> None:
    plans = [CasePlan(id="a", asked=3), CasePlan(id="b", asked=3)]
    one, two = (shard_of_suite(plans, index, 2) for index in (1, 2))
    other = shard_of_suite(plans, 1, 2, {"a": 9.0, "b": 1.0})
    assert one.split == two.split != other.split
    assert str(two) == "shard 2 of 2"


def test_a_command_is_divided_by_its_runs() -> None:
    assert [shard_of_command(5, index, 2).repetitions for index in (1, 2)] == [(1, 3, 5), (2, 4)]
    assert [shard_of_command(1, index, 2).repetitions for index in (1, 2)] == [(1,), ()]


def test_a_shard_is_written_as_its_number_and_how_many_there_are() -> None:
    assert parse_shard("2/8") == (2, 8)
    assert parse_shard(" 1/1 ") == (1, 1)


@pytest.mark.parametrize("text", ["", "2", "0/8", "9/8", "-1/8", "1/0", "1/1001", "a/b", "1/2/3", "1.0/2", "²/8"])
def test_anything_else_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(UserError, match="for instance 2/8"):
        parse_shard(text)
