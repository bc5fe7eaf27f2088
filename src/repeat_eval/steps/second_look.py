"""Two looks at a suite beside base: whether a run takes them, what it says of them, and what is run again."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import msgspec
from msgspec import UnsetType

from repeat_eval.errors import UserError
from repeat_eval.execution.progress import Silent
from repeat_eval.execution.stopping import Stop
from repeat_eval.records.run import Run, RunHeader
from repeat_eval.records.two_looks import TwoLooks
from repeat_eval.statistics.second_look import MIN_CASES
from repeat_eval.steps.judging import rules_of
from repeat_eval.steps.recording import Recording
from repeat_eval.steps.request import Request
from repeat_eval.suite.second_look import WORDS, SecondLookChoice, impossible, parse_second_look, written
from repeat_eval.suite.settings import Resolved, ResolvedSettings, Source
from repeat_eval.suite.spec import CaseSpec

if TYPE_CHECKING:
    from repeat_eval.analysis.second_look import ReRunPlan
    from repeat_eval.steps.screening import Screening

USUAL = "3+20"
MAX_NAMED = 5
_STRENGTH: dict[Source, int] = {"option": 3, "variable": 2, "suite": 1}


def chosen(settings: ResolvedSettings, cases: Sequence[CaseSpec], *, shard: bool = False) -> TwoLooks | None:
    """The two looks that a run beside base takes; None for a fixed number of repeats.

    Where nobody says anything they are 3+20, if no repeats are set either and not every case's gate is one that any
    miss fails. Where both are set, the stronger place holds (option, variable, suite), and of one place the looks;
    repeats then hold where they are fixed.

    Args:
        settings: of the run. cases: those that will run.
        shard: whether this is a part of a run: what is run again is only known when every case was looked at.

    Raises:
        UserError: two looks are asked for and cannot be taken, or could never find anything.
    """
    asked_for = settings.source("second_look") != "default"
    if _repeats_are_fixed(settings, cases):
        return None
    if not asked_for and cases and len(unforgiving(settings, cases)) == len(cases):
        return None
    choice = parse_second_look(settings["second_look"]) if asked_for else WORDS[USUAL]
    alpha = rules_of(settings).spent_alpha_text
    looks = choice.looks(alpha)
    if looks is None:
        return None
    if shard:
        if asked_for:
            raise UserError(
                "--shard and a second look do not go together: what is run again is known only when all cases were "
                "looked at; give --second-look off"
            )
        return None
    from repeat_eval.statistics.second_look_planning import looks_twice

    wrong = impossible(choice, alpha)
    if wrong is not None and asked_for:
        raise UserError(f"second-look: {wrong}")
    return TwoLooks.of(looks) if wrong is None and looks_twice(len(cases)) else None


def _repeats_are_fixed(settings: ResolvedSettings, cases: Sequence[CaseSpec]) -> bool:
    source, repeats = settings.source("second_look"), settings.source("repeats")
    if source == "default":
        return repeats != "default" or any(case.repeats for case in cases)
    return _STRENGTH.get(source, 0) < _STRENGTH.get(repeats, 0)


def repeats_are_stronger(settings: ResolvedSettings) -> bool:
    """Whether repeats are set in a place as strong as that of the second look, or stronger."""
    source, repeats = settings.source("second_look"), settings.source("repeats")
    return repeats != "default" and _STRENGTH.get(source, 0) <= _STRENGTH.get(repeats, 0)


def unforgiving(settings: ResolvedSettings, cases: Sequence[CaseSpec]) -> frozenset[str]:
    """Ids of the cases whose gate any miss in ten trials fails: a short first look would forgive misses.

    Such a case keeps its fixed repeats, which are then its first look.
    """
    from repeat_eval.analysis.looked_twice import forgives_misses

    rules = rules_of(settings)
    return frozenset(
        case.id for case in cases if not forgives_misses(case.threshold or rules.threshold, case.gate or rules.gate)
    )


def why_fixed(settings: ResolvedSettings, cases: int | None, *, command: bool = False) -> str | None:
    """Why every case runs a fixed number of times though two looks were asked for; None when they were not.

    A suite that asks for them also runs without a base, and nobody needs to be told.

    Args:
        settings: of the run. cases: how many both sides have; None without a base that runs beside head.
        command: whether a command is repeated.
    """
    source = settings.source("second_look")
    if source == "default" or settings["second_look"] == "off" or (cases is None and source == "suite"):
        return None
    why = "too few cases are run on both sides (6 are needed)"
    if command:
        why = "single cases of a command cannot be run again"
    elif cases is None:
        why = "no base runs beside head"
    elif cases >= MIN_CASES:
        why = f"repeats are set by {'an option' if settings.source('repeats') == 'option' else 'a variable'}"
    return f"no second look: {why}, so the number of repeats is fixed"


def with_looks(
    header: RunHeader, looks: TwoLooks, cases: Sequence[CaseSpec], *, fixed: Collection[str] = ()
) -> RunHeader:
    """The header of a run that takes two looks: of each case the first one is asked for.

    A case's own repeats are its first look: somebody wanted to see it so often.

    Args:
        header: as for fixed repeats. looks: the looks. cases: those of the header.
        fixed: ids of cases that keep their fixed repeats, since base says nothing about them or any miss fails them.
    """
    own = {case.id: case.repeats or looks.first for case in cases if case.id not in fixed}
    plans = tuple([msgspec.structs.replace(plan, asked=own.get(plan.id, plan.asked)) for plan in header.cases])
    return msgspec.structs.replace(header, cases=plans, second_look=looks)


def shown_settings(settings: ResolvedSettings, looks: TwoLooks) -> ResolvedSettings:
    """The settings with the looks among them, also where nobody asked for them."""
    choice = SecondLookChoice(
        first=looks.first, fresh=looks.fresh, cut=looks.cut, alarm=looks.alarm, cap=looks.cap, both=looks.both
    )
    said = Resolved(written(choice), settings.source("second_look"))
    return ResolvedSettings({**settings.values, "second_look": said})


def most_said(header: RunHeader, settings: ResolvedSettings) -> str:
    """What a run of two looks can cost, in one line, before it starts."""
    from repeat_eval.statistics.second_look_planning import cost_bound

    looks = header.second_look
    assert not isinstance(looks, UnsetType)  # noqa: S101 - the caller looked
    alone = looks.mode != "side-by-side"
    asked = sorted({plan.asked for plan in header.cases})
    each = f"{looks.first}" if asked == [looks.first] else f"{asked[0]} to {asked[-1]}"
    first = (1 if alone else 2) * sum(plan.asked for plan in header.cases)
    bound = cost_bound(len(header.cases), looks.settings(0.05))
    fresh, alarm = bound.without_alarm - bound.first, bound.most - bound.first
    text = (
        f"second look: {first:,} trials first, {each} {'of head' if alone else 'a side'} of a case, then "
        f"{looks.fresh} fresh ones {'of head' if looks.mode == 'split' else 'a side'} of each suspect; at most "
        f"{first + fresh:,} trials"
    )
    if alarm > fresh:
        text += f", {first + alarm:,} if the whole suite raises an alarm"
    if settings["max_cost"] is not None:
        text += f"; what that costs is known after the first look (max-cost ${settings['max_cost']:.2f})"
    return text


def tell(request: Request, text: str) -> None:
    """Say how the looks go on, as progress does: nothing where nobody follows it."""
    if not isinstance(request.progress, Silent):
        request.say(text)


class After(msgspec.Struct, frozen=True):
    """What follows from a first look that has ended: the looks with the fresh trials, and what is to be said."""

    looks: TwoLooks
    text: str


def after_first_look(
    records: Sequence[Recording],
    settings: ResolvedSettings,
    stop: Stop,
    *,
    trials: int,
    seconds: float,
    free: bool,
    screening: Screening | None = None,
) -> After:
    """Decide what is run again.

    An alarm for which money or time would not last is switched off; given the first look, what is run again may be
    chosen in any way that does not depend on the fresh trials. What was decided once, in an interrupted run, holds.

    Args:
        records: base and head, their first look whole; head alone where a stored base is base's first look.
        settings: of the run. stop: knows what was spent.
        trials: how many were run just now, and seconds: in how many seconds. free: whether fresh trials cost nothing.
        screening: the stored base, if there is one.
    """
    looks = records[-1].header.second_look
    if looks and looks.mode == "alone":
        from repeat_eval.steps.looks_alone import after_first_look_alone

        return after_first_look_alone(records[-1], settings, free=free)
    from repeat_eval.analysis.second_look import plan_rerun

    rules = rules_of(settings)
    assert not isinstance(looks, UnsetType)  # noqa: S101 - the caller looked
    runs = [Run(header=record.header, trials=record.trials) for record in records]
    head, base = runs[-1], None if screening is not None else runs[0]
    stored = None if screening is None else screening.counts(head, rules)

    def plan(of: TwoLooks) -> ReRunPlan | None:
        alpha = float(rules.spent_alpha)
        return plan_rerun(base, head, of.settings(alpha), count_as_failed=rules.count_as_failed, stored=stored)

    found = plan(looks)
    if found is None:
        closed = looks if looks.first_ended else msgspec.structs.replace(looks, trials={})
        return After(closed, "second look: too few cases have verdicts on both sides, so nothing is run again")
    if looks.first_ended:
        return After(looks, _said(found, looks, None))
    each = None if free else cost_of_a_trial(records)
    if found.alarm:
        fresh = sides_of(looks) * sum(found.trials.values())
        why = _not_allowed(fresh, each, settings, stop, trials=trials, seconds=seconds)
        if why is not None:
            off = (
                f"second look: the first look raised an alarm, which would have run {fresh:,} fresh trials, and {why}: "
            )
            looks = msgspec.structs.replace(looks, alarm_off=off + "it was switched off, only suspects were run again")
            found = plan(looks)
            assert found is not None  # noqa: S101 - the cases are the same
    looks = msgspec.structs.replace(looks, trials=found.trials)
    return After(looks, _said(found, looks, each))


def _not_allowed(
    fresh: int, each: float | None, settings: ResolvedSettings, stop: Stop, *, trials: int, seconds: float
) -> str | None:
    """Why so many fresh trials are more than the budget allows; None when they are not, or nobody knows."""
    limit, time = settings["max_cost"], settings["time_budget"]
    if limit is not None and each is not None and stop.spent + fresh * each > limit:
        return f"about ${fresh * each:.2f} more than the ${stop.spent:.2f} spent is over max-cost ${limit:.2f}"
    if time is not None and trials and seconds + fresh * seconds / trials > time:
        return f"about {fresh * seconds / trials:.0f} s more is over the time budget of {time:g} s"
    return None


def sides_of(looks: TwoLooks) -> int:
    """How many sides the fresh trials are run on."""
    return 1 if looks.mode in ("split", "alone") else 2


def cost_of_a_trial(records: Sequence[Recording]) -> float | None:
    """Mean cost of a trial so far, in US dollars; None if none is known."""
    known = [spent for record in records for trial in record.trials if (spent := trial.spent) is not None]
    return sum(known) / len(known) if known else None


def _said(found: ReRunPlan, looks: TwoLooks, each: float | None) -> str:
    fresh = sides_of(looks) * sum(found.trials.values())
    off = "" if isinstance(looks.alarm_off, UnsetType) else looks.alarm_off + ". "
    if not fresh:
        rest = "base is not run" if looks.mode == "screen" else "nothing is run again"
        return f"{off}second look: nothing suspected, {rest}"
    count = len(found.suspects)
    named = [repr(case) for case in found.suspects[:MAX_NAMED]] + (["…"] if count > MAX_NAMED else [])
    suspects = f"{count} suspect{'' if count == 1 else 's'}" + (f" ({', '.join(named)})" if named else "")
    alarm = f"an alarm for all {len(found.trials):,} cases, " if found.alarm else ""
    money = f", about ${each * fresh:.2f}" if each is not None else ""
    return f"{off}second look: {alarm}{suspects}, {fresh:,} fresh trials{money}"
