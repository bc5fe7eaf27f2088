"""Comparing JSON values: exact equality, and the deep subset that `matches` and the tool checks use."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from repeat_eval.suite.checks import _patterns
from repeat_eval.suite.checks._wording import kind_of, listed, quoted, shown
from repeat_eval.suite.checks.base import NoVerdict, Observation

MAX_DEPTH = 100
"""Levels that an expected value may have; a comparison never goes deeper than the expected value does."""


def text_of(observation: Observation) -> str:
    """The output as text; raises NoVerdict when it is a value that JSON cannot write."""
    try:
        return observation.text
    except (TypeError, ValueError, RecursionError) as error:
        raise NoVerdict(f"the output cannot be written as JSON: {error}") from None


def pattern_in(expected: Any) -> str | None:
    """The pattern of a mapping `{regex: …}` that stands for a text; None for every other value."""
    if isinstance(expected, Mapping) and len(expected) == 1 and isinstance(expected.get("regex"), str):
        pattern: str = expected["regex"]
        return pattern
    return None


def difference(expected: Any, actual: Any, path: str = "$", *, exact: bool = False) -> str | None:
    """Where and how `actual` first differs from `expected`, in one line; None if it does not.

    Without `exact` it is the deep subset: every key of an expected mapping must be there and match, other keys may be
    there too; lists are compared element by element and have one length; `{regex: …}` stands for a text in which the
    pattern is found. With `exact` there are no other keys and no patterns. True is not 1; 1 is 1.0.

    Raises:
        NoVerdict: a pattern took too long.
    """
    if not exact and (pattern := pattern_in(expected)) is not None:
        return _pattern_difference(pattern, actual, path)
    if isinstance(expected, Mapping):
        return _mapping_difference(expected, actual, path, exact=exact)
    if isinstance(expected, list | tuple):
        return _list_difference(expected, actual, path, exact=exact)
    if _same_scalar(expected, actual):
        return None
    return f"at {path}: expected {shown(expected)}, got {shown(actual)}"


def value_problem(expected: Any, *, patterns: bool = True) -> str | None:
    """Why `expected` cannot be compared with JSON values; None if it can.

    Finds values that JSON does not have, more than 100 levels, and, with `patterns`, patterns that do not compile.
    """
    level: list[Any] = [expected]
    for _ in range(MAX_DEPTH):
        # One look at each object of a level is enough; shared ones (aliases) would multiply from level to level.
        below: dict[int, Any] = {}
        for value in level:
            if patterns and (pattern := pattern_in(value)) is not None:
                if problem := _patterns.problem(pattern):
                    return problem
            elif isinstance(value, Mapping):
                for key, item in value.items():
                    if not isinstance(key, str):
                        return f"keys must be texts, found {kind_of(key)}"
                    below[id(item)] = item
            elif isinstance(value, list | tuple):
                below.update((id(item), item) for item in value)
            elif isinstance(value, float) and not math.isfinite(value):
                return f"{value} is not a number that JSON has"
            elif value is not None and not isinstance(value, str | bool | int | float):
                return f"{kind_of(value)} is not a JSON value (text, number, true, false, null, list, mapping)"
        if not below:
            return None
        level = list(below.values())
    return f"the value is nested deeper than {MAX_DEPTH} levels"


def _pattern_difference(pattern: str, actual: Any, path: str) -> str | None:
    if not isinstance(actual, str):
        return f"at {path}: expected a text with the pattern {quoted(pattern)}, got {shown(actual)}"
    if not _patterns.found(pattern, actual):
        return f"at {path}: {shown(actual)} does not have the pattern {quoted(pattern)}"
    return None


def _list_difference(expected: Sequence[Any], actual: Any, path: str, *, exact: bool) -> str | None:
    if not isinstance(actual, list | tuple):
        return f"at {path}: expected a list, got {shown(actual)}"
    if len(expected) != len(actual):
        return f"at {path}: expected a list of {len(expected)}, got one of {len(actual)}"
    for index, (left, right) in enumerate(zip(expected, actual, strict=True)):
        if found := difference(left, right, f"{path}[{index}]", exact=exact):
            return found
    return None


def _mapping_difference(expected: Mapping[str, Any], actual: Any, path: str, *, exact: bool) -> str | None:
    if not isinstance(actual, Mapping):
        return f"at {path}: expected a mapping, got {shown(actual)}"
    for key, item in expected.items():
        if key not in actual:
            return f"at {path}: {quoted(str(key))} is missing; there is {_keys(actual)}"
        if found := difference(item, actual[key], f"{path}.{key}"[:200], exact=exact):
            return found
    if exact and len(actual) > len(expected):
        return f"at {path}: {_keys(key for key in actual if key not in expected)} not expected"
    return None


def _keys(keys: Iterable[Any]) -> str:
    names: list[str] = []
    for key in keys:
        if len(names) == 5:
            names.append("more")
            break
        names.append(quoted(str(key), 30))
    return listed(names) or "no key"


def _same_scalar(expected: Any, actual: Any) -> bool:
    if isinstance(expected, bool) or isinstance(actual, bool):
        return expected is actual
    if isinstance(actual, Mapping | list | tuple):
        return False
    return bool(expected == actual)
