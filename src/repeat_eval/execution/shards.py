"""Shards: which trials of a run one of several machines does. All must divide the same trials in the same way."""

from __future__ import annotations

import heapq
import re
from collections.abc import Mapping, Sequence

from repeat_eval.errors import UserError
from repeat_eval.records.fingerprints import fingerprint
from repeat_eval.records.run import MAX_SHARDS, CasePlan, Shard

_WRITTEN = re.compile(r"([0-9]{1,6})/([0-9]{1,6})")


def parse_shard(text: str) -> tuple[int, int]:
    """`2/8` as its two numbers.

    Args:
        text: the shard's number, counted from 1, and how many there are, at most 1,000.

    Raises:
        UserError: it is anything else.
    """
    match = _WRITTEN.fullmatch(text.strip())
    index, of = (int(match[1]), int(match[2])) if match else (0, 0)
    if not 1 <= index <= of <= MAX_SHARDS:
        raise UserError(
            f"a shard is its number and how many there are, 1/N to N/N with N at most {MAX_SHARDS:,}, for "
            f"instance 2/8; found {text!r}"
        )
    return index, of


def divide(
    asked: Sequence[tuple[str, int]], of: int, durations: Mapping[str, float] | None = None
) -> list[dict[str, tuple[int, ...]]]:
    """Divide the trials of a run among shards, so that each takes about as long as any other.

    The longest trial is placed first, each with the shard that has least to do so far (Graham, "Bounds on
    multiprocessing timing anomalies", 1969): no two shards differ by more than one longest trial. Repetitions of a case
    go to different shards as far as that goes.

    Args:
        asked: id of each case and how many trials it is asked for, in the suite's order.
        of: number of shards, 1 or more.
        durations: seconds of one trial by case, of an earlier run. A case that is not there counts as the mean of the
            cases that are, or like any other if there is none.

    Returns:
        For each shard its repetitions, counted from 1, by case; a case without any is left out.
    """
    known = {case: durations[case] for case, _ in asked if case in durations} if durations else {}
    usual = sum(known.values()) / len(known) if known else 1.0
    trials = [
        (-known.get(case, usual), position, repetition)
        for position, (case, count) in enumerate(asked)
        for repetition in range(1, count + 1)
    ]
    # By time first; with none or equal times the number of trials decides, then the order of the shards.
    shards = [(0.0, 0, index) for index in range(of)]
    taken: list[dict[str, list[int]]] = [{} for _ in range(of)]
    for minus, position, repetition in sorted(trials):
        time, count, index = shards[0]
        taken[index].setdefault(asked[position][0], []).append(repetition)
        heapq.heapreplace(shards, (time - minus, count + 1, index))
    return [{case: tuple(mine[case]) for case, _ in asked if case in mine} for mine in taken]


def shard_of_suite(
    plans: Sequence[CasePlan], index: int, of: int, durations: Mapping[str, float] | None = None
) -> Shard:
    """Shard `index` of a suite's run: which trials it does, for its header; see `divide`."""
    parts = divide([(plan.id, plan.asked) for plan in plans], of, durations)
    return Shard(index=index, of=of, split=fingerprint(parts), trials=parts[index - 1])


def shard_of_command(repeats: int, index: int, of: int) -> Shard:
    """Shard `index` of a repeated command: every repetition is one unit, since nobody knows its cases before."""
    parts = divide([("", repeats)], of)
    return Shard(index=index, of=of, split=fingerprint(parts), repetitions=parts[index - 1].get("", ()))
