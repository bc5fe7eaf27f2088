"""Wilson intervals: what a handful of trials says about a rate."""

from __future__ import annotations

from statistics import NormalDist

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from repeat_eval.statistics.intervals import wilson_interval, wilson_real, z_value

CALM = settings(deadline=None)


@st.composite
def counts(draw: st.DrawFn, most: int = 2000) -> tuple[int, int]:
    verdicts = draw(st.integers(1, most))
    return draw(st.integers(0, verdicts)), verdicts


@pytest.mark.parametrize(
    ("passes", "verdicts", "low", "high", "width"),
    [(2, 3, 0.21, 0.94, 0.73), (4, 5, 0.38, 0.96, 0.59), (8, 10, 0.49, 0.94, 0.45), (16, 20, 0.58, 0.92, 0.34)],
)
def test_small_samples_give_the_wide_intervals_people_know(
    passes: int, verdicts: int, low: float, high: float, width: float
) -> None:
    actual_low, actual_high = wilson_interval(passes, verdicts)
    assert (round(actual_low, 2), round(actual_high, 2)) == (low, high)
    assert round(actual_high - actual_low, 2) == width


@given(counts(), st.floats(0.5, 0.999))
@CALM
def test_interval_lies_in_0_to_1_and_contains_the_rate(case: tuple[int, int], confidence: float) -> None:
    low, high = wilson_interval(*case, confidence)
    assert 0.0 <= low <= case[0] / case[1] <= high <= 1.0


@given(counts())
@CALM
def test_interval_agrees_with_scipy(case: tuple[int, int]) -> None:
    reference = binomtest(*case).proportion_ci(0.95, method="wilson")
    assert wilson_interval(*case) == pytest.approx((reference.low, reference.high), abs=1e-14)


@given(counts())
@CALM
def test_interval_moves_up_with_the_passes(case: tuple[int, int]) -> None:
    passes, verdicts = case
    if passes < verdicts:
        low, high = wilson_interval(passes, verdicts)
        next_low, next_high = wilson_interval(passes + 1, verdicts)
        assert next_low > low
        assert next_high > high


@given(counts())
@CALM
def test_counting_failures_instead_mirrors_the_interval(case: tuple[int, int]) -> None:
    passes, verdicts = case
    low, high = wilson_interval(passes, verdicts)
    assert wilson_interval(verdicts - passes, verdicts) == pytest.approx((1 - high, 1 - low), abs=1e-14)


@given(st.integers(1, 10**6))
def test_ends_are_exact_when_nothing_or_everything_passes(verdicts: int) -> None:
    assert wilson_interval(0, verdicts)[0] == 0.0
    assert wilson_interval(verdicts, verdicts)[1] == 1.0


@given(st.integers(2, 400))
def test_only_a_full_house_reaches_1(verdicts: int) -> None:
    assert wilson_interval(verdicts - 1, verdicts)[1] < 1.0


@given(st.floats(0, 1), st.floats(1e-3, 1e9), st.floats(0, 50))
@CALM
def test_real_form_lies_in_0_to_1_and_contains_the_rate(rate: float, size: float, z: float) -> None:
    low, high = wilson_real(rate, size, z)
    assert 0.0 <= low <= rate <= high <= 1.0


@given(counts())
def test_real_form_agrees_with_the_whole_numbers(case: tuple[int, int]) -> None:
    passes, verdicts = case
    assert wilson_real(passes / verdicts, verdicts, z_value()) == pytest.approx(wilson_interval(*case), abs=1e-12)


def test_the_written_quantile_is_the_computed_one() -> None:
    assert z_value() == z_value(0.95) == NormalDist().inv_cdf(0.975)


@pytest.mark.parametrize(
    ("passes", "verdicts"), [(0, 0), (-1, 5), (6, 5), (1, -1), (1.0, 5), (1, 5.0), (True, 5), ("1", 5), (None, 5)]
)
def test_counts_that_no_run_can_produce_are_refused(passes: object, verdicts: object) -> None:
    wilson_interval(1, 5)
    with pytest.raises(ValueError, match=r"passes|verdicts"):
        wilson_interval(passes, verdicts)  # type: ignore[arg-type]


@pytest.mark.parametrize("confidence", [0.0, 1.0, -0.5, 1.5, float("nan"), 95])
def test_confidence_outside_0_to_1_is_refused(confidence: float) -> None:
    with pytest.raises(ValueError, match="confidence"):
        z_value(confidence)


@pytest.mark.parametrize(
    ("rate", "size", "z"), [(-0.1, 5, 2), (1.1, 5, 2), (0.5, 0, 2), (0.5, 5, -1), (0.5, 5, float("inf"))]
)
def test_real_form_refuses_what_makes_no_sense(rate: float, size: float, z: float) -> None:
    with pytest.raises(ValueError, match="needed"):
        wilson_real(rate, size, z)
