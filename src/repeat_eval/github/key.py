"""The key that tells the comments of one pull request apart: suites and matrix values."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable

MAX_KEY = 200
"""Characters of a key; a longer one ends in a hash of the whole."""
_HASH = 16


def matrix_values(text: str | None) -> dict[str, str]:
    """Names and values of the job's matrix, by name; empty where there is none. A value that is no text is JSON.

    Args:
        text: what `${{ toJSON(matrix) }}` gives: an object, `null` or nothing.

    Raises:
        ValueError: it is something else; the text can stand behind the input's name.
    """
    matrix: object = None
    if text and text.strip():
        try:
            matrix = json.loads(text)
        except (ValueError, RecursionError):
            matrix = text
    if matrix is None:
        return {}
    if not isinstance(matrix, dict):
        raise ValueError("must be the job's matrix as a JSON object, as ${{ toJSON(matrix) }} gives it")
    return {name: _plain(matrix[name]) for name in sorted(matrix)}


def comment_key(suites: Iterable[str], matrix: Iterable[tuple[str, str]] = (), written: str | None = None) -> str:
    """The key: as it was written, else `refunds [model=small, python=3.13]`; several suites are joined by ` + `.

    The order in which suites are named does not matter. At most `MAX_KEY` characters.
    """
    key = (written or "").strip()
    if not key:
        key = " + ".join(sorted(set(suites)))
        values = ", ".join(f"{name}={value}" for name, value in matrix)
        key = f"{key} [{values}]" if values else key
    if len(key) <= MAX_KEY:
        return key
    digest = hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH]
    return f"{key[: MAX_KEY - _HASH - 1]}-{digest}"


def _plain(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, separators=(",", ":"))
