"""How head's own settings weaken its gate: a pull request may not do so quietly.

Compares what the two run files were written with. Only weakening is told: a stricter gate hides nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

from repeat_eval.analysis.comparison_text import count, named
from repeat_eval.analysis.rules import Rules
from repeat_eval.records.run import CasePlan, RunHeader
from repeat_eval.records.thresholds import parse_threshold
from repeat_eval.records.trial import ERROR_KINDS

_GATES = {"none": 0, "wilson": 1, "strict": 2}
_Common: TypeAlias = Sequence[tuple[CasePlan, CasePlan]]
_FAIL_ON = {"none": 0, "suite-regression": 1, "case-regression": 1, "regression": 2}

# Settings of which less is weaker, and of which more is. None of the first means "no such gate", the weakest of all.
_LESS_IS_WEAKER = ("suite_threshold", "min_stability", "min_reliability")
_MORE_IS_WEAKER = ("max_failing_cases", "max_error_rate", "min_effect")


def gate_changes(base: RunHeader, head: RunHeader) -> tuple[str, ...]:
    """What is weaker on head, one sentence each without a final stop.

    Args:
        base: base's header, with its own settings and plans. head: head's header.

    Returns:
        Sentences; empty when nothing is weaker, or base tells no settings.
    """
    common = _common_plans(base, head)
    if not base.settings:
        return (*_repeats(base, head, common), *_checks(base, head, common))
    before, now = {**_DEFAULTS, **base.settings}, {**_DEFAULTS, **head.settings}
    return (
        *_case_rules(common, before, now),
        *_repeats(base, head, common),
        *_suite_gates(before, now),
        *_comparison_gates(before, now),
        *_checks(base, head, common),
    )


_DEFAULTS = Rules().as_settings()


def _rate(value: Any) -> Fraction | None:
    """A rate or number as written, exactly; None when there is none, or none that can be read."""
    if isinstance(value, str):
        try:
            return parse_threshold(value)
        except ValueError:
            return None
    if isinstance(value, int | float) and not isinstance(value, bool):
        return Fraction(value) if math.isfinite(value) else None
    return None


def _lower(before: Any, now: Any) -> bool:
    old, new = _rate(before), _rate(now)
    return old is not None and new is not None and new < old


def _case_rules(common: _Common, before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Thresholds and gates: the suite's own, then those of cases that moved otherwise."""
    sentences = []
    if _lower(before["threshold"], now["threshold"]):
        sentences.append(f"the threshold was lowered from {before['threshold']} to {now['threshold']}")
    if _weaker_gate(before["gate"], now["gate"]):
        sentences.append(f"the gate was {before['gate']} and is {now['gate']}")
    thresholds, gates = [], []
    for old, new in common:
        pair = old.threshold or before["threshold"], new.threshold or now["threshold"]
        if _lower(*pair) and pair != (before["threshold"], now["threshold"]):
            thresholds.append(f"{new.id} ({pair[0]} to {pair[1]})")
        kinds = old.gate or before["gate"], new.gate or now["gate"]
        if _weaker_gate(*kinds) and kinds != (before["gate"], now["gate"]):
            gates.append(f"{new.id} ({kinds[0]} to {kinds[1]})")
    if thresholds:
        sentences.append(f"the threshold of {count(len(thresholds), 'case')} was lowered: {named(thresholds)}")
    if gates:
        sentences.append(f"the gate of {count(len(gates), 'case')} became weaker: {named(gates)}")
    return sentences


def _weaker_gate(before: Any, now: Any) -> bool:
    return isinstance(before, str) and isinstance(now, str) and _GATES.get(now, 9) < _GATES.get(before, 0)


def _common_plans(base: RunHeader, head: RunHeader) -> _Common:
    before = {plan.id: plan for plan in base.cases}
    return [(before[plan.id], plan) for plan in head.cases if plan.id in before]


def _repeats(base: RunHeader, head: RunHeader, common: _Common) -> list[str]:
    if base.second_look or head.second_look:
        return _looks(base, head, common)
    fewer: dict[tuple[int, int], list[str]] = {}
    for old, new in common:
        if new.asked < old.asked:
            fewer.setdefault((old.asked, new.asked), []).append(new.id)
    return [
        f"repeats of {count(len(cases), 'case')} went down from {old} to {new}: {named(cases)}"
        for (old, new), cases in fewer.items()
    ]


