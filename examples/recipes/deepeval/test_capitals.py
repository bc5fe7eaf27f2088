"""A DeepEval suite whose metric is plain Python, so that no model is asked."""

from __future__ import annotations

from typing import Any

import pytest
from answers import CAPITALS, answer
from deepeval import assert_test
from deepeval.metrics import BaseMetric
from deepeval.test_case import LLMTestCase


class Contains(BaseMetric):
    def __init__(self) -> None:
        self.threshold = 0.5
        self.async_mode = False

    def measure(self, test_case: LLMTestCase, *args: Any, **kwargs: Any) -> float:
        self.score = float(str(test_case.expected_output) in str(test_case.actual_output))
        self.success = self.score >= self.threshold
        return self.score

    async def a_measure(self, test_case: LLMTestCase, *args: Any, **kwargs: Any) -> float:
        return self.measure(test_case)

    def is_successful(self) -> bool:
        return bool(self.success)

    @property
    def __name__(self) -> str:
        return "Contains"


@pytest.mark.parametrize("country", CAPITALS)
def test_capital(country: str) -> None:
    case = LLMTestCase(
        name=country,
        input=f"Capital of {country}?",
        actual_output=answer(country),
        expected_output=CAPITALS[country],
    )
    assert_test(case, [Contains()])
