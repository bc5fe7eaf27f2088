"""The waves of a run: all trials at once, or a first look and the fresh trials that it asks for."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

import msgspec

from repeat_eval.execution.prepare import Prepared
from repeat_eval.execution.run_trials import Lane, run_lanes
from repeat_eval.execution.stopping import Stop
from repeat_eval.execution.trials import PlannedCase
from repeat_eval.records.two_looks import TwoLooks
from repeat_eval.steps.recording import Recording, asked_of
from repeat_eval.steps.request import Request
from repeat_eval.suite.settings import ResolvedSettings

if TYPE_CHECKING:
    from repeat_eval.cassettes.session import Session
    from repeat_eval.steps.screening import Screening


class Side(msgspec.Struct, frozen=True):
    """One side of a run that is ready to start."""

    name: str
    record: Recording
    prepared: Prepared
    session: Session | None = None


class Late(msgspec.Struct, frozen=True):
    """A base that is started when something is suspected: its recording, and what makes it ready."""

    record: Recording
    prepare: Callable[[], Side]

    def wanted(self, looks: TwoLooks) -> bool:
        """Whether fresh trials of it are to be run."""
        own = self.record.header.second_look
        return bool(looks.trials) and (not (own and own.first_ended) or self.record.wants_trials)


async def look_twice(
    sides: Sequence[Side],
    settings: ResolvedSettings,
    stop: Stop,
    request: Request,
    *,
    screening: Screening | None,
    late: Late | None,
    start_base: Callable[[], Awaitable[Side | None]],
) -> None:
    """The first look, and at once the fresh trials that it asks for; see `after_first_look`."""
    from repeat_eval.steps.second_look import after_first_look, tell

    if screening is not None and request.out is not None:
        from repeat_eval.steps.screening import keep_stored

        keep_stored(request.out, screening.stored)
    records, begin, budget = [side.record for side in sides], time.monotonic(), settings["time_budget"]
    ended = [looks for record in records if (looks := record.header.second_look) and looks.first_ended]
    for record in records if ended else ():
        # The process may have died between writing the line into one file and into the other.
        record.end_first_look(ended[0])
    before = sum(len(record.trials) for record in records)
    if not ended:
        await wave(sides, settings, stop, request, time_budget=budget)
        if any(record.wants_trials for record in records):
            return
    seconds = time.monotonic() - begin
    after = after_first_look(
        records,
        settings,
        stop,
        trials=sum(len(record.trials) for record in records) - before,
        seconds=seconds,
        free=any(side.session is not None and side.session.calls == "replay" for side in sides),
        screening=screening,
    )
    for record in records:
        record.end_first_look(after.looks)
    tell(request, after.text)
    left = None if budget is None else budget - seconds
    if left is not None and left <= 0 and records[-1].wants_trials:
        stop.trigger("time-budget")
    if stop.reason is None and late is not None and late.wanted(after.looks):
        base = await start_base()
        if base is None:
            return
        base.record.end_first_look(after.looks)
        sides, records = [base, *sides], [base.record, *records]
    if stop.reason is None and any(record.wants_trials for record in records):
        await wave(sides, settings, stop, request, time_budget=left, looks=after.looks)


async def wave(
    sides: Sequence[Side],
    settings: ResolvedSettings,
    stop: Stop,
    request: Request,
    *,
    time_budget: float | None,
    looks: TwoLooks | None = None,
) -> None:
    """Run what is asked for by now; with `looks` their fresh trials, after a first look that is closed."""
    used = 0 if request.fresh_trials is None else request.fresh_trials.used
    if looks is None:
        request.progress.start(
            sum(asked_of(side.record.header) for side in sides), sum(len(side.record.kept) for side in sides)
        )
    else:
        first = {case.spec.id: case.asked for case in sides[-1].prepared.cases}
        kept = sum(trial.repetition > first[trial.case] for side in sides for trial in side.record.kept)
        total = sum(asked_of(side.record.header) for side in sides) - len(sides) * sum(first.values())
        request.progress.start(total, kept, "fresh trials")
    lanes = [
        Lane(
            cases=_after(side.prepared.cases, used) if looks is None else _fresh(side.prepared.cases, looks),
            seed=side.record.header.seed,
            on_trial=side.record.add,
            remote=side.prepared.remote,
            done={trial.key for trial in side.record.kept}
            | _used(side.prepared.cases, used)
            | (_of_other_shards(side) if looks is None else _first_look(side.prepared.cases)),
            session=side.session,
            run=side.prepared.run,
        )
        for side in sides
    ]
    try:
        await run_lanes(
            lanes,
            workers=_at_once(sides, settings),
            stop=stop,
            sequential=settings["repeat_order"] == "sequential",
            time_budget=time_budget,
            blocking=sides[0].prepared.blocking if len(sides) == 1 else None,
        )
    finally:
        request.progress.stop()


def _at_once(sides: Sequence[Side], settings: ResolvedSettings) -> int:
    """Trials in flight at once: what was asked for; where nothing was, a cluster is used as far as it goes."""
    cluster = sides[-1].prepared.cluster
    at_once: int = settings["workers"]
    return at_once if cluster is None or settings.source("workers") != "default" else cluster.threads


def _first_look(cases: Sequence[PlannedCase]) -> set[tuple[str, int]]:
    return {(case.spec.id, repetition) for case in cases for repetition in range(1, case.asked + 1)}


def _fresh(cases: Sequence[PlannedCase], looks: TwoLooks) -> Sequence[PlannedCase]:
    """The cases that are run again, asked for all trials that they have by now; only the fresh ones are left to do."""
    return [
        msgspec.structs.replace(case, asked=case.asked + fresh)
        for case in cases
        if (fresh := looks.fresh_trials(case.spec.id))
    ]


def _after(cases: Sequence[PlannedCase], used: int) -> Sequence[PlannedCase]:
    """The cases, their trials numbered after those that are used up."""
    return [msgspec.structs.replace(case, asked=case.asked + used) for case in cases] if used else cases


def _used(cases: Sequence[PlannedCase], used: int) -> set[tuple[str, int]]:
    return {(case.spec.id, repetition) for case in cases for repetition in range(1, used + 1)}


def _of_other_shards(side: Side) -> set[tuple[str, int]]:
    shard = side.record.header.shard
    if not shard:
        return set()
    return {
        (case.spec.id, repetition)
        for case in side.prepared.cases
        for repetition in {*range(1, case.asked + 1)} - {*shard.trials.get(case.spec.id, ())}
    }
