"""Plan repeats: from options, and from a run file if there is one, to a plan."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec

from repeat_eval.analysis.false_alarms import seen_cases
from repeat_eval.analysis.planning import (
    BAD_RATE,
    SIZES,
    TYPICAL_SPREAD,
    ComparisonPlan,
    Plan,
    plan_comparison,
    plan_gate,
    varying_cases,
)
from repeat_eval.analysis.planning_looks import AlonePlan, LooksPlan, plan_alone, plan_looks
from repeat_eval.analysis.rules import Rules, exact
from repeat_eval.analysis.unchanged import SeenCase
from repeat_eval.errors import Incomplete, UserError
from repeat_eval.records.run import Run
from repeat_eval.records.trial import Trial
from repeat_eval.statistics.second_look import Mode
from repeat_eval.steps.bases import run_from
from repeat_eval.steps.judging import rules_of, settings_of_run
from repeat_eval.steps.request import Duplicates, Request
from repeat_eval.suite.settings import ResolvedSettings, Settings, resolve

MAX_VARYING = 10
GOOD_ALONE = 0.9
"""True rate of the good cases for which a plan says what two looks without a base cost."""
LOOKS = ("3+10", "3+20", "5+20")
"""Ways to look twice that every plan shows."""


class Wishes(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked of a plan, beside the settings.

    Attributes:
        files: a run file, a report, or other tools' results; empty for none.
        duplicates, format, scorer: how other tools' results are read, as in `Request`.
        bad_rate: as written, true rate of a case that should be caught; None for the usual one.
        power: wanted chance, in [0.5, 1).
        cases: K; None takes it from the file. base_repeats: trials a case that base has already.
        spread: within-case variance; None takes it from the file. detect: points of the suite's rate.
        cost_per_trial: US dollars; None takes it from the file.
    """

    files: tuple[str, ...] = ()
    duplicates: Duplicates = "ask"
    format: str | None = None
    scorer: str | None = None
    bad_rate: str | None = None
    power: float = 0.8
    cases: int | None = None
    base_repeats: int | None = None
    spread: float | None = None
    detect: float | None = None
    cost_per_trial: float | None = None


def make_plan(wishes: Wishes, options: Settings, variables: Settings) -> Plan:
    """Make a plan.

    Args:
        wishes: what is asked. options, variables: settings; those of the file hold where neither says anything.

    Raises:
        UserError: something asked for is out of its range, or a file cannot be read.
        Incomplete: the file holds no verdict.
    """
    request = Request(
        options=options,
        variables=variables,
        duplicates=wishes.duplicates,
        format=wishes.format,
        scorer=wishes.scorer,
    )
    run = run_from(wishes.files, request) if wishes.files else None
    layers = () if run is None else (("run file", settings_of_run(run)),)
    settings = resolve(("option", options), ("variable", variables), *layers)
    rules = rules_of(settings)
    seen = _seen(run, rules) if run is not None else []
    repeats = _repeats(settings, seen)
    try:
        comparison = _comparison(wishes, rules, seen, run, repeats)
        return Plan(
            gate=plan_gate(
                rules.threshold,
                gate=rules.gate,
                bad_rate=wishes.bad_rate,
                power=wishes.power,
                cases=wishes.cases or len(seen) or 1,
                sizes=sorted({*SIZES, repeats}),
            ),
            comparison=comparison,
            looks=None if comparison is None else _looks(comparison, settings, seen),
            alone=None if comparison is None else _alone(comparison, settings),
            varying=varying_cases({case.id: (case.passed, case.verdicts) for case in seen})[:MAX_VARYING],
            varied=sum(0 < case.passed < case.verdicts for case in seen),
            suite=run.header.suite if run is not None else None,
            source=", ".join(wishes.files) or None,
            warnings=tuple(_warnings(wishes, run, seen, rules)),
        )
    except ValueError as error:
        raise UserError(str(error)) from None


def _seen(run: Run, rules: Rules) -> list[SeenCase]:
    seen, _ = seen_cases(run, rules)
    judged = [case for case in seen if case.verdicts]
    if not judged:
        why = (
            "; ".join(run.footer.missing[:3])
            if run.footer is not None and run.footer.missing
            else "no trial passed or failed"
        )
        raise Incomplete(f"there is no verdict to plan from: {why}")
    return judged


