"""Agreement of judges with each other and with humans, from what most runs of each said about a trace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import msgspec

from repeat_eval.analysis.evaluator_model import RaterGroup, RaterPair, TraceReliability
from repeat_eval.statistics.agreement import agreement_of_many, agreement_of_two, confusion

HUMANS = "labels"
"""How the humans behind labels are called as a rater."""
MAX_RATERS = 20
"""Raters of one group whose pairs are listed."""

Unit = tuple[str, str]
"""A trace, and the question that was asked about it."""


class Rated(msgspec.Struct, frozen=True):
    """A check's figures on a trace, and the question that it answers; None for one that no other check answers."""

    found: TraceReliability
    question: str | None


def groups_of_raters(rated: Sequence[Rated], *, seed: int = 0) -> tuple[RaterGroup, ...]:
    """Agreement within each group of checks that answered the same questions about the same traces.

    Args:
        rated: every check on every trace. seed: of the resamples.
    """
    labels: dict[str, dict[Unit, bool | None]] = {}
    for one in rated:
        if one.question is not None:
            labels.setdefault(one.found.check, {})[one.found.trace, one.question] = label_of(one.found)
    return tuple(_group(names, labels, seed) for names in _connected(labels))


def against_labels(rated: Sequence[Rated], *, seed: int = 0) -> tuple[RaterPair, ...]:
    """Each check against what humans said about the same traces; checks without any label are left out."""
    by_check: dict[str, list[TraceReliability]] = {}
    for one in rated:
        if one.found.truth is not None:
            by_check.setdefault(one.found.check, []).append(one.found)
    return tuple(
        _pair(HUMANS, check, [(one.truth, label_of(one)) for one in found], seed) for check, found in by_check.items()
    )


def label_of(found: TraceReliability) -> bool | None:
    """What most runs said, as a label; None for a tie or without verdict."""
    if found.majority is None or found.majority.verdict == "tie":
        return None
    return found.majority.verdict == "pass"


def _connected(labels: Mapping[str, Mapping[Unit, bool | None]]) -> list[tuple[str, ...]]:
    """Raters that share a unit, directly or through others, in their order; those that are alone are left out."""
    group = {name: name for name in labels}
    first: dict[Unit, str] = {}
    for name, units in labels.items():
        for unit in units:
            other = group[first.setdefault(unit, name)]
            if other != group[name]:
                group = {one: other if its == group[name] else its for one, its in group.items()}
    joined: dict[str, list[str]] = {}
    for name, its in group.items():
        joined.setdefault(its, []).append(name)
    return [tuple(names) for names in joined.values() if len(names) > 1]


def _group(names: tuple[str, ...], labels: Mapping[str, Mapping[Unit, bool | None]], seed: int) -> RaterGroup:
    units = list(dict.fromkeys(unit for name in names for unit in labels[name]))
    pairs = tuple(
        _pair(one, other, [(labels[one].get(unit), labels[other].get(unit)) for unit in units], seed)
        for one, other in combinations(names[:MAX_RATERS], 2)
    )
    if len(names) == 2:
        (pair,) = pairs
        return RaterGroup(
            raters=names,
            units=pair.units,
            share=pair.share,
            share_interval=pair.share_interval,
            alpha=None,
            interval=None,
            pairs=pairs,
        )
    found = agreement_of_many([[labels[name].get(unit) for name in names] for unit in units], seed=seed)
    return RaterGroup(
        raters=names,
        units=found.units,
        share=found.share,
        share_interval=found.share_interval,
        alpha=found.value,
        interval=found.interval,
        pairs=pairs,
    )


def _pair(first: str, second: str, labels: Sequence[tuple[bool | None, bool | None]], seed: int) -> RaterPair:
    both = [(one, other) for one, other in labels if one is not None and other is not None]
    found, counts = agreement_of_two(both, seed=seed), confusion(both)
    return RaterPair(
        first=first,
        second=second,
        units=found.units,
        both_pass=counts.both_pass,
        pass_fail=counts.pass_fail,
        fail_pass=counts.fail_pass,
        both_fail=counts.both_fail,
        share=found.share,
        share_interval=found.share_interval,
        kappa=found.value,
        interval=found.interval,
    )
