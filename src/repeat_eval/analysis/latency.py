"""Changes of latency, cost and error rate between base and head.

Latency and cost are compared by the cases' mean ratios (`statistics.ratios`): each case is its own control, and one
slow case does not outweigh the rest. A test for each single case at ten trials would be too weak to be of use.
Error rates get the exact test that pass rates get.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from repeat_eval.analysis.report import Change, SideOfCase
from repeat_eval.analysis.sides import Means
from repeat_eval.statistics.comparison import stratified_exact
from repeat_eval.statistics.difference import suite_difference
from repeat_eval.statistics.gates import DECIMALS
from repeat_eval.statistics.ratios import geometric_change
from repeat_eval.statistics.significance import level

MIN_TRIALS = 2
"""Timed trials that a case needs on both sides for its mean to count."""


def duration_change(pairs: Iterable[tuple[Means, Means]]) -> Change | None:
    """Change of latency: geometric mean over cases of head's mean duration over base's.

    Args:
        pairs: (base, head) means of the common cases; cases with fewer than two timed trials on a side are left out.

    Returns:
        The change with base and head as mean seconds over the cases that entered; None without such a case.
    """
    return _ratio_change(
        [
            (base.duration, head.duration)
            for base, head in pairs
            if base.duration is not None and head.duration is not None and min(base.timed, head.timed) >= MIN_TRIALS
        ]
    )


def cost_change(pairs: Iterable[tuple[Means, Means]]) -> Change | None:
    """Change of cost in US dollars a trial; the same as `duration_change` otherwise. Free trials have no ratio."""
    return _ratio_change(
        [
            (base.cost, head.cost)
            for base, head in pairs
            if base.cost is not None and head.cost is not None and min(base.paid, head.paid) >= MIN_TRIALS
        ]
    )


def error_change(pairs: Iterable[tuple[SideOfCase, SideOfCase]]) -> Change | None:
    """Change of the error rate by the stratified exact test, over cases with an attempted trial on both sides.

    Args:
        pairs: (base, head) of the cases that both sides have. Skipped and missing trials were not attempted.

    Returns:
        The change with the weighted error rates of both sides, in [0, 1]; None when neither side has an error.
    """
    rows = [
        (base.verdicts, base.verdicts + base.errors, head.verdicts, head.verdicts + head.errors) for base, head in pairs
    ]
    rows = [row for row in rows if row[1] and row[3]]
    if all(row[0] == row[1] and row[2] == row[3] for row in rows):
        return None
    difference = suite_difference(rows)
    p = round(stratified_exact(rows).p_mid, DECIMALS)
    base, head = 1.0 - difference.base.rate, 1.0 - difference.head.rate
    return Change(
        base=base,
        head=head,
        ratio=head / base if base > 0.0 else None,
        interval=None,
        p=p,
        level=level(p),
        cases=len(rows),
    )


def _ratio_change(means: Sequence[tuple[float, float]]) -> Change | None:
    usable = [pair for pair in means if pair[0] > 0.0 and pair[1] > 0.0]
    found = geometric_change(usable)
    if found is None:
        return None
    p = None if found.p is None else round(found.p, DECIMALS)
    return Change(
        base=math.fsum(base for base, _ in usable) / len(usable),
        head=math.fsum(head for _, head in usable) / len(usable),
        ratio=found.ratio,
        interval=None if found.low is None or found.high is None else (found.low, found.high),
        p=p,
        level="noise" if p is None else level(p),
        cases=found.pairs,
    )
