"""Many cases: what may be flagged, and what may turn a gate red."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import false_discovery_control

from repeat_eval.statistics.comparison import case_exact
from repeat_eval.statistics.multiplicity import bh_adjust, bh_testable, holm_adjust, holm_testable

p_lists = st.lists(st.floats(0, 1), max_size=30)
HALF = 0.025


def holm_downwards(rows: list[tuple[int, int, int, int]], level: float = HALF) -> tuple[int, ...]:
    cases = [case_exact(*row) for row in rows]
    return holm_testable([case.p_less for case in cases], [case.smallest_less for case in cases], level).rejected


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_q_values_agree_with_scipy(p_values: list[float]) -> None:
    assert list(bh_adjust(p_values)) == pytest.approx(list(false_discovery_control(p_values)), abs=1e-14)


@given(p_lists)
def test_adjusting_never_makes_p_smaller_and_holm_is_the_stricter(p_values: list[float]) -> None:
    for p, q, adjusted in zip(p_values, bh_adjust(p_values), holm_adjust(p_values), strict=True):
        assert p - 1e-15 <= q <= adjusted + 1e-15 <= 1 + 1e-15


@given(p_lists, st.data())
def test_order_of_cases_changes_nothing(p_values: list[float], data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(len(p_values))))
    for adjust in (bh_adjust, holm_adjust):
        adjusted = adjust(p_values)
        assert list(adjust([p_values[i] for i in order])) == [adjusted[i] for i in order]


@given(p_lists, st.floats(0.001, 0.5))
def test_holm_rejects_what_stepping_down_rejects(p_values: list[float], level: float) -> None:
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    stepped = []
    for rank, position in enumerate(order):
        if round(p_values[position] * (len(order) - rank), 12) > level:
            break
        stepped.append(position)
    assert holm_testable(p_values, [0.0] * len(p_values), level).rejected == tuple(sorted(stepped))


def test_three_of_three_to_none_of_three_rejects_alone_at_exactly_half_of_alpha() -> None:
    assert holm_downwards([(3, 3, 0, 3), (3, 3, 3, 3)]) == (0,)


def test_beside_another_testable_case_it_does_not() -> None:
    assert holm_downwards([(3, 3, 0, 3), (2, 3, 1, 3)]) == ()


def test_an_improved_case_is_not_rejected_downwards() -> None:
    assert holm_downwards([(0, 10, 10, 10), (10, 10, 10, 10)]) == ()


def test_cases_that_always_pass_cost_nothing() -> None:
    broken = (5, 5, 0, 5)
    assert holm_downwards([broken] + [(5, 5, 5, 5)] * 500) == (0,)


def test_one_broken_case_among_100_is_flagged_at_five_repeats() -> None:
    cases = [case_exact(5, 5, 1, 5)] + [case_exact(5, 5, 5, 5)] * 99
    actual = bh_testable([case.p for case in cases], [case.smallest for case in cases])
    assert actual.testable == actual.rejected == (0,)
    assert actual.adjusted[0] == pytest.approx(0.0238095238, abs=1e-9)
    assert set(actual.adjusted[1:]) == {1.0}


def test_no_case_means_nothing_to_flag() -> None:
    actual = bh_testable([], [])
    assert (actual.testable, actual.adjusted, actual.rejected) == ((), (), ())


@pytest.mark.parametrize(
    ("p_values", "smallest", "level"),
    [([0.5], [], 0.05), ([1.5], [0.1], 0.05), ([0.5], [-0.1], 0.05), ([0.5], [0.1], 0.0), ([0.5], [0.1], 5)],
)
def test_nonsense_is_refused(p_values: list[float], smallest: list[float], level: float) -> None:
    for adjust in (bh_testable, holm_testable):
        with pytest.raises(ValueError, match=r"p must|each p|level"):
            adjust(p_values, smallest, level)
