"""What the scores of an Inspect sample say: which scorer decides, and whether its value is a pass."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from repeat_eval.readers.documents import number
from repeat_eval.readers.numbers import json_number

_WORDS = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0, "yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}


class Score(msgspec.Struct):
    """One scorer's score of a sample."""

    value: object = None
    answer: object = None
    explanation: object = None


@dataclass(frozen=True, slots=True)
class Decider:
    """The scorer whose value is the verdict; of a value with several parts, `key` names the part."""

    scorer: str
    key: str | None = None


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a value says: `passed` is None where there is no verdict, and `reason` says why."""

    passed: bool | None
    score: float | None = None
    reason: str | None = None
    partial: bool = False


def choose(wanted: str | None, headline: tuple[str, str] | None, seen: Counter[str]) -> Decider | None:
    """The scorer that decides: the one that is wanted, else the headline's, else the most frequent one.

    Args:
        wanted: `scorer` or `scorer.key`. headline: scorer and score that the file itself puts first.
        seen: how many samples each scorer scored, in order of appearance.

    Returns:
        None where nothing was scored, or the wanted one is not there.
    """
    if wanted is not None:
        if wanted in seen:
            return Decider(wanted)
        scorer, dot, key = wanted.rpartition(".")
        return Decider(scorer, key) if dot and scorer in seen else None
    if headline is not None:
        scorer, name = headline
        for candidate in (scorer, name):
            if candidate in seen:
                return Decider(candidate, name if name != candidate else None)
    return Decider(max(seen, key=lambda name: seen[name])) if seen else None


def judge(score: Score, decider: Decider) -> Judgement:
    """Whether a value is a pass: C, true and 1 or more, as where Inspect itself counts passes over epochs."""
    value = score.value
    if isinstance(value, Mapping):
        if decider.key is None or decider.key not in value:
            keys = ", ".join(str(key)[:40] for key in list(value)[:5])
            return Judgement(None, reason=f"the score has several parts ({keys}) and none is named: --scorer names one")
        value = value[decider.key]
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return Judgement(None, reason="the sample was left unscored")
    if isinstance(value, str):
        stripped = value.strip()
        known = _WORDS.get(stripped, _WORDS.get(stripped.lower()))
        value = json_number(stripped) if known is None else known
        if value is None:
            return Judgement(None, reason=f"the score is {stripped[:60]!r}, which is neither correct nor incorrect")
    found = float(value) if isinstance(value, bool) else number(value)
    if found is None:
        return Judgement(None, reason="the score is no single number")
    return Judgement(found >= 1, found, partial=found > 0 and found != 1)
