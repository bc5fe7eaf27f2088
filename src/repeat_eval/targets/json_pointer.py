"""JSON pointers (RFC 6901): where in an answer something is."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from repeat_eval.records.trial import bounded
from repeat_eval.targets.placeholders import what_is

_ESCAPE = re.compile(r"~(?![01])")
_INDEX = re.compile(r"0|[1-9][0-9]{0,8}")


class PointerFindsNothing(Exception):
    """Nothing is where a pointer points to.

    Attributes:
        last_only: everything but the pointer's last part is there, and it is an object.
    """

    def __init__(self, message: str, *, last_only: bool) -> None:
        super().__init__(message)
        self.last_only = last_only


def problem_of_pointer(pointer: object) -> str | None:
    """What is wrong with a pointer as written; None if nothing is."""
    if not isinstance(pointer, str):
        return f"a JSON pointer is text such as /choices/0/message/content, not {type(pointer).__name__}"
    if pointer and not pointer.startswith("/"):
        parts = [part for part in re.split(r"[.\[\]/$]+", pointer) if part]
        return f"a JSON pointer begins with a slash; did you mean /{bounded('/'.join(parts), 80)}?"
    if _ESCAPE.search(pointer):
        return "in a JSON pointer ~ is written ~0 and / within a key ~1"
    return None


def find(value: Any, pointer: str) -> Any:
    """What `pointer` points to in a JSON value; the empty pointer is the whole.

    Raises:
        PointerFindsNothing: the text says how far it went and what is there.
    """
    parts = pointer.split("/")[1:]
    for position, part in enumerate(parts):
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(value, Mapping) and key in value:
            value = value[key]
        elif isinstance(value, list) and _INDEX.fullmatch(key) and int(key) < len(value):
            value = value[int(key)]
        else:
            there = "/" + "/".join(parts[:position]) if position else "the whole"
            last_only = position == len(parts) - 1 and isinstance(value, Mapping)
            raise PointerFindsNothing(f"{pointer} finds nothing: {there} is {what_is(value)}", last_only=last_only)
    return value
