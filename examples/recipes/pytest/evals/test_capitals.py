"""An evaluation written as tests: each test asks once, and is repeated from outside."""

from __future__ import annotations

import pytest
from answers import CAPITALS, answer


@pytest.mark.parametrize("country", CAPITALS)
def test_capital(country: str) -> None:
    assert answer(country) == CAPITALS[country]
