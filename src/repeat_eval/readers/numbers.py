"""Numbers in foreign text: JSON's grammar, and the separators of other locales where they can only mean one thing."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

_JSON_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_GROUPED_POINT = re.compile(r"-?[1-9][0-9]{0,2}(?:,[0-9]{3})+\.[0-9]+|-?[1-9][0-9]{0,2}(?:,[0-9]{3}){2,}")
_GROUPED_COMMA = re.compile(r"-?[1-9][0-9]{0,2}(?:\.[0-9]{3})+,[0-9]+")
_DECIMAL_COMMA = re.compile(r"-?(?:0|[1-9][0-9]*),[0-9]+")
_AMBIGUOUS = re.compile(r"-?[1-9][0-9]{0,2},[0-9]{3}")
_MAX_CHARACTERS = 400
_PLAIN = 24


def json_number(text: str) -> float | None:
    """The finite number that `text` writes in JSON's grammar; None otherwise (`nan`, `0_8`, other digits, `1e999`)."""
    if len(text) > _MAX_CHARACTERS or not _JSON_NUMBER.fullmatch(text):
        return None
    number = float(text)
    return number if math.isfinite(number) else None


def local_number(text: str, *, decimal_comma: bool = False) -> float | None:
    """Like `json_number`, and reads `1,234.5`, `1.234,5` and `0,5` too.

    `1,234` may be either of two numbers and is None, unless `decimal_comma` says that the comma is a decimal one.
    """
    number = json_number(text)
    if number is not None or len(text) > _MAX_CHARACTERS:
        return number
    if _GROUPED_POINT.fullmatch(text) and not decimal_comma:
        return json_number(text.replace(",", ""))
    if _GROUPED_COMMA.fullmatch(text):
        return json_number(text.replace(".", "").replace(",", "."))
    if _DECIMAL_COMMA.fullmatch(text) and (decimal_comma or not _AMBIGUOUS.fullmatch(text)):
        return json_number(text.replace(",", "."))
    return None


def not_negative(text: str, parse: Callable[[str], float | None] = local_number) -> float | None:
    """A number that cannot be negative, such as seconds or dollars; None if it is unreadable or negative."""
    whole, point, part = text.partition(".")
    plain = len(text) < _PLAIN and whole.isdigit() and (part.isdigit() or not point) and text.isascii()
    if plain and (whole[0] != "0" or len(whole) == 1):
        # What nearly every file writes, such as 0.021, without the regular expression.
        return float(text)
    number = parse(text.strip())
    return number if number is not None and number >= 0 else None


def count(text: str) -> int | None:
    """A whole number from 0 on, also written `3.0`; None otherwise."""
    number = json_number(text.strip())
    return int(number) if number is not None and 0 <= number <= 2**53 and number.is_integer() else None
