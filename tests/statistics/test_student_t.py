"""Student's t without scipy, held against scipy."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from repeat_eval.statistics.intervals import z_value
from repeat_eval.statistics.student_t import t_quantile, t_two_sided_p

CALM = settings(deadline=None)


# Below 1e-6 scipy loses t beside 1: with one degree of freedom and t = 7e-9 the arctangent sides with us.
@given(st.floats(-60, 60).filter(lambda t: t == 0 or abs(t) > 1e-6), st.integers(1, 5000))
@CALM
def test_tail_agrees_with_scipy(t: float, df: int) -> None:
    assert t_two_sided_p(t, df) == pytest.approx(2 * stats.t.sf(abs(t), df), rel=1e-9, abs=1e-13)


@given(st.floats(0.01, 0.9999), st.integers(1, 5000))
@CALM
def test_quantile_agrees_with_scipy(confidence: float, df: int) -> None:
    assert t_quantile(confidence, df) == pytest.approx(stats.t.isf((1 - confidence) / 2, df), rel=1e-9)


@given(st.floats(0.5, 0.999), st.integers(1, 500))
@CALM
def test_quantile_and_tail_undo_each_other(confidence: float, df: int) -> None:
    assert t_two_sided_p(t_quantile(confidence, df), df) == pytest.approx(1 - confidence, rel=1e-9)


def test_sign_does_not_matter() -> None:
    assert t_two_sided_p(-2.5, 7) == t_two_sided_p(2.5, 7)


def test_many_degrees_of_freedom_come_close_to_the_normal_distribution() -> None:
    assert t_quantile(0.95, 1_000_000) == pytest.approx(z_value(), abs=1e-5)


def test_the_ends_are_exact() -> None:
    assert t_two_sided_p(0.0, 5) == 1.0
    assert t_two_sided_p(math.inf, 5) == 0.0


@pytest.mark.parametrize(("t", "df"), [(math.nan, 5), (1.0, 0), (1.0, -3), (1.0, math.nan)])
def test_nonsense_is_refused(t: float, df: float) -> None:
    with pytest.raises(ValueError, match="needed"):
        t_two_sided_p(t, df)


@pytest.mark.parametrize("confidence", [0.0, 1.0, math.nan])
def test_confidence_outside_0_to_1_is_refused(confidence: float) -> None:
    with pytest.raises(ValueError, match="confidence"):
        t_quantile(confidence, 5)
