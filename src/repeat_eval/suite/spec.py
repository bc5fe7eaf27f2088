"""A loaded suite: what the user asks for, valid and with every default of the file applied."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import msgspec

from repeat_eval.records.trial import ErrorKind
from repeat_eval.suite.checks.base import Check
from repeat_eval.suite.settings import Settings
from repeat_eval.suite.yaml_source import KeyPath, Source

TargetKind = Literal["python", "command", "http", "model"]


class TargetSpec(msgspec.Struct, frozen=True):
    """A target as written: its kind, the value behind the kind's key, and where that stands."""

    kind: TargetKind
    value: Any
    source: Source | None = None
    path: KeyPath = ()


class ConfiguredCheck(msgspec.Struct, frozen=True):
    """A check of a case with its share in the score.

    `pass_score`: the score from which on the check holds; None when the check itself says so.
    """

    name: str
    check: Check
    weight: float = 1.0
    pass_score: float | None = None


class CaseSpec(msgspec.Struct, frozen=True, kw_only=True):
    """One case as the suite wrote it; None where it leaves the matter to the suite's settings.

    `written_repeat` is true for the spelling `repeat`, whose cases must pass every time unless a pass rate is written.
    """

    id: str
    input: Any = None
    expected: Any = None
    variables: dict[str, Any] = msgspec.field(default_factory=dict)
    tags: tuple[str, ...] = ()
    repeats: int | None = None
    threshold: str | None = None
    gate: Literal["wilson", "strict", "none"] | None = None
    timeout: float | None = None
    retries: int | None = None
    retry_on: frozenset[ErrorKind] | None = None
    target: TargetSpec | None = None
    checks: tuple[ConfiguredCheck, ...] = ()
    expect_written: Any = None
    written_repeat: bool = False
    file: str | None = None
    line: int | None = None


class SuiteSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A loaded suite. `folder` is where its targets and commands run; `settings` holds what the file set.

    `source` is the suite file as it was read, None for a suite that was made in Python.
    """

    name: str
    folder: Path
    cases: tuple[CaseSpec, ...]
    settings: Settings
    target: TargetSpec | None = None
    path: Path | None = None
    source: Source | None = None
    written_repeat: bool = False
    warnings: tuple[str, ...] = ()
