"""only-when-changed: whether a change touches anything that the evaluation depends on.

Patterns are like those of .gitignore: `*` and `?` stay within a name, `**` spans folders, a pattern that matches a
folder matches all in it, one without a slash matches at any depth, `!` takes back, and the last pattern that matches
decides. Unlike there, a file can be brought back from within a folder that was taken out.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable
from dataclasses import dataclass

from repeat_eval.errors import Problem, UserError
from repeat_eval.reports.escape import terminal

MAX_PATTERNS = 1000
_SHOWN = 3

_ANY_DEPTH = None
"""Stands for `**` among the parts of a pattern."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """One pattern.

    Attributes:
        written: as it was written. negated: whether it takes back.
        parts: one expression for each name of the path, None for any number of names.
        folder: whether it ended in a slash, so that only what is inside matches.
    """

    written: str
    negated: bool
    parts: tuple[re.Pattern[str] | None, ...]
    folder: bool

    def matches(self, path: str) -> bool:
        """Whether the path of a file, or a folder that it is in, is meant."""
        names = path.split("/")
        # reached: how many parts can be used up by the names so far; each name moves every place on by one.
        reached = self._past_any_depth({0})
        for name in names[:-1] if self.folder else names:
            reached = self._past_any_depth(self._after(reached, name))
            if len(self.parts) in reached:
                return True
        return False

    def _after(self, reached: set[int], name: str) -> set[int]:
        following = set()
        for place in reached:
            if place == len(self.parts):
                continue
            part = self.parts[place]
            if part is _ANY_DEPTH:
                following.add(place)
            elif part.match(name):
                following.add(place + 1)
        return following

    def _past_any_depth(self, reached: set[int]) -> set[int]:
        # `**` may stand for no name at all. Two never follow each other, and none is the last part.
        return reached | {place + 1 for place in reached if place < len(self.parts) and self.parts[place] is _ANY_DEPTH}


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether to evaluate, and why in a few words that go on from "evaluated:" or "not evaluated:"."""

    evaluate: bool
    reason: str


def parse_patterns(text: str | Iterable[str]) -> tuple[Pattern, ...]:
    """Patterns, one a line; blank lines and lines that begin with `#` are left out.

    Raises:
        UserError: a pattern is empty, leads out of the repository, or has an unfinished `[` or `\\`; or there are more
            than `MAX_PATTERNS`.
    """
    lines = text.splitlines() if isinstance(text, str) else list(text)
    patterns, problems = [], []
    for number, line in enumerate(lines, start=1):
        written = line.strip()
        if not written or written.startswith("#"):
            continue
        try:
            patterns.append(_pattern(written))
        except ValueError as error:
            problems.append(Problem(f"only-when-changed, line {number}: {terminal(written, 80)!r} {error}"))
    if len(patterns) > MAX_PATTERNS:
        problems.append(Problem(f"only-when-changed has {len(patterns)} patterns; at most {MAX_PATTERNS} are read"))
    if problems:
        raise UserError(problems)
    return tuple(patterns)


def is_meant(path: str, patterns: Iterable[Pattern]) -> bool:
    """Whether the last pattern that matches the path is one without `!`. If the first has one, all others are meant."""
    meant: bool | None = None
    for pattern in patterns:
        if meant is None:
            meant = pattern.negated
        if meant is pattern.negated and pattern.matches(path):
            meant = not pattern.negated
    return bool(meant)


def decide(patterns: tuple[Pattern, ...], changed: Iterable[str] | None, *, complete: bool = True) -> Decision:
    """Whether a change has to be evaluated. What is not known counts as changed.

    Args:
        patterns: none means always.
        changed: paths from the root of the repository, a renamed file under both names; None if they are not known.
        complete: whether all of them are there; GitHub lists at most 300 or 3,000.
    """
    if not patterns:
        return Decision(True, "no patterns are set")
    if changed is None:
        return Decision(True, "the changed files are not known")
    for path in changed:
        if is_meant(path, patterns):
            return Decision(True, f"{terminal(path, 120)} changed")
    if not complete:
        return Decision(True, "there are more changed files than GitHub lists")
    return Decision(False, f"nothing {_summary(patterns)} changed")


def _summary(patterns: tuple[Pattern, ...]) -> str:
    folders = [pattern.written.removesuffix("**").removeprefix("/") for pattern in patterns]
    if len(patterns) <= _SHOWN and all(
        folder.endswith("/") and not re.search(r"[*?\[\\]", folder) and not pattern.negated
        for folder, pattern in zip(folders, patterns, strict=True)
    ):
        return f"under {' or '.join(terminal(folder, 60) for folder in folders)}"
    return "that only-when-changed names"


def _pattern(written: str) -> Pattern:
    negated = written.startswith("!")
    body = written[1:] if negated else written
    body = body.removeprefix("./")
    folder = body.endswith("/")
    anchored = "/" in body.rstrip("/")
    names = [name for name in body.split("/") if name]
    if not names:
        raise ValueError("names nothing")
    if {".", ".."} & set(names):
        raise ValueError("must be a path from the root of the repository, without . and ..")
    if not anchored:
        names.insert(0, "**")
    parts: list[re.Pattern[str] | None] = []
    for name in names:
        if name != "**":
            parts.append(re.compile(_expression(name)))
        elif not parts or parts[-1] is not _ANY_DEPTH:
            parts.append(_ANY_DEPTH)
    if parts[-1] is _ANY_DEPTH:
        # A trailing `**` is everything inside, at least one name deep.
        parts.append(re.compile(_expression("*")))
    return Pattern(written, negated, tuple(parts), folder)


def _expression(name: str) -> str:
    """A regular expression for one name. fnmatch's takes no more than linear time in the number of `*`."""
    glob, at = "", 0
    while at < len(name):
        character = name[at]
        if character == "\\":
            if at + 1 == len(name):
                raise ValueError("ends in a backslash")
            following = name[at + 1]
            glob += f"[{following}]" if following in "*?[" else following
            at += 2
        elif character == "[":
            start = at + 1
            inverted = name[start : start + 1] in ("!", "^")
            first = start + inverted
            end = name.find("]", first + 1)
            if end < 0:
                raise ValueError("has a [ without its ]")
            glob += f"[{'!' * inverted}{name[first:end]}]"
            at = end + 1
        else:
            glob += character
            at += 1
    return fnmatch.translate(glob)
