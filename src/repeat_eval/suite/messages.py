"""Validation errors in plain words: the key, what was found, what is allowed, the nearest known key."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from repeat_eval.suite.fields import found

_EXPECTED = {
    "string_type": "must be text",
    "string_too_short": "must not be empty",
    "string_too_long": "is too long",
    "list_type": "must be a list",
    "dict_type": "must be a mapping",
    "model_type": "must be a mapping",
    "model_attributes_type": "must be a mapping",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
}


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name most like `name`, if any is like it at all."""
    matches = difflib.get_close_matches(name.lower().replace("-", "_"), list(known), n=1, cutoff=0.6)
    return matches[0] if matches else None


def unknown_key(name: str, known: Sequence[str], *, what: str = "key") -> str:
    """Sentence for a key (or whatever `what` says) that nobody knows."""
    guess = nearest(name, known)
    shown, names = found(name), ", ".join(known)
    if guess is None:
        return f"unknown {what} {shown}; known {what}s: {names}"
    return f"unknown {what} {shown}; did you mean {guess!r}? Known {what}s: {names}"


def plain_message(details: Mapping[str, Any], known: Sequence[str] = ()) -> str:
    """One pydantic error as a sentence about the key."""
    kind, loc = details["type"], details["loc"]
    key = ".".join(str(step) for step in loc if not isinstance(step, int)) or "the value"
    value = details.get("input")
    context = details.get("ctx") or {}
    if kind == "extra_forbidden":
        return unknown_key(str(loc[-1]), known)
    if kind == "missing":
        return f"`{loc[-1]}` is missing"
    if kind == "value_error":
        return f"`{key}` {context.get('error', details['msg'])}"
    if kind == "literal_error":
        expected = str(context.get("expected", "")).replace("'", "")
        guess = nearest(value, expected.replace(" or ", ", ").split(", ")) if isinstance(value, str) else None
        return f"`{key}` must be {expected}; found {found(value)}" + (f"; did you mean {guess}?" if guess else "")
    if kind in _EXPECTED:
        return f"`{key}` {_EXPECTED[kind]}; found {found(value)}"
    message = str(details["msg"])
    return f"`{key}`: {message[:1].lower()}{message[1:]}; found {found(value)}"
