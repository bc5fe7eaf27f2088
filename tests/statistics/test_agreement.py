"""Agreement of raters: published values, one formula against another, and intervals that do not claim too much."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from repeat_eval.statistics.agreement import (
    Confusion,
    agreement_of_many,
    agreement_of_two,
    cohens_kappa,
    confusion,
    krippendorffs_alpha,
    mean_interval,
)

LABELS = st.sampled_from([True, False, None])
UNITS = st.lists(st.lists(LABELS, min_size=3, max_size=3), max_size=20)
PAIRS = st.lists(st.tuples(st.booleans(), st.booleans()), max_size=40)


def pairs(both_pass: int, pass_fail: int, fail_pass: int, both_fail: int) -> list[tuple[bool, bool]]:
    return (
        [(True, True)] * both_pass
        + [(True, False)] * pass_fail
        + [(False, True)] * fail_pass
        + [(False, False)] * both_fail
    )


def test_kappa_of_a_textbook_table() -> None:
    # 50 proposals: agreement 0.7, by chance 0.5.
    assert cohens_kappa(Confusion(20, 5, 10, 15)) == pytest.approx(0.4)


def test_kappa_tells_tables_of_equal_agreement_apart() -> None:
    # Both agree on 60 of 100; the shares of passes differ.
    assert cohens_kappa(Confusion(45, 15, 25, 15)) == pytest.approx(0.1304, abs=1e-4)
    assert cohens_kappa(Confusion(25, 35, 5, 35)) == pytest.approx(0.2593, abs=1e-4)


def test_kappa_is_unknown_where_chance_alone_always_agrees() -> None:
    assert cohens_kappa(Confusion(7, 0, 0, 0)) is None
    assert cohens_kappa(Confusion(0, 0, 0, 0)) is None
    assert cohens_kappa(Confusion(0, 3, 0, 4)) == 0.0


def test_alpha_of_krippendorffs_example_of_two_labels() -> None:
    # "Computing Krippendorff's alpha-reliability" (2011), example A: two observers, ten units.
    one = [0, 1, 0, 0, 0, 0, 0, 0, 1, 0]
    other = [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]
    units = [[bool(a), bool(b)] for a, b in zip(one, other, strict=True)]
    assert krippendorffs_alpha(units) == pytest.approx(0.095, abs=5e-4)


def test_alpha_passes_over_missing_labels_and_is_unknown_without_variation() -> None:
    units = [[True, True, None], [True, False, True], [False, False, False], [None, None, True]]
    assert krippendorffs_alpha(units) == krippendorffs_alpha(units[:3])
    assert krippendorffs_alpha([[True, True, True]] * 5) is None
    assert krippendorffs_alpha([[True, None, None]]) is None


def coincidences(units: list[list[bool | None]]) -> float | None:
    """Alpha for two labels, written out: 1 - (n - 1) o_pf / (n_p n_f)."""
    given = [[one for one in unit if one is not None] for unit in units]
    given = [unit for unit in given if len(unit) >= 2]
    passes = sum(map(sum, given))
    fails = sum(map(len, given)) - passes
    if not passes or not fails:
        return None
    mixed = math.fsum(sum(unit) * (len(unit) - sum(unit)) / (len(unit) - 1) for unit in given)
    return 1 - (passes + fails - 1) * mixed / (passes * fails)


@settings(max_examples=40)
@given(UNITS)
def test_the_librarys_alpha_is_that_of_the_formula(units: list[list[bool | None]]) -> None:
    expected = coincidences(units)
    found = krippendorffs_alpha(units)
    assert (found is None) == (expected is None)
    if expected is not None:
        assert found == pytest.approx(expected, abs=1e-12)


@given(PAIRS)
def test_kappa_is_symmetric_and_at_most_1(labels: list[tuple[bool, bool]]) -> None:
    counts = confusion(labels)
    other = confusion((second, first) for first, second in labels)
    kappa = cohens_kappa(counts)
    assert kappa == cohens_kappa(other)
    assert counts.units == len(labels)
    assert kappa is None or -1 <= kappa <= 1


@settings(max_examples=40)
@given(PAIRS, st.integers(0, 2**32))
def test_intervals_depend_on_the_seed_alone_and_lie_in_the_range(labels: list[tuple[bool, bool]], seed: int) -> None:
    found = agreement_of_two(labels, seed=seed, draws=200)
    assert found == agreement_of_two(labels[::-1], seed=seed, draws=200)
    if found.interval is not None:
        low, high = found.interval
        assert -1 <= low <= high <= 1
    if found.share is not None and found.share_interval is not None:
        assert found.share_interval[0] <= found.share <= found.share_interval[1]


def test_the_interval_of_kappa_is_near_its_large_sample_form() -> None:
    found = agreement_of_two(pairs(80, 20, 40, 60), seed=1)
    assert found.value == pytest.approx(0.4)
    # Fleiss, Cohen and Everitt (1969), by hand: standard error 0.0636.
    assert found.interval == pytest.approx((0.4 - 1.96 * 0.0636, 0.4 + 1.96 * 0.0636), abs=0.02)


def test_perfect_agreement_has_no_interval_of_no_width() -> None:
    found = agreement_of_two(pairs(3, 0, 0, 2))
    assert (found.value, found.interval, found.share) == (1.0, None, 1.0)
    assert found.share_interval == pytest.approx((0.5655, 1.0), abs=1e-4)
    many = agreement_of_many([[True] * 3, [False] * 3])
    assert (many.value, many.interval, many.share_interval) == (1.0, None, None)


def test_no_interval_comes_from_the_few_resamples_that_have_a_coefficient() -> None:
    assert agreement_of_two(pairs(6, 1, 0, 0)).interval is None


def test_several_raters_with_missing_labels() -> None:
    units = [[True, True, None], [True, False, True], [False, False, False], [True, True, True], [None, False, True]]
    found = agreement_of_many(units, seed=3)
    assert (found.measure, found.units) == ("alpha", 5)
    assert found.share == pytest.approx((1 + 1 / 3 + 1 + 1 + 0) / 5)
    assert found.interval is not None
    assert found.value is not None
    assert found.interval[0] <= found.value <= found.interval[1]
    assert agreement_of_many([[True, None, None]]).share is None


def test_the_mean_over_traces_gets_an_interval_only_where_they_differ() -> None:
    assert mean_interval([0.5, 0.5]) is None
    assert mean_interval([1.0]) is None
    low, high = mean_interval([0.0, 0.5, 1.0] * 20, seed=2) or (0.0, 0.0)
    assert low == pytest.approx(0.4, abs=0.03)
    assert high == pytest.approx(0.6, abs=0.03)
