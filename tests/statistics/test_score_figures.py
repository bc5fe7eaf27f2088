"""Scores: mean, population standard deviation, fixed bins, the bimodal flag."""

from __future__ import annotations

import math
from statistics import fmean, pstdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repeat_eval.statistics.scores import histogram, is_bimodal, only_binary, summarise

DOCUMENTED = [0.82, 0.91, 0.78, 0.85, 0.88, 0.79, 0.92, 0.84, 0.76, 0.87]
unit = st.floats(0, 1)


def test_documented_scores_have_mean_0_842_and_population_std_0_052() -> None:
    actual = summarise(DOCUMENTED)
    assert round(actual.mean, 3) == 0.842
    assert round(actual.std, 3) == 0.052


def test_three_passes_of_five_score_0_60_with_std_0_49() -> None:
    actual = summarise([1, 1, 1, 0, 0])
    assert (round(actual.mean, 2), round(actual.std, 2)) == (0.60, 0.49)


@given(st.lists(unit, min_size=1, max_size=50))
def test_summary_agrees_with_the_standard_library(scores: list[float]) -> None:
    actual = summarise(scores)
    assert actual.mean == pytest.approx(fmean(scores), abs=1e-15)
    assert actual.std == pytest.approx(pstdev(scores), abs=1e-9)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20))
def test_the_mean_lies_among_the_scores_however_large(scores: list[float]) -> None:
    actual = summarise(scores)
    assert min(scores) <= actual.mean <= max(scores)
    assert actual.std >= 0


@given(unit, st.integers(1, 30))
def test_equal_scores_have_exactly_their_mean_and_no_spread(score: float, count: int) -> None:
    assert summarise([score] * count) == summarise([score])
    assert summarise([score] * count).std == 0.0


@given(st.lists(unit, min_size=1), st.data())
def test_order_changes_nothing(scores: list[float], data: st.DataObject) -> None:
    assert summarise(data.draw(st.permutations(scores))) == summarise(scores)


@pytest.mark.parametrize("scores", [[], [math.nan], [0.5, math.inf]])
def test_what_has_no_mean_is_refused(scores: list[float]) -> None:
    with pytest.raises(ValueError, match="score"):
        summarise(scores)


@given(st.lists(unit, min_size=1))
def test_every_score_lands_in_one_bin(scores: list[float]) -> None:
    bins = histogram(scores)
    assert bins is not None
    assert sum(bins) == len(scores)


def test_a_fifth_opens_the_next_bin_and_1_belongs_to_the_last() -> None:
    assert histogram([0.0, 0.2, 0.4, 0.6, 0.8, 1.0]) == (1, 1, 1, 1, 2)


def test_bins_span_the_declared_range_not_the_scores() -> None:
    assert histogram([2.9, 3.0, 3.1], 1, 5) == (0, 0, 3, 0, 0)


@pytest.mark.parametrize("scores", [[], [0.5, 1.2], [-0.1], [math.nan]])
def test_scores_outside_the_range_have_no_histogram(scores: list[float]) -> None:
    assert histogram(scores) is None


@pytest.mark.parametrize(("low", "high"), [(1, 1), (1, 0), (0, math.inf), (math.nan, 1)])
def test_an_empty_range_is_refused(low: float, high: float) -> None:
    with pytest.raises(ValueError, match="range"):
        histogram([0.5], low, high)


@pytest.mark.parametrize(
    ("bins", "bimodal"),
    [
        ((5, 0, 0, 0, 5), True),
        ((2, 0, 0, 0, 3), True),
        ((2, 0, 0, 0, 2), False),
        ((1, 0, 0, 0, 4), False),
        ((4, 1, 1, 0, 4), True),
        ((4, 1, 1, 1, 3), False),
        ((3, 0, 0, 0, 17), False),
        ((0, 0, 2, 7, 11), False),
    ],
)
def test_bimodal_means_two_crowded_ends_and_an_empty_middle(bins: tuple[int, ...], bimodal: bool) -> None:
    assert is_bimodal(bins) is bimodal


@given(st.lists(st.integers(0, 40), min_size=5, max_size=5))
def test_the_flag_is_blind_to_left_and_right(bins: list[int]) -> None:
    assert is_bimodal(bins) == is_bimodal(bins[::-1])


def test_bins_must_be_five_counts() -> None:
    with pytest.raises(ValueError, match="five"):
        is_bimodal((1, 2, 3))


@pytest.mark.parametrize(("scores", "binary"), [([0, 1, 1.0], True), ([1], True), ([0, 0.5], False), ([], False)])
def test_scores_of_0_and_1_are_recognised(scores: list[float], binary: bool) -> None:
    assert only_binary(scores) is binary
