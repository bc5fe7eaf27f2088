"""Resuming a run: may this file go on under these settings, and which trials are still wanted?"""

from __future__ import annotations

from msgspec import UnsetType

from repeat_eval.records.run import Run, RunHeader
from repeat_eval.records.trial import Trial


def refusals(old: RunHeader, new: RunHeader) -> list[str]:
    """Why the run of header `old` cannot be continued as `new`; empty when it can.

    Suite, commit, repeats, seed, selection and all fingerprints must be the same: otherwise the file would mix trials
    of different things.
    """
    reasons = []
    for what, before, now in (
        ("suite", old.suite, new.suite),
        ("source", old.source, new.source),
        ("commit", old.commit, new.commit),
        ("repeats", old.repeats, new.repeats),
        ("seed", old.seed, new.seed),
        ("command", old.command, new.command),
        ("target fingerprint", old.target_fingerprint, new.target_fingerprint),
        ("selected cases", old.selection.cases, new.selection.cases),
        ("selected tags", old.selection.tags, new.selection.tags),
        ("shard", _shard(old), _shard(new)),
        ("second look", _looks(old), _looks(new)),
    ):
        if before != now:
            reasons.append(f"{what} was {_shown(before)} and is now {_shown(now)}")
    before_plans = {plan.id: plan for plan in old.cases}
    now_plans = {plan.id: plan for plan in new.cases}
    for case in before_plans.keys() - now_plans.keys():
        reasons.append(f"case {case!r} is gone")
    for case in now_plans.keys() - before_plans.keys():
        reasons.append(f"case {case!r} is new")
    for case in [case for case in before_plans if case in now_plans]:
        before_plan, now_plan = before_plans[case], now_plans[case]
        if before_plan.asked != now_plan.asked:
            reasons.append(f"case {case!r} asked for {before_plan.asked} repeats and now asks for {now_plan.asked}")
        if before_plan.case_fingerprint != now_plan.case_fingerprint:
            reasons.append(f"case {case!r} has another input or other checks")
    return reasons


def trials_to_keep(run: Run) -> tuple[Trial, ...]:
    """The trials that hold: all but errors, which a resumed run tries again.

    A first look that has ended is closed: its errors stay, since what they would become could change what is run again.
    """
    looks = run.header.second_look
    closed = not isinstance(looks, UnsetType) and looks.first_ended
    asked = {plan.id: plan.asked for plan in run.header.cases} if closed else {}
    return tuple(
        trial for trial in run.trials if trial.outcome != "error" or trial.repetition <= asked.get(trial.case, 0)
    )


def _shard(header: RunHeader) -> str:
    if not header.shard:
        return "none"
    return f"{header.shard.index}/{header.shard.of}, trials divided as {header.shard.split}"


def _looks(header: RunHeader) -> str:
    if isinstance(header.second_look, UnsetType):
        return "off"
    before = header.second_look.before
    if before.mode == "alone":
        return f"{before.first}+{before.fresh} without base"
    options = (
        f", cut {before.cut:g}, alarm {before.alarm:g}, cap {before.cap or 'usual'}{', both' if before.both else ''}"
    )
    if before.mode != "side-by-side":
        options += f", {before.mode} by {before.base_stored or 'a stored base'}"
    return f"{before.first}+{before.fresh}{options}"


def _shown(value: object) -> str:
    return "unknown" if value is None else repr(value)
