"""What travels between a run and the workers of its cluster: which trial is wanted, and what became of it.

Neither code nor inputs nor keys travel. A worker loads the suite from its own folder, and has the keys in its own
environment.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import msgspec

from repeat_eval.errors import Problem
from repeat_eval.records.trial import Trial
from repeat_eval.suite.settings import Resolved, ResolvedSettings, Source

_STAYS_HERE = "second_look"
"""The setting that no trial depends on, and that is no plain value."""


class RemotePlan(msgspec.Struct, frozen=True, kw_only=True):
    """One side of a run as a worker has to set it up; small, since it goes with every trial.

    Attributes:
        version: of repeat-eval; the worker must have the same.
        suite: the suite file's absolute path. seen_from_here: the same, seen from the folder where the run was started.
        target: a target that stands for the suite's own, as on the command line.
        cases, tags: which cases were chosen.
        seed: the side's seed.
        settings: value and source of each setting.
        fingerprint: of all chosen cases and of the target, see `fingerprint_of`.
    """

    version: str
    suite: str
    seen_from_here: str | None
    target: str | None
    cases: tuple[str, ...]
    tags: tuple[str, ...]
    seed: int
    settings: dict[str, tuple[Any, Source]]
    fingerprint: str

    def resolved(self, workers: int) -> ResolvedSettings:
        """The settings, with so many trials in flight at once on this worker."""
        values = {name: Resolved(value, source) for name, (value, source) in self.settings.items()}
        values[_STAYS_HERE] = Resolved(None, "default")
        values["workers"] = Resolved(workers, "default")
        return ResolvedSettings(values)


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """One trial that is wanted: of which case, which repetition of how many."""

    case: str
    repetition: int
    asked: int


class Reply(msgspec.Struct, frozen=True):
    """The trial, or why the worker cannot run any trial of this plan."""

    trial: Trial | None = None
    problems: tuple[Problem, ...] = ()


class Ready(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker has set up, to be compared with what is here.

    Attributes:
        problems: why it cannot be set up; the rest is empty then.
        cases: fingerprint of each case. target: of the target.
        files: hash of each file of the suite's folder that was loaded, by its path seen from there.
        threads: tasks that the worker runs at once.
    """

    problems: tuple[Problem, ...] = ()
    cases: dict[str, str | None] = {}
    target: str | None = None
    files: dict[str, str] = {}
    threads: int = 1


def settings_that_travel(settings: ResolvedSettings) -> dict[str, tuple[Any, Source]]:
    """All settings that a trial may depend on."""
    return {name: (one.value, one.source) for name, one in settings.values.items() if name != _STAYS_HERE}


def fingerprint_of(cases: Mapping[str, str | None], target: str | None) -> str:
    """One fingerprint for the fingerprints of all cases and of the target (SHA-256, hexadecimal)."""
    return hashlib.sha256(msgspec.json.encode([sorted(cases.items()), target])).hexdigest()
