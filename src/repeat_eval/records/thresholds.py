"""Thresholds as the user wrote them: the text is kept, and compared exactly as a fraction."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache

_DECIMAL = re.compile(r"(?=\.?[0-9])[0-9]*(?:\.[0-9]*)?(?:[eE][+-]?[0-9]{1,2})?\Z")
_PERCENT = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*%\Z")


@lru_cache(maxsize=4096)
def parse_threshold(text: str) -> Fraction:
    """The exact value of a rate in [0, 1], written as a decimal number such as `0.8`.

    Raises:
        ValueError: the text is no such number; the message says what was found and what is allowed.
    """
    text = text.strip()
    if match := _PERCENT.match(text):
        how = f", {_suggest(match[1])}" if Fraction(match[1]) <= 100 else " from 0 to 1, for instance 0.8"
        raise ValueError(f"{text} is not allowed here: write the rate as a decimal{how}")
    if len(text) > 40 or not _DECIMAL.match(text):
        raise ValueError(f"{text[:40]!r} is not a rate: write a decimal number from 0 to 1, for instance 0.8")
    value = Fraction(text)
    if value > 1:
        hint = f"; did you mean {_suggest(text)}?" if 2 <= value <= 100 else ""
        raise ValueError(f"{text} is above 1, which no result can reach: rates go from 0 to 1{hint}")
    return value


def _suggest(percent: str) -> str:
    share = Fraction(percent) / 100
    return f"{float(share):.10g}"
