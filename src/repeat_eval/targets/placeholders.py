"""Templates with `{{input.city}}` for what a trial brings and `${NAME}` for what only the environment may hold.

What is put in is never looked at again: neither a case's input nor a variable can bring placeholders of its own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from repeat_eval.records.trial import bounded
from repeat_eval.targets.base import Call

ROOTS = ("input", "case", "repetition", "repeats", "seed", "vars")

_VARIABLE = r"\$\{(?P<variable>[^}]*)\}"
_PLACEHOLDER = r"\{\{\s*(?P<path>[^{}]*?)\s*\}\}"
_PLACEHOLDERS = re.compile(_PLACEHOLDER)
_BOTH = re.compile(f"{_VARIABLE}|{_PLACEHOLDER}")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class MissingValue(Exception):
    """A placeholder names something that this case does not have; the text says what it has instead."""


@dataclass(frozen=True, slots=True)
class Placeholder:
    """One `{{…}}`: the parts of its path, for instance `("input", "city")`."""

    path: tuple[str, ...]

    def value(self, call: Call) -> Any:
        """What the trial has at this path.

        Raises:
            MissingValue: nothing is there.
        """
        value: Any = call.variables if self.path[0] == "vars" else getattr(call, self.path[0])
        for position, part in enumerate(self.path[1:], start=1):
            if isinstance(value, Mapping) and part in value:
                value = value[part]
            elif isinstance(value, list) and part.isascii() and part.isdigit() and int(part) < len(value):
                value = value[int(part)]
            else:
                there = ".".join(self.path[:position])
                raise MissingValue(f"{{{{{'.'.join(self.path)}}}}}: {there} is {what_is(value)}")
        return value


@dataclass(frozen=True, slots=True)
class Template:
    """Text with placeholders. Not printable as a whole, since parts of it may come from the environment."""

    parts: tuple[str | Placeholder, ...]
    secrets: tuple[str, ...] = ()
    """Values of environment variables within `parts`."""

    def __repr__(self) -> str:
        return "Template(…)"

    def text(self, call: Call, encode: Callable[[str], str] | None = None) -> str:
        """The text for one trial; each value passes through `encode`.

        Raises:
            MissingValue: the case lacks something.
        """
        pieces = []
        for part in self.parts:
            if isinstance(part, str):
                pieces.append(part)
            else:
                piece = text_of(part.value(call))
                pieces.append(encode(piece) if encode is not None else piece)
        return "".join(pieces)

    def value(self, call: Call) -> Any:
        """The value itself, with its type, when the text is one placeholder and nothing else; otherwise the text."""
        if len(self.parts) == 1 and isinstance(self.parts[0], Placeholder):
            return self.parts[0].value(call)
        return self.text(call)


def parse_template(text: str, environ: Mapping[str, str] | None = None) -> Template:
    """Read a template; with `environ` also `${NAME}`, which is replaced at once.

    Raises:
        ValueError: an unknown placeholder, a malformed or missing variable; the text says which and what is allowed.
    """
    parts: list[str | Placeholder] = []
    secrets: list[str] = []
    end = 0
    for match in (_PLACEHOLDERS if environ is None else _BOTH).finditer(text):
        if match.start() > end:
            parts.append(text[end : match.start()])
        end = match.end()
        name = match.groupdict().get("variable")
        if name is not None and environ is not None:
            secret = _variable(name, environ)
            parts.append(secret)
            secrets.append(secret)
        else:
            parts.append(_placeholder(match["path"]))
    if end < len(text) or not parts:
        parts.append(text[end:])
    return Template(tuple(parts), tuple(secrets))


def compile_value(value: Any) -> Any:
    """A JSON value whose texts have become templates where they hold placeholders.

    Raises:
        ValueError: as `parse_template`; also for placeholders in keys.
    """
    if isinstance(value, str):
        template = parse_template(value)
        return value if template.parts == (value,) else template
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise ValueError(f"the key {bounded(repr(key), 40)} is not text")
            if _PLACEHOLDERS.search(key):
                raise ValueError(f"placeholders belong into values; the key {bounded(repr(key), 60)} holds one")
        return {key: compile_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [compile_value(item) for item in value]
    if value is None or isinstance(value, bool | int | float):
        return value
    raise ValueError(f"{type(value).__name__} is no JSON value; put it into quotes")


def render_value(compiled: Any, call: Call) -> Any:
    """The JSON value for one trial, from what `compile_value` made.

    Raises:
        MissingValue: the case lacks something.
    """
    if isinstance(compiled, Template):
        return compiled.value(call)
    if isinstance(compiled, dict):
        return {key: render_value(item, call) for key, item in compiled.items()}
    if isinstance(compiled, list):
        return [render_value(item, call) for item in compiled]
    return compiled


def text_of(value: Any) -> str:
    """A value within text: text as it is, everything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def what_is(value: Any) -> str:
    """What kind of JSON value this is, for messages: `an object with the keys a, b`, `a list of 3`."""
    if isinstance(value, Mapping):
        keys = bounded(", ".join(str(key) for key in list(value)[:12]), 200)
        return f"an object with the keys {keys}" if value else "an empty object"
    if isinstance(value, list | tuple):
        return f"a list of {len(value)}"
    if isinstance(value, str):
        return f"a text of {len(value):,} characters"
    if value is None:
        return "null"
    return bounded(text_of(value), 40)


def _variable(name: str, environ: Mapping[str, str]) -> str:
    if not _NAME.fullmatch(name):
        raise ValueError(f"${{{bounded(name, 60)}}} is not the name of an environment variable; write ${{NAME}}")
    value = environ.get(name, "").strip("\r\n")  # secrets pasted into a form often end in a line break
    if not value:
        raise ValueError(f"the environment variable {name} is not set or empty")
    return value


def _placeholder(text: str) -> Placeholder:
    path = tuple(text.split("."))
    if path[0] not in ROOTS:
        allowed = ", ".join(f"{{{{{root}}}}}" for root in ROOTS)
        raise ValueError(f"unknown placeholder {{{{{bounded(text, 60)}}}}}; allowed are {allowed}")
    if "" in path or (len(path) > 1 and path[0] not in ("input", "vars")):
        raise ValueError(
            f"{{{{{bounded(text, 60)}}}}} has no parts; only input and vars have, as in {{{{input.city}}}}"
        )
    return Placeholder(path)