def _looks(base: RunHeader, head: RunHeader, common: _Common) -> list[str]:
    """Fewer trials for a suspect, or fewer suspects; a fixed number of repeats is compared with a suspect's trials."""
    before, now = base.second_look, head.second_look
    if before and now:
        weaker = [
            f"{name} from {old:g} to {new:g}"
            for name, old, new in (
                ("first", before.first, now.first),
                ("fresh", before.fresh, now.fresh),
                ("cut", before.cut, now.cut),
                ("alarm", before.alarm, now.alarm),
                ("cap", before.cap or 0, now.cap or 0),
            )
            if new < old and not (name == "cap" and now.cap is None)
        ]
        return [f"the second look was made weaker: {', '.join(weaker)}"] if weaker else []
    if before:
        fewer = [new.id for _, new in common if new.asked < before.fresh]
        return (
            [f"the second look was replaced by fixed repeats, fewer than {before.fresh}: {named(fewer)}"]
            if fewer
            else []
        )
    assert now  # noqa: S101 - one of them is there
    more = [old.id for old, _ in common if old.asked > now.fresh]
    return [f"fixed repeats were replaced by a second look of {now.fresh} trials: {named(more)}"] if more else []


def _suite_gates(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    sentences = []
    for name in _LESS_IS_WEAKER:
        if _rate(before[name]) is not None and now[name] is None:
            sentences.append(f"{_words(name)} {_shown(before[name])} was dropped")
        elif _lower(before[name], now[name]):
            sentences.append(f"{_words(name)} was lowered from {_shown(before[name])} to {_shown(now[name])}")
    for name in _MORE_IS_WEAKER:
        if _lower(now[name] or 0, before[name] or 0):
            sentences.append(f"{_words(name)} was raised from {_shown(before[name] or 0)} to {_shown(now[name])}")
    dropped = sorted(_kinds(before["count_as_failed"]) - _kinds(now["count_as_failed"]))
    if dropped:
        sentences.append(f"errors of kind {', '.join(dropped)} counted as failures and no longer do")
    return sentences


def _kinds(value: Any) -> set[str]:
    return (
        {kind for kind in ERROR_KINDS if kind in value} if isinstance(value, list | tuple | set | frozenset) else set()
    )


def _comparison_gates(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    sentences = []
    old, new = before["fail_on"], now["fail_on"]
    strength_before, strength_now = _strength(old), _strength(new)
    if old != new and strength_before is not None and strength_now is not None and strength_now <= strength_before:
        sentences.append(f"fail_on was {old} and is {new}")
    if _lower(before["alpha"], now["alpha"]):
        sentences.append(
            f"alpha was lowered from {before['alpha']} to {now['alpha']}: more evidence is needed for a regression"
        )
    if _lower(before["extra_looks"] or 0, now["extra_looks"] or 0):
        sentences.append(
            f"extra_looks was raised from {_shown(before['extra_looks'] or 0)} to {_shown(now['extra_looks'])}: each "
            "look spends less of alpha"
        )
    if before["require"] == "non-inferior":
        if now["require"] != "non-inferior":
            sentences.append("require: non-inferior was dropped")
        elif _lower(now["margin"], before["margin"]):
            sentences.append(f"margin was raised from {_shown(before['margin'])} to {_shown(now['margin'])} points")
    for name in ("no_base", "removed_cases"):
        if before[name] == "incomplete" and now[name] in ("pass", "warn"):
            sentences.append(f"{_words(name)} was incomplete and is {now[name]}")
    if before["gate_stored"] is True and now["gate_stored"] is not True:
        sentences.append("gate_stored was true and is false: regressions against a stored base no longer block")
    return sentences


def _strength(fail_on: Any) -> int | None:
    return _FAIL_ON.get(fail_on) if isinstance(fail_on, str) else None


def _checks(base: RunHeader, head: RunHeader, common: _Common) -> list[str]:
    """Cases that are gone, and cases that ask for something else."""
    now = {plan.id for plan in head.cases}
    gone = [plan.id for plan in base.cases if plan.id not in now and head.selection.takes(plan.id, plan.tags)]
    other = [
        new.id
        for old, new in common
        if None not in (old.case_fingerprint, new.case_fingerprint) and old.case_fingerprint != new.case_fingerprint
    ]
    sentences = []
    if gone and now:
        sentences.append(f"{count(len(gone), 'case')} removed: {named(gone)}")
    if other:
        sentences.append(f"input or checks of {count(len(other), 'case')} changed: {named(other)}")
    return sentences


def _words(name: str) -> str:
    return name.replace("_", " ")


def _shown(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)[:40]
