"""The key that tells the comments of one pull request apart: suites and matrix values."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable

from repeat_eval.errors import UserError

MAX_KEY = 200
"""Characters of a key; a longer one ends in a hash of the whole."""
_HASH = 16


def matrix_values(text: str | None) -> tuple[tuple[str, str], ...]:
    """Names and values of the job's matrix, by name; () where there is none.

    Args:
        text: what `${{ toJSON(matrix) }}` gives: an object, `null` or nothing.

    Raises:
        UserError: it is something else.
    """
    try:
        matrix = json.loads(text) if text and text.strip() else None
    except (ValueError, RecursionError):
        matrix = text
    if matrix is None:
        return ()
    if not isinstance(matrix, dict):
        raise UserError("the input matrix must be ${{ toJSON(matrix) }}, a JSON object")
    return tuple(sorted((name, _plain(value)) for name, value in matrix.items()))


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
