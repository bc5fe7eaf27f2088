"""Sentences about a comparison: its claim, and what its reader must know besides."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from repeat_eval.analysis.report import Comparison
from repeat_eval.analysis.sides import OneSide

MAX_AGE = timedelta(days=7)
"""Age against head from which a base is called old: providers change their models in such a time."""

_LEVELS = (0.01, 0.05, 0.10)


def claim(comparison: Comparison) -> str:
    """What a comparison claims, in one sentence without a final stop."""
    broke = sum(case.rejected_down for case in comparison.cases)
    better = sum(case.rejected_up for case in comparison.cases)
    parts = []
    if comparison.suite_regressed or comparison.suite_improved:
        parts.append(_suite(comparison))
    if broke:
        parts.append(f"{count(broke, 'case')} got worse")
    if better:
        parts.append(f"{count(better, 'case')} got better")
    if parts:
        return ", ".join(parts)
    if not comparison.varied:
        return "no case varied: in each of them either all trials of both sides passed or none did"
    return f"{_suite(comparison)}: no more than luck explains"


def _suite(comparison: Comparison) -> str:
    delta = comparison.delta or 0.0
    moved = "fell by" if delta < 0 else "rose by" if delta > 0 else "did not move:"
    return f"the pass rate {moved} {points(abs(delta))} ({p_text(comparison.p or 0.0)})"


def p_text(p: float) -> str:
    """A p-value for people: two significant digits, `p < 0.001` below that, `p < 1e-12` where it is not known.

    More digits are shown where two would put it on the other side of a level that means something (0.01, 0.05, 0.10).
    """
    if p < 0.001:
        return "p < 0.001" if p > 0.0 else "p < 1e-12"
    if 0.995 <= p < 1.0:
        return "p > 0.99"
    texts = (f"{p:.{digits}g}" for digits in range(2, 13))
    return "p " + next(text for text in texts if all((float(text) < level) == (p < level) for level in _LEVELS))


def points(difference: float) -> str:
    """A difference of rates in percentage points, with one decimal."""
    return f"{100.0 * difference:.1f} points".replace("-", "\N{MINUS SIGN}")


def count(number: int, noun: str) -> str:
    """A number with its noun."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def named(cases: Sequence[str], shown: int = 3) -> str:
    """The first few names of a list, and how many more there are."""
    rest = len(cases) - shown
    return ", ".join(cases[:shown]) + (f" and {rest:,} more" if rest > 0 else "")


def base_warnings(comparison: Comparison, base: OneSide) -> list[str]:
    """What weakens a comparison without making it void."""
    warnings = []
    if comparison.verdict == "not comparable":
        return [f"not compared with base: {comparison.text}"]
    if not base.complete:
        warnings.append("base's run was interrupted: what it lacks is left out of the comparison")
    not_judged = [case.id for case in comparison.cases if case.change == "not judged"]
    if not_judged:
        verb = "has" if len(not_judged) == 1 else "have"
        warnings.append(
            f"{count(len(not_judged), 'case')} {verb} no verdict on one side and {verb} not been compared: "
            + named(not_judged)
        )
    if comparison.changed:
        stored = comparison.base is not None and comparison.base.source == "stored"
        how = "not compared with its stored run" if stored else "compared all the same"
        many = count(len(comparison.changed), "case")
        verb = "is" if len(comparison.changed) == 1 else "are"
        warnings.append(f"{many} changed input or checks since base, and {verb} {how}: {named(comparison.changed)}")
    # What is stale or has drifted in a base that only screens costs trials, and decides nothing.
    screens = comparison.second_look is not None and comparison.second_look.mode == "screen"
    apart = comparison.base is not None and comparison.base.source != "side-by-side" and not screens
    if apart and comparison.base is not None and comparison.head is not None:
        age = _age(comparison.base.started, comparison.head.started)
        if age is not None and age >= MAX_AGE:
            warnings.append(
                f"base ran {age.days} days before head: what a provider changed meanwhile looks like a change of "
                "yours; run both sides together (--base-ref) to be sure"
            )
    return warnings


def _age(base: str | None, head: str | None) -> timedelta | None:
    """How long before head base started; None when unknown."""
    try:
        return datetime.fromisoformat(head or "") - datetime.fromisoformat(base or "")
    except (ValueError, TypeError):
        return None
