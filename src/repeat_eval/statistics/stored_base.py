"""A stored base in two parts, for a base that cannot be run: one for the first look, the rest for the second.

Used whole in both looks, an unlucky base would be suspected and confirmed by the same trials, and false alarms would be
two or three times too many. The split is fixed before head is seen: its seed is made of base alone.
"""

from __future__ import annotations

import hashlib
from typing import NamedTuple

from repeat_eval.statistics.counts import Count, check_counts

LEAST = 3
"""Fewest stored verdicts of a case that can be split."""


class Split(NamedTuple):
    """(passes, verdicts) of a stored case for the first look, and for the second."""

    first: Count
    second: Count


def split_stored(passes: int, verdicts: int, *, base: str, case: str) -> Split:
    """Split a stored case: a third of its trials, rounded down, for the first look, the rest for the second.

    A store keeps counts, not trials, so the first part's passes are drawn without replacement (hypergeometric), in an
    order that only base's commit and the case's id decide: equal for every head, and on every machine.

    Args:
        passes: stored passes. verdicts: stored verdicts, at least 3.
        base: base's commit. case: the case's id.

    Raises:
        ValueError: bad counts, or fewer than 3 verdicts.
    """
    check_counts(passes, verdicts, least=LEAST)
    seed = f"{base}\0{case}\0".encode("utf-8", "surrogatepass")
    # Trials are numbered, those below `passes` passed; their order by hash is a shuffle.
    order = sorted(range(verdicts), key=lambda trial: hashlib.sha256(seed + str(trial).encode()).digest())
    size = verdicts // 3
    drawn = sum(trial < passes for trial in order[:size])
    return Split((drawn, size), (passes - drawn, verdicts - size))
