"""The settings of a run: one model for suite file, options, environment variables and Python API.

None means "not said here". Precedence: option, environment variable, suite file, default.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from repeat_eval.errors import UserError
from repeat_eval.suite import fields
from repeat_eval.suite.judge_settings import JudgeLayer, JudgeSettings
from repeat_eval.suite.messages import plain_message

Source = Literal["option", "variable", "suite", "default", "run file"]


class Settings(BaseModel):
    """Everything that can be set about how a suite is run and judged."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    repeats: fields.Repeats | None = Field(None, description="Trials per case (default 10).")
    threshold: fields.Rate | None = Field(None, description="Pass rate that a case must reach (default 0.8).")
    gate: fields.GateName | None = Field(None, description="How a case is judged: wilson, strict or none.")
    suite_threshold: fields.Rate | None = Field(None, description="Mean pass rate that the suite must reach.")
    min_stability: fields.Rate | None = Field(None, description="Share of cases that must be stable.")
    max_failing_cases: fields.FailingCases | None = Field(None, description="Cases that may fail (default 0).")
    max_error_rate: fields.Rate | None = Field(None, description="Share of trials that may be errors (default 0.1).")
    min_reliability: fields.Rate | None = Field(None, description="Pass-to-3 that every case must reach.")
    count_as_failed: fields.ErrorKinds | None = Field(None, description="Error kinds that count as failures.")
    fail_on: Literal["regression", "suite-regression", "case-regression", "none"] | None = Field(
        None, description="Which regression against base fails the gate (default regression)."
    )
    alpha: fields.Alpha | None = Field(None, description="One-sided false-alarm budget of that gate (default 0.05).")
    min_effect: fields.Points | None = Field(
        None, description="Points that a regression must have at least to fail the gate."
    )
    require: Literal["non-inferior"] | None = Field(
        None, description="non-inferior: head must be shown to be at most `margin` points worse."
    )
    margin: fields.Points | None = Field(None, description="Points for `require: non-inferior`.")
    no_base: Literal["pass", "incomplete"] | None = Field(
        None, description="What a missing base means for the gate (default pass)."
    )
    removed_cases: Literal["warn", "incomplete"] | None = Field(
        None, description="What cases mean that only base has (default warn; incomplete with --command and --results)."
    )
    gate_stored: fields.Switch | None = Field(
        None, description="Regressions against a stored base fail the gate too (default false: they are only shown)."
    )
    extra_looks: fields.ExtraLooks | None = Field(
        None,
        description="Further looks at one commit that alpha is kept back for, 0 to 2 (default 0; in the action 2 on "
        "pull requests where base runs beside head).",
    )
    second_look: fields.SecondLook | None = Field(
        None,
        description="Two looks where base runs beside head: 3+20 (by itself from 6 cases on where no repeats are set), "
        "3+10, 5+20, both (improvements too), off, or first, fresh, cut, alarm, cap. Asked for, it holds "
        "without a base too, unless repeats are set in the same or a stronger place: cases below their threshold are "
        "run again.",
    )
    workers: fields.Workers | None = Field(None, description="Trials in flight at once (default 4).")
    seed: fields.Seed | None = Field(None, description="Seed of everything random (default 0).")
    timeout: fields.Seconds | None = Field(None, description="Seconds a trial may take (default 120).")
    retries: fields.Retries | None = Field(None, description="Further tries after an error (default 2).")
    retry_on: fields.ErrorKinds | None = Field(None, description="Error kinds tried again (default provider).")
    rate: fields.RateLimit | None = Field(None, description="At most so many calls, for instance 60/min.")
    max_cost: fields.Money | None = Field(None, description="US dollars after which no new trial starts.")
    time_budget: fields.Seconds | None = Field(None, description="Time after which no new trial starts.")
    repeat_order: Literal["spread", "sequential"] | None = Field(
        None, description="sequential: never two trials of one case at once."
    )
    isolation: Literal["none", "process"] | None = Field(None, description="process: each trial its own process.")
    workdir: Literal["shared", "copy"] | None = Field(None, description="copy: each trial a fresh copy of the folder.")
    interpreter: str | None = Field(None, description="Python interpreter for Python targets and checks.")
    cassettes: fields.FolderName | None = Field(None, description="Folder of recorded responses (default: none).")
    cassette_mode: Literal["auto", "record", "replay", "off"] | None = Field(
        None,
        description="What is done with recordings (default auto for model calls where a folder is named, else off).",
    )
    judge: JudgeLayer | None = Field(None, description="Who grades `judge` checks; from outside judge.KEY=VALUE.")


