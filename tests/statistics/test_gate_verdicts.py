"""Gates: thresholds that compare exactly, and noise that does not cry wolf."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from repeat_eval.statistics.gates import (
    Gate,
    any_miss_fails,
    gate_fail_probability,
    gate_min_passes,
    gate_verdict,
    never_fails,
)
from repeat_eval.statistics.intervals import wilson_interval, z_value

CALM = settings(deadline=None)
T08 = Fraction("0.8")
thresholds = st.integers(0, 1000).map(lambda thousandths: Fraction(thousandths, 1000))
gates = st.sampled_from(["wilson", "strict", "none"])


def test_three_of_five_at_0_8_is_within_noise_for_wilson_and_fails_strict() -> None:
    assert gate_verdict(3, 5, T08, "wilson") == "within-noise"
    assert gate_verdict(3, 5, T08, "strict") == "fail"
    assert gate_verdict(3, 5, T08, "none") == "pass"


def test_two_of_five_at_0_8_fails_wilson() -> None:
    assert gate_verdict(2, 5, T08, "wilson") == "fail"


@pytest.mark.parametrize(
    ("passes", "verdicts", "threshold"), [(4, 5, "0.8"), (7, 10, "0.7"), (35, 100, "0.35"), (2, 3, "2/3")]
)
def test_a_rate_equal_to_the_threshold_meets_it(passes: int, verdicts: int, threshold: str) -> None:
    assert gate_verdict(passes, verdicts, Fraction(threshold), "strict") == "pass"


@given(st.integers(1, 100), st.data())
def test_every_rate_meets_itself_written_as_a_decimal(hundreds: int, data: st.DataObject) -> None:
    percent = data.draw(st.integers(0, 100))
    threshold = Fraction(f"{percent / 100:.2f}")
    assert gate_verdict(percent * hundreds, 100 * hundreds, threshold, "strict") == "pass"
    if percent:
        assert gate_verdict(percent * hundreds - 1, 100 * hundreds, threshold, "strict") == "fail"


@given(st.integers(1, 60), thresholds, gates)
@CALM
def test_min_passes_is_what_enumerating_the_verdicts_finds(verdicts: int, threshold: Fraction, gate: Gate) -> None:
    surviving = [c for c in range(verdicts + 1) if gate_verdict(c, verdicts, threshold, gate) != "fail"]
    need = gate_min_passes(verdicts, threshold, gate)
    assert surviving == list(range(need, verdicts + 1))


@given(st.integers(1, 300).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), thresholds)
@CALM
def test_wilson_fails_exactly_when_rate_and_upper_limit_lie_below(case: tuple[int, int], threshold: Fraction) -> None:
    passes, verdicts = case
    verdict = gate_verdict(passes, verdicts, threshold, "wilson")
    high = wilson_interval(passes, verdicts)[1]
    if high < float(threshold) - 1e-11:
        assert verdict == "fail"
    if high > float(threshold) + 1e-11:
        assert verdict != "fail"
    assert (verdict == "pass") == (Fraction(passes, verdicts) >= threshold)


@given(st.integers(1, 400))
@CALM
def test_at_threshold_1_wilson_is_strict(verdicts: int) -> None:
    assert (
        gate_min_passes(verdicts, Fraction(1), "wilson") == gate_min_passes(verdicts, Fraction(1), "strict") == verdicts
    )
    assert any_miss_fails(verdicts, Fraction(1), "wilson")


@pytest.mark.parametrize(("verdicts", "strict", "wilson"), [(3, 3, 2), (5, 4, 3), (10, 8, 6), (20, 16, 13)])
def test_passes_needed_at_0_8(verdicts: int, strict: int, wilson: int) -> None:
    assert gate_min_passes(verdicts, T08, "strict") == strict
    assert gate_min_passes(verdicts, T08, "wilson") == wilson


def test_thousands_of_trials_are_no_trouble() -> None:
    need = gate_min_passes(10_000, T08, "wilson")
    assert gate_verdict(need, 10_000, T08, "wilson") == "within-noise"
    assert gate_verdict(need - 1, 10_000, T08, "wilson") == "fail"


@given(st.integers(1, 50), thresholds)
@CALM
def test_wilson_never_fails_up_to_z_squared_over_n_plus_z_squared(verdicts: int, threshold: Fraction) -> None:
    border = z_value() ** 2 / (verdicts + z_value() ** 2)
    assert never_fails(verdicts, threshold, "wilson") == (float(threshold) <= border)


def test_two_of_three_is_needed_so_one_miss_is_allowed() -> None:
    assert not any_miss_fails(3, T08, "wilson")
    assert any_miss_fails(3, T08, "strict")


def test_a_gate_of_none_never_fails() -> None:
    assert never_fails(5, Fraction(1), "none")
    assert gate_fail_probability(5, Fraction(1), 0.0, "none") == 0.0


@given(st.integers(1, 3000), thresholds, st.floats(0, 1), st.sampled_from(["wilson", "strict"]))
@CALM
def test_fail_probability_agrees_with_scipy(verdicts: int, threshold: Fraction, rate: float, gate: Gate) -> None:
    expected = binom.cdf(gate_min_passes(verdicts, threshold, gate) - 1, verdicts, rate)
    assert gate_fail_probability(verdicts, threshold, rate, gate) == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize(("rate", "expected"), [(0.0, 1.0), (1.0, 0.0)])
def test_sure_cases_have_sure_verdicts(rate: float, expected: float) -> None:
    assert gate_fail_probability(5, T08, rate, "strict") == expected


@pytest.mark.parametrize("threshold", [Fraction(12, 10), Fraction(-1, 10), 0.8, "0.8"])
def test_thresholds_that_are_no_fraction_of_1_are_refused(threshold: Fraction) -> None:
    with pytest.raises(ValueError, match="threshold"):
        gate_verdict(4, 5, threshold, "wilson")
    with pytest.raises(ValueError, match="threshold"):
        gate_min_passes(5, threshold, "wilson")


def test_an_unknown_gate_is_refused() -> None:
    with pytest.raises(ValueError, match="gate"):
        gate_verdict(4, 5, T08, "lenient")  # type: ignore[arg-type]


def test_no_verdict_is_no_pass() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        gate_verdict(0, 0, T08, "none")


def test_a_true_rate_above_1_is_refused() -> None:
    with pytest.raises(ValueError, match="true rate"):
        gate_fail_probability(5, T08, 1.5, "wilson")