def _repeats(settings: ResolvedSettings, seen: Sequence[SeenCase]) -> int:
    if settings.source("repeats") != "default" or not seen:
        return int(settings["repeats"])
    return Counter(case.asked for case in seen).most_common(1)[0][0]


def _comparison(
    wishes: Wishes, rules: Rules, seen: Sequence[SeenCase], run: Run | None, repeats: int
) -> ComparisonPlan | None:
    cases = wishes.cases or len(seen)
    if not cases:
        if wishes.detect is not None or wishes.base_repeats is not None or wishes.spread is not None:
            raise UserError("a comparison needs the number of cases: give --cases, or a run file")
        return None
    cost = wishes.cost_per_trial if wishes.cost_per_trial is not None or run is None else _cost(run.trials)
    return plan_comparison(
        cases,
        repeats=repeats,
        base_repeats=wishes.base_repeats,
        spread=wishes.spread,
        counts=[(case.passed, case.verdicts) for case in seen],
        detect=None if wishes.detect is None else wishes.detect / 100.0,
        alpha=float(rules.alpha),
        power=wishes.power,
        bad_rate=wishes.bad_rate or BAD_RATE,
        cost_per_trial=cost,
    )


def _looks(comparison: ComparisonPlan, settings: ResolvedSettings, seen: Sequence[SeenCase]) -> LooksPlan | None:
    """The usual ways to look twice, and the one that the settings say."""
    from repeat_eval.steps.second_look import USUAL
    from repeat_eval.suite.second_look import WORDS, parse_second_look, written

    choice = parse_second_look(settings["second_look"] or USUAL)
    if not choice.enabled:
        return None
    named = {name: WORDS[name] for name in LOOKS} | {written(choice): choice}
    mode: Mode = "screen" if comparison.base_is_fixed else "side-by-side"
    alpha = rules_of(settings).spent_alpha_text
    ways = {name: looks for name, one in named.items() if (looks := one.looks(alpha, mode)) is not None}
    return plan_looks(
        ways,
        comparison.cases,
        usual=written(choice),
        varied=sum(0 < case.passed < case.verdicts for case in seen) if len(seen) == comparison.cases else None,
        bad_rate=comparison.bad_rate,
        cost_per_trial=comparison.cost_per_trial,
    )


def _alone(comparison: ComparisonPlan, settings: ResolvedSettings) -> AlonePlan | None:
    """Two looks of a run without a base: only where they are asked for."""
    from repeat_eval.steps.looks_alone import judged_by_all_trials
    from repeat_eval.suite.second_look import parse_second_look, written

    rules = rules_of(settings)
    if settings.source("second_look") == "default":
        return None
    choice = parse_second_look(settings["second_look"])
    if not choice.enabled or judged_by_all_trials(rules):
        return None
    return plan_alone(
        written(choice),
        comparison.cases,
        first=choice.first,
        fresh=choice.fresh,
        threshold=exact(rules.threshold),
        gate=rules.gate,
        good_rate=max(GOOD_ALONE, float(exact(rules.threshold))),
        bad_rate=comparison.bad_rate,
        cost_per_trial=comparison.cost_per_trial,
    )


def _cost(trials: Sequence[Trial]) -> float | None:
    known = [trial.cost for trial in trials if trial.cost is not None]
    return sum(known) / len(known) if known else None


def _warnings(wishes: Wishes, run: Run | None, seen: Sequence[SeenCase], rules: Rules) -> list[str]:
    if run is None:
        assumed = wishes.cases is not None and wishes.spread is None
        text = f"the spread of {TYPICAL_SPREAD} is assumed: that of a mostly solid suite; a run file tells yours"
        return [text] if assumed else []
    read = run.header.warnings if run.header.source == "results" else ()
    warnings = [*read, *run.warnings]
    if not run.complete:
        warnings.append("the run was interrupted: the figures come from the trials that there are")
    if wishes.spread is None and all(case.verdicts < 2 for case in seen):
        warnings.append(
            f"no case has two verdicts, so the spread of {TYPICAL_SPREAD} is assumed: that of a mostly solid suite"
        )
    own = sum((case.threshold, case.gate) != (rules.threshold, rules.gate) for case in seen)
    if own:
        warnings.append(f"cases with a threshold or gate of their own, which the table does not show: {own}")
    if len({case.asked for case in seen}) > 1:
        warnings.append("cases were asked for unequal numbers of trials; the plan takes the most common one")
    return warnings
