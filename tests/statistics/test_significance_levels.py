"""Words for p-values, at their borders."""

from __future__ import annotations

import pytest

from repeat_eval.statistics.significance import level


@pytest.mark.parametrize(
    ("p", "word"),
    [
        (0.0099, "strong"),
        (0.01, "significant"),
        (0.03, "significant"),
        (0.05, "marginal"),
        (0.05000000000000001, "marginal"),
        (0.04999999999999999, "marginal"),
        (0.1, "noise"),
        (0.29, "noise"),
    ],
)
def test_levels_use_below_after_rounding_away_float_dust(p: float, word: str) -> None:
    assert level(p) == word


@pytest.mark.parametrize("p", [-0.01, 1.01, float("nan")])
def test_what_is_no_probability_is_refused(p: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        level(p)
