"""Distributions of sums: computed, not approximated."""

from __future__ import annotations

from math import fsum

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, hypergeom

from repeat_eval.statistics.distributions import (
    ALWAYS_ZERO,
    Pmf,
    convolve,
    hypergeometric,
    sum_of_copies,
    sum_of_parts,
)

CALM = settings(deadline=None)


@st.composite
def pmfs(draw: st.DrawFn, most: int = 60) -> Pmf:
    weights = draw(st.lists(st.integers(1, 1000), min_size=1, max_size=most))
    return draw(st.integers(0, 50)), tuple(weight / sum(weights) for weight in weights)


def by_definition(one: Pmf, other: Pmf) -> dict[int, float]:
    terms: dict[int, list[float]] = {}
    for x, p in enumerate(one[1], one[0]):
        for y, q in enumerate(other[1], other[0]):
            terms.setdefault(x + y, []).append(p * q)
    return {value: fsum(products) for value, products in terms.items()}


@given(st.integers(1, 300), st.integers(1, 300), st.data())
@CALM
def test_the_null_distribution_agrees_with_scipy(base_n: int, head_n: int, data: st.DataObject) -> None:
    passes = data.draw(st.integers(0, base_n + head_n))
    low, pmf = hypergeometric(passes, base_n, head_n)
    expected = hypergeom.pmf(range(low, low + len(pmf)), base_n + head_n, passes, head_n)
    assert list(pmf) == pytest.approx(list(expected), abs=1e-11)
    assert sum(pmf) == pytest.approx(1, abs=1e-13)


@given(pmfs(), pmfs())
@CALM
def test_a_sum_of_two_is_what_the_definition_says_for_short_and_long_lists(one: Pmf, other: Pmf) -> None:
    low, values = convolve(one, other)
    assert dict(enumerate(values, low)) == pytest.approx(by_definition(one, other), rel=1e-12)


@given(pmfs(), pmfs())
@CALM
def test_order_of_two_changes_nothing(one: Pmf, other: Pmf) -> None:
    (low, values), (turned_low, turned) = convolve(one, other), convolve(other, one)
    assert low == turned_low
    assert list(values) == pytest.approx(list(turned), rel=1e-12)


@given(st.floats(0.01, 0.99), st.integers(0, 3000))
@CALM
def test_copies_of_a_coin_are_binomial(rate: float, count: int) -> None:
    low, values = sum_of_copies((0, (1 - rate, rate)), count)
    expected = binom.pmf(range(low, low + len(values)), count, rate)
    assert list(values) == pytest.approx(list(expected), abs=1e-12)
    assert fsum(values) == pytest.approx(1, abs=1e-12)


@given(st.lists(pmfs(8), max_size=9))
@CALM
def test_parts_add_up_however_they_are_paired(parts: list[Pmf]) -> None:
    total = ALWAYS_ZERO
    for part in parts:
        total = convolve(total, part)
    low, values = sum_of_parts(parts)
    one_by_one = dict(enumerate(total[1], total[0]))
    assert dict(enumerate(values, low)) == pytest.approx(one_by_one, rel=1e-12)


def test_ends_without_weight_are_cut() -> None:
    low, values = sum_of_copies((0, (0.5, 0.5)), 10_000)
    assert 4_500 < low < 5_000
    assert len(values) < 2_000
    assert fsum(values) == pytest.approx(1, abs=1e-13)


def test_a_sum_of_nothing_is_0() -> None:
    assert sum_of_parts([]) == sum_of_copies((3, (0.5, 0.5)), 0) == (0, (1.0,))
