"""The shape of a suite file. Validation only; `load.py` turns what is valid into a `SuiteSpec`."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StrictStr, StringConstraints, model_validator

from repeat_eval.suite import fields
from repeat_eval.suite.settings import Settings

SPELLINGS = {"name": "id", "repeat": "repeats", "require_pass_rate": "threshold"}
"""Other spellings of case keys, with the key they stand for."""
SUITE_SPELLINGS = {"repeat": "repeats", "require_pass_rate": "threshold", "cases_from": "include"}

_Text = Annotated[StrictStr, StringConstraints(min_length=1, max_length=10_000)]


def _command(value: Any) -> Any:
    ok = (isinstance(value, str) and value.strip()) or (
        isinstance(value, list) and value and all(isinstance(part, str) and "\0" not in part for part in value)
    )
    if not ok:
        raise ValueError(f"must be a command line, or a list of words; found {fields.found(value)}")
    return value


def _model(value: Any) -> Any:
    if not isinstance(value, dict | str):
        raise ValueError(f"must be a mapping, or provider:model; found {fields.found(value)}")
    return value


def _named_model(name: str) -> str:
    from repeat_eval.suite.model_target import model_problems

    for _, _, sentence in model_problems(name):
        raise ValueError(f"is the name of a model that cannot be used: {sentence}")
    return name


def _target(value: Any) -> Any:
    """The short forms `python:agent:answer`, `agent:answer`, `command:…`, `model:openai:gpt-5-mini` and a URL."""
    if not isinstance(value, str):
        return value
    for kind in ("python", "command", "http", "model"):
        if value.startswith(kind + ":") and not value.startswith("http://"):
            rest = value[len(kind) + 1 :].strip()
            if kind == "model":
                return {"model": _named_model(rest)}
            return {"http": {"url": rest}} if kind == "http" else {kind: rest}
    if value.startswith(("http://", "https://")):
        return {"http": {"url": value}}
    try:
        return {"python": fields.python_reference(value)}
    except ValueError:
        raise ValueError(
            f"must be python:module:function, command:LINE, model:provider:name, or a URL; found {fields.found(value)}"
        ) from None


class TargetModel(BaseModel):
    """What is evaluated: exactly one of `python`, `command`, `http` and `model`."""

    model_config = ConfigDict(extra="forbid", defer_build=True)

    python: fields.Reference | None = Field(None, description="module:function, in the suite's folder or installed.")
    command: Annotated[Any, BeforeValidator(_command)] | None = Field(
        None, description="Command line or list of words; the case comes as JSON on stdin, the answer goes to stdout."
    )
    http: dict[str, Any] | None = Field(None, description="url, method, headers, json, output and more.")
    model: Annotated[Any, BeforeValidator(_model, json_schema_input_type=dict[str, Any] | str)] | None = Field(
        None, description="name, system, tools, settings and more."
    )

    @model_validator(mode="after")
    def _exactly_one(self) -> TargetModel:
        given = [kind for kind in ("python", "command", "http", "model") if getattr(self, kind) is not None]
        if len(given) != 1:
            what = "both " + " and ".join(given) if given else "none of them"
            raise ValueError(f"needs exactly one of python, command, http and model; found {what}")
        return self


Target = Annotated[TargetModel, BeforeValidator(_target, json_schema_input_type=TargetModel | str)]


class CaseDefaults(BaseModel):
    """What a case may say, and `defaults:` for all of them."""

    model_config = ConfigDict(extra="forbid", defer_build=True)

    input: Any = Field(None, description="What the target is asked: text or any value.")
    expected: Any = Field(None, description="A reference answer, handed to `python:` checks.")
    vars: dict[str, Any] | None = Field(None, description="Values for templated requests.")
    tags: fields.Tags | None = Field(None, description="Tags to select by, beside those of the suite.")
    repeats: fields.Repeats | None = None
    threshold: fields.Rate | None = None
    gate: fields.GateName | None = None
    timeout: fields.Seconds | None = None
    retries: fields.Retries | None = None
    retry_on: fields.ErrorKinds | None = None
    target: Target | None = Field(None, description="What is evaluated, instead of the suite's target.")
    expect: list[Any] | None = Field(None, description="Checks, all of which must hold.")
    description: _Text | None = Field(None, description="A note for readers.")


class CaseModel(CaseDefaults):
    """One case: an id that stays the same, what the target is asked, and what is expected."""

    id: fields.CaseId = Field(description="Stable name of the case; `name` is another spelling.")


class SuiteModel(Settings):
    """A suite file."""

    name: _Text | None = Field(None, description="Name of the suite (default: the file's name without ending).")
    description: _Text | None = Field(None, description="A note for readers.")
    target: Target | None = Field(None, description="What is evaluated.")
    defaults: Any = Field(None, description="What holds for every case that does not say otherwise.")
    tags: fields.Tags | None = Field(None, description="Tags of every case.")
    include: list[_Text] | None = Field(None, description="Globs of further files with cases, beside this file.")
    cases: list[Any] | None = Field(None, description="The cases.")
