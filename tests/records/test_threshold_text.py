"""Thresholds: the text is kept, its value is exact, and a percentage is never taken for a rate."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repeat_eval.records.thresholds import parse_threshold


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0.8", Fraction(4, 5)),
        ("0.80", Fraction(4, 5)),
        (" .5 ", Fraction(1, 2)),
        ("1", Fraction(1)),
        ("1.", Fraction(1)),
        ("0", Fraction(0)),
        ("00.7", Fraction(7, 10)),
        ("8e-1", Fraction(4, 5)),
        ("0.08E+1", Fraction(4, 5)),
        ("1e-99", Fraction(1, 10**99)),
        ("0.6666666666666666666666666667", Fraction(6666666666666666666666666667, 10**28)),
    ],
)
def test_a_decimal_number_from_zero_to_one_has_its_exact_value(text: str, value: Fraction) -> None:
    assert parse_threshold(text) == value


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("80%", "80% is not allowed here: write the rate as a decimal, 0.8"),
        ("99.9 %", "99.9 % is not allowed here: write the rate as a decimal, 0.999"),
        ("120%", "120% is not allowed here: write the rate as a decimal from 0 to 1, for instance 0.8"),
        ("100%", "100% is not allowed here: write the rate as a decimal, 1"),
        ("80", "80 is above 1, which no result can reach: rates go from 0 to 1; did you mean 0.8?"),
        ("100", "100 is above 1, which no result can reach: rates go from 0 to 1; did you mean 1?"),
        ("1.2", "1.2 is above 1, which no result can reach: rates go from 0 to 1"),
        ("101", "101 is above 1, which no result can reach: rates go from 0 to 1"),
        ("1e9", "1e9 is above 1, which no result can reach: rates go from 0 to 1"),
        (
            "1.0000000000000000000001",
            "1.0000000000000000000001 is above 1, which no result can reach: rates go from 0 to 1",
        ),
    ],
)
def test_a_percentage_and_a_number_above_one_are_refused_with_what_was_meant(text: str, sentence: str) -> None:
    with pytest.raises(ValueError) as caught:
        parse_threshold(text)
    assert str(caught.value) == sentence


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "nan",
        "inf",
        "-0.5",
        "+0.5",
        "0,8",
        "0_8",
        "4/5",
        "0x1",
        "1e",
        ".",
        "e1",
        "1e100",
        "1e-999999",
        "٠.٨",
        "0.8\n0",
        "0." + "9" * 50,
        "high",
    ],
)
def test_anything_else_is_no_rate(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not a rate: write a decimal number from 0 to 1, for instance 0\.8"):
        parse_threshold(text)


@given(st.decimals(0, 1, places=12, allow_nan=False))
def test_every_decimal_number_is_the_fraction_that_its_digits_say(number: object) -> None:
    assert parse_threshold(f"{number:f}") == Fraction(str(number))


@given(st.integers(0, 100), st.integers(1, 100))
def test_passes_of_trials_meet_their_own_share_exactly(passes: int, thousandths: int) -> None:
    threshold = parse_threshold(f"0.{thousandths:03d}")
    assert (Fraction(passes, 100) >= threshold) == (passes * 1000 >= thousandths * 100)


@given(st.text(max_size=50))
def test_any_text_is_a_rate_or_refused_in_one_line(text: str) -> None:
    try:
        value = parse_threshold(text)
    except ValueError as error:
        assert len(str(error).splitlines()) == 1
    else:
        assert 0 <= value <= 1
