"""Regular expressions that cannot hang: every search has a deadline, every pattern a bound."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from repeat_eval.suite.checks._wording import quoted
from repeat_eval.suite.checks.base import NoVerdict

if TYPE_CHECKING:
    from regex import Pattern

TIMEOUT = 2.0
"""Seconds that one search may take."""
MAX_PATTERN_CHARACTERS = 10_000
MAX_REPEAT_COUNT = 1_000_000


def problem(pattern: str, *, ignore_case: bool = False, multiline: bool = False, dotall: bool = False) -> str | None:
    """Why `pattern` cannot be used; None if it can."""
    import regex

    if len(pattern) > MAX_PATTERN_CHARACTERS:
        return f"the pattern has {len(pattern):,} characters, allowed are {MAX_PATTERN_CHARACTERS:,}"
    # Counted repeats are unrolled by the engine: nested ones multiply and would eat all memory while compiling.
    product = 1
    for count in regex.findall(r"\{(?:\d{0,9},)?(\d{1,9})\}|\{(\d{1,9}),\}", pattern):
        product *= max(int(count[0] or count[1]), 1)
        if product > MAX_REPEAT_COUNT:
            return f"the counted repeats in the pattern {quoted(pattern)} multiply to more than {MAX_REPEAT_COUNT:,}"
    try:
        compiled(pattern, ignore_case=ignore_case, multiline=multiline, dotall=dotall)
    except (regex.error, RecursionError, OverflowError, ValueError) as error:
        return f"the pattern {quoted(pattern)} is not a regular expression: {str(error)[:200]}"
    return None


@lru_cache(maxsize=1024)
def compiled(pattern: str, *, ignore_case: bool = False, multiline: bool = False, dotall: bool = False) -> Pattern[str]:
    """The pattern ready for use, compiled once. Raises `regex.error`."""
    import regex

    flags = regex.IGNORECASE * ignore_case | regex.MULTILINE * multiline | regex.DOTALL * dotall
    return regex.compile(pattern, flags)


def found(
    pattern: str,
    text: str,
    *,
    ignore_case: bool = False,
    multiline: bool = False,
    dotall: bool = False,
    full: bool = False,
) -> bool:
    """Whether the pattern is found in `text`, or with `full` covers the whole of it.

    Raises:
        NoVerdict: the search took longer than `TIMEOUT`.
    """
    expression = compiled(pattern, ignore_case=ignore_case, multiline=multiline, dotall=dotall)
    search = expression.fullmatch if full else expression.search
    try:
        return search(text, timeout=TIMEOUT) is not None
    except TimeoutError:
        raise NoVerdict(
            f"the pattern {quoted(pattern)} took longer than {TIMEOUT:g} s on an output of {len(text):,} characters"
        ) from None
