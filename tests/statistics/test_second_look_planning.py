"""What two looks cost and can find, the low rule of the absolute gate, and a stored base in two parts."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repeat_eval.statistics.low_rule import (
    could_be_low,
    is_low,
    low_rule_applies,
    low_rule_fail_probability,
    low_rule_verdict,
)
from repeat_eval.statistics.second_look import SecondLookSettings, first_look
from repeat_eval.statistics.second_look_planning import (
    chance_to_find,
    cost_bound,
    fixed_repeats,
    largest_rejecting,
    looks_twice,
)
from repeat_eval.statistics.stored_base import split_stored

LOOKS = SecondLookSettings()


def test_two_looks_need_six_cases() -> None:
    assert [looks_twice(cases) for cases in (0, 5, 6, 7)] == [False, False, True, True]


def test_the_most_that_two_looks_cost_is_known_beforehand() -> None:
    bound = cost_bound(24, LOOKS)
    assert (bound.first, bound.without_alarm, bound.most) == (144, 264, 558)
    assert bound.most / 48 == pytest.approx(11.6, abs=0.05)
    assert cost_bound(24, SecondLookSettings(alarm=0.0)).most == 264
    assert cost_bound(24, SecondLookSettings(mode="screen")).most == 72 + 120 + 294
    assert cost_bound(24, SecondLookSettings(mode="split")).most == 72 + 60 + 147
    assert cost_bound(24, SecondLookSettings(both=True)).most == 144 + 240 + 252
    assert cost_bound(0, LOOKS).most == 0
    with pytest.raises(ValueError, match="from 0 on"):
        cost_bound(-1, LOOKS)


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=40),
    st.booleans(),
    st.sampled_from([0.0, 0.1, 0.4]),
)
def test_no_first_look_asks_for_more_than_the_bound(counts: list[tuple[int, int]], both: bool, alarm: float) -> None:
    looks = SecondLookSettings(both=both, alarm=alarm)
    bound = cost_bound(len(counts), looks)
    first = first_look([(base, 3, head, 3) for base, head in counts], looks)
    trials = bound.first + 2 * sum(first.rerun.values())
    assert trials <= (bound.most if first.alarm else bound.without_alarm)


@pytest.mark.parametrize(("rate", "chance"), [(0.5, 0.86), (0.6, 0.69), (0.7, 0.38), (0.8, 0.10)])
def test_the_chance_to_find_a_fallen_case_is_that_of_the_documentation(rate: float, chance: float) -> None:
    assert chance_to_find(rate, LOOKS, suspects=3) == pytest.approx(chance, abs=0.005)


def test_what_cannot_be_found_has_no_chance() -> None:
    assert chance_to_find(1.0, LOOKS) == 0.0
    assert chance_to_find(0.5, SecondLookSettings(n2=2)) == 0.0
    assert chance_to_find(0.0, SecondLookSettings(cut=0.001)) == 0.0
    with pytest.raises(ValueError, match="rate"):
        chance_to_find(1.5, LOOKS)


def test_twenty_a_side_name_a_case_alone_from_fifteen_passes_on_and_among_three_from_fourteen() -> None:
    assert largest_rejecting(20, 1, 0.025) == 15
    assert largest_rejecting(20, 3, 0.025) == 14
    assert largest_rejecting(3, 1, 0.025) == 0
    assert largest_rejecting(2, 1, 0.025) is None
    with pytest.raises(ValueError, match="at least one suspect"):
        largest_rejecting(20, 0, 0.025)


def test_the_fixed_number_of_repeats_that_finds_as_much_grows_with_the_cases_that_share_the_budget() -> None:
    needed = [fixed_repeats(LOOKS, testable=testable) or 0 for testable in (1, 2, 5, 20)]
    assert needed == sorted(needed)
    # Simulated over whole suites: 15 to 19 repeats for 8 to 100 cases.
    assert fixed_repeats(LOOKS, testable=5) == 16
    assert fixed_repeats(SecondLookSettings(n2=2), testable=5) is None


# The low rule: exact, as the table of the documentation has it.


@pytest.mark.parametrize(
    ("threshold", "rate", "fails"),
    [
        ("0.8", 0.3, 0.972),
        ("0.8", 0.5, 0.760),
        ("0.8", 0.6, 0.458),
        ("0.8", 0.7, 0.150),
        ("0.8", 0.8, 0.016),
        ("0.8", 0.9, 0.000),
        ("0.9", 0.5, 0.870),
        ("0.9", 0.9, 0.012),
    ],
)
def test_a_case_fails_as_often_as_the_documentation_says(threshold: str, rate: float, fails: float) -> None:
    assert low_rule_fail_probability(3, 20, Fraction(threshold), rate) == pytest.approx(fails, abs=0.0006)


def test_the_first_look_never_fails_a_case_by_itself() -> None:
    threshold = Fraction("0.8")
    assert low_rule_verdict((0, 3), (20, 20), threshold, asked=20) == "pass"
    assert low_rule_verdict((0, 3), (15, 20), threshold, asked=20) == "within-noise"
    assert low_rule_verdict((0, 3), (12, 20), threshold, asked=20) == "fail"
    assert low_rule_verdict((3, 3), None, threshold, asked=20) == "pass"


@pytest.mark.parametrize("fresh", [None, (0, 0), (9, 9)])
def test_a_low_case_without_half_of_its_fresh_verdicts_has_no_verdict(fresh: tuple[int, int] | None) -> None:
    assert low_rule_verdict((0, 3), fresh, Fraction("0.8"), asked=20) is None


def test_a_case_is_low_by_exact_arithmetic() -> None:
    assert not is_low(4, 5, Fraction("0.8"))
    assert is_low(7, 10, Fraction("0.70001"))


@pytest.mark.parametrize(
    ("threshold", "gate", "applies"),
    [
        ("0.8", "wilson", True),
        ("0.95", "wilson", True),
        ("0.99", "wilson", False),
        ("1", "wilson", False),
        ("0.8", "strict", False),
        ("0.8", "none", False),
    ],
)
def test_where_a_re_run_would_forgive_misses_the_fixed_repeats_stay(threshold: str, gate: str, applies: bool) -> None:
    assert low_rule_applies(Fraction(threshold), gate) is applies  # type: ignore[arg-type]


# A stored base in two parts.


@given(st.integers(3, 60), st.data())
def test_a_split_keeps_every_trial_once_and_depends_on_base_alone(verdicts: int, data: st.DataObject) -> None:
    passes = data.draw(st.integers(0, verdicts))
    first, second = split_stored(passes, verdicts, base="abc", case="greets")
    assert first[1] == verdicts // 3
    assert (first[0] + second[0], first[1] + second[1]) == (passes, verdicts)
    assert 0 <= first[0] <= first[1] and 0 <= second[0] <= second[1]
    assert split_stored(passes, verdicts, base="abc", case="greets") == (first, second)


def test_the_first_part_of_a_split_is_drawn_without_replacement() -> None:
    draws = 3000
    counts = [split_stored(15, 20, base=str(number), case="greets").first[0] for number in range(draws)]
    for passes in range(1, 7):
        expected = math.comb(15, passes) * math.comb(5, 6 - passes) / math.comb(20, 6)
        error = math.sqrt(expected * (1 - expected) / draws)
        assert counts.count(passes) / draws == pytest.approx(expected, abs=4 * error + 1e-9)


def test_two_stored_trials_cannot_be_split() -> None:
    with pytest.raises(ValueError, match="at least 3 verdicts"):
        split_stored(2, 2, base="abc", case="greets")


def test_a_first_look_could_be_low_when_it_would_be_with_its_unknown_trials_failed() -> None:
    threshold = Fraction("0.8")
    assert not could_be_low(3, 3, 0, threshold)
    assert could_be_low(2, 2, 1, threshold)
    assert could_be_low(0, 0, 3, threshold)
    assert not could_be_low(9, 9, 1, threshold)
    assert not could_be_low(0, 0, 0, threshold)
