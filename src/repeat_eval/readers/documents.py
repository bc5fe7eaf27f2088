"""JSON documents of other tools: decoded into the few fields that a reader needs, with the place of what is wrong."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import TypeVar

import msgspec

from repeat_eval.errors import Problem
from repeat_eval.readers.base import ReadError
from repeat_eval.records.trial import Tokens, clean, one_line

Document = TypeVar("Document")

_BOM = b"\xef\xbb\xbf"
_BYTE = re.compile(r" ?\(byte (\d+)\)")
_CONSTANTS = (b"NaN", b"Infinity")


def read_document(path: Path, shape: type[Document]) -> Document:
    """A file that is one JSON document, as `shape`; see `decode`.

    Raises:
        ReadError: with the file and, where it is known, the line or the key.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ReadError(Problem(f"cannot be opened: {error}", file=str(path))) from error
    return decode(data, shape, path)


def decode(data: bytes, shape: type[Document], path: Path, *, inside: str = "", line: int | None = None) -> Document:
    """JSON as `shape`, whose unknown keys are skipped unread.

    NaN and infinities, which Python writes and JSON lacks, are read; it is the reader's part never to take one for a
    score. Of a key that an object has twice the last counts, as in the tools themselves.

    Args:
        data: UTF-8, also with a byte order mark. shape: a msgspec struct, or another type that msgspec knows.
        path: for messages. inside: the part of the file, for messages. line: where `data` is one line of several.

    Raises:
        ReadError: with the file and, where it is known, the line or the key.
    """
    data = data.removeprefix(_BOM)
    prefix = f"{inside}: " if inside else ""

    def problem(text: str, place: int | None = None) -> ReadError:
        place = line if line is not None else (None if inside else place)
        return ReadError(Problem(f"{prefix}{one_line(text, 300)}", file=str(path), line=place))

    try:
        return msgspec.json.decode(data, type=shape)
    except msgspec.ValidationError as error:
        raise problem(f"has another shape than expected: {error}") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, ValueError) as error:
        # Only the slower decoder knows the constants of Python and the lone surrogates that its escapes may write.
        if isinstance(error, RecursionError) or not (b"\\u" in data or any(word in data for word in _CONSTANTS)):
            raise problem(_reason(error), _line(data, error)) from error
    try:
        return msgspec.convert(json.loads(data), shape)
    except json.JSONDecodeError as error:
        raise problem(f"is no JSON: {error.msg}", error.lineno) from error
    except msgspec.ValidationError as error:
        raise problem(f"has another shape than expected: {error}") from error
    except (ValueError, RecursionError) as error:
        raise problem(_reason(error)) from error


def _reason(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "is nested too deeply"
    if isinstance(error, UnicodeDecodeError):
        return f"is no UTF-8: {error.reason}"
    return f"is no JSON: {_BYTE.sub('', str(error))}"


def _line(data: bytes, error: Exception) -> int | None:
    if isinstance(error, UnicodeDecodeError):
        return data.count(b"\n", 0, error.start) + 1
    match = _BYTE.search(str(error))
    if match is not None:
        return data.count(b"\n", 0, int(match[1])) + 1
    return data.count(b"\n") + 1 if "truncated" in str(error) else None


def number(value: object, *, least: float | None = None) -> float | None:
    """A finite number from `least` on; None for whatever else stands there, booleans and NaN too."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if math.isfinite(found) and (least is None or found >= least) else None


def whole(value: object) -> int | None:
    """A whole number from 0 on; None for whatever else stands there."""
    found = number(value, least=0)
    return int(found) if found is not None and found.is_integer() and found <= 2**53 else None


def text(value: object) -> str | None:
    """Text as it is, None as None, and anything else as JSON."""
    if value is None:
        return None
    return clean(value if isinstance(value, str) else compact(value))


def compact(value: object) -> str:
    """A value as JSON on one line with its keys in order: equal values have equal text."""
    try:
        return msgspec.json.encode(value, order="sorted").decode()
    except (ValueError, TypeError, RecursionError, UnicodeEncodeError):
        pass
    try:
        return json.dumps(value, sort_keys=True, separators=(",", ":"), default=str)
    except (ValueError, TypeError, RecursionError) as error:
        raise ReadError(f"a value cannot be written as JSON: {type(error).__name__}") from error


def tokens(read: object, written: object) -> Tokens | None:
    """Tokens where at least one of the two numbers is known."""
    found = Tokens(input=whole(read), output=whole(written))
    return None if found.input is None and found.output is None else found


def listed(names: list[str], most: int = 5) -> str:
    """The first names of a list, for a sentence."""
    return ", ".join(one_line(name, 80) for name in names[:most]) + (", …" if len(names) > most else "")
