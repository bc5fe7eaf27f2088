"""`judge:` of a suite, and `--set judge.KEY=VALUE` from outside: who grades checks with a rubric, and how often.

One model for suite file, options, environment variables and Python API, like the other settings.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from repeat_eval.suite.fields import Seconds, found

MAX_VOTES = 99
OWN_KEYS = ("model", "url", "api_key_env", "votes", "pass_score", "timeout")
"""Keys of `judge:` that are no settings of its model."""
NUMBERS: Mapping[str, tuple[float, float]] = {
    "temperature": (0, 2),
    "top_p": (0, 1),
    "frequency_penalty": (-2, 2),
    "presence_penalty": (-2, 2),
}
"""Settings of a judge's model that are numbers, with their range."""
WHOLE_NUMBERS: Mapping[str, tuple[int, int]] = {"max_tokens": (1, 1_000_000), "seed": (0, 2**53)}
MODEL_SETTINGS = (*NUMBERS, *WHOLE_NUMBERS)
"""All settings that a judge's model takes."""
_MODEL = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,60}:[^\s\x00-\x1f\x7f]{1,200}\Z")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,200}\Z")


def model_name(value: Any) -> str:
    """Validate the name of a model, `provider:model`; ValueError otherwise."""
    if not isinstance(value, str) or not _MODEL.match(value.strip()):
        raise ValueError(f"must name provider and model, for instance openai:gpt-5-mini; found {found(value)}")
    return value.strip()


def endpoint(value: Any) -> str:
    """Validate the base URL of an endpoint; ValueError otherwise. A key in it would end up in reports."""
    try:
        parts = urlsplit(value.strip() if isinstance(value, str) else "")
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        good = False
    if not good:
        raise ValueError(f"must be a URL such as https://models.example/v1; found {found(value)}")
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise ValueError("must be a URL without user, password and query: a key is named by `api_key_env`")
    return str(value).strip()


def variable_name(value: Any) -> str:
    """Validate the name of an environment variable; ValueError otherwise. The value is not shown: it may be the key."""
    if not isinstance(value, str) or not _VARIABLE.match(value):
        raise ValueError("must be the name of an environment variable that holds the key, for instance OPENAI_API_KEY")
    return value


def share(value: Any) -> float:
    """Validate a number from 0 to 1; ValueError otherwise."""
    return _number(value, "", (0, 1))


def votes(value: Any) -> int:
    """Validate a number of votes; ValueError otherwise."""
    return _whole(value, "", (1, MAX_VOTES))


def model_settings(value: Any) -> dict[str, Any]:
    """Validate settings of a judge's model; ValueError names every one that is wrong."""
    if not isinstance(value, Mapping):
        raise ValueError(f"must be a mapping such as {{temperature: 0}}; found {found(value)}")
    valid: dict[str, Any] = {}
    wrong: list[str] = []
    for name, given in value.items():
        if name not in MODEL_SETTINGS:
            wrong.append(f"has the unknown setting {found(name)}; known settings: {', '.join(MODEL_SETTINGS)}")
            continue
        try:
            numbers = NUMBERS.get(name)
            valid[name] = (
                _number(given, f"`{name}` ", numbers)
                if numbers is not None
                else _whole(given, f"`{name}` ", WHOLE_NUMBERS[name])
            )
        except ValueError as error:
            wrong.append(f": {error}")
    if wrong:
        raise ValueError("; ".join(wrong).removeprefix(": "))
    return valid


def layer(value: Any) -> Any:
    """What may be written for a whole `judge:`: a mapping, a model's name, or assignments `judge.KEY=VALUE`.

    Raises:
        ValueError: an assignment that is none, of a key that is not known, or of a key that has another value already.
    """
    if isinstance(value, str):
        if "=" not in value:
            return {"model": value}
        value = value.split()
    if not isinstance(value, list | tuple):
        return value
    given: dict[str, Any] = {}
    settings: dict[str, Any] = {}
    for one in value:
        path, sign, text = str(one).partition("=")
        name = path.strip().removeprefix("judge.").removeprefix("settings.")
        if not sign or not path.strip().startswith("judge.") or name not in (*OWN_KEYS, *MODEL_SETTINGS):
            names = ", ".join((*OWN_KEYS, *MODEL_SETTINGS))
            raise ValueError(f"takes judge.KEY=VALUE, where KEY is one of {names}; found {found(one)}")
        place = given if name in OWN_KEYS else settings
        if place.get(name, text) != text:
            raise ValueError(f"gives judge.{name} two values: {found(place[name])} and {found(text)}")
        place[name] = text.strip()
    return {**given, **({"settings": settings} if settings else {})}


Model = Annotated[str, BeforeValidator(model_name)]
Url = Annotated[str, BeforeValidator(endpoint)]
VariableName = Annotated[str, BeforeValidator(variable_name)]
Votes = Annotated[int, BeforeValidator(votes, json_schema_input_type=Annotated[int, Field(ge=1, le=MAX_VOTES)])]
Share = Annotated[float, BeforeValidator(share, json_schema_input_type=Annotated[float, Field(ge=0, le=1)])]
ModelSettings = Annotated[dict[str, Any], BeforeValidator(model_settings)]


class JudgeSettings(BaseModel):
    """Who grades and how; None where nothing is said."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    model: Model | None = Field(None, description="Provider and model, for instance openai:gpt-5-mini.")
    url: Url | None = Field(None, description="Base URL of an endpoint that speaks the provider's protocol.")
    api_key_env: VariableName | None = Field(None, description="Variable that holds the key.")
    votes: Votes | None = Field(None, description="How often each judge is asked; the majority decides (default 1).")
    pass_score: Share | None = Field(None, description="Score from which on a vote is for passing (default 0.5).")
    timeout: Seconds | None = Field(
        None, description="Seconds that a judge may take for one reply (default: `timeout`)."
    )
    settings: ModelSettings | None = Field(None, description="Settings of the model, for instance temperature.")

    def flat(self) -> dict[str, Any]:
        """What is said, by key; settings of the model stand beside the other keys."""
        own = {name: getattr(self, name) for name in OWN_KEYS if getattr(self, name) is not None}
        return {**own, **(self.settings or {})}


JudgeLayer = Annotated[JudgeSettings, BeforeValidator(layer, json_schema_input_type=JudgeSettings | str)]


def _number(value: Any, name: str, allowed: tuple[float, float]) -> float:
    low, high = allowed
    number = _float(value)
    if not low <= number <= high:
        raise ValueError(f"{name}must be a number from {low:g} to {high:g}; found {found(value)}")
    return number


def _whole(value: Any, name: str, allowed: tuple[int, int]) -> int:
    low, high = allowed
    written = re.fullmatch(r"[0-9]{1,16}", value.strip()) if isinstance(value, str) else None
    number = value if isinstance(value, int) and not isinstance(value, bool) else int(value) if written else None
    if number is None or not low <= number <= high:
        raise ValueError(f"{name}must be a whole number from {low} to {high:,}; found {found(value)}")
    return int(number)


def _float(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return math.nan
    if isinstance(value, str) and not re.fullmatch(r"\s*-?[0-9]{1,9}(\.[0-9]{1,9})?\s*", value, re.ASCII):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.nan
