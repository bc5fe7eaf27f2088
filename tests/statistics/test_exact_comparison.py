"""The stratified exact test: did this suite change?"""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import comb

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import fisher_exact, hypergeom, norm

from repeat_eval.statistics.comparison import case_exact, stratified_exact

CALM = settings(deadline=None)
Rows = list[tuple[int, int, int, int]]
side = st.integers(1, 20).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
row = st.tuples(side, side).map(lambda sides: (*sides[0], *sides[1]))
comparisons = st.lists(row, max_size=15)


def swapped(rows: Rows) -> Rows:
    return [(head_c, head_n, base_c, base_n) for base_c, base_n, head_c, head_n in rows]


def in_fractions(rows: Rows) -> tuple[Fraction, Fraction, Fraction]:
    """P(T <= t), P(T = t), P(T >= t) in exact arithmetic, one case after the other."""
    distribution = {0: Fraction(1)}
    for base_c, base_n, head_c, head_n in rows:
        m = base_c + head_c
        step = {
            x: Fraction(comb(head_n, x) * comb(base_n, m - x), comb(base_n + head_n, m))
            for x in range(max(0, m - base_n), min(m, head_n) + 1)
        }
        following: dict[int, Fraction] = {}
        for (t, p), (x, q) in product(distribution.items(), step.items()):
            following[t + x] = following.get(t + x, Fraction(0)) + p * q
        distribution = following
    observed = sum(head_c for _, _, head_c, _ in rows)
    less = sum((p for t, p in distribution.items() if t <= observed), Fraction(0))
    more = sum((p for t, p in distribution.items() if t >= observed), Fraction(0))
    return less, distribution[observed], more


@given(st.lists(row, max_size=6))
@CALM
def test_p_values_are_those_of_exact_arithmetic(rows: Rows) -> None:
    less, equal, more = in_fractions(rows)
    actual = stratified_exact(rows)
    assert actual.p_less == pytest.approx(float(less), abs=1e-13)
    assert actual.p_greater == pytest.approx(float(more), abs=1e-13)
    assert actual.p_mid == pytest.approx(min(1.0, float(2 * min(less, more) - equal)), abs=1e-13)
    assert actual.p_exact == pytest.approx(min(1.0, float(2 * min(less, more))), abs=1e-13)
    assert actual.p_mid_less == pytest.approx(float(less - equal / 2), abs=1e-13)
    assert actual.p_mid_greater == pytest.approx(float(more - equal / 2), abs=1e-13)


@given(comparisons)
@CALM
def test_swapping_base_and_head_keeps_p_and_turns_the_sides(rows: Rows) -> None:
    forth, back = stratified_exact(rows), stratified_exact(swapped(rows))
    assert back.p_mid == pytest.approx(forth.p_mid, abs=1e-13)
    assert back.p_exact == pytest.approx(forth.p_exact, abs=1e-13)
    assert back.p_mid_less == pytest.approx(forth.p_mid_greater, abs=1e-13)
    assert back.informative == forth.informative


@given(comparisons, st.data())
@CALM
def test_order_of_cases_changes_nothing(rows: Rows, data: st.DataObject) -> None:
    assert stratified_exact(data.draw(st.permutations(rows))) == stratified_exact(rows)


@given(comparisons)
@CALM
def test_p_values_are_probabilities_and_mid_p_is_the_bolder_one(rows: Rows) -> None:
    actual = stratified_exact(rows)
    for p in (actual.p_less, actual.p_greater, actual.p_mid, actual.p_exact, actual.p_mid_less, actual.p_mid_greater):
        assert 0 <= p <= 1
    assert actual.p_mid <= actual.p_exact
    assert actual.p_mid_less + actual.p_mid_greater == pytest.approx(1, abs=1e-12)


@given(st.lists(side, max_size=20))
@CALM
def test_a_comparison_of_a_run_with_itself_says_no_change(run: list[tuple[int, int]]) -> None:
    assert stratified_exact([(*counts, *counts) for counts in run]).p_mid == pytest.approx(1.0, abs=1e-12)


@given(comparisons, st.integers(1, 20), st.integers(1, 20))
@CALM
def test_cases_that_never_vary_add_nothing(rows: Rows, base_n: int, head_n: int) -> None:
    more = [*rows, (base_n, base_n, head_n, head_n), (0, base_n, 0, head_n)]
    assert stratified_exact(more) == stratified_exact(rows)


