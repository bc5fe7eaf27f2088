"""The run: one execution of a suite at one revision, all its trials, as it is written to a run file."""

from __future__ import annotations

import fnmatch
from collections.abc import Collection
from typing import Any, Literal

import msgspec

from repeat_eval.records.trial import NotNegativeInt, PositiveInt, Trial

RUN_SCHEMA = "repeat-eval/run/1"
RunSource = Literal["suite", "command", "results"]
StopReason = Literal["max-cost", "time-budget", "interrupted", "crashed"]


class Selection(msgspec.Struct, frozen=True, kw_only=True):
    """Which part of the suite was asked for: case globs and tags; empty means all."""

    cases: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()

    def takes(self, case: str, tags: Collection[str]) -> bool:
        """Whether a case with these tags is chosen: its id matches a glob (or is one), and it has one of the tags."""
        return (not self.cases or any(case == glob or fnmatch.fnmatchcase(case, glob) for glob in self.cases)) and (
            not self.tags or any(tag in tags for tag in self.tags)
        )


class CasePlan(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What was asked of one case, as the suite wrote it.

    `threshold` and `gate` are None where the suite's default holds. `file` and `line` say where the case is written.
    """

    id: str
    asked: PositiveInt
    threshold: str | None = None
    gate: Literal["wilson", "strict", "none"] | None = None
    case_fingerprint: str | None = None
    tags: tuple[str, ...] = ()
    file: str | None = None
    line: int | None = None


class RunHeader(msgspec.Struct, frozen=True, kw_only=True):
    """First line of a run file: what was asked, of what, under which settings.

    Attributes:
        schema: `repeat-eval/run/1`; a newer major version is refused.
        suite: the suite's name.
        source: whether a suite was run, a command was repeated, or results were read.
        commit: revision under test, None if unknown.
        selection: which cases were chosen.
        repeats: the default number of trials per case.
        cases: one plan a case; empty in command and results mode, where the cases are known only from the files.
        settings: gate settings as written (thresholds keep their text).
        seed: seed of everything random in the run.
        target_fingerprint: model, prompt, tools, settings of the target; one per side, None if unknown.
        target: what was evaluated, for instance `python:agent:answer`.
        command: the command that was repeated, in command mode.
        tool_version: version of repeat-eval that wrote the file.
        started: RFC 3339 time.
        warnings: what the reader or loader had to say.
        replayed: whether responses of the target were read from recordings, so that the code under test did not run.
    """

    schema: str = RUN_SCHEMA
    suite: str
    source: RunSource = "suite"
    commit: str | None = None
    selection: Selection = Selection()
    repeats: PositiveInt
    cases: tuple[CasePlan, ...] = ()
    settings: dict[str, Any] = {}
    seed: int = 0
    target_fingerprint: str | None = None
    target: str | None = None
    command: str | None = None
    tool_version: str | None = None
    started: str | None = None
    warnings: tuple[str, ...] = ()
    replayed: bool = False


class RunFooter(msgspec.Struct, frozen=True, kw_only=True):
    """Last line of a run file. Without it, or with `complete` false, the run was interrupted and can be resumed.

    `missing` holds a sentence for each piece of evidence that is missing and belongs to no known case, such as an
    unreadable results file; if there is any, the run is incomplete whatever its trials say.
    """

    complete: bool
    trials: NotNegativeInt
    stopped: StopReason | None = None
    ended: str | None = None
    missing: tuple[str, ...] = ()


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """A run in memory: header, trials (one per case and repetition) and footer.

    `warnings` holds what reading it had to say, such as a torn last line.
    """

    header: RunHeader
    trials: tuple[Trial, ...]
    footer: RunFooter | None = None
    warnings: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether the run came to its end."""
        return self.footer is not None and self.footer.complete
