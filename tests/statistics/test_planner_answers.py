"""How many repeats: for a gate that can decide, for a difference that can be seen."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from repeat_eval.statistics.gates import gate_fail_probability, never_fails
from repeat_eval.statistics.intervals import wilson_interval
from repeat_eval.statistics.planner import (
    gate_repeats,
    min_all_pass_n,
    min_decisive_n,
    minimal_detectable_difference,
    within_case_variance,
)

CALM = settings(deadline=None)
T08 = Fraction("0.8")
inner = st.integers(1, 999).map(lambda thousandths: Fraction(thousandths, 1000))


@given(inner)
def test_the_decisive_number_is_the_first_at_which_zero_passes_fail(threshold: Fraction) -> None:
    n = min_decisive_n(threshold)
    assert n is not None
    assert not never_fails(n, threshold, "wilson")
    assert n == 1 or never_fails(n - 1, threshold, "wilson")


@given(inner)
def test_the_proving_number_is_the_first_at_which_the_lower_limit_reaches_the_threshold(threshold: Fraction) -> None:
    n = min_all_pass_n(threshold)
    assert n is not None
    assert wilson_interval(n, n)[0] >= float(threshold) - 1e-12
    assert n == 1 or wilson_interval(n - 1, n - 1)[0] < float(threshold)


def test_no_number_of_passes_proves_perfection_and_nothing_fails_a_threshold_of_0() -> None:
    assert min_all_pass_n(Fraction(1)) is None
    assert min_decisive_n(Fraction(0)) is None
    assert min_decisive_n(Fraction(1)) == 1
    assert min_all_pass_n(Fraction(0)) == 1


def test_a_bad_case_at_0_5_is_caught_by_a_gate_of_0_8_from_17_repeats_on() -> None:
    actual = gate_repeats(T08, 0.5)
    assert (actual.first, actual.always) == (17, 17)
    assert gate_fail_probability(16, T08, 0.5, "wilson") < 0.8 <= gate_fail_probability(17, T08, 0.5, "wilson")


def test_a_gate_of_none_catches_nothing() -> None:
    actual = gate_repeats(T08, 0.1, gate="none", limit=20)
    assert (actual.first, actual.always) == (None, None)


def test_a_rate_that_meets_the_threshold_is_not_bad() -> None:
    with pytest.raises(ValueError, match="bad rate"):
        gate_repeats(T08, 0.8000001)


@given(st.floats(0, 0.5), st.integers(1, 500), st.integers(1, 50))
def test_more_repeats_and_more_cases_see_smaller_differences(variance: float, cases: int, n: int) -> None:
    here = minimal_detectable_difference(cases, n, n, variance)
    assert minimal_detectable_difference(cases, n + 1, n + 1, variance) < here
    assert minimal_detectable_difference(cases + 1, n, n, variance) < here


@pytest.mark.parametrize(
    ("cases", "n", "points"), [(20, 5, 12.9), (20, 10, 8.0), (50, 5, 6.9), (100, 5, 4.5), (100, 10, 3.0)]
)
def test_a_typical_suite_sees_the_documented_differences(cases: int, n: int, points: float) -> None:
    assert round(100 * minimal_detectable_difference(cases, n, n, 0.042), 1) == points


def test_variance_of_trials_is_the_unbiased_one_and_ignores_single_trials() -> None:
    assert within_case_variance([(1, 2), (5, 5), (1, 1), (0, 0)]) == 0.25
    assert within_case_variance([(1, 1)]) is None


@pytest.mark.parametrize(
    "call",
    [
        lambda: minimal_detectable_difference(0, 5, 5, 0.04),
        lambda: minimal_detectable_difference(5, 5, 5, 0.6),
        lambda: minimal_detectable_difference(5, 5, 5, 0.1, alpha=0),
        lambda: minimal_detectable_difference(5, 5, 5, 0.1, power=0.3),
        lambda: min_decisive_n(Fraction(3, 2)),
    ],
)
def test_nonsense_is_refused(call: object) -> None:
    assert callable(call)
    with pytest.raises(ValueError, match=r"must|needed"):
        call()
