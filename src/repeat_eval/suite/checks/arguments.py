"""Validating the value behind a check's key, and saying in plain language what is wrong with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from repeat_eval.suite.checks._wording import kind_of, listed, quoted
from repeat_eval.suite.checks.base import Check

if TYPE_CHECKING:
    from pydantic import BaseModel, TypeAdapter, ValidationError


def validate_argument(cls: type[Check], value: Any) -> Any:
    """`value` as the check's `Argument` type. Nothing is converted: a number is no text, true is no number.

    Raises:
        pydantic.ValidationError: the value is not of that type.
    """
    return _adapter(cls).validate_python(value)


def problems(cls: type[Check], value: Any) -> list[str]:
    """Everything that is wrong with a value behind the check's key, a sentence each; empty if nothing is."""
    from pydantic import ValidationError

    try:
        argument = validate_argument(cls, value)
    except ValidationError as error:
        return _sentences(cls, value, error)
    found = cls.problem(argument)
    return [f"`{cls.kind}` {found}"] if found else []


@lru_cache(maxsize=256)
def _adapter(cls: type[Check]) -> TypeAdapter[Any]:
    from pydantic import ConfigDict, PydanticUserError, TypeAdapter

    try:
        return TypeAdapter(cls.Argument, config=ConfigDict(strict=True, allow_inf_nan=True))
    except PydanticUserError as error:
        if error.code != "type-adapter-config-unused":
            raise
        return TypeAdapter(cls.Argument)  # a model of the user's, which has its own configuration


def _sentences(cls: type[Check], value: Any, error: ValidationError) -> list[str]:
    """One sentence a fault inside the value; when the value as a whole is of a wrong type, one about that."""
    model = _model(cls) if isinstance(value, Mapping) else None
    inside = []
    # A union reports each of its alternatives; what matters is the one that looks like the value.
    for detail in error.errors(include_url=False, include_context=False):
        location = detail["loc"]
        if model is not None:
            if model.__name__ in location:
                location = location[location.index(model.__name__) + 1 :]
            elif cls.Argument is not model:
                continue
        elif isinstance(value, list | tuple):
            location = tuple(part for part in location if isinstance(part, int))
        elif isinstance(value, Mapping) and location[-1:] == ("[key]",):
            inside.append(f"keys must be texts, found {kind_of(detail['input'])}")
            continue
        else:
            continue
        if location and (sentence := _inside(value, location, detail["type"], model)) not in inside:
            inside.append(sentence)
    if inside:
        return [f"`{cls.kind}`: {sentence}" for sentence in inside]
    if cls.takes:
        return [f"`{cls.kind}` takes {cls.takes}; found {kind_of(value)}"]
    return [f"`{cls.kind}`: {error.errors(include_url=False)[0]['msg']}; found {kind_of(value)}"]


def _inside(value: Any, location: tuple[int | str, ...], fault: str, model: type[BaseModel] | None) -> str:
    key = location[0]
    options = list(model.model_fields) if model else []
    if fault == "missing":
        return f"the option {quoted(str(key))} is missing"
    if fault == "extra_forbidden":
        near = get_close_matches(str(key), options, n=1)
        hint = f"; did you mean {quoted(near[0])}?" if near else f"; allowed are {_names(options)}"
        return f"unknown option {quoted(str(key))}{hint}"
    if fault == "invalid_key":
        return f"keys must be texts, found {kind_of(key)}"
    if isinstance(key, int):
        return f"entry {key + 1} must be a text, found {kind_of(value[key])}"
    what = "must be true or false" if fault == "bool_type" else "has a wrong type"
    if fault in {"string_type", "list_type"}:
        what = "must be a text or a list of texts"
    return f"{quoted(key)} {what}, found {kind_of(value.get(key))}"


def _names(options: Iterable[str]) -> str:
    return listed(quoted(option) for option in options)


def _model(cls: type[Check]) -> type[BaseModel] | None:
    """The options model among the alternatives of the check's argument, if there is one."""
    from typing import get_args

    from pydantic import BaseModel

    for alternative in (cls.Argument, *get_args(cls.Argument)):
        if isinstance(alternative, type) and issubclass(alternative, BaseModel):
            return alternative
    return None
