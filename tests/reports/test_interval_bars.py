"""Intervals as bars of text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repeat_eval.reports.bars import INSIDE, OUTSIDE, RATE, bar


@pytest.mark.parametrize(
    ("rate", "interval", "text"),
    [
        (0.8, (0.376, 0.964), "···─────█─"),
        (1.0, (0.72, 1.0), "·······──█"),
        (0.0, (0.0, 0.28), "█──·······"),
        (0.3, (0.11, 0.6), "·──█───···"),
        (0.5, None, "·····█····"),
        (None, None, "··········"),
    ],
)
def test_a_bar_shows_the_rate_within_its_interval(
    rate: float | None, interval: tuple[float, float] | None, text: str
) -> None:
    assert bar(rate, interval) == text


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1), st.integers(1, 40))
def test_a_bar_has_its_width_one_rate_and_one_stretch_of_interval(a: float, b: float, c: float, width: int) -> None:
    low, rate, high = sorted((a, b, c))
    text = bar(rate, (low, high), width)
    assert len(text) == width
    assert text.count(RATE) == 1
    assert OUTSIDE not in text.strip(OUTSIDE)
    assert set(text) <= {RATE, INSIDE, OUTSIDE}
