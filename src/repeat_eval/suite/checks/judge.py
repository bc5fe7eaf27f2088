"""`judge`: a model grades the output by a rubric. Here is what is asked of whom; the asking is done by `models`."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from pydantic import BaseModel, BeforeValidator, Field, ValidationError

from repeat_eval.records.trial import sha256_of
from repeat_eval.suite.checks._wording import kind_of
from repeat_eval.suite.checks.base import Check, NoVerdict, Observation, Score
from repeat_eval.suite.judge_settings import (
    MODEL_SETTINGS,
    OWN_KEYS,
    JudgeSettings,
    Model,
    ModelSettings,
    Url,
    VariableName,
)
from repeat_eval.suite.messages import plain_message
from repeat_eval.suite.settings import ResolvedSettings

DEFAULT_PASS_SCORE = 0.5
DEFAULT_VOTES = 1
MAX_JUDGES = 20
MAX_RUBRIC_CHARACTERS = 20_000
PROMPT_VERSION = 1
"""Raised when `models.judging` words its prompt differently: the same rubric is then graded differently."""


class Grader(msgspec.Struct, frozen=True):
    """One model that grades. `model` is None when nobody named one; `settings` are the model's.

    `timeout` is in seconds, for one reply; None when nothing is said of it.
    """

    model: str | None
    url: str | None = None
    api_key_env: str | None = None
    settings: dict[str, Any] = msgspec.field(default_factory=dict)
    timeout: float | None = None


class Panel(msgspec.Struct, frozen=True):
    """Everything that decides a verdict by a rubric.

    Attributes:
        rubric: what makes an output good. graders: who grades, at least one. votes: how often each is asked.
        pass_score: a vote with this score or more is for passing.
    """

    rubric: str
    graders: tuple[Grader, ...]
    votes: int
    pass_score: float

    @property
    def rubric_hash(self) -> str:
        """The first 16 hexadecimal digits of the rubric's SHA-256."""
        return sha256_of(self.rubric)[:16]

    def identity(self) -> dict[str, Any]:
        """What makes two judgements comparable, for the fingerprint of a case; where keys come from is no part."""
        graders = [{"model": one.model, "url": one.url, "settings": one.settings} for one in self.graders]
        return {
            "prompt": PROMPT_VERSION,
            "rubric": self.rubric_hash,
            "graders": graders,
            "votes": self.votes,
            "pass_score": self.pass_score,
        }


class _OneOfSeveral(BaseModel, extra="forbid", frozen=True):
    model: Model
    url: Url | None = None
    api_key_env: VariableName | None = None
    settings: ModelSettings | None = None


def _one_of_several(value: Any) -> Any:
    return {"model": value} if isinstance(value, str) else value


class _Options(JudgeSettings):
    rubric: str
    judges: (
        Annotated[
            list[Annotated[_OneOfSeveral, BeforeValidator(_one_of_several)]],
            Field(min_length=1, max_length=MAX_JUDGES),
        ]
        | None
    ) = None


class Judge(Check):
    """A rubric, alone or with who grades by it and how often; what is not said comes from the suite's `judge:`."""

    kind = "judge"
    takes = "a rubric, or a mapping with `rubric`"

    def __init__(self, argument: Any) -> None:
        super().__init__(argument)
        self._options = _Options.model_validate(_mapping(argument))

    @classmethod
    def problem(cls, argument: Any) -> str | None:
        """Everything that is wrong with the value, in one line."""
        if not isinstance(argument, str | dict):
            return f"takes {cls.takes}; found {kind_of(argument)}"
        try:
            options = _Options.model_validate(_mapping(argument))
        except ValidationError as error:
            known = list(_Options.model_fields)
            return "cannot be used: " + "; ".join(_sentence(dict(one), known) for one in error.errors())
        if not options.rubric.strip():
            return "needs a rubric: what makes an output good, in a sentence or more"
        if len(options.rubric) > MAX_RUBRIC_CHARACTERS:
            return f"has a rubric of {len(options.rubric):,} characters; allowed are {MAX_RUBRIC_CHARACTERS:,}"
        if options.judges and options.model:
            return "has `model` and `judges`: write every model into `judges`"
        return None

    def evaluate(self, observation: Observation) -> Score:
        """Always raises NoVerdict: models have to be asked."""
        raise NoVerdict("a judge has to be asked where models can be")

    def panel(self, settings: ResolvedSettings, pass_score: float | None = None) -> Panel:
        """Who grades and how, with everything that the suite or somebody outside says.

        Options and variables (`--set judge.KEY=VALUE`) hold before what the check says, that before the suite's
        `judge:`. Models listed in `judges` stay who they are.

        Args:
            settings: the run's settings.
            pass_score: the one that stands beside the check; None when there is none.
        """
        forced, suite = settings.judge("option", "variable"), settings.judge("suite")
        own = self._options.flat()
        if pass_score is not None:
            own.setdefault("pass_score", pass_score)
        listed = [_flat(one) for one in self._options.judges or ()]
        # Whoever lists models wants these: one name from outside cannot stand for several.
        layers = [[one, forced, own, suite] for one in listed] or [[forced, own, suite]]
        said = {**suite, **own, **forced}
        return Panel(
            rubric=self._options.rubric,
            graders=tuple(_grader(layer, forced) for layer in layers),
            votes=said.get("votes", DEFAULT_VOTES),
            pass_score=said.get("pass_score", DEFAULT_PASS_SCORE),
        )


def _mapping(argument: Any) -> Any:
    return {"rubric": argument} if isinstance(argument, str) else argument


def _flat(one: _OneOfSeveral) -> dict[str, Any]:
    own = {name: getattr(one, name) for name in OWN_KEYS if getattr(one, name, None) is not None}
    return {**own, **(one.settings or {})}


def _grader(layers: list[dict[str, Any]], forced: dict[str, Any]) -> Grader:
    """The strongest layer that says something wins; settings from outside are stronger than any."""
    model = next((layer["model"] for layer in layers if "model" in layer), None)

    def same_provider(layer: dict[str, Any]) -> bool:
        """An endpoint and a key belong to the provider of the model that they stand beside."""
        beside = layer.get("model")
        return beside is None or model is None or beside.partition(":")[0] == model.partition(":")[0]

    def said(name: str) -> str | None:
        return next((layer[name] for layer in layers if name in layer and same_provider(layer)), None)

    settings = {}
    for name in MODEL_SETTINGS:
        value = next((layer[name] for layer in (forced, *layers) if name in layer), None)
        if value is not None:
            settings[name] = value
    timeout = next((layer["timeout"] for layer in layers if "timeout" in layer), None)
    return Grader(model, said("url"), said("api_key_env"), settings, timeout)


def _sentence(details: dict[str, Any], known: list[str]) -> str:
    if "judges" in details["loc"]:
        known = list(_OneOfSeveral.model_fields)
        place = next((f" {step + 1}" for step in details["loc"] if isinstance(step, int)), "")
        return f"judge{place}: {plain_message(details, known)}" if place else plain_message(details, known)
    return plain_message(details, known)
