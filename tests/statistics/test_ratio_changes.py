"""The paired comparison on a ratio scale, against scipy."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from repeat_eval.statistics.ratios import geometric_change

CALM = settings(deadline=None)
means = st.floats(1e-3, 1e3)
pairs = st.lists(st.tuples(means, means), min_size=5, max_size=30)


@CALM
@given(pairs)
def test_it_is_the_paired_t_test_on_logarithms(cases: list[tuple[float, float]]) -> None:
    logs = [math.log(head) - math.log(base) for base, head in cases]
    change = geometric_change(cases)
    assert change is not None and change.pairs == len(cases)
    if max(logs) - min(logs) < 1e-6:
        return
    expected = stats.ttest_1samp(logs, 0.0)
    interval = expected.confidence_interval(0.95)
    assert change.ratio == pytest.approx(math.exp(sum(logs) / len(logs)))
    assert change.p == pytest.approx(expected.pvalue, abs=1e-9)
    assert (change.low, change.high) == pytest.approx((math.exp(interval.low), math.exp(interval.high)), rel=1e-6)


@CALM
@given(pairs, st.randoms(use_true_random=False))
def test_order_changes_nothing_and_swapping_sides_inverts(cases: list[tuple[float, float]], shuffler: object) -> None:
    change = geometric_change(cases)
    mixed = list(cases)
    shuffler.shuffle(mixed)  # type: ignore[attr-defined]
    assert geometric_change(mixed) == change
    back = geometric_change([(head, base) for base, head in cases])
    assert change is not None and back is not None
    assert change.ratio == pytest.approx(1 / back.ratio)
    assert (change.p is None) == (back.p is None)
    if change.p is not None:
        assert change.p == pytest.approx(back.p, abs=1e-9)


def test_too_few_pairs_have_a_ratio_and_no_p() -> None:
    change = geometric_change([(1.0, 2.0)] * 4)
    assert change is not None
    assert (change.p, change.low, change.high) == (None, None, None)
    assert change.ratio == pytest.approx(2.0)


def test_means_without_a_logarithm_are_left_out() -> None:
    assert geometric_change([(0.0, 1.0), (1.0, 0.0), (math.inf, 1.0), (1.0, math.nan)]) is None
    change = geometric_change([(0.0, 1.0), *[(1.0, 1.0)] * 5])
    assert change is not None and (change.pairs, change.p) == (5, 1.0)


def test_equal_ratios_other_than_one_have_no_spread_to_be_judged_by() -> None:
    change = geometric_change([(1.0, 2.0)] * 6)
    assert change is not None and change.p is None and change.ratio == pytest.approx(2.0)


def test_extreme_ratios_stay_finite() -> None:
    change = geometric_change([(1e-300, 1e300), (1e300, 1e-300), *[(1.0, 1.0)] * 3])
    assert change is not None and change.high is not None and math.isfinite(change.high)
