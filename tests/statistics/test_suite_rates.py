"""The pass rate of a suite: each case once, with the interval for the question that was asked."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from repeat_eval.statistics.gates import Gate
from repeat_eval.statistics.intervals import wilson_interval
from repeat_eval.statistics.suite_rates import mean_rate, new_cases_interval, rerun_interval, suite_verdict

CALM = settings(deadline=None)
Cases = list[tuple[int, int]]
case = st.integers(1, 30).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
suites = st.lists(case, min_size=1, max_size=40)


def test_each_case_counts_once_however_many_verdicts_it_has() -> None:
    assert mean_rate([(1, 1), (0, 9)]) == Fraction(1, 2)


@given(suites)
def test_mean_is_the_exact_mean_of_fractions(cases: Cases) -> None:
    assert mean_rate(cases) == sum(Fraction(c, n) for c, n in cases) / len(cases)


@given(suites, st.data())
@CALM
def test_order_of_cases_changes_nothing(cases: Cases, data: st.DataObject) -> None:
    shuffled = data.draw(st.permutations(cases))
    assert mean_rate(shuffled) == mean_rate(cases)
    assert rerun_interval(shuffled) == rerun_interval(cases)
    if len(cases) > 1:
        assert new_cases_interval(shuffled) == new_cases_interval(cases)


@given(suites)
@CALM
def test_intervals_lie_in_0_to_1_and_contain_the_rate(cases: Cases) -> None:
    again = rerun_interval(cases)
    assert 0 <= again.low <= again.rate <= again.high <= 1
    assert 0 < again.phi <= 1
    if len(cases) > 1:
        new = new_cases_interval(cases)
        assert 0 <= new.low <= new.rate <= new.high <= 1
        assert 0 < new.n_eff <= sum(n for _, n in cases)


@given(case)
@CALM
def test_a_suite_of_one_case_has_that_cases_interval(only: tuple[int, int]) -> None:
    actual = rerun_interval([only])
    assert (actual.low, actual.high) == pytest.approx(wilson_interval(*only), abs=1e-12)


@given(suites)
@CALM
def test_counting_failures_instead_mirrors_the_interval(cases: Cases) -> None:
    actual, mirrored = rerun_interval(cases), rerun_interval([(n - c, n) for c, n in cases])
    assert (mirrored.low, mirrored.high) == pytest.approx((1 - actual.high, 1 - actual.low), abs=1e-9)


def test_a_suite_that_passes_everything_still_has_some_width() -> None:
    actual = rerun_interval([(5, 5)] * 10)
    assert actual.high == 1.0
    assert 0.9 < actual.low < 1.0


def test_unequal_cases_make_the_interval_narrower_than_a_pooled_one() -> None:
    actual = rerun_interval([(10, 10)] * 8 + [(0, 10)] * 2)
    low, high = wilson_interval(80, 100)
    assert actual.low > low
    assert actual.high < high


def test_new_cases_are_less_certain_than_a_re_run() -> None:
    cases = [(10, 10)] * 15 + [(0, 10)] * 3 + [(4, 10)] * 2
    again, new = rerun_interval(cases), new_cases_interval(cases)
    assert new.high - new.low > 2 * (again.high - again.low)


def test_equal_rates_leave_the_number_of_cases_as_size() -> None:
    assert new_cases_interval([(7, 10), (70, 100), (14, 20)]).n_eff == 3.0


def test_one_case_says_nothing_about_new_cases() -> None:
    with pytest.raises(ValueError, match="two cases"):
        new_cases_interval([(3, 5)])


@pytest.mark.parametrize("cases", [[], [(0, 0)], [(5, 5), (0, 0)], [(6, 5)]])
def test_a_suite_without_verdicts_has_no_rate(cases: Cases) -> None:
    for figure in (mean_rate, rerun_interval, new_cases_interval):
        with pytest.raises(ValueError, match=r"needed|passes"):
            figure(cases)


def test_a_mean_of_exactly_0_8_passes_a_strict_0_8() -> None:
    cases = [(5, 5)] * 14 + [(0, 5), (1, 5), (3, 5), (4, 5), (2, 5), (0, 5)]
    assert suite_verdict(cases, Fraction("0.8"), "strict") == "pass"


def test_a_mean_a_little_below_is_within_noise_for_wilson() -> None:
    cases = [(4, 5)] * 10
    assert suite_verdict(cases, Fraction("0.85"), "wilson") == "within-noise"
    assert suite_verdict(cases, Fraction("0.85"), "strict") == "fail"
    assert suite_verdict(cases, Fraction("0.95"), "wilson") == "fail"
    assert suite_verdict(cases, Fraction(1), "none") == "pass"


@given(suites, st.integers(0, 1000), st.sampled_from(["wilson", "strict"]))
@CALM
def test_a_higher_threshold_never_helps(cases: Cases, thousandths: int, gate: Gate) -> None:
    order = ["pass", "within-noise", "fail"]
    lower = suite_verdict(cases, Fraction(thousandths, 2000), gate)
    higher = suite_verdict(cases, Fraction(thousandths, 1000), gate)
    assert order.index(lower) <= order.index(higher)


def test_an_unknown_gate_is_refused() -> None:
    with pytest.raises(ValueError, match="gate"):
        suite_verdict([(4, 5)], Fraction(1, 2), "lenient")  # type: ignore[arg-type]
