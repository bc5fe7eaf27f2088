"""Joining the shards of a run: do they belong together, is any of them missing, and what is the run that they make?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

import msgspec
from msgspec import UNSET

from repeat_eval.errors import Problem, UserError
from repeat_eval.records.command_trials import errors_of_lacking, missing_results, run_of
from repeat_eval.records.natural_order import natural_key
from repeat_eval.records.run import Run, RunFooter, RunHeader, Shard, StopReason
from repeat_eval.records.trial import Trial

_MAY_DIFFER = frozenset({"started", "warnings", "replayed", "shard", "recordings_changed"})
_MAX_PROBLEMS = 20


class Part(msgspec.Struct, frozen=True):
    """A run file of a shard: its name, for problems, and what is in it."""

    name: str
    run: Run

    @property
    def shard(self) -> Shard:
        """Which shard it is; only for parts that are one."""
        assert self.run.header.shard  # noqa: S101 - checked before parts are joined
        return self.run.header.shard


def merge(parts: Sequence[Part]) -> Run:
    """The run that shards make, whatever order they are given in.

    Its trials come by repetition, and of one repetition in the suite's order. A shard that is missing or was stopped
    is named in the footer's `missing`, so that the run is incomplete. The same shard may be there several times: its
    trials must be the same, but that one with a verdict takes the place of an error, as when a run is resumed.

    Args:
        parts: the shards' run files, one at least.

    Raises:
        UserError: a file is no shard, or the files do not belong together; every fault that was found.
    """
    problems = [
        Problem("is a whole run, not a shard of one: it was run without --shard", part.name)
        for part in parts
        if not part.run.header.shard
    ]
    if problems:
        raise UserError(problems)
    problems = [Problem(text, part.name) for part in parts[1:] for text in differences(parts[0], part)]
    problems = problems or [Problem(text, part.name) for part in parts for text in _foreign_trials(part)]
    if problems:
        raise UserError(problems[:_MAX_PROBLEMS])
    ordered = sorted(parts, key=lambda part: (part.shard.index, part.run.header.started or ""))
    trials = _trials(ordered)
    header = _header(ordered)
    without: dict[int, str] = {}
    missing: list[str] = []
    stopped: StopReason | None = None
    ended: set[int] = set()
    there = [list(same) for _, same in groupby(ordered, key=lambda part: part.shard.index)]
    missing += _missing_shards(ordered, header)
    for same in there:
        footers = [part.run.footer for part in same if part.run.footer is not None]
        whole = [footer for footer in footers if footer.complete]
        for footer in whole or footers:
            missing += footer.missing
            without |= {run: text for run, text in (footer.without or {}).items() if run not in without}
        if whole:
            ended |= set(same[0].shard.repetitions)
            continue
        why = next((footer.stopped for footer in footers if footer.stopped), None) or "crashed"
        stopped = stopped or why
        missing.append(f"{same[0].shard} was not finished: {_REASONS[why]}")
    if header.source == "command":
        seen = {run_of(number, header.repeats) for _, number in trials}
        without = {run: text for run, text in without.items() if run not in seen}
        lacking = errors_of_lacking(trials.values(), header.repeats, sorted(ended | seen | without.keys()), without)
        trials |= {trial.key: trial for trial in lacking}
        missing += [] if trials else missing_results(without)
        missing.sort(key=natural_key)
    footer = RunFooter(
        complete=stopped is None, trials=len(trials), stopped=stopped, missing=tuple(dict.fromkeys(missing))
    )
    return Run(
        header=header,
        trials=tuple(trials.values()),
        footer=footer,
        warnings=tuple(dict.fromkeys(text for part in ordered for text in part.run.warnings)),
    )


_REASONS: dict[StopReason, str] = {
    "max-cost": "max-cost was reached",
    "time-budget": "the time budget was used up",
    "interrupted": "it was interrupted",
    "crashed": "its file has no end",
}


def differences(first: Part, other: Part) -> list[str]:
    """In what two shards differ that must be the same in all shards of a run; empty when they belong together."""
    found = []
    for name, here, there in _facts(other.run.header, first.run.header):
        if here != there:
            found.append(f"{name} is {_shown(here)} here and {_shown(there)} in {first.name}")
    if found:
        return found
    one, two = other.shard, first.shard
    if one.of != two.of:
        return [f"is {one}, and {first.name} is {two}"]
    if one.split != two.split:
        return [f"its trials were divided in another way than those of {first.name}: were --durations the same?"]
    if one.base_written != two.base_written:
        return [f"base's suite asks for something else here than in {first.name}"]
    if one.index == two.index and (one.trials, one.repetitions) != (two.trials, two.repetitions):
        return [f"is the same shard as {first.name}, and has other trials"]
    return []


def _facts(here: RunHeader, there: RunHeader) -> Iterator[tuple[str, Any, Any]]:
    for name in RunHeader.__struct_fields__:
        if name not in _MAY_DIFFER and name != "cases":
            yield name.replace("_", " "), getattr(here, name), getattr(there, name)
    if [plan.id for plan in here.cases] != [plan.id for plan in there.cases]:
        mine, theirs = {plan.id for plan in here.cases}, {plan.id for plan in there.cases}
        yield "the list of cases", sorted(mine - theirs) or "in its order", sorted(theirs - mine) or "another"
        return
    for plan, other in zip(here.cases, there.cases, strict=True):
        for name in plan.__struct_fields__:
            if name == "file":  # the same one, from where each machine was started
                continue
            yield f"{name.replace('_', ' ')} of case {plan.id!r}", getattr(plan, name), getattr(other, name)


def _foreign_trials(part: Part) -> Iterator[str]:
    """Trials in a shard that it was not asked for."""
    shard, repeats = part.shard, part.run.header.repeats
    runs = set(shard.repetitions)
    trials = {(case, number) for case, numbers in shard.trials.items() for number in numbers}
    for trial in part.run.trials:
        of_command = part.run.header.source == "command"
        if not (run_of(trial.repetition, repeats) in runs if of_command else trial.key in trials):
            yield f"trial {trial.repetition} of case {trial.case!r} is not one of {shard}"


def _trials(ordered: Sequence[Part]) -> dict[tuple[str, int], Trial]:
    """The trials of all parts: by repetition, then in the suite's order, or as they stand in a command's results."""
    header = ordered[0].run.header
    found: dict[tuple[str, int], tuple[Part, Trial]] = {}
    problems = []
    for part in ordered:
        for trial in part.run.trials:
            name, earlier = found.get(trial.key, (part, trial))
            if trial != earlier and (trial.outcome == "error") == (earlier.outcome == "error"):
                text = f"trial {trial.repetition} of case {trial.case!r} is another one than in {name.name}"
                problems.append(Problem(text, part.name))
            elif trial.key not in found or earlier.outcome == "error":
                found[trial.key] = part, trial
    if problems:
        more = len(problems) - _MAX_PROBLEMS
        last = [Problem(f"{more:,} more trials differ")] if more > 0 else []
        raise UserError(problems[:_MAX_PROBLEMS] + last)
    trials = [trial for _, trial in found.values()]
    if header.source == "command":
        trials.sort(key=lambda trial: run_of(trial.repetition, header.repeats))
    else:
        place = {plan.id: position for position, plan in enumerate(header.cases)}
        trials.sort(key=lambda trial: (trial.repetition, place[trial.case]))
    return {trial.key: trial for trial in trials}


def _header(ordered: Sequence[Part]) -> RunHeader:
    headers = [part.run.header for part in ordered]
    changed = tuple(dict.fromkeys(text for header in headers for text in header.recordings_changed or ()))
    return msgspec.structs.replace(
        headers[0],
        shard=UNSET,
        started=min((header.started for header in headers if header.started is not None), default=None),
        warnings=tuple(dict.fromkeys(text for header in headers for text in header.warnings)),
        replayed=any(header.replayed for header in headers),
        recordings_changed=changed or UNSET,
    )


def _missing_shards(ordered: Sequence[Part], header: RunHeader) -> list[str]:
    of = ordered[0].shard.of
    there = {part.shard.index: part.shard for part in ordered}
    missing = [str(index) for index in range(1, of + 1) if index not in there]
    if not missing:
        return []
    if header.source == "command":
        lost = header.repeats - sum(len(shard.repetitions) for shard in there.values())
        what = f"{lost:,} of {header.repeats:,} runs of the command"
    else:
        asked = sum(plan.asked for plan in header.cases)
        lost = asked - sum(len(numbers) for shard in there.values() for numbers in shard.trials.values())
        what = f"{lost:,} of {asked:,} trials"
    shards, are = ("shard", "is") if len(missing) == 1 else ("shards", "are")
    return [f"{shards} {', '.join(missing)} of {of} {are} missing: {what}"]


def _shown(value: object) -> str:
    text = "unknown" if value is None else str(value) if isinstance(value, msgspec.Struct) else repr(value)
    return text if len(text) <= 200 else text[:200] + "…"
