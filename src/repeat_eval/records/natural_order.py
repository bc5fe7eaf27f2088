"""The order in which people count: `run-2` before `run-10`."""

from __future__ import annotations

import re

_DIGITS = re.compile(r"([0-9]+)")


def natural_key(name: str) -> tuple[list[tuple[int, int, str]], str]:
    """Sort key of a name or path: its numbers are compared as numbers, everything else as text."""
    parts = [
        (0, int(part), "") if part.isascii() and part.isdigit() else (1, 0, part)
        for part in _DIGITS.split(name)
        if part
    ]
    return parts, name
