"""How numbers read, on every surface."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_examples import case, wilson

from repeat_eval.reports import format as fmt

rates = st.floats(min_value=0, max_value=1)


@pytest.mark.parametrize(
    ("rate", "text"),
    [
        (0, "0%"),
        (1, "100%"),
        (0.8, "80%"),
        (0.625, "63%"),
        (0.145, "15%"),
        (0.001, "<1%"),
        (0.9999, ">99%"),
        (None, "-"),
    ],
)
def test_case_rates_are_whole_per_cents_and_halves_go_up(rate: float | None, text: str) -> None:
    assert fmt.percent(rate) == text


@pytest.mark.parametrize(
    ("rate", "text"),
    [(0, "0%"), (1, "100%"), (11 / 15, "73.3%"), (0.0001, "<0.1%"), (0.99999, ">99.9%"), (0.9, "90.0%"), (None, "-")],
)
def test_suite_rates_have_one_decimal(rate: float | None, text: str) -> None:
    assert fmt.percent1(rate) == text


@given(rates)
def test_only_0_and_1_print_as_0_and_100_per_cent(rate: float) -> None:
    for text in (fmt.percent(rate), fmt.percent1(rate)):
        assert (text == "0%") == (rate == 0)
        assert (text == "100%") == (rate == 1)


@pytest.mark.parametrize(
    ("passed", "n", "text", "width"),
    [
        (2, 3, "21–94%", "73 points wide"),
        (4, 5, "38–96%", "59 points wide"),
        (8, 10, "49–94%", "45 points wide"),
        (16, 20, "58–92%", "34 points wide"),
    ],
)
def test_intervals_read_as_in_the_guides(passed: int, n: int, text: str, width: str) -> None:
    low, high = wilson(passed, n)
    assert fmt.interval((low, high)) == text
    assert fmt.width_points(high - low) == width


def test_no_interval_looks_like_an_arrow() -> None:
    assert fmt.interval((0.949, 0.9996)) == "95% to >99%"


def test_an_interval_that_is_not_known_is_a_dash() -> None:
    assert fmt.interval(None) == "-"
    assert fmt.width_points(None) == "-"
    assert fmt.width_points(0.01) == "1 point wide"


@pytest.mark.parametrize(
    ("p", "text"),
    [
        (1, "1"),
        (0.8, "0.80"),
        (0.38, "0.38"),
        (0.013402, "0.013"),
        (0.0023, "0.0023"),
        (0.00099, "<0.001"),
        (0, "<1e-12"),
        (1e-13, "<0.001"),
        (0.05, "0.050"),
        (0.05000000000000001, "0.050"),
        (0.0499, "0.0499"),
        (0.09996, "0.09996"),
        (0.997, ">0.99"),
        (None, "-"),
    ],
)
def test_p_values_have_two_digits_and_never_cross_a_level(p: float | None, text: str) -> None:
    assert fmt.p_value(p) == text


@given(st.floats(min_value=0.001, max_value=0.99))
def test_a_printed_p_value_lies_on_the_same_side_of_every_level(p: float) -> None:
    for level in (0.01, 0.05, 0.1):
        assert (float(fmt.p_value(p)) < level) == (round(p, 12) < level)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, "-"),
        (0, "0 ms"),
        (0.0002, "<1 ms"),
        (0.12, "120 ms"),
        (0.9996, "1.0 s"),
        (1.24, "1.2 s"),
        (59.96, "1 min 00 s"),
        (185, "3 min 05 s"),
        (7500, "2 h 05 min"),
    ],
)
def test_times_have_a_unit_that_fits(seconds: float | None, text: str) -> None:
    assert fmt.duration(seconds) == text


@pytest.mark.parametrize(
    ("dollars", "text"),
    [
        (None, "-"),
        (0, "$0"),
        (0.00001, "<$0.0001"),
        (0.0042, "$0.0042"),
        (0.00996, "$0.01"),
        (0.84, "$0.84"),
        (12, "$12.00"),
        (1234.4, "$1,234"),
    ],
)
def test_money_is_in_dollars_and_small_amounts_do_not_vanish(dollars: float | None, text: str) -> None:
    assert fmt.money(dollars) == text


def test_counts_agree_with_their_noun() -> None:
    assert fmt.count(1, "case") == "1 case"
    assert fmt.count(0, "case") == "0 cases"
    assert fmt.count(1000, "retry", "retries") == "1,000 retries"
    assert fmt.span([5, 5]) == "5"
    assert fmt.span([3, 10]) == "3–10"


def test_four_of_five_prints_the_line_that_people_know() -> None:
    line = fmt.case_line(case("escalates", "PPFPP"))
    assert line == "80% (4/5) pass^2 60% pass^3 40% [95% CI 38–96%] PASS"


def test_three_of_five_is_within_noise_of_80_per_cent_and_fails_the_strict_gate() -> None:
    assert fmt.case_line(case("a", "PFPFP")).endswith("PASS (within noise)")
    assert fmt.case_line(case("a", "PFPFP", gate="strict")).endswith("FAIL")


def test_pass_hat_k_above_the_verdicts_is_a_dash_and_a_single_trial_has_none() -> None:
    assert "pass^2 100% pass^3 -" in fmt.case_line(case("a", "PP"))
    assert "pass^" not in fmt.case_line(case("a", "P"))


def test_trials_without_a_verdict_stand_beside_the_rate() -> None:
    assert fmt.case_line(case("a", "PPPPEES", asked=8)).endswith("PASS, 2 errors, 1 skipped, 1 missing")
    assert fmt.case_line(case("a", "EEE")) == "no verdict INCOMPLETE, 3 errors"


def test_a_threshold_prints_with_what_it_needs() -> None:
    assert fmt.needs(case("a", "PPP", threshold="0.67", gate="strict")) == "needs 3 of 3"
    assert fmt.needs(case("a", "EEE")) == ""


def test_a_high_rating_from_fewer_than_five_trials_reads_insufficient() -> None:
    assert fmt.reliability_of_case(case("a", "PPPP")) == "insufficient"
    assert fmt.reliability_of_case(case("a", "PPPPP")) == "high"
    assert fmt.reliability_of_case(case("a", "P")) == "-"


def test_without_a_gate_the_status_says_what_the_trials_did() -> None:
    assert fmt.status(case("a", "PPFPF", gate="none")) == "FLAKY"
    assert fmt.status(case("a", "FFF", gate="none")) == "BROKEN"
    assert fmt.status(case("a", "PPP", gate="none")) == "PASS"
    assert fmt.status(case("a", "PPFPP")) == "PASS"
