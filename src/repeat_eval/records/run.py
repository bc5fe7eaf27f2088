"""The run: one execution of a suite at one revision, all its trials, as it is written to a run file."""

from __future__ import annotations

import fnmatch
from collections.abc import Collection
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from repeat_eval.records.trial import NotNegativeInt, PositiveInt, Trial
from repeat_eval.records.two_looks import TwoLooks

RUN_SCHEMA = "repeat-eval/run/1"
RunSource = Literal["suite", "command", "results"]
StopReason = Literal["max-cost", "time-budget", "interrupted", "crashed"]
MAX_SHARDS = 1000
ShardNumber = Annotated[int, msgspec.Meta(ge=1, le=MAX_SHARDS)]


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


class Shard(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Which part of a run a file holds, when several machines share the run.

    Attributes:
        index, of: this is shard `index`, counted from 1, of `of` shards.
        split: fingerprint of how all trials were divided; the same in all shards of a run.
        trials: the repetitions that this shard was asked for, by case; of a suite.
        repetitions: the runs that this shard was asked for; of a repeated command.
        base_written: what base's own suite asks for, in base's file, to tell how head changes its own gate.
        base_missing: why base does not run beside head, when it was to.
    """

    index: ShardNumber
    of: ShardNumber
    split: str
    trials: dict[str, tuple[PositiveInt, ...]] = {}
    repetitions: tuple[PositiveInt, ...] = ()
    base_written: RunHeader | None = None
    base_missing: str | None = None

    def __str__(self) -> str:
        return f"shard {self.index} of {self.of}"


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
        shard: which part of the run this is; not there in a whole run.
        second_look: how two looks are taken, and what the second one was asked for; not there in a run with a fixed
            number of repeats.
        recordings_changed: where recordings answer otherwise than those in base's own checkout, a sentence each; not
            there when none do, or nothing was replayed beside base.
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
    shard: Shard | UnsetType = UNSET
    second_look: TwoLooks | UnsetType = UNSET
    recordings_changed: tuple[str, ...] | UnsetType = UNSET

    def with_second_look(self, looks: TwoLooks) -> RunHeader:
        """The header after the first look has ended, with what the second one is asked for."""
        return msgspec.structs.replace(self, second_look=looks, warnings=(*self.warnings, *looks.notes))

    def most_asked(self, plan: CasePlan) -> int:
        """Trials that a case is asked for by now, fresh ones among them."""
        return plan.asked + (0 if isinstance(self.second_look, UnsetType) else self.second_look.fresh_trials(plan.id))


class RunFooter(msgspec.Struct, frozen=True, kw_only=True):
    """Last line of a run file. Without it, or with `complete` false, the run was interrupted and can be resumed.

    `missing` holds a sentence for each piece of evidence that is missing and belongs to no known case, such as an
    unreadable results file; if there is any, the run is incomplete whatever its trials say.
    `without` is only there in a shard of a repeated command: why runs left no results, by repetition.
    """

    complete: bool
    trials: NotNegativeInt
    stopped: StopReason | None = None
    ended: str | None = None
    missing: tuple[str, ...] = ()
    without: dict[PositiveInt, str] | UnsetType = UNSET


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
