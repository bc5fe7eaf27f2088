"""YAML into plain values that know where they were written and how.

Built from the parser's events with a stack of our own, so that deep nesting, alias bombs and recursive aliases are
refused instead of exhausting the process. Scalars follow YAML 1.2: `yes`, `no`, `on` and `off` are text.
"""

from __future__ import annotations

import re
from collections.abc import Hashable
from pathlib import Path
from typing import Any, NoReturn

import msgspec
import yaml

from repeat_eval.errors import Problem, UserError

MAX_BYTES = 16 * 1024 * 1024
MAX_DEPTH = 60
MAX_VALUES = 2_000_000

_INTEGER = re.compile(r"[-+]?[0-9]+\Z")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?\Z")
_NOT_YAML = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_NULLS = {"", "~", "null", "Null", "NULL"}
_TRUES = {"true", "True", "TRUE"}
_FALSES = {"false", "False", "FALSE"}
_SPECIAL_FLOATS = {".inf", "-.inf", "+.inf", ".nan", ".Inf", "-.Inf", "+.Inf", ".INF", "-.INF", "+.INF", ".NaN", ".NAN"}

KeyPath = tuple[str | int, ...]


class Position(msgspec.Struct, frozen=True):
    """Line and column of a value, counted from 1."""

    line: int
    column: int


class WrittenInt(int):
    """A whole number that remembers how it was written."""

    text: str


class WrittenFloat(float):
    """A number that remembers how it was written, since thresholds are compared exactly."""

    text: str


class YamlMapping(dict[str, Any]):
    """A mapping that knows where it, its keys and its values stand."""

    position: Position
    key_positions: dict[str, Position]
    value_positions: dict[str, Position]


class YamlList(list[Any]):
    """A list that knows where it and its items stand."""

    position: Position
    item_positions: list[Position]


class Source(msgspec.Struct, frozen=True):
    """A YAML document as values, with the file it came from."""

    file: str
    value: Any
    position: Position

    def place(self, path: KeyPath, *, of_key: bool = False) -> Position:
        """Where the value at `path` stands, or its key; the nearest enclosing place when the path leads nowhere."""
        value, position = self.value, self.position
        for index, step in enumerate(path):
            last = index == len(path) - 1
            if isinstance(value, YamlMapping) and step in value:
                name = str(step)
                position = value.key_positions[name] if last and of_key else value.value_positions[name]
                value = value[name]
            elif isinstance(value, YamlList) and isinstance(step, int) and step < len(value):
                position = value.item_positions[step]
                value = value[step]
            else:
                break
        return position


def read_yaml(path: Path, *, shown: str | None = None) -> Source:
    """Read a YAML file; every fault is a UserError with file, line and column.

    Raises:
        UserError: missing, too large, not UTF-8, not YAML, several documents, duplicate keys, aliases that loop or
            expand without bound, nesting deeper than 60.
    """
    name = shown or str(path)
    try:
        size = path.stat().st_size
        if path.is_dir():
            raise UserError(Problem("is a folder, not a file", name))
        if not path.is_file():
            raise UserError(Problem("is not a file that can be read at once", name))
        if size > MAX_BYTES:
            raise UserError(
                Problem(
                    f"is too large for a suite: {size / 1e6:.0f} MB, allowed are 16; split it and use `include:`", name
                )
            )
        data = path.read_bytes()
    except OSError as error:
        raise UserError(Problem(f"cannot be read: {error.strerror or error}", name)) from None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UserError(Problem("is not UTF-8 text; is it a binary file?", name, line)) from None
    return parse_yaml(text, name)


def parse_yaml(text: str, name: str) -> Source:
    """Parse YAML text; `name` stands for the file in errors."""
    if match := _NOT_YAML.search(text):
        line, column = _place_in(text, match.start())
        what = f"holds a character that YAML does not allow (code {ord(match[0]):#04x})"
        raise UserError(Problem(what, name, line, column))
    builder = _Builder(name)
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        for event in yaml.parse(text, Loader=loader):
            builder.take(event)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        what = (error.problem or error.context or "is not valid YAML").strip()
        if mark and _is_tab(text, mark):
            what = "a tab; YAML is indented with blanks"
        raise UserError(
            Problem(f"is not valid YAML: {what}", name, *((mark.line + 1, mark.column + 1) if mark else ()))
        ) from None
    except (yaml.YAMLError, RecursionError) as error:
        raise UserError(Problem(f"is not valid YAML: {error}", name)) from None
    return builder.result()


def _place_in(text: str, offset: int) -> tuple[int, int]:
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)


def _is_tab(text: str, mark: yaml.Mark) -> bool:
    line = "".join(text.split("\n")[mark.line : mark.line + 1])
    return line[mark.column : mark.column + 1] == "\t" and not line[: mark.column].strip()


class _Open(msgspec.Struct):
    """A collection whose end has not been seen yet."""

    value: YamlMapping | YamlList
    anchor: str | None
    size: int = 1
    key: str | None = None
    key_position: Position | None = None
    key_merges: bool = False
    merges: list[Any] = msgspec.field(default_factory=list)


