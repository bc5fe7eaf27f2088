"""One side of a comparison: its cases as counts, verdicts and means of duration and cost."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from repeat_eval.analysis.case_figures import MAX_LETTERS, outcome_letters
from repeat_eval.analysis.case_verdicts import Counts, judge
from repeat_eval.analysis.report import CaseReport, SideOfCase
from repeat_eval.analysis.rules import Rules
from repeat_eval.records.command_trials import trials_a_run
from repeat_eval.records.run import CasePlan, Run, RunHeader
from repeat_eval.records.trial import Trial
from repeat_eval.statistics import intervals

_VERDICTS = ("passed", "failed")


class Means(msgspec.Struct, frozen=True, gc=False):
    """Mean duration and cost of a case's trials, for the comparison of latency and cost.

    Only trials that gave a verdict and did not come from a cache count: an error is often quick or as slow as the
    timeout, and says nothing about the target's speed. `timed` and `paid` are the numbers of trials in the means.
    """

    duration: float | None = None
    timed: int = 0
    cost: float | None = None
    paid: int = 0


class OneSide(msgspec.Struct, frozen=True):
    """A side: the header it ran under, its cases in its own order, and their means."""

    header: RunHeader
    cases: Mapping[str, SideOfCase]
    means: Mapping[str, Means]
    complete: bool = True


def trials_by_case(trials: Iterable[Trial]) -> dict[str, list[Trial]]:
    """The trials of each case, each repetition once.

    Of two trials of one repetition the first verdict holds, as in a run file, where only an error is superseded.
    """
    by_case: dict[str, list[Trial]] = {}
    for trial in trials:
        found = by_case.get(trial.case)
        if found is None:
            by_case[trial.case] = [trial]
        else:
            found.append(trial)
    for case, found in by_case.items():
        if len({trial.repetition for trial in found}) < len(found):
            by_case[case] = _once(found)
    return by_case


def _once(trials: Sequence[Trial]) -> list[Trial]:
    kept: dict[int, Trial] = {}
    for trial in trials:
        earlier = kept.get(trial.repetition)
        if earlier is None or earlier.outcome == "error":
            kept[trial.repetition] = trial
    return list(kept.values())


def plans_of(run: Run, by_case: Mapping[str, object]) -> tuple[CasePlan, ...]:
    """What was asked of each case, each once; where the header names no cases, those that have trials.

    A run of a command may hold several trials of a case, and then each of its runs was asked for as many.
    """
    if run.header.cases:
        return tuple({plan.id: plan for plan in reversed(run.header.cases)}.values())[::-1]
    repeats = run.header.repeats
    each = trials_a_run(run.trials, repeats) if run.header.source == "command" else {}
    return tuple(CasePlan(id=case, asked=repeats * each.get(case, 1)) for case in by_case)


def side_of_base(run: Run, rules: Rules, plans: Mapping[str, CasePlan]) -> OneSide:
    """Base as one side, judged as head is.

    Args:
        run: base's run.
        rules: head's rules.
        plans: head's plans by case; thresholds and gates of its cases hold for base too, so that both sides are
            measured alike. Cases that head has not are judged by their own.
    """
    by_case = trials_by_case(run.trials)
    cases = {}
    for plan in plans_of(run, by_case):
        cases[plan.id] = _side_of_case(by_case.get(plan.id, ()), plan.asked, plans.get(plan.id, plan), rules)
    means = {case: means_of(trials) for case, trials in by_case.items()}
    return OneSide(run.header, cases, means, run.complete)


def side_of_head(run: Run, cases: Iterable[CaseReport], by_case: Mapping[str, Sequence[Trial]]) -> OneSide:
    """Head as one side, from figures that are there already."""
    sides = {
        case.id: SideOfCase(
            passed=case.passed,
            failed=case.failed,
            errors=case.errors,
            skipped=case.skipped,
            missing=case.missing,
            pass_rate=case.pass_rate,
            interval=case.interval,
            verdict=case.verdict,
            outcomes=case.outcomes,
            flaky=case.flaky,
            duration=case.duration.mean if case.duration is not None else None,
            cost=case.cost,
            judge_cost=case.judge_cost,
        )
        for case in cases
    }
    return OneSide(run.header, sides, {case: means_of(trials) for case, trials in by_case.items()}, run.complete)


def means_of(trials: Sequence[Trial]) -> Means:
    """Mean duration and cost of the trials that gave a verdict and did not come from a cache."""
    counted = [trial for trial in trials if trial.outcome in _VERDICTS and not trial.cached]
    durations = [trial.duration for trial in counted if trial.duration is not None]
    costs = [trial.cost for trial in counted if trial.cost is not None]
    return Means(
        duration=math.fsum(durations) / len(durations) if durations else None,
        timed=len(durations),
        cost=math.fsum(costs) / len(costs) if costs else None,
        paid=len(costs),
    )


def _side_of_case(trials: Sequence[Trial], asked: int, plan: CasePlan, rules: Rules) -> SideOfCase:
    ordered = sorted(trials, key=_repetition)
    letters = outcome_letters(ordered, rules.count_as_failed)
    passed, failed, errors = letters.count("P"), letters.count("F"), letters.count("E")
    verdicts, skipped = passed + failed, letters.count("S")
    missing = max(0, asked - len(ordered))
    counts = Counts(passed, failed, errors, skipped, missing)
    verdict, _ = judge(counts, plan.threshold or rules.threshold, plan.gate or rules.gate)
    durations = [trial.duration for trial in ordered if trial.duration is not None]
    costs = [trial.cost for trial in ordered if trial.cost is not None]
    judging = [trial.judge_cost for trial in ordered if trial.judge_cost is not None]
    return SideOfCase(
        passed=passed,
        failed=failed,
        errors=errors,
        skipped=skipped,
        missing=missing,
        pass_rate=passed / verdicts if verdicts else None,
        interval=intervals.wilson_interval(passed, verdicts) if verdicts else None,
        verdict=verdict,
        outcomes=letters[:MAX_LETTERS],
        flaky=0 < passed < verdicts,
        duration=math.fsum(durations) / len(durations) if durations else None,
        cost=math.fsum(costs) if costs else None,
        judge_cost=math.fsum(judging) if judging else None,
    )


def _repetition(trial: Trial) -> int:
    return trial.repetition
