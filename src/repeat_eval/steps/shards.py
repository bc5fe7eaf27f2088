"""One shard of a run: which trials it does, and what it says when they are done. The verdict is made by merging."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from repeat_eval.errors import ExitCode, Problem, UserError
from repeat_eval.execution.shards import shard_of_command, shard_of_suite
from repeat_eval.records.run import RunHeader
from repeat_eval.records.stored import MAX_BYTES, decode, looks_like_store, run_of_stored
from repeat_eval.records.trial import Trial
from repeat_eval.steps.bases import run_from
from repeat_eval.steps.recording import Recording, asked_of
from repeat_eval.steps.request import Request


class ShardDone(msgspec.Struct, frozen=True):
    """How a shard ended: a line for people, and the exit code: whether all that was asked of it is there."""

    text: str
    exit_code: ExitCode


def with_shard(header: RunHeader, request: Request) -> RunHeader:
    """The header of the whole run as that of the shard that is asked for.

    Raises:
        UserError: base is read from a file, which a shard has no use for, or the file with durations cannot be read.
    """
    assert request.shard is not None  # noqa: S101 - the caller looked
    if request.base:
        raise UserError("a shard judges nothing, so it needs no base from a file; give --base to `repeat-eval merge`")
    index, of = request.shard
    if header.source == "command":
        if request.durations is not None:
            raise UserError("--durations does nothing with --command: each repetition is one unit")
        shard = shard_of_command(header.repeats, index, of)
    else:
        durations = None if request.durations is None else past_durations(request.durations)
        shard = shard_of_suite(header.cases, index, of, durations)
    shard = msgspec.structs.replace(shard, base_missing=request.base_missing)
    return msgspec.structs.replace(header, shard=shard)


def with_base_written(base: RunHeader, written: RunHeader | None) -> RunHeader:
    """The header of a shard's base, with what base's own suite asks for, less what is not the same on every machine."""
    if not base.shard or written is None:
        return base
    plans = tuple(msgspec.structs.replace(plan, file=None, line=None) for plan in written.cases)
    written = msgspec.structs.replace(written, cases=plans, started=None, warnings=())
    return msgspec.structs.replace(base, shard=msgspec.structs.replace(base.shard, base_written=written))


def past_durations(path: Path) -> Mapping[str, float]:
    """Seconds that a trial of each case took: the mean over an earlier run, a report, or the newest run of a store.

    Raises:
        UserError: the file cannot be read, or tells no duration.
    """
    seconds: dict[str, list[float]] = {}
    for trial in _trials_in(path):
        if trial.duration is not None and not trial.cached:
            seconds.setdefault(trial.case, []).append(trial.duration)
    if not seconds:
        raise UserError(Problem("tells no duration of any case", str(path)))
    return {case: sum(each) / len(each) for case, each in seconds.items()}


def _trials_in(path: Path) -> Sequence[Trial]:
    if not looks_like_store(path):
        return run_from([str(path)], Request(), lean=True).trials
    try:
        with path.open("rb") as file:
            runs = decode(file.read(MAX_BYTES + 1)).runs
    except (OSError, UserError) as error:
        raise UserError(Problem(f"cannot be used: {error}", str(path))) from None
    return run_of_stored(runs[-1]).trials if runs else ()


def shard_done(recording: Recording) -> ShardDone:
    """What to say of a shard that came to its end or was stopped.

    Errors and failures are no matter here: what they mean is decided over all shards.
    """
    shard, footer = recording.header.shard, recording.footer
    assert shard and footer is not None  # noqa: S101 - the run was finished
    trials = recording.trials
    of_command = recording.header.source == "command"
    done = f"{len(trials):,} trials" if of_command else f"{len(trials):,} of {asked_of(recording.header):,} trials"
    errors = sum(trial.outcome == "error" for trial in trials)
    parts = [done, *([f"{errors:,} errors"] if errors else [])]
    if footer.without:
        parts.append(f"{len(footer.without)} of {len(shard.repetitions)} runs without results")
    if footer.stopped is not None:
        parts.append(f"stopped ({footer.stopped}); --resume goes on")
    parts += footer.missing[:5]
    whole = footer.complete and not footer.missing
    text = f"{shard}: {', '.join(parts)}. `repeat-eval merge` joins the shards and judges."
    return ShardDone(text, ExitCode.PASSED if whole else ExitCode.INCOMPLETE)