class _Builder:
    def __init__(self, name: str) -> None:
        self._name = name
        self._stack: list[_Open] = []
        self._anchors: dict[str, tuple[Any, int] | None] = {}
        self._values = 0
        self._documents = 0
        self._root: tuple[Any, Position] | None = None

    def result(self) -> Source:
        if self._root is None:
            raise UserError(Problem("is empty", self._name))
        return Source(self._name, *self._root)

    def take(self, event: yaml.Event) -> None:
        mark = event.start_mark
        position = Position(mark.line + 1, mark.column + 1) if mark is not None else Position(1, 1)
        if isinstance(event, yaml.ScalarEvent):
            value = self._scalar(event, position)
            if event.anchor:
                self._anchors[event.anchor] = (value, 1)
            self._add(value, position, 1, merges=event.value == "<<" and not event.style)
        elif isinstance(event, (yaml.MappingStartEvent, yaml.SequenceStartEvent)):
            self._open(event, position)
        elif isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
            done = self._stack.pop()
            if isinstance(done.value, YamlMapping):
                self._merge(done)
            if done.anchor:
                self._anchors[done.anchor] = (done.value, done.size)
            self._add(done.value, done.value.position, done.size)
        elif isinstance(event, yaml.AliasEvent):
            self._alias(event, position)
        elif isinstance(event, yaml.DocumentStartEvent):
            self._documents += 1
            if self._documents > 1:
                self._fail("holds several YAML documents; a suite is one", position)

    def _open(self, event: yaml.MappingStartEvent | yaml.SequenceStartEvent, position: Position) -> None:
        if len(self._stack) >= MAX_DEPTH:
            self._fail(f"is nested deeper than {MAX_DEPTH} levels", position)
        if self._stack and isinstance(self._stack[-1].value, YamlMapping) and self._stack[-1].key is None:
            self._fail("has a list or mapping as a key; keys are text", position)
        if event.tag not in (None, "!"):
            self._fail(f"uses the tag {event.tag!r}; tags are not allowed", position)
        value: YamlMapping | YamlList
        if isinstance(event, yaml.MappingStartEvent):
            value = YamlMapping()
            value.key_positions, value.value_positions = {}, {}
        else:
            value = YamlList()
            value.item_positions = []
        value.position = position
        if event.anchor:
            self._anchors[event.anchor] = None
        self._stack.append(_Open(value, event.anchor))

    def _alias(self, event: yaml.AliasEvent, position: Position) -> None:
        name = event.anchor or ""
        if name not in self._anchors:
            self._fail(f"uses the alias *{name}, which no anchor defines", position)
        known = self._anchors[name]
        if known is None:
            self._fail(f"the alias *{name} stands inside its own anchor", position)
        self._add(known[0], position, known[1])

    def _scalar(self, event: yaml.ScalarEvent, position: Position) -> Any:
        text: str = event.value
        if event.tag is not None and event.tag not in ("!", "tag:yaml.org,2002:str"):
            self._fail(f"uses the tag {event.tag!r}; tags are not allowed", position)
        if event.style or event.tag is not None:
            return text
        if text in _NULLS:
            return None
        if text in _TRUES or text in _FALSES:
            return text in _TRUES
        if text in _SPECIAL_FLOATS:
            self._fail(f"{text} is not a number that can be used here", position)
        if len(text) <= 40:
            if _INTEGER.match(text):
                whole = WrittenInt(text)
                whole.text = text
                return whole
            if _FLOAT.match(text):
                number = WrittenFloat(text)
                number.text = text
                if number in (float("inf"), float("-inf")):
                    self._fail(f"{text} is too large a number", position)
                return number
        return text

    def _add(self, value: Any, position: Position, size: int, *, merges: bool = False) -> None:
        self._values += size
        if self._values > MAX_VALUES:
            self._fail(f"expands to more than {MAX_VALUES:,} values; are aliases nested in aliases?", position)
        if not self._stack:
            self._root = (value, position)
            return
        top = self._stack[-1]
        top.size += size
        if isinstance(top.value, YamlList):
            top.value.append(value)
            top.value.item_positions.append(position)
        elif top.key is None:
            top.key, top.key_position, top.key_merges = self._key(value, position), position, merges
        else:
            self._entry(top, value, position)

    def _key(self, value: Any, position: Position) -> str:
        if isinstance(value, (dict, list)) or not isinstance(value, Hashable):
            self._fail("has a list or mapping as a key; keys are text", position)
        if isinstance(value, (WrittenInt, WrittenFloat)):
            return value.text
        if value is None or isinstance(value, bool):
            return {None: "null", True: "true", False: "false"}[value]
        return str(value)

    def _entry(self, top: _Open, value: Any, position: Position) -> None:
        mapping, key = top.value, top.key
        assert isinstance(mapping, YamlMapping) and key is not None and top.key_position is not None  # noqa: S101
        if top.key_merges:
            top.merges.append((value, position))
        elif key in mapping:
            first = mapping.key_positions[key]
            self._fail(f"the key {key!r} is there twice (first in line {first.line})", top.key_position)
        else:
            mapping[key] = value
            mapping.key_positions[key] = top.key_position
            mapping.value_positions[key] = position
        top.key = top.key_position = None

    def _merge(self, done: _Open) -> None:
        """`<<: *other` fills in what the mapping does not have itself."""
        mapping = done.value
        assert isinstance(mapping, YamlMapping)  # noqa: S101
        for value, position in done.merges:
            for source in value if isinstance(value, YamlList) else [value]:
                if not isinstance(source, YamlMapping):
                    self._fail("`<<` takes a mapping or a list of mappings", position)
                for key, inner in source.items():
                    if key not in mapping:
                        mapping[key] = inner
                        mapping.key_positions[key] = source.key_positions[key]
                        mapping.value_positions[key] = source.value_positions[key]

    def _fail(self, message: str, position: Position) -> NoReturn:
        raise UserError(Problem(message, self._name, position.line, position.column))


def plain(value: Any) -> Any:
    """The same value as ordinary dicts, lists, numbers and text, without memory of where it was written."""
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [plain(inner) for inner in value]
    if isinstance(value, WrittenInt):
        return int(value)
    if isinstance(value, WrittenFloat):
        return float(value)
    return value
