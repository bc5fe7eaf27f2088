"""What stands behind `model:` of a target: the model, its prompt, its tools and their mocks, or a script instead.

Loaded only where a suite has such a target.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictFloat,
    StrictInt,
    StrictStr,
    StringConstraints,
    ValidationError,
    model_validator,
)

from repeat_eval.suite import fields
from repeat_eval.suite.messages import plain_message, unknown_key
from repeat_eval.suite.yaml_source import KeyPath, plain

DEFAULT_MAX_TURNS = 8
MAX_DELAY = 600.0
PASSED_ON = ("openai_", "anthropic_", "google_", "groq_", "mistral_", "cohere_", "bedrock_", "openrouter_", "xai_")
"""Settings that begin like this are a provider's own and are passed on as they are."""

_NAME = re.compile(r"[a-z][a-z0-9/-]*:\S.*", re.DOTALL)
_TOOL_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_Text = Annotated[StrictStr, StringConstraints(min_length=1, max_length=1_000_000)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


def _exactly_one(model: BaseModel, keys: Sequence[str]) -> None:
    given = [key for key in keys if key in model.model_fields_set]
    if len(given) != 1:
        found = " and ".join(f"`{key}`" for key in given) if given else "none of them"
        raise ValueError(f"needs exactly one of {', '.join(keys)}; found {found}")


class Step(_Strict):
    """What a mocked tool does in one call: it returns a value, fails, or is a Python function."""

    returns: Any = None
    error: _Text | None = None
    python: fields.Reference | None = None
    delay: Annotated[fields.Seconds, Field(le=MAX_DELAY)] | None = None

    @model_validator(mode="after")
    def _one_thing(self) -> Step:
        _exactly_one(self, ("returns", "error", "python", "then") if "then" in type(self).model_fields else _STEP)
        return self


_STEP = ("returns", "error", "python")


class Rule(Step):
    """A step for calls whose arguments hold `when`; with `then`, one step after the other, the last one for good."""

    when: dict[str, Any] | None = None
    then: Annotated[list[Step], Field(min_length=1)] | None = None


def _rules(value: Any) -> Any:
    return value if isinstance(value, list) else [value]


class Unmocked(_Strict):
    """What a call returns that no mock is made for."""

    returns: Any


def _on_unmocked(value: Any) -> Any:
    if value in ("error", "fail") or (isinstance(value, dict) and set(value) == {"returns"}):
        return value
    raise ValueError(f"must be error, fail, or a mapping with `returns`; found {fields.found(value)}")


OnUnmocked = Annotated[Any, BeforeValidator(_on_unmocked)]


def _tool_name(value: Any) -> str:
    if not isinstance(value, str) or not _TOOL_NAME.fullmatch(value):
        raise ValueError(f"must be a name of letters, digits, _ and -, at most 64; found {fields.found(value)}")
    return value


def _parameters(value: Any) -> Any:
    if not isinstance(value, dict):
        raise ValueError(f"must be a JSON Schema of an object; found {fields.found(value)}")
    if value.get("type", "object") != "object":
        raise ValueError(f"must be a JSON Schema of an object; found the type {fields.found(value['type'])}")
    from jsonschema import Draft202012Validator, SchemaError

    try:
        Draft202012Validator.check_schema(value)
    except SchemaError as error:
        raise ValueError(f"is not a JSON Schema: at {error.json_path}: {error.message[:200]}") from None
    return {"type": "object", **value}


class Tool(_Strict):
    """A tool that the model may call, and what it gives back."""

    name: Annotated[str, BeforeValidator(_tool_name)]
    description: StrictStr | None = None
    parameters: Annotated[dict[str, Any], BeforeValidator(_parameters)] = Field(
        default_factory=lambda: {"type": "object", "properties": {}}
    )
    mock: Annotated[list[Rule], BeforeValidator(_rules)] = Field(default_factory=list)
    on_unmocked: OnUnmocked | None = None

    def declared(self) -> dict[str, Any]:
        """The tool as a model is told of it."""
        described = {} if self.description is None else {"description": self.description}
        return {"name": self.name, **described, "parameters": self.parameters}


def calls_of(value: Any) -> list[tuple[str, dict[str, Any]]]:
    """The tool calls of a scripted turn: a name, names with arguments, or a list of those; ValueError otherwise."""
    if isinstance(value, str) and value:
        return [(value, {})]
    if isinstance(value, dict) and value:
        calls = []
        for name, arguments in value.items():
            if arguments is not None and not isinstance(arguments, dict):
                raise ValueError(f"needs a mapping of arguments for {fields.found(name)}")
            calls.append((str(name), arguments or {}))
        return calls
    if isinstance(value, list) and value:
        return [call for entry in value for call in calls_of(entry)]
    raise ValueError(f"must be a tool's name, or a mapping from names to arguments; found {fields.found(value)}")


def _calls(value: Any) -> Any:
    calls_of(value)
    return value


class Turn(_Strict):
    """What a scripted model does in one turn: say a text, call tools, or one of several, drawn by their weights."""

    say: StrictStr | None = None
    call: Annotated[Any, BeforeValidator(_calls)] = None
    one_of: Annotated[list[Choice], Field(min_length=1)] | None = None

    @model_validator(mode="after")
    def _something(self) -> Turn:
        both = self.one_of is not None and (self.say is not None or self.call is not None)
        if both or (self.one_of is None and self.say is None and self.call is None):
            raise ValueError("needs `say`, `call`, both of them, or `one_of` alone")
        return self


class Choice(_Strict):
    """One of several things that a scripted model may do, and how often in proportion to the others (default 1)."""

    weight: Annotated[StrictFloat | StrictInt, Field(gt=0, le=1_000_000)] = 1
    say: StrictStr | None = None
    call: Annotated[Any, BeforeValidator(_calls)] = None

    @model_validator(mode="after")
    def _something(self) -> Choice:
        if self.say is None and self.call is None:
            raise ValueError("needs `say`, `call`, or both of them")
        return self


class Scene(_Strict):
    """Turns for conversations whose last word of the user holds `when`; without it for all others."""

    when: _Text | None = None
    turns: Annotated[list[Turn], Field(min_length=1)]


def _model_name(value: Any) -> str:
    if not isinstance(value, str) or not _NAME.fullmatch(value.strip()):
        raise ValueError(f"must be provider:model, for instance openai:gpt-5-mini; found {fields.found(value)}")
    return value.strip()


def _url(value: Any) -> str:
    try:
        address = urlsplit(value.strip() if isinstance(value, str) else "")
        ok = address.scheme in ("http", "https") and bool(address.hostname) and (address.port or 1) > 0
    except ValueError:
        ok = False
    if not ok or any(character.isspace() for character in value.strip()):
        # What stands before an @ may be a password.
        shown = "" if "@" in str(value) else f"; found {fields.found(value)}"
        raise ValueError(f"must be a base URL such as http://localhost:8000/v1{shown}")
    if "@" in address.netloc or address.query or address.fragment:
        raise ValueError("must hold no user, password or query; name the key's variable with `api_key_env`")
    return str(value).strip()


def _variable(value: Any) -> str:
    if not isinstance(value, str) or not _VARIABLE.fullmatch(value):
        # What was written may be the key itself.
        raise ValueError("must be the name of an environment variable that holds the key, for instance OPENAI_API_KEY")
    return value


def _max_turns(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= 1000:
        raise ValueError(f"must be a whole number from 1 to 1,000; found {fields.found(value)}")
    return value


class PromptFile(_Strict):
    """A system prompt in a file, seen from the suite's folder."""

    file: _Text


def _system(value: Any) -> Any:
    if isinstance(value, str) and value.strip():
        return value
    if isinstance(value, dict) and set(value) == {"file"} and isinstance(value["file"], str) and value["file"]:
        return PromptFile(file=value["file"])
    raise ValueError(f"must be text, or a mapping with `file`; found {fields.found(value)}")


class ModelSettings(_Strict):
    """Settings of a model that are the same for all providers. What a provider does not know it leaves out."""

    model_config = ConfigDict(extra="allow", frozen=True)

    temperature: Annotated[StrictFloat | StrictInt, Field(ge=0, le=2)] | None = None
    top_p: Annotated[StrictFloat | StrictInt, Field(ge=0, le=1)] | None = None
    top_k: Annotated[StrictInt, Field(ge=1)] | None = None
    max_tokens: Annotated[StrictInt, Field(ge=1)] | None = None
    seed: StrictInt | None = None
    presence_penalty: Annotated[StrictFloat | StrictInt, Field(ge=-2, le=2)] | None = None
    frequency_penalty: Annotated[StrictFloat | StrictInt, Field(ge=-2, le=2)] | None = None
    stop_sequences: list[StrictStr] | None = None
    logit_bias: dict[StrictStr, StrictInt] | None = None
    parallel_tool_calls: Annotated[bool, Field(strict=True)] | None = None
    tool_choice: Literal["auto", "required", "none"] | list[StrictStr] | None = None
    thinking: Annotated[bool, Field(strict=True)] | Literal["minimal", "low", "medium", "high", "xhigh"] | None = None
    service_tier: Literal["auto", "default", "flex", "priority"] | None = None
    extra_body: dict[str, Any] | None = None
    stream: Annotated[bool, Field(strict=True)] | None = None


def settings_problems(value: Any) -> list[tuple[KeyPath, bool, str]]:
    """What is wrong with settings of a model: (path below, whether the key is meant, sentence) for every fault."""
    value = plain(value)
    if not isinstance(value, dict):
        return [((), False, f"`settings` must be a mapping; found {fields.found(value)}")]
    problems: list[tuple[KeyPath, bool, str]] = []
    for key in value:
        if key in ModelSettings.model_fields or (isinstance(key, str) and key.startswith(PASSED_ON)):
            continue
        text = unknown_key(str(key), list(ModelSettings.model_fields))
        if key in ("timeout", "retries", "max_retries"):
            text = f"`{key}` is no setting of the model; write `timeout` or `retries` into the suite or the case"
        elif key == "extra_headers":
            text = "`extra_headers` cannot be set: a key would be recorded; name its variable with `api_key_env`"
        problems.append(((key,), True, text))
    return problems + _faults(ModelSettings, value)


class ModelTarget(_Strict):
    """A model with its prompt and tools, or a script that stands for one."""

    name: Annotated[str, BeforeValidator(_model_name)] | None = None
    script: Annotated[list[Scene], Field(min_length=1)] | None = None
    url: Annotated[str, BeforeValidator(_url)] | None = None
    api_key_env: Annotated[str, BeforeValidator(_variable)] | None = None
    system: Annotated[Any, BeforeValidator(_system)] = None
    prompt: _Text | None = None
    tools: list[Tool] = Field(default_factory=list)
    on_unmocked: OnUnmocked = "error"
    max_turns: Annotated[int, BeforeValidator(_max_turns)] = DEFAULT_MAX_TURNS
    settings: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _one_model(self) -> ModelTarget:
        _exactly_one(self, ("name", "script"))
        return self


def model_target(value: Any) -> ModelTarget:
    """The target that `model_problems` finds nothing wrong with; also from its short form, the model's name."""
    return ModelTarget.model_validate(_whole(plain(value)))


def model_problems(value: Any) -> list[tuple[KeyPath, bool, str]]:
    """What is wrong with the value of `model:`: (path below it, whether the key is meant, sentence) for every fault."""
    value = plain(value)
    if not isinstance(value, str | dict):
        return [((), False, f"`model` must be a mapping, or provider:model; found {fields.found(value)}")]
    whole = _whole(value)
    written_turns = whole is not value and isinstance(value, dict)
    problems = []
    for path, of_key, text in _faults(ModelTarget, whole):
        if isinstance(value, str):
            path = ()  # noqa: PLW2901 - the short form has no keys
        elif written_turns and path[:3] == ("script", 0, "turns"):
            path = ("script", *path[3:])  # noqa: PLW2901 - as it was written
        problems.append((path, of_key, text))
    if isinstance(value, dict):
        if "settings" in value:
            problems += [(("settings", *path), key, text) for path, key, text in settings_problems(value["settings"])]
        problems += _same_names(value.get("tools"))
    return problems


def _whole(value: Any) -> Any:
    """The long form: `{name: …}`, and a script of scenes."""
    if isinstance(value, str):
        return {"name": value}
    script = value.get("script")
    turns = isinstance(script, list) and not any(isinstance(entry, dict) and "turns" in entry for entry in script)
    return {**value, "script": [{"turns": script}]} if turns else value


def _same_names(tools: Any) -> list[tuple[KeyPath, bool, str]]:
    problems: list[tuple[KeyPath, bool, str]] = []
    seen: set[str] = set()
    for index, tool in enumerate(tools if isinstance(tools, list) else ()):
        name = tool.get("name") if isinstance(tool, dict) else None
        if isinstance(name, str) and name in seen:
            problems.append((("tools", index, "name"), False, f"two tools have the name {fields.found(name)}"))
        elif isinstance(name, str):
            seen.add(name)
    return problems


def _faults(model: type[BaseModel], value: Any) -> list[tuple[KeyPath, bool, str]]:
    try:
        model.model_validate(value)
    except ValidationError as error:
        found = []
        for details in error.errors():
            # Members of unions stand in the path by the names of their types; they are not in the file.
            path = _written(value, details["loc"])
            text = plain_message({**details, "loc": path or ("model",)}, _known(model, path))
            found.append((path, details["type"] == "extra_forbidden", text))
        return list(dict.fromkeys(found))
    return []


def _written(value: Any, loc: tuple[str | int, ...]) -> KeyPath:
    path: list[str | int] = []
    for position, step in enumerate(loc):
        inside = (isinstance(value, dict) and step in value) or (
            isinstance(value, list) and isinstance(step, int) and step < len(value)
        )
        if inside:
            value = value[step]
        elif isinstance(value, dict) and position == len(loc) - 1:
            pass  # a key that is missing
        elif not isinstance(value, dict | list) or not isinstance(step, int):
            continue
        elif step == 0:
            continue  # a single rule, written without a list
        path.append(step)
    return tuple(path)


def _known(model: type[BaseModel], path: KeyPath) -> list[str]:
    """Keys that are known beside the last one of `path`."""
    names = [step for step in path[:-1] if isinstance(step, str)]
    last = _INNER.get(names[-1]) if names else None
    return list((model if last is None else last).model_fields)


_INNER: dict[str, type[BaseModel]] = {
    "tools": Tool,
    "mock": Rule,
    "then": Step,
    "script": Scene,
    "turns": Turn,
    "one_of": Choice,
}