DEFAULTS: Mapping[str, Any] = {
    "repeats": 10,
    "threshold": "0.8",
    "gate": "wilson",
    "max_failing_cases": 0,
    "max_error_rate": "0.1",
    "count_as_failed": [],
    "fail_on": "regression",
    "alpha": "0.05",
    "no_base": "pass",
    "gate_stored": False,
    "extra_looks": 0,
    "workers": 4,
    "seed": 0,
    "timeout": 120.0,
    "retries": 2,
    "retry_on": ["provider"],
    "repeat_order": "spread",
    "isolation": "none",
    "workdir": "shared",
}


_JUDGE = "judge."
"""Before the names of settings of judges, each of which is decided by itself."""


class Resolved(msgspec.Struct, frozen=True):
    """A setting with the place that decided it."""

    value: Any
    source: Source


class ResolvedSettings(msgspec.Struct, frozen=True):
    """All settings of a run, each from the strongest place that said something."""

    values: Mapping[str, Resolved]

    def __getitem__(self, name: str) -> Any:
        """The value of a setting; None when nobody said anything and there is no default."""
        return self.values[name].value

    def source(self, name: str) -> Source:
        """Who decided a setting."""
        return self.values[name].source

    def judge(self, *sources: Source) -> dict[str, Any]:
        """What these places (or all of them) say about judges, by key; settings of the model beside the others."""
        return {
            name.removeprefix(_JUDGE): resolved.value
            for name, resolved in self.values.items()
            if name.startswith(_JUDGE) and (not sources or resolved.source in sources)
        }


def setting_problems(values: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What is wrong with settings given outside a suite file: (name of the setting, sentence) each."""
    if not values:
        return []
    try:
        Settings.model_validate(dict(values))
    except ValidationError as error:
        return [
            (str(details["loc"][0]), plain_message(details, _known_beside(details["loc"])))
            for details in error.errors()
        ]
    return []


def _known_beside(loc: Sequence[int | str]) -> list[str]:
    return list((JudgeSettings if len(loc) > 1 else Settings).model_fields)


def settings_of(values: Mapping[str, Any]) -> Settings:
    """Settings from values that `setting_problems` finds nothing wrong with."""
    # Building the validator costs more than a small run has to spare, and mostly there is nothing to validate.
    return Settings.model_validate(dict(values)) if values else Settings.model_construct()


def resolve(*layers: tuple[Source, Settings]) -> ResolvedSettings:
    """Put layers of settings together, the strongest first, over the defaults.

    Raises:
        UserError: settings that only make sense together are not there together.
    """
    values: dict[str, Resolved] = {}
    for name in Settings.model_fields:
        resolved = Resolved(DEFAULTS.get(name), "default")
        for source, layer in layers:
            value = getattr(layer, name)
            if value is not None:
                resolved = Resolved(value, source)
                break
        values[name] = resolved
    if values["judge"].value is not None:
        del values["judge"]
        for source, layer in reversed(layers):
            said = layer.judge.flat() if layer.judge is not None else {}
            values.update((_JUDGE + name, Resolved(value, source)) for name, value in said.items())
    if (values["require"].value is None) != (values["margin"].value is None):
        raise UserError(
            "`require: non-inferior` and `margin` go together: how many points worse may head be? "
            "For instance --require non-inferior --margin 3"
        )
    return ResolvedSettings(values)
