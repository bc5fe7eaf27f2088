"""Words about two looks that terminal, comment and summary share. Nothing is decided here.

Rates of the first look and of the re-run stand side by side and are never added: cases are re-run because their first
look was low.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import floor, log10

from repeat_eval.analysis.report import Comparison, Level
from repeat_eval.analysis.second_look_model import LookCounts, LookDifference, ReRunCase, SecondLook
from repeat_eval.reports import format as fmt
from repeat_eval.statistics.significance import level

TITLES = ("suspected", "first look", "re-run", "difference (95 % CI)", "one-sided p", "adjusted", "outcome")
_LEAST = 1e-6


def p_value(p: float | None) -> str:
    """A p-value as elsewhere, but small ones in full, since alpha is shared among suspects: `0.00004`."""
    if p is None or not _LEAST <= p < 0.001:
        return "<0.000001" if p is not None and p < _LEAST else fmt.p_value(p)
    return f"{p:.{-floor(log10(p))}f}"


def level_of(one_sided: float | None) -> Level:
    """The level that a one-sided p has among two-sided ones."""
    return "noise" if one_sided is None else level(min(1.0, 2.0 * one_sided))


def counts(side: LookCounts) -> str:
    """`9/20`, or `no verdict`."""
    return f"{side.passed}/{side.verdicts}" if side.verdicts else "no verdict"


def first(case: ReRunCase) -> str:
    """`first 3/3 → 1/3`."""
    return f"first {counts(case.first_base)} → {counts(case.first_head)}"


def both(case: ReRunCase) -> str:
    """`first 3/3 → 1/3, re-run 20/20 → 9/20, p 0.00004`."""
    p = "" if case.p2 is None else f", p {p_value(case.p2)}"
    return f"{first(case)}, re-run {counts(case.fresh_base)} → {counts(case.fresh_head)}{p}"


def run_again(looks: SecondLook) -> dict[str, str]:
    """After an alarm the fresh trials of the other cases, by case: `7/7 → 5/7`; together they are the suite's."""
    suspects = {case.id for case in looks.suspects}
    return {row.id: f"{_of(row.base)} → {_of(row.head)}" for row in looks.whole if row.id not in suspects}


def moved_again(looks: SecondLook) -> frozenset[str]:
    """The cases whose fresh trials of an alarm passed at another rate than base's, whatever their first look was."""
    return frozenset(
        row.id for row in looks.whole if row.base[0] * row.head[1] != row.head[0] * row.base[1] or not row.head[1]
    )


def sides(looks: SecondLook, first_span: str) -> str:
    """How many trials both looks take: `3 trials a side, 20 fresh ones on suspicion`."""
    word = "trial" if first_span == "1" else "trials"
    first = f"{first_span} {word} {'a side' if looks.mode == 'side-by-side' else 'of head'}"
    more = " a side" if looks.mode == "screen" else ""
    if looks.down.alarm:
        return f"{first}, then {looks.rest} fresh ones{more} of every case"
    return f"{first}, {looks.fresh} fresh ones{more} on suspicion"


def claims(looks: SecondLook) -> list[str]:
    """What got worse, in the order of importance: `2 of 24 cases broke`, `the suite got worse, down 10.7 points`."""
    # Imported where used: a report of one look starts quicker without the tests.
    from repeat_eval.analysis.second_look_claims import fall_of, whom

    parts = []
    cases = fmt.count(looks.cases, "case")
    if looks.confirmed:
        parts.append(f"{len(looks.confirmed):,} of {cases} broke")
    # Named cases say more than "the re-run cases together", which they are a part of.
    if looks.down.changed and (looks.down.claim == "suite" or not parts):
        fell = fall_of(looks)
        down = f", down {_points(fell)} in fresh trials" if fell is not None and fell.delta < 0 and not parts else ""
        parts.append(f"{whom(looks)} got worse{down}")
    return parts


def levels(looks: SecondLook) -> list[Level]:
    """How unlikely luck is for each part of a regression, after correction."""
    found = [level_of(case.adjusted) for case in looks.confirmed]
    return [*found, level_of(looks.down.p)] if looks.down.changed else found


def unchanged(looks: SecondLook) -> str:
    """Why nothing is claimed, to stand behind the verdict."""
    suspected = sum(case.direction == "down" for case in looks.suspects)
    if looks.down.alarm:
        return f"{looks.rest} fresh trials of every case do not confirm an alarm over the suite"
    if suspected:
        cases = fmt.count(looks.cases, "case")
        return f"{suspected:,} of {cases} suspected, not confirmed by {looks.fresh} fresh trials a side"
    base = "; base not run" if looks.mode == "screen" else ""
    return f"nothing suspected in {fmt.count(looks.cases, 'case')}{base}"


