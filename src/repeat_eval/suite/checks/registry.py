"""Which kinds of check there are: the built-in ones, loaded when first asked for, and those that users register."""

from __future__ import annotations

from importlib import import_module
from typing import Final, TypeVar

from repeat_eval.errors import UserError
from repeat_eval.suite.checks.arguments import problems, validate_argument
from repeat_eval.suite.checks.base import Check

__all__ = [
    "BUILT_IN",
    "RESERVED",
    "find_check",
    "known_kinds",
    "problems",
    "register_check",
    "unregister_check",
    "validate_argument",
]

_CLASSES: Final = {
    "equals": "Equals",
    "contains": "Contains",
    "not_contains": "NotContains",
    "regex": "Regex",
    "json_schema": "JsonSchema",
    "matches": "Matches",
    "max_duration": "MaxDuration",
    "max_cost": "MaxCost",
    "calls_tool": "CallsTool",
    "not_calls_tool": "NotCallsTool",
    "tool_args": "ToolArgs",
    "call_order": "CallOrder",
    "max_turns": "MaxTurns",
    "python": "Python",
    "judge": "Judge",
    "similar": "Similar",
}

BUILT_IN: Final[tuple[str, ...]] = tuple(_CLASSES)
"""The kinds that come with repeat-eval. Each lives in the module of its name."""

RESERVED: Final[tuple[str, ...]] = ("weight", "pass_score", "name")
"""Keys beside the kind in an entry of `expect:`; no kind may be called so."""

_registered: dict[str, type[Check]] = {}

C = TypeVar("C", bound=type[Check])


def find_check(kind: str) -> type[Check] | None:
    """The check class of a kind, importing only the module it lives in; None if there is no such kind."""
    if kind in _CLASSES:
        found: type[Check] = getattr(import_module(f"{__package__}.{kind}"), _CLASSES[kind])
        return found
    return _registered.get(kind)


def known_kinds() -> list[str]:
    """All kinds: the built-in ones in the order of the documentation, then the registered ones by name."""
    return [*BUILT_IN, *sorted(_registered)]


def register_check(cls: C) -> C:
    """Class decorator that makes a check known under its `kind`.

    Raises:
        UserError: `kind` is missing or not an identifier, or it is the name of a built-in or of another class's check.
    """
    kind = getattr(cls, "kind", None)
    where = f"{cls.__module__}.{cls.__qualname__}"
    if not isinstance(kind, str) or not kind.isidentifier():
        raise UserError(f"{where}: `kind` must be a name of letters, digits and underscores, found {kind!r}")
    if kind in _CLASSES or kind in RESERVED:
        raise UserError(f"{where}: `{kind}` is a name of repeat-eval's own; choose another `kind`")
    other = _registered.get(kind)
    # A module that is loaded twice brings its classes along again; only a different class is a clash.
    if other is not None and (other.__module__, other.__qualname__) != (cls.__module__, cls.__qualname__):
        raise UserError(f"{where}: `{kind}` is already registered by {other.__module__}.{other.__qualname__}")
    _registered[kind] = cls
    return cls


def unregister_check(kind: str) -> None:
    """Forget a registered kind; built-in ones stay."""
    _registered.pop(kind, None)
