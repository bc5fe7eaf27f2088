"""A/A: how often would the gates have gone red on a system that did not change? With what would help.

Two estimates from one run. *Splits* divide its trials into random halves: nothing is assumed about rates, but all
splits are of the same trials, so their interval tells how finely this run was split, not what another run would give.
*Simulations* draw both sides anew from the seen case rates: independent draws, given that the rates are right.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any, Literal

import msgspec

from repeat_eval.analysis.alarms import (
    COMPARISON,
    PULL_REQUEST,
    REGRESSION,
    RUN,
    compare,
    counted,
    is_below,
    judge_of,
    suite_gates,
)
from repeat_eval.analysis.first_look import first_trials
from repeat_eval.analysis.looks_alarms import LooksAlarms, looks_alarms
from repeat_eval.analysis.planning import any_of
from repeat_eval.analysis.report import Interval
from repeat_eval.analysis.rules import Rules, exact
from repeat_eval.analysis.sides import plans_of, trials_by_case
from repeat_eval.analysis.unchanged import Draw, SeenCase, simulated_draws, split_draws
from repeat_eval.records.run import Run
from repeat_eval.records.trial import Trial
from repeat_eval.statistics.comparison import stratified_exact
from repeat_eval.statistics.counts import Row
from repeat_eval.statistics.distributions import sum_of_parts
from repeat_eval.statistics.gates import gate_fail_probability, gate_min_passes
from repeat_eval.statistics.intervals import wilson_interval
from repeat_eval.statistics.second_look import SecondLookSettings

AA_SCHEMA = "repeat-eval/aa/1"
TOO_OFTEN = 0.05
"""Share of false alarms above which a setting is pointed out."""
MAX_LIKELY = 5
SEARCHED_REPEATS = 100


class Alarm(msgspec.Struct, frozen=True, kw_only=True):
    """How often one gate would have alarmed.

    Attributes:
        gate: as in a report's reasons; `run` for any absolute gate, `pull-request` for the whole check with a base,
            `comparison` for any claim of a change, up or down.
        alarms, of: draws with an alarm, and all. rate: their share. interval: its 95 % Wilson interval.
        blocks: whether this gate turns a check red under these settings. too_often: blocks, in more than 5 %.
    """

    gate: str
    alarms: int
    of: int
    rate: float
    interval: Interval
    blocks: bool
    too_often: bool


class LikelyAlarm(msgspec.Struct, frozen=True, kw_only=True):
    """A case above its threshold that fails its gate by bad luck with this probability, at the rate that was seen."""

    id: str
    passed: int
    verdicts: int
    threshold: str
    repeats: int
    needs: int
    probability: float


class InOrder(msgspec.Struct, frozen=True, kw_only=True):
    """The first half of each case's trials against the second, by repetition: what drift during the run would show.

    `p` is the two-sided mid-p of the exact test; `delta` the difference of the mean rates, later minus earlier.
    """

    p: float
    delta: float
    alarms: tuple[str, ...]


class FalseAlarms(msgspec.Struct, frozen=True, kw_only=True):
    """What A/A found.

    Attributes:
        suite: its name. source: the run file, None if the suite was run for it. seed: of all draws.
        cases: cases that were judged. trials: trials behind them. simulated_repeats, split_repeats: trials a case and
            side in simulations and splits (fewest, most).
        simulations, splits: the alarms, gate by gate; `splits` is empty when no case has two trials.
        in_order: first against second half; None when no case has two verdicts.
        below: cases that the run shows below their threshold: their alarms are deserved and not counted.
        deserved: suite-wide gates that this run does not reach, with the reason; not counted either.
        left_out: cases without any verdict.
        likely: the cases most likely to alarm by bad luck.
        second_look: two looks at a change; None with fewer than 6 cases, or when they are off.
        advice: what alarms too often, and what would help, a sentence each.
        warnings: what limits these figures. settings: the gate settings.
    """

    schema: str = AA_SCHEMA
    suite: str
    source: str | None
    seed: int
    cases: int
    trials: int
    simulated_repeats: tuple[int, int]
    split_repeats: tuple[int, int] | None
    simulations: tuple[Alarm, ...]
    splits: tuple[Alarm, ...]
    in_order: InOrder | None
    below: tuple[str, ...]
    deserved: dict[str, str]
    left_out: tuple[str, ...]
    likely: tuple[LikelyAlarm, ...]
    second_look: LooksAlarms | None
    advice: tuple[str, ...]
    warnings: tuple[str, ...]
    settings: dict[str, Any]


def false_alarms(
    run: Run,
    rules: Rules,
    *,
    seed: int = 0,
    repeats: int | Literal["half"] | None = None,
    simulations: int = 2000,
    splits: int = 1000,
    source: str | None = None,
    looks: SecondLookSettings | None = None,
    looks_written: str = "",
) -> FalseAlarms:
    """Estimate the false alarms of the gates from one run.

    Args:
        run: the run. rules: the settings; thresholds and gates of single cases hold before them.
        seed: of all random draws.
        repeats: trials a case and side in simulations; None takes what the run asked for, `half` half of it.
        simulations, splits: draws of each kind.
        source: the run file.
        looks: how a change is looked at twice, and `looks_written`: that in words; None where it is not.

    Raises:
        ValueError: no case has a verdict.
    """
    seen, trials = seen_cases(run, rules, repeats)
    cases = [case for case in seen if case.verdicts]
    if not cases:
        raise ValueError("no case has a verdict, so there is nothing to split or to simulate from")
    pairs = [case for case in cases if case.attempted > 1]
    simulated = _alarms(cases, rules, simulated_draws(cases, simulations, seed))
    likely = _likely(cases)
    blocking = {alarm.gate for alarm in simulated if alarm.too_often}
    in_order = _in_order(pairs, trials, rules)
    twice = None
    if looks is not None:
        twice = looks_alarms(
            cases,
            {case.id: _verdicts_in_order(trials.get(case.id, []), rules) for case in cases},
            looks,
            looks=looks_written,
            simulations=simulations,
            splits=splits,
            seed=seed,
        )
    advice = [text for text in _advice(cases, likely, simulated, blocking, rules) if text]
    advice += _advice_on_looks(twice)
    return FalseAlarms(
        suite=run.header.suite,
        source=source,
        seed=seed,
        cases=len(cases),
        trials=sum(case.attempted for case in cases),
        simulated_repeats=_span([case.asked for case in cases]),
        split_repeats=_span([case.attempted // 2 for case in pairs]) if pairs else None,
        simulations=simulated,
        splits=_alarms(pairs, rules, split_draws(pairs, splits, seed)) if pairs and splits else (),
        in_order=in_order,
        below=tuple(case.id for case in cases if is_below(case)),
        deserved=suite_gates(cases, rules)[1],
        left_out=tuple(case.id for case in seen if not case.verdicts),
        likely=likely[:MAX_LIKELY],
        second_look=twice,
        advice=tuple(advice),
        warnings=tuple(_warnings(run, cases, in_order)),
        settings=rules.as_settings(),
    )


def seen_cases(
    run: Run, rules: Rules, repeats: int | Literal["half"] | None = None
) -> tuple[list[SeenCase], dict[str, list[Trial]]]:
    """The counts of a run's cases, with `count_as_failed` applied, and their trials; of a run of two looks the first.

    Cases are run again because their first look was low, so counts of both would be bent.
    """
    by_case = trials_by_case(first_trials(run.header, run.trials))
    cases = []
    for plan in plans_of(run, by_case):
        outcomes = Counter(_outcome(trial, rules) for trial in by_case.get(plan.id, ()))
        asked = max(1, plan.asked // 2) if repeats == "half" else repeats or plan.asked
        cases.append(
            SeenCase(
                id=plan.id,
                passed=outcomes["passed"],
                failed=outcomes["failed"],
                errors=outcomes["error"],
                threshold=plan.threshold or rules.threshold,
                gate=plan.gate or rules.gate,
                asked=asked,
            )
        )
    return cases, by_case


def _outcome(trial: Trial, rules: Rules) -> str:
    return "failed" if trial.outcome == "error" and trial.error_kind in rules.count_as_failed else trial.outcome


def _alarms(cases: Sequence[SeenCase], rules: Rules, draws: Iterable[Draw]) -> tuple[Alarm, ...]:
    judge = judge_of(cases, rules)
    counts: Counter[str] = Counter()
    total = 0
    for rows, error_rows in draws:
        counts.update(judge(rows, error_rows))
        total += 1
    if not total:
        return ()
    blocking = counted(rules) | {RUN, PULL_REQUEST} | _absolute(cases, rules)
    gates = [gate for gate in _shown(cases, rules) if gate not in suite_gates(cases, rules)[1]]
    return tuple(
        Alarm(
            gate=gate,
            alarms=counts[gate],
            of=total,
            rate=counts[gate] / total,
            interval=wilson_interval(counts[gate], total),
            blocks=gate in blocking,
            too_often=gate in blocking and counts[gate] / total > TOO_OFTEN,
        )
        for gate in gates
    )


def _absolute(cases: Sequence[SeenCase], rules: Rules) -> frozenset[str]:
    named: dict[str, object] = {
        "case": any(case.gate != "none" for case in cases) or None,
        "suite-threshold": rules.suite_threshold,
        "min-stability": rules.min_stability,
        "min-reliability": rules.min_reliability,
    }
    return frozenset(gate for gate, setting in named.items() if setting is not None)


def _shown(cases: Sequence[SeenCase], rules: Rules) -> list[str]:
    """The gates that get a figure, in the order in which they are shown."""
    absolute = _absolute(cases, rules)
    names: list[str] = [
        gate for gate in ("case", "suite-threshold", "min-stability", "min-reliability") if gate in absolute
    ]
    names += [RUN, *REGRESSION]
    names += ["error-regression"] if any(case.errors for case in cases) else []
    names += ["non-inferiority"] if rules.require else []
    return [*names, COMPARISON, PULL_REQUEST]


def _likely(cases: Sequence[SeenCase]) -> tuple[LikelyAlarm, ...]:
    found = [
        LikelyAlarm(
            id=case.id,
            passed=case.passed,
            verdicts=case.verdicts,
            threshold=case.threshold,
            repeats=case.asked,
            needs=gate_min_passes(case.asked, exact(case.threshold), case.gate),
            probability=probability,
        )
        for case in cases
        if not is_below(case) and (probability := _fails(case)) > 0.0005
    ]
    return tuple(sorted(found, key=lambda alarm: (-alarm.probability, alarm.id)))


def _fails(case: SeenCase, repeats: int | None = None, gate: Literal["wilson"] | None = None) -> float:
    """Probability that a case fails its gate at the rate that was seen."""
    rate = case.passed / case.verdicts
    return gate_fail_probability(repeats or case.asked, exact(case.threshold), rate, gate or case.gate)


def _in_order(cases: Sequence[SeenCase], trials: dict[str, list[Trial]], rules: Rules) -> InOrder | None:
    rows: list[Row] = []
    for case in cases:
        passed = _verdicts_in_order(trials[case.id], rules)
        half = (len(passed) + 1) // 2
        if len(passed) > 1:
            rows.append((sum(passed[:half]), half, sum(passed[half:]), len(passed) - half))
    if not rows:
        return None
    delta = sum(Fraction(c2, n2) - Fraction(c1, n1) for c1, n1, c2, n2 in rows) / len(rows)
    return InOrder(p=stratified_exact(rows).p_mid, delta=float(delta), alarms=tuple(sorted(compare(rows, [], rules))))


def _verdicts_in_order(trials: Sequence[Trial], rules: Rules) -> list[bool]:
    # Repetitions start in their order; times would differ by chance where trials overlap.
    ordered = sorted(trials, key=lambda trial: trial.repetition)
    outcomes = [_outcome(trial, rules) for trial in ordered]
    return [outcome == "passed" for outcome in outcomes if outcome in ("passed", "failed")]


def _advice_on_looks(twice: LooksAlarms | None) -> Iterable[str]:
    if twice is None:
        return
    cheaper = "" if twice.looks.endswith("+10") else ": --second-look 3+10 sees less of it than more fresh trials do"
    if twice.depends:
        yield (
            f"earlier and later trials of the same cases differ more than luck explains (p = {twice.lasting:.2g}), so "
            f"trials are not independent, and fresh ones may block by what lasts through both looks{cheaper}; find "
            "what the target keeps between trials (state, cache, time of day)"
        )
    red = [share for share in (twice.simulated, twice.split) if share is not None and share.rate > TOO_OFTEN]
    if red:
        yield f"two looks block {_percent(max(share.rate for share in red))} of unchanged pull requests: lower alpha"


def _advice(
    cases: Sequence[SeenCase],
    likely: Sequence[LikelyAlarm],
    alarms: Sequence[Alarm],
    too_often: set[str],
    rules: Rules,
) -> Iterable[str]:
    rates = {alarm.gate: _percent(alarm.rate) for alarm in alarms}
    if "case" in too_often:
        yield f"the gate on cases raises a false alarm in {rates['case']} of unchanged runs" + _mostly(likely)
        yield from _help_for_cases(cases, rules)
    for gate, remedy in _REMEDIES.items():
        if gate in too_often:
            yield f"{gate} raises a false alarm in {rates[gate]} of unchanged runs: {remedy}"
    alpha = float(exact(rules.alpha))
    for gate in (*REGRESSION, "error-regression"):
        if gate in too_often:
            why = f"alpha is {rules.alpha}: lower it" if alpha > TOO_OFTEN else "more than its level allows"
            yield f"{gate} raises a false alarm in {rates[gate]} of unchanged pull requests: {why}"
    if PULL_REQUEST in too_often and too_often <= {PULL_REQUEST, RUN}:
        yield (
            f"no gate alone, but all of them together turn {rates[PULL_REQUEST]} of unchanged pull requests red: "
            "use fewer gates, or lower alpha"
        )


_REMEDIES = {
    "suite-threshold": "lower it, raise repeats, or judge by the wilson gate",
    "min-stability": "lower it; a flaky case shows as flaky more often the more repeats it gets",
    "min-reliability": "lower it, raise repeats, or judge by the wilson gate",
    "non-inferiority": "raise the margin, or repeats: this suite cannot show that little",
}


def _mostly(likely: Sequence[LikelyAlarm]) -> str:
    named = [
        f"{alarm.id} ({alarm.passed}/{alarm.verdicts} seen, threshold {alarm.threshold}: {_percent(alarm.probability)})"
        for alarm in likely[:3]
    ]
    return f", mostly {', '.join(named)}" if named else ""


def _help_for_cases(cases: Sequence[SeenCase], rules: Rules) -> Iterable[str]:
    """What would bring the false alarms of the gate on cases down, each with what would be left of them."""
    good = [case for case in cases if not is_below(case)]
    allowed = max(0, rules.max_failing_cases - (len(cases) - len(good)))
    now = _more_than(allowed, [_fails(case) for case in good])
    if any(case.gate == "strict" for case in good):
        left = _more_than(allowed, [_fails(case, gate="wilson") for case in good])
        if left < now:
            yield f"the wilson gate at the same repeats would leave {_percent(left)}"
    most = max(case.asked for case in cases)
    for repeats in range(most + 1, SEARCHED_REPEATS + 1):
        left = _more_than(allowed, [_fails(case, repeats) for case in good])
        if left <= TOO_OFTEN:
            yield f"{repeats} repeats would leave {_percent(left)}"
            break
    else:
        yield (
            f"no number of repeats up to {SEARCHED_REPEATS} helps: the named cases are about as good as their "
            "thresholds ask; lower those thresholds, or mend the cases"
        )
    left = _more_than(allowed + 1, [_fails(case) for case in good])
    setting = len(cases) - len(good) + allowed + 1
    yield f"max-failing-cases {setting} would leave {_percent(left)}, and let one more broken case through"


def _more_than(allowed: int, probabilities: Sequence[float]) -> float:
    """Probability that more than `allowed` of some independent things happen."""
    if allowed == 0:
        return any_of(probabilities)
    low, pmf = sum_of_parts((0, (1.0 - p, p)) for p in probabilities if 0.0 < p < 1.0)
    sure = sum(p >= 1.0 for p in probabilities)
    return min(1.0, sum(p for count, p in enumerate(pmf, start=low + sure) if count > allowed))


def _warnings(run: Run, cases: Sequence[SeenCase], in_order: InOrder | None) -> Iterable[str]:
    if run.header.source == "results":
        yield from run.header.warnings  # what reading other tools' files had to say
    yield from run.warnings
    if not run.complete:
        yield "the run was interrupted: the figures come from the trials that there are"
    perfect = sum(case.passed == case.verdicts for case in cases)
    if perfect:
        fewest = min(case.verdicts for case in cases if case.passed == case.verdicts)
        chance = 0.95**fewest
        yield (
            f"{perfect} of {len(cases)} cases passed every trial and are simulated as never failing; a case with a "
            f"true rate of 95% passes {fewest} of {fewest} in {chance:.0%} of runs, so the gate on cases may alarm "
            "more often"
        )
    if in_order is not None and round(in_order.p, 12) < TOO_OFTEN:
        yield (
            f"the second half of the trials differs from the first (p = {in_order.p:.2g}): the system drifts, keeps "
            "state, or was loaded differently; two runs apart in time would differ too, so run base and head "
            "side by side"
        )


def _percent(rate: float) -> str:
    """A rate with one decimal, halves up, as the tables beside these sentences round it."""
    return f"{math.floor(round(1000 * rate, 9) + 0.5) / 10:.1f}%"


def _span(numbers: Sequence[int]) -> tuple[int, int]:
    return min(numbers), max(numbers)
