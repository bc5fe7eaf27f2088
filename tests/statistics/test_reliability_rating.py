"""The reliability rating by plug-in pass-to-3."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repeat_eval.statistics.intervals import wilson_interval
from repeat_eval.statistics.reliability import rating_of, reliability


def test_eight_of_ten_is_low_with_pass_to_3_of_0_512() -> None:
    actual = reliability(8, 10)
    assert actual.value == 0.512
    assert actual.rating == "low"
    assert not actual.insufficient


def test_the_interval_is_the_cube_of_the_wilson_limits() -> None:
    low, high = wilson_interval(4, 5)
    assert reliability(4, 5).interval == (low**3, high**3)


@pytest.mark.parametrize(("verdicts", "insufficient"), [(1, True), (3, True), (4, True), (5, False), (10, False)])
def test_high_needs_five_trials(verdicts: int, insufficient: bool) -> None:
    actual = reliability(verdicts, verdicts)
    assert actual.rating == "high"
    assert actual.insufficient is insufficient


def test_a_bad_rating_needs_no_excuse() -> None:
    assert not reliability(2, 3).insufficient


@pytest.mark.parametrize(
    ("value", "rating"),
    [
        (1.0, "high"),
        (0.9, "moderate"),
        (0.7, "moderate"),
        (0.69, "low"),
        (0.5, "low"),
        (0.49, "unreliable"),
        (0, "unreliable"),
    ],
)
def test_borders_belong_to_the_rating_below_high_and_above_the_rest(value: float, rating: str) -> None:
    assert rating_of(value) == rating


@given(st.integers(1, 200).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_the_interval_contains_the_value(case: tuple[int, int]) -> None:
    actual = reliability(*case)
    assert actual.interval[0] - 1e-15 <= actual.value <= actual.interval[1] + 1e-15


def test_no_verdict_has_no_rating() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        reliability(0, 0)


@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan")])
def test_what_is_no_probability_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        rating_of(value)
