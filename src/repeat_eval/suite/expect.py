"""The entries of `expect:` into configured checks, with every fault found at once."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from repeat_eval.suite.checks import registry
from repeat_eval.suite.fields import found
from repeat_eval.suite.messages import unknown_key
from repeat_eval.suite.spec import ConfiguredCheck
from repeat_eval.suite.yaml_source import KeyPath, plain

OPTIONS = ("name", "weight", "pass_score")
Fault = tuple[KeyPath, bool, str]
"""Path below the case, whether the key (not the value) is at fault, and the sentence."""


def make_checks(expect: list[Any], taken: Iterable[str] = ()) -> tuple[list[ConfiguredCheck], list[Fault]]:
    """Configure the checks of one case.

    Args:
        expect: the entries as written.
        taken: names of checks that the case has already; a further check of that name gets a number.

    Returns:
        The checks, and the faults with their path below `expect`.
    """
    checks: list[ConfiguredCheck] = []
    faults: list[Fault] = []
    names = set(taken)
    for index, entry in enumerate(expect):
        check, entry_faults = _one(entry)
        faults += [((index, *path), of_key, text) for path, of_key, text in entry_faults]
        if check is not None:
            name, count = check.name, 1
            while name in names:
                count += 1
                name = f"{check.name} #{count}"
            names.add(name)
            checks.append(ConfiguredCheck(name, check.check, check.weight, check.pass_score))
    return checks, faults


def _one(entry: Any) -> tuple[ConfiguredCheck | None, list[Fault]]:
    if not isinstance(entry, dict):
        return None, [((), False, f"a check is a mapping such as `contains: text`; found {found(entry)}")]
    kinds = [key for key in entry if key not in OPTIONS]
    faults = _option_faults(entry)
    known = [kind for kind in kinds if registry.find_check(kind) is not None]
    for kind in kinds:
        if kind not in known:
            faults.append(((kind,), True, unknown_key(kind, registry.known_kinds(), what="check")))
    if len(known) > 1:
        text = f"one check an entry; found {' and '.join(known)}: write each as an item of its own"
        faults.append(((known[1],), True, text))
    if not kinds:
        faults.append(((), False, f"names no check; known checks: {', '.join(registry.known_kinds())}"))
    if len(known) != 1 or len(kinds) != 1:
        return None, faults
    kind = known[0]
    check_type = registry.find_check(kind)
    if check_type is None:
        return None, faults
    argument = plain(entry[kind])
    faults += [((kind,), False, text) for text in registry.problems(check_type, argument)]
    if faults:
        return None, faults
    name = str(entry.get("name") or kind)
    weight, pass_score = entry.get("weight"), entry.get("pass_score")
    configured = ConfiguredCheck(
        name,
        check_type(registry.validate_argument(check_type, argument)),
        1.0 if weight is None else float(weight),
        None if pass_score is None else float(pass_score),
    )
    return configured, faults


def _option_faults(entry: dict[str, Any]) -> list[Fault]:
    faults: list[Fault] = []
    for key, low, high, allowed in (
        ("weight", math.ulp(0.0), 1e6, "a number above 0"),
        ("pass_score", 0.0, 1.0, "a number from 0 to 1"),
    ):
        value = entry.get(key)
        if value is None:
            continue
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not number or not low <= value <= high:
            faults.append(((key,), False, f"`{key}` must be {allowed}; found {found(value)}"))
    name = entry.get("name")
    if name is not None and (not isinstance(name, str) or not 0 < len(name) <= 200):
        faults.append((("name",), False, f"`name` must be a text of 1 to 200 characters; found {found(name)}"))
    return faults
