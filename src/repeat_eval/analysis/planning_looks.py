"""Two looks in a plan: what they cost at least and at most, what they find, and how many fixed repeats find as much."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import msgspec

from repeat_eval.statistics.gates import Gate, gate_fail_probability
from repeat_eval.statistics.low_rule import low_rule_applies, low_rule_fail_probability
from repeat_eval.statistics.second_look import Mode, SecondLookSettings
from repeat_eval.statistics.second_look_planning import chance_to_find, cost_bound, fixed_repeats, looks_twice


class LooksRow(msgspec.Struct, frozen=True, kw_only=True):
    """Two looks at a change of a suite, both sides together.

    Attributes:
        looks: as written, for instance `3+20`. usual: whether they are what the settings say.
        first: trials when nothing is suspected. suspects: the most without an alarm. most: the most of all.
        cost_first, cost_suspects, cost_most: US dollars for them; None if unknown.
        found: chance that a case that always passed is found by itself when it falls to the plan's bad rate.
        fixed_repeats: the fixed number of repeats that finds it as often; None if there is none up to 200.
        fixed_trials: trials that these take.
    """

    looks: str
    usual: bool
    first: int
    suspects: int
    most: int
    cost_first: float | None
    cost_suspects: float | None
    cost_most: float | None
    found: float
    fixed_repeats: int | None
    fixed_trials: int | None


class LooksPlan(msgspec.Struct, frozen=True, kw_only=True):
    """Two looks beside the plan of a comparison.

    Attributes:
        mode: `screen` when base's trials exist already. cap: most suspects. bad_rate: rate to which a case falls.
        testable: cases that share the level of a fixed number of repeats, the fallen one among them.
        rows: one for each way to look twice.
    """

    mode: Mode
    cap: int
    bad_rate: float
    testable: int
    rows: tuple[LooksRow, ...]


class AlonePlan(msgspec.Struct, frozen=True, kw_only=True):
    """Two looks of a run without a base, where they are asked for and the gate forgives a miss.

    Attributes:
        looks: as written. first, fresh: trials of a case, and fresh ones of one below its threshold.
        trials: of the first look. most: if every case were run again. good: on average, if all pass at `good_rate`.
        good_rate, bad_rate: true rates of a case. good_fails, bad_fails: chance that such a case fails.
        cost_first, cost_good, cost_most: US dollars for `trials`, `good` and `most`; None if unknown.
    """

    looks: str
    first: int
    fresh: int
    trials: int
    good: float
    most: int
    good_rate: float
    bad_rate: float
    good_fails: float
    bad_fails: float
    cost_first: float | None
    cost_good: float | None
    cost_most: float | None


def plan_alone(
    looks: str,
    cases: int,
    *,
    first: int,
    fresh: int,
    threshold: Fraction,
    gate: Gate,
    good_rate: float,
    bad_rate: float,
    cost_per_trial: float | None,
) -> AlonePlan | None:
    """Plan two looks without a base; None below 6 cases, and where any miss fails a case.

    Args:
        looks: as written. cases: K. first, fresh: trials of a case, and fresh ones of one below its threshold.
        threshold, gate: of every case. good_rate, bad_rate: true rates. cost_per_trial: US dollars.
    """
    if not looks_twice(cases) or not low_rule_applies(threshold, gate):
        return None
    trials, most = cases * first, cases * (first + fresh)
    good = trials + cases * fresh * gate_fail_probability(first, threshold, good_rate, "strict")

    def money(number: float) -> float | None:
        return None if cost_per_trial is None else number * cost_per_trial

    return AlonePlan(
        looks=looks,
        first=first,
        fresh=fresh,
        trials=trials,
        good=good,
        most=most,
        good_rate=good_rate,
        bad_rate=bad_rate,
        good_fails=low_rule_fail_probability(first, fresh, threshold, good_rate),
        bad_fails=low_rule_fail_probability(first, fresh, threshold, bad_rate),
        cost_first=money(trials),
        cost_good=money(good),
        cost_most=money(most),
    )


def plan_looks(
    ways: Mapping[str, SecondLookSettings],
    cases: int,
    *,
    usual: str,
    varied: int | None,
    bad_rate: float,
    cost_per_trial: float | None,
) -> LooksPlan | None:
    """Plan two looks; None below 6 cases, which have a fixed number of repeats.

    Args:
        ways: the looks by their name, all of one mode. cases: K. usual: the name of those that the settings say.
        varied: cases whose trials disagree; None if unknown, then nothing else shares the level of fixed repeats.
        bad_rate: rate of a case that broke. cost_per_trial: US dollars.
    """
    if not looks_twice(cases) or not ways:
        return None
    testable = min(cases, (varied or 0) + 1)

    def money(trials: int) -> float | None:
        return None if cost_per_trial is None else trials * cost_per_trial

    def row(name: str, settings: SecondLookSettings) -> LooksRow:
        bound = cost_bound(cases, settings)
        fixed = fixed_repeats(settings, testable=testable, rate=bad_rate)
        return LooksRow(
            looks=name,
            usual=name == usual,
            first=bound.first,
            suspects=bound.without_alarm,
            most=bound.most,
            cost_first=money(bound.first),
            cost_suspects=money(bound.without_alarm),
            cost_most=money(bound.most),
            found=chance_to_find(bad_rate, settings, suspects=min(cases, settings.cap_of(cases))),
            fixed_repeats=fixed,
            fixed_trials=None if fixed is None else 2 * cases * fixed,
        )

    any_way = next(iter(ways.values()))
    return LooksPlan(
        mode=any_way.mode,
        cap=any_way.cap_of(cases),
        bad_rate=bad_rate,
        testable=testable,
        rows=tuple([row(name, settings) for name, settings in ways.items()]),
    )