@pytest.mark.parametrize("rows", [[], [(5, 5, 5, 5)], [(3, 3, 10, 10), (0, 5, 0, 5)]])
def test_when_nothing_varied_p_is_1_and_no_case_was_informative(rows: Rows) -> None:
    actual = stratified_exact(rows)
    assert (actual.p_mid, actual.p_exact, actual.informative) == (1.0, 1.0, 0)
    assert (actual.p_mid_less, actual.p_mid_greater) == (0.5, 0.5)


def test_five_failures_in_five_always_passing_cases_are_needed_for_5_percent() -> None:
    one_miss = (10, 10, 9, 10)
    assert stratified_exact([one_miss] * 5).p_mid == pytest.approx(2**-5, abs=1e-15)
    assert stratified_exact([one_miss] * 4).p_mid > 0.05


def test_a_whole_suite_that_breaks_is_beyond_doubt() -> None:
    actual = stratified_exact([(10, 10, 0, 10)] * 1000)
    assert actual.p_mid == 0.0
    assert actual.p_mid_greater == 1.0


def test_ten_thousand_cases_compare_exactly() -> None:
    rows = [(10, 10, 9, 10)] * 3000 + [(8, 10, 9, 10)] * 2940 + [(5, 10, 5, 10)] * 2000 + [(10, 10, 10, 10)] * 2060
    actual = stratified_exact(rows)
    # A sum of thousands of cases is as good as normal, and the mid-p needs no correction for steps.
    variance = 3000 * hypergeom.var(20, 19, 10) + 2940 * hypergeom.var(20, 17, 10) + 2000 * hypergeom.var(20, 10, 10)
    shift = 3000 * -0.5 + 2940 * 0.5
    assert actual.informative == 7940
    assert actual.p_mid_less == pytest.approx(norm.cdf(shift / variance**0.5), abs=1e-4)
    assert actual.p_less + actual.p_greater - 1 == pytest.approx(2 * (actual.p_less - actual.p_mid_less), abs=1e-12)


@given(row)
@CALM
def test_one_sided_p_of_one_case_is_fishers(only: tuple[int, int, int, int]) -> None:
    base_c, base_n, head_c, head_n = only
    table = [[head_c, head_n - head_c], [base_c, base_n - base_c]]
    actual = stratified_exact([only])
    assert actual.p_less == pytest.approx(fisher_exact(table, "less").pvalue, abs=1e-12)
    assert actual.p_greater == pytest.approx(fisher_exact(table, "greater").pvalue, abs=1e-12)


@given(row)
@CALM
def test_a_case_test_is_the_suite_test_with_one_case(only: tuple[int, int, int, int]) -> None:
    case, suite = case_exact(*only), stratified_exact([only])
    assert case.p == pytest.approx(suite.p_mid, abs=1e-13)
    assert case.p_less == pytest.approx(suite.p_mid_less, abs=1e-13)
    assert case.p_greater == pytest.approx(suite.p_mid_greater, abs=1e-13)


@given(row)
@CALM
def test_smallest_attainable_p_is_the_minimum_over_all_tables_alike(only: tuple[int, int, int, int]) -> None:
    base_c, base_n, head_c, head_n = only
    m = base_c + head_c
    tables = [case_exact(m - x, base_n, x, head_n) for x in range(max(0, m - base_n), min(m, head_n) + 1)]
    case = case_exact(*only)
    assert case.smallest == pytest.approx(min(table.p for table in tables), abs=1e-13)
    assert case.smallest_less == pytest.approx(min(table.p_less for table in tables), abs=1e-13)
    assert case.smallest_greater == pytest.approx(min(table.p_greater for table in tables), abs=1e-13)


def test_three_of_three_to_none_of_three_is_exactly_one_twentieth() -> None:
    case = case_exact(3, 3, 0, 3)
    assert round(case.p, 12) == 0.05
    assert round(case.p_less, 12) == 0.025


def test_five_of_five_to_one_of_five_is_significant_and_to_two_is_not() -> None:
    assert case_exact(5, 5, 1, 5).p < 0.05 < case_exact(5, 5, 2, 5).p


@pytest.mark.parametrize("bad", [(0, 0, 5, 5), (5, 5, 0, 0), (6, 5, 5, 5), (5, 5, -1, 5), (5.0, 5, 5, 5)])
def test_a_side_without_verdicts_cannot_be_compared(bad: tuple[int, int, int, int]) -> None:
    with pytest.raises(ValueError, match=r"passes|verdicts"):
        stratified_exact([bad])
    with pytest.raises(ValueError, match=r"passes|verdicts"):
        case_exact(*bad)
