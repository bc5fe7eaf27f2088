"""Values and lists as a person reads them in a message: short, on one line, whatever they hold."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

MAX_SHOWN = 80
MAX_ITEMS = 5
MAX_DEPTH = 3
_LONGEST_WHOLE_NUMBER = 2**256


def shown(value: Any, limit: int = MAX_SHOWN) -> str:
    """`value` in JSON's spelling, cut to `limit` characters and to a few items and levels.

    Never fails and never does more work than it shows: the value comes from outside and may be huge or endless.
    """
    text = _render(value, limit, MAX_DEPTH)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def quoted(text: str, limit: int = MAX_SHOWN) -> str:
    """`text` between back-ticks, on one line, cut to `limit` characters."""
    plain = _printable(text[:limit])
    return f"`{plain}`" if len(plain) <= limit and len(text) <= limit else f"`{plain[: limit - 1]}…`"


def listed(items: Iterable[str], word: str = "and") -> str:
    """The items as a list in a sentence: `a`, `a and b`, `a, b and c`."""
    names = list(items)
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} {word} {names[-1]}"


def kind_of(value: Any) -> str:  # noqa: PLR0911 - one line a kind reads best
    """What `value` is, in the words of a suite file."""
    if value is None:
        return "nothing (null)"
    if isinstance(value, bool):
        return f"the value {str(value).lower()}"
    if isinstance(value, int | float):
        return f"the number {shown(value, 40)}"
    if isinstance(value, str):
        return f"the text {quoted(value, 40)}"
    if isinstance(value, Mapping):
        return "a mapping" if value else "an empty mapping"
    if isinstance(value, list | tuple):
        return "a list" if value else "an empty list"
    return f"a {type(value).__name__}"


def _printable(text: str) -> str:
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)


def _render(value: Any, limit: int, depth: int) -> str:  # noqa: PLR0911
    if isinstance(value, str):
        cut = value[:limit]
        return f'"{_printable(cut)}"' if len(cut) == len(value) else f'"{_printable(cut)}…"'
    if isinstance(value, float) and value.is_integer() and abs(value) < _LONGEST_WHOLE_NUMBER:
        return f"{value:.0f}"  # 1.0 is 1 in JSON, and in every comparison here
    if value is None or isinstance(value, bool | float):
        return json.dumps(value)
    if isinstance(value, int):
        return str(value) if abs(value) < _LONGEST_WHOLE_NUMBER else f"a number of {value.bit_length()} bits"
    if isinstance(value, Mapping):
        if depth == 0:
            return "{…}" if value else "{}"
        parts: list[str] = []
        for key, item in value.items():
            if len(parts) == MAX_ITEMS:
                parts.append("…")
                break
            parts.append(f"{_printable(str(key)[:limit])}: {_render(item, limit, depth - 1)}")
        return "{" + ", ".join(parts) + "}"
    if isinstance(value, list | tuple):
        if depth == 0:
            return "[…]" if value else "[]"
        parts = [_render(item, limit, depth - 1) for item in value[:MAX_ITEMS]]
        return "[" + ", ".join(parts) + (", …]" if len(value) > MAX_ITEMS else "]")
    return f"a {type(value).__name__}"
