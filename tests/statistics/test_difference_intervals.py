"""How large is the difference: of this suite, and of new cases like these."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ttest_1samp

from repeat_eval.statistics.comparison import stratified_exact
from repeat_eval.statistics.difference import population_paired_t, suite_difference

CALM = settings(deadline=None)
Rows = list[tuple[int, int, int, int]]
side = st.integers(1, 20).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
row = st.tuples(side, side).map(lambda sides: (*sides[0], *sides[1]))
comparisons = st.lists(row, min_size=1, max_size=25)


def swapped(rows: Rows) -> Rows:
    return [(head_c, head_n, base_c, base_n) for base_c, base_n, head_c, head_n in rows]


@given(comparisons)
@CALM
def test_the_interval_contains_the_difference_and_stays_within_minus_1_and_1(rows: Rows) -> None:
    actual = suite_difference(rows)
    assert -1 <= actual.low <= actual.delta <= actual.high <= 1
    assert actual.delta == pytest.approx(actual.head.rate - actual.base.rate, abs=1e-14)


@given(comparisons)
@CALM
def test_swapping_base_and_head_flips_the_sign(rows: Rows) -> None:
    forth, back = suite_difference(rows), suite_difference(swapped(rows))
    assert back.delta == -forth.delta
    assert (back.low, back.high) == pytest.approx((-forth.high, -forth.low), abs=1e-13)
    assert back.base == forth.head


@given(comparisons, st.data())
@CALM
def test_order_of_cases_changes_nothing(rows: Rows, data: st.DataObject) -> None:
    shuffled = data.draw(st.permutations(rows))
    assert suite_difference(shuffled) == suite_difference(rows)
    assert population_paired_t(shuffled) == population_paired_t(rows)


@given(comparisons)
@CALM
def test_the_difference_is_head_s_surplus_over_what_chance_expects(rows: Rows) -> None:
    surplus = sum(hc - (bc + hc) * hn / (bn + hn) for bc, bn, hc, hn in rows)
    weight = sum(bn * hn / (bn + hn) for _, bn, _, hn in rows)
    assert suite_difference(rows).delta == pytest.approx(surplus / weight, abs=1e-12)


@given(comparisons)
@CALM
def test_a_significant_test_and_the_difference_point_the_same_way(rows: Rows) -> None:
    test, difference = stratified_exact(rows), suite_difference(rows)
    if test.p_mid < 0.05:
        assert (test.p_less < test.p_greater) == (difference.delta < 0)


def test_equal_verdicts_give_the_plain_mean_difference() -> None:
    assert suite_difference([(5, 5, 1, 5), (5, 5, 5, 5)]).delta == -0.4


def test_equal_rates_differ_by_exactly_0() -> None:
    assert suite_difference([(10, 10, 4, 10), (4, 10, 10, 10), (10, 10, 5, 10), (5, 10, 10, 10)]).delta == 0.0


def test_two_perfect_runs_still_leave_room_for_a_difference() -> None:
    actual = suite_difference([(3, 3, 3, 3)] * 5)
    assert actual.low == -actual.high
    assert actual.high == pytest.approx(0.203883, abs=1e-6)


def test_without_a_common_case_there_is_no_difference() -> None:
    with pytest.raises(ValueError, match="common case"):
        suite_difference([])


@given(st.lists(row, min_size=3, max_size=25))
@CALM
def test_paired_t_agrees_with_scipy(rows: Rows) -> None:
    differences = [(hc * bn - bc * hn) / (bn * hn) for bc, bn, hc, hn in rows]
    actual = population_paired_t(rows)
    if max(differences) - min(differences) < 1e-6:
        return
    assert actual is not None
    reference = ttest_1samp(differences, 0)
    interval = reference.confidence_interval()
    assert (actual.t, actual.p) == pytest.approx((reference.statistic, reference.pvalue), rel=1e-8, abs=1e-10)
    assert (actual.low, actual.high) == pytest.approx((interval.low, interval.high), abs=1e-9)
    assert actual.df == len(rows) - 1


@pytest.mark.parametrize("rows", [[], [(5, 5, 1, 5)], [(5, 5, 4, 5), (10, 10, 8, 10)], [(3, 5, 3, 5)] * 12])
def test_without_spread_nothing_is_said_about_new_cases(rows: Rows) -> None:
    assert population_paired_t(rows) is None


def test_two_broken_cases_change_this_suite_but_do_not_show_for_new_cases() -> None:
    rows = [(5, 5, 5, 5)] * 14 + [(5, 5, 0, 5), (5, 5, 1, 5), (4, 5, 3, 5), (3, 5, 4, 5), (2, 5, 2, 5), (0, 5, 0, 5)]
    paired = population_paired_t(rows)
    assert paired is not None
    assert stratified_exact(rows).p_mid < 0.05 < paired.p