def hidden(comparison: Comparison, looks: SecondLook) -> str:
    """What could have happened without being seen."""
    parts = []
    if comparison.detectable is not None:
        points = comparison.detectable * 100
        shown = f"{points:.0f}" if points >= 1 else f"{points:.1f}"
        parts.append(f"a fall of less than about {shown} {'point' if shown == '1' else 'points'} over the suite")
    missed = fmt.percent(1.0 - looks.chance_half)
    parts.append(f"one solid case that falls to half, which {missed} of such runs miss")
    text = ", or ".join(parts)
    return f"{text}; the alarm over the suite was off" if looks.alarm_below == 0.0 else text


def saved(looks: SecondLook) -> str:
    """What was saved against the fixed repeats that would have been needed; empty when nothing was."""
    calls = looks.calls
    if calls.saved is None or calls.fixed_trials is None or calls.fixed_repeats is None:
        return ""
    money = f" (about {fmt.money(calls.cost_saved)})" if calls.cost_saved is not None else ""
    return (
        f"{calls.saved:,} of {fmt.count(calls.fixed_trials, 'trial')}{money} against {calls.fixed_repeats} fixed "
        "repeats, which find a case that falls to half as often"
    )


def spent(looks: SecondLook) -> str:
    """What both looks took: `144 trials in the first look, 80 fresh ones, 224 calls, $1.20`."""
    calls = looks.calls
    parts = [f"{fmt.count(calls.first, 'trial')} in the first look", f"{calls.fresh:,} fresh ones"]
    parts += [fmt.count(calls.calls, "call")] if calls.calls != calls.trials else []
    parts += [fmt.money(calls.cost)] if calls.cost is not None else []
    return ", ".join(parts)


def measured(comparison: Comparison, looks: SecondLook) -> str:
    """How it was measured, in parts."""
    whose = {
        "side-by-side": "a side",
        "screen": "of head against all of a stored base, which enters no verdict",
        "split": "of head against a third of a stored base, the rest of which is its second look",
    }[looks.mode]
    return (
        f"two looks: {looks.first} trials {whose}, then {looks.fresh} fresh ones of at most {looks.cap} suspects (one-"
        f"sided p up to {looks.cut:g}), judged by the fresh ones alone (Holm at half of alpha); "
        f"all cases again with {looks.rest} after an alarm (p below {looks.alarm_below:g}); {spent(looks)}"
    )


def blamed_together(looks: SecondLook) -> list[ReRunCase]:
    """The suspects that got worse together, none of them by itself."""
    if looks.down.claim != "re-run cases" or looks.confirmed:
        return []
    return [case for case in looks.suspects if case.direction == "down"]


def not_confirmed(looks: SecondLook) -> list[ReRunCase]:
    """The suspects whose re-run does not confirm them."""
    together = blamed_together(looks)
    return [case for case in looks.suspects if case.outcome == "not confirmed" and case not in together]


def unanswered(looks: SecondLook) -> list[ReRunCase]:
    """The suspects without enough fresh verdicts: neither confirmed nor cleared."""
    together = blamed_together(looks)
    return [case for case in looks.suspects if case.outcome == "incomplete" and case not in together]


def rate_difference(found: LookDifference) -> str:
    """`−10.7 points (−18.2 to −3.1)`."""
    return f"{fmt.points(found.delta)} ({fmt.points_interval(found.interval)})"


def difference(case: ReRunCase) -> str:
    """The re-run's difference in whole points, with its interval."""
    if case.delta is None:
        return fmt.UNKNOWN
    limits = f" ({fmt.points_interval(case.interval, 0)})" if case.interval else ""
    return fmt.points(case.delta, 0) + limits


def rows(looks: SecondLook, name: Callable[[str], str]) -> list[Sequence[str]]:
    """One row a suspect, in the order of `TITLES`; `name` escapes and quotes the name of a case."""
    return [
        (
            name(case.id),
            f"{counts(case.first_base)} → {counts(case.first_head)}",
            f"{_with_interval(case.fresh_base)} → {_with_interval(case.fresh_head)}{_lacking(case)}",
            difference(case),
            p_value(case.p2),
            p_value(case.adjusted),
            case.outcome,
        )
        for case in looks.suspects
    ]


def _with_interval(side: LookCounts) -> str:
    limits = f" ({fmt.interval(side.interval)})" if side.interval else ""
    return counts(side) + limits


def _lacking(case: ReRunCase) -> str:
    sides = (case.fresh_base, case.fresh_head)
    errors, missing = sum(side.errors for side in sides), sum(side.missing for side in sides)
    parts = [fmt.count(errors, "error")] if errors else []
    parts += [f"{missing:,} missing"] if missing else []
    return "".join(f", {part}" for part in parts)


def _of(count: tuple[int, int]) -> str:
    return f"{count[0]}/{count[1]}" if count[1] else "no verdict"


def _points(fell: LookDifference) -> str:
    return fmt.points(fell.delta)[1:]
