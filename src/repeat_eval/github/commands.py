"""Workflow commands: what a step says to the runner through its log and the files that the runner names.

A line that begins with `::name` or holds `##[name]` is an order to the runner. What a model wrote must never become
one: texts that go into a command are escaped, and foreign text is printed while commands are stopped.
Source: GitHub's documentation of workflow commands, and the runner's parser, which trims blanks before `::`.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal, TextIO

from repeat_eval.reports.escape import cut, terminal

AnnotationKind = Literal["error", "warning", "notice", "debug"]

MAX_MESSAGE = 4000
"""Characters of an annotation; the runner cuts at 4,096."""
MAX_TITLE = 250
MAX_OUTPUT = 20_000
"""Characters of one output; later steps get outputs on their command line, which has little room."""

_BREAK = "\u200b"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_ORDER = re.compile(r"^(\s*:):|(##)(?=\[)")
_NOT_IN_OUTPUTS = re.compile("[\x00\ud800-\udfff]")


def escape_data(text: str) -> str:
    """The text of a command: per cent signs and line breaks are encoded, so that it stays one line."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def escape_property(text: str) -> str:
    """The value of a command's property, which colons and commas would end as well."""
    return escape_data(text).replace(":", "%3A").replace(",", "%2C")


def annotation(
    kind: AnnotationKind,
    message: str,
    *,
    file: str | None = None,
    line: int | None = None,
    title: str | None = None,
) -> str:
    """The line that makes the runner show an annotation. Any text is safe here, and is bounded.

    Args:
        kind: how loud. `debug` shows in debug logs only and has no place.
        message: what to say; may have several lines.
        file: path from the root of the repository. line: in that file, from 1; without a file it is left out.
        title: shown instead of "Error" or "Warning"; one line.
    """
    properties = []
    if kind != "debug":
        if title:
            properties.append(f"title={escape_property(terminal(title, MAX_TITLE))}")
        if file:
            properties.append(f"file={escape_property(terminal(file, 1000))}")
            if line is not None and line > 0:
                properties.append(f"line={line}")
    start = f"{kind} {','.join(properties)}" if properties else kind
    return f"::{start}::{escape_data(_plain(message))}"


def mask(value: str) -> str:
    """The line that makes the runner replace a value by `***` in the log; print it before anything else can hold it.

    Raises:
        ValueError: the value is blank, which would garble the log.
    """
    if not value.strip():
        raise ValueError("a blank value cannot be masked")
    return f"::add-mask::{escape_data(value)}"


@contextlib.contextmanager
def group(stream: TextIO, title: str) -> Iterator[None]:
    """What is written meanwhile is folded in the log under the title."""
    _say(stream, f"::group::{escape_data(terminal(title, MAX_TITLE))}")
    try:
        yield
    finally:
        _say(stream, "::endgroup::")


@contextlib.contextmanager
def commands_stopped(stream: TextIO) -> Iterator[None]:
    """While it lasts, the runner obeys nothing in the log: for the output of programs that are not ours.

    The word that ends it is random, so that nobody can say it.
    """
    word = f"repeat-eval-{secrets.token_hex(16)}"
    _say(stream, f"::stop-commands::{word}")
    try:
        yield
    finally:
        # Foreign output may have left a line unfinished, in which the word would not be seen.
        _say(stream, f"\n::{word}::")


def inert_line(line: str, limit: int = 2000) -> str:
    """One line from outside that is no command: bounded, without control characters, its blanks collapsed."""
    return _ORDER.sub(lambda match: f"{match[1]}{_BREAK}:" if match[1] else f"##{_BREAK}", terminal(line, limit))


def write_outputs(path: Path, outputs: Mapping[str, str]) -> None:
    """Add outputs to the file that `GITHUB_OUTPUT` names, all in one write.

    Each value stands between random delimiters, so that no value can set another output. A value longer than
    `MAX_OUTPUT` is cut, which "…" shows; what no variable can hold becomes U+FFFD.

    Raises:
        ValueError: a name is not made of letters, digits, `_` and `-`.
        OSError: the file cannot be written.
    """
    pieces = []
    for name, value in outputs.items():
        if not _NAME.fullmatch(name):
            raise ValueError(f"{name!r} cannot be the name of an output")
        clean = _NOT_IN_OUTPUTS.sub("\ufffd", cut(value, MAX_OUTPUT))
        delimiter = f"end-{secrets.token_hex(16)}"
        pieces.append(f"{name}<<{delimiter}\n{clean}\n{delimiter}\n")
    _append(path, "".join(pieces).encode())


def _plain(message: str) -> str:
    lines = message[: 2 * MAX_MESSAGE].splitlines()
    return cut("\n".join(terminal(line, MAX_MESSAGE) for line in lines).strip(), MAX_MESSAGE)


def _say(stream: TextIO, line: str) -> None:
    stream.write(f"{line}\n")
    stream.flush()


def _append(path: Path, data: bytes) -> None:
    """Add to a file of the runner's; a line that somebody else left unfinished is finished first."""
    if not data:
        return
    with path.open("a+b") as file:
        if file.seek(0, os.SEEK_END) > 0:
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":
                data = b"\n" + data
        file.write(data)
