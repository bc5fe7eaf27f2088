"""Two looks at a suite without a base: whether a run takes them, what that can cost, and what is run again."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from repeat_eval.analysis.looks_alone import looks_twice, low_cases
from repeat_eval.analysis.rules import Rules
from repeat_eval.records.run import Run, RunHeader
from repeat_eval.records.two_looks import TwoLooks
from repeat_eval.statistics.second_look import MIN_CASES
from repeat_eval.steps.judging import rules_of
from repeat_eval.steps.recording import Recording
from repeat_eval.steps.second_look import MAX_NAMED, After, cost_of_a_trial, repeats_are_stronger, with_looks
from repeat_eval.suite.second_look import parse_second_look
from repeat_eval.suite.settings import ResolvedSettings
from repeat_eval.suite.spec import CaseSpec

FIXED = "so the number of repeats is fixed"


def looking_alone(
    header: RunHeader, settings: ResolvedSettings, cases: Sequence[CaseSpec], *, shard: bool
) -> tuple[RunHeader | None, str]:
    """The header of a run that takes two looks without a base, and what is to be said, maybe nothing.

    They are only taken where they are asked for. Where repeats are set in a stronger place, or in the same one, those
    hold. Cases whose gate any miss fails, or that have no gate, keep the fixed number.

    Args:
        header: as for fixed repeats. settings: of the run, with a second look that was asked for.
        cases: those that will run. shard: whether this is a part of a run.

    Returns:
        None for a fixed number of repeats, and a sentence that says why, empty where nobody needs to be told.
    """
    choice = parse_second_look(settings["second_look"])
    if not choice.enabled:
        return None, ""
    looked = frozenset(case.id for case in cases if _takes_part(case, settings))
    why = ""
    if repeats_are_stronger(settings):
        # A suite that says both means the looks for when there is a base.
        why = "" if settings.source("second_look") == "suite" else "repeats are set as well, and there is no base"
        return None, f"no second look: {why}, {FIXED}" if why else ""
    if shard:
        why = "a shard does not know the other cases"
    elif len(cases) < MIN_CASES:
        why = f"there are fewer than {MIN_CASES} cases"
    elif whole := judged_by_all_trials(rules_of(settings)):
        why = f"{whole} is judged by all trials of a case"
    elif not looked:
        why = "no case has a gate that forgives a miss among ten trials"
    if why:
        return None, f"no second look: {why}, {FIXED}"
    looks = TwoLooks.alone(choice.first, choice.fresh)
    made = with_looks(header, looks, cases, fixed=frozenset(case.id for case in cases) - looked)
    first = sum(plan.asked for plan in made.cases)
    fixed = len(cases) - len(looked)
    text = (
        f"second look: {first:,} trials first, {looks.first} of a case"
        f"{f' ({fixed:,} with a fixed number)' if fixed else ''}, then {looks.fresh} fresh ones of each case below its "
        f"threshold; at most {first + looks.fresh * len(looked):,} trials"
    )
    if settings["max_cost"] is not None:
        text += f"; what that costs is known after the first look (max-cost ${settings['max_cost']:.2f})"
    return made, text


def judged_by_all_trials(rules: Rules) -> str | None:
    """The gate that a short first look would answer otherwise than a fixed number of repeats; None without one.

    Fewer trials show fewer flaky cases, and pass-to-3 of single cases would be judged by the first look alone.
    """
    gates = {"min-reliability": rules.min_reliability, "min-stability": rules.min_stability}
    return next((name for name, wanted in gates.items() if wanted is not None), None)


def _takes_part(case: CaseSpec, settings: ResolvedSettings) -> bool:
    rules = rules_of(settings)
    return looks_twice(case.threshold or rules.threshold, case.gate or rules.gate)


def after_first_look_alone(record: Recording, settings: ResolvedSettings, *, free: bool) -> After:
    """Decide what is run again. What was decided once, in an interrupted run, holds.

    Args:
        record: the run, its first look whole. settings: of the run. free: whether fresh trials cost nothing.
    """
    looks = record.header.second_look
    assert looks  # noqa: S101 - the caller looked
    if not looks.first_ended:
        run = Run(header=record.header, trials=record.trials)
        looks = msgspec.structs.replace(looks, trials=low_cases(run, rules_of(settings)))
    return After(looks, _said(looks, None if free else cost_of_a_trial([record])))


def _said(looks: TwoLooks, each: float | None) -> str:
    again = looks.trials or {}
    if not again:
        return "second look: no case is below its threshold, nothing is run again"
    fresh, count = sum(again.values()), len(again)
    named = [repr(case) for case in list(again)[:MAX_NAMED]] + (["…"] if count > MAX_NAMED else [])
    money = f", about ${each * fresh:.2f}" if each is not None else ""
    return (
        f"second look: {count:,} case{'' if count == 1 else 's'} below the threshold ({', '.join(named)}), "
        f"{fresh:,} fresh trials{money}"
    )
