"""The setting `second-look`: what may be written, in plain words when it may not, and the looks that it means.

A word (`off`, `3+10`, `3+20`, `5+20`, `both`), or a mapping with some of `first`, `fresh`, `cut`, `alarm` and `cap`. On
the command line and in a variable the mapping is written in braces or without: `first: 4, fresh: 15`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from repeat_eval.records.thresholds import parse_threshold
from repeat_eval.statistics.second_look import Mode, SecondLookSettings
from repeat_eval.suite.fields import found
from repeat_eval.suite.messages import unknown_key

KEY = "second_look"
OPTION = "--second-look"
MAX_TRIALS = 1000
MAX_CAP = 10_000

_WORDS = "off, 3+10, 3+20, 5+20, both, or a mapping with first, fresh, cut, alarm and cap"


class SecondLookChoice(msgspec.Struct, frozen=True, kw_only=True):
    """Two looks as the user wants them.

    Attributes:
        enabled: false for `off`: a fixed number of repeats.
        first: trials a side of every case in the first look. fresh: fresh trials a side of a suspect.
        cut: one-sided p of the first look up to which a case may be suspected.
        alarm: suite p of the first look below which every case is re-run; 0: never.
        cap: most suspects; None: max(3, a tenth of the cases).
        both: suspected improvements are re-run too.
    """

    enabled: bool = True
    first: int = 3
    fresh: int = 20
    cut: float = 0.30
    alarm: float = 0.10
    cap: int | None = None
    both: bool = False

    def looks(self, alpha: str, mode: Mode = "side-by-side") -> SecondLookSettings | None:
        """The looks at this budget, None for `off`.

        Args:
            alpha: the regression gate's one-sided budget, as written. mode: where base's trials come from.
        """
        if not self.enabled:
            return None
        return SecondLookSettings(
            alpha=float(parse_threshold(alpha)),
            n1=self.first,
            n2=self.fresh,
            cut=self.cut,
            alarm=self.alarm,
            cap=self.cap,
            both=self.both,
            mode=mode,
        )


WORDS: Mapping[str, SecondLookChoice] = {
    "off": SecondLookChoice(enabled=False),
    "3+10": SecondLookChoice(fresh=10),
    "3+20": SecondLookChoice(),
    "5+20": SecondLookChoice(first=5),
    "both": SecondLookChoice(both=True),
}
"""What the words mean. `both` is 3+20 that looks for improvements too."""


def parse_second_look(value: Any) -> SecondLookChoice:
    """The choice that a suite file, an option, a variable or the Python API wrote.

    Raises:
        ValueError: a sentence about the value, without the setting's name: all that is wrong with a mapping at once.
    """
    if isinstance(value, SecondLookChoice):
        return value
    if isinstance(value, str):
        word = value.strip()
        if word in WORDS:
            return WORDS[word]
        value = _mapping_in(word) or value
    if not isinstance(value, Mapping):
        raise ValueError(f"must be {_WORDS}; found {found(value)}")
    wrong: list[str] = []
    values: dict[str, Any] = {}
    for key, written in value.items():
        if key not in _KEYS:
            wrong.append(unknown_key(str(key), tuple(_KEYS)))
            continue
        try:
            values[key] = _KEYS[key](written)
        except ValueError as error:
            wrong.append(f"`{key}` {error}")
    if not value:
        wrong.append("is empty; write for instance {first: 3, fresh: 20}")
    if wrong:
        raise ValueError("; ".join(wrong))
    return SecondLookChoice(**values)


def written(choice: SecondLookChoice) -> str:
    """The choice in the shortest way in which it may be written: a word, or the keys that differ from `3+20`."""
    word = next((word for word, meant in WORDS.items() if meant == choice), None)
    if word is not None:
        return word
    usual = WORDS["3+20"]
    values = ((key, getattr(choice, key)) for key in _KEYS)
    return ", ".join([f"{key}: {value:g}" for key, value in values if value != getattr(usual, key)])


def impossible(choice: SecondLookChoice, alpha: str) -> str | None:
    """Why two looks could never find a fallen case, with the number that would work; None if they could.

    Args:
        choice: see there. alpha: the regression gate's one-sided budget, as written.
    """
    from repeat_eval.statistics.second_look_planning import largest_rejecting, least_cut

    looks = choice.looks(alpha)
    if looks is None:
        return None
    if largest_rejecting(looks.n2, 1, looks.alpha / 2.0) is None:
        enough = next(
            (n for n in range(looks.n2, MAX_TRIALS + 1) if largest_rejecting(n, 1, looks.alpha / 2.0) is not None), None
        )
        advice = f"from {enough} on it can" if enough is not None else "raise alpha"
        return f"with `fresh: {choice.fresh}` no case can be found regressed at alpha {alpha}; {advice}"
    least = least_cut(looks.n1)
    if looks.cut < least:
        shown = math.ceil(least * 1000) / 1000
        return (
            f"with `first: {choice.first}` and `cut: {choice.cut:g}` no case can be suspected; a cut from {shown:g} "
            "on lets through the cases that failed every trial"
        )
    return None


def _mapping_in(text: str) -> dict[str, str] | None:
    """The mapping that is written on one line; None if none is."""
    inner = text.removeprefix("{").removesuffix("}") if text.startswith("{") and text.endswith("}") else text
    pairs: dict[str, str] = {}
    for part in inner.split(","):
        written = re.fullmatch(r"\s*([^:=]+?)\s*[:=]\s*(.*?)\s*", part, re.DOTALL)
        if written is None or written[1] in pairs:
            return None
        pairs[written[1]] = written[2]
    return pairs


def _whole(maximum: int, example: str) -> Callable[[Any], int]:
    def read(value: Any) -> int:
        number: int | None = None
        if isinstance(value, int) and not isinstance(value, bool):
            number = int(value)
        elif isinstance(value, str) and re.fullmatch(r"[0-9]{1,6}", value.strip()):
            number = int(value)
        if number is None or not 1 <= number <= maximum:
            raise ValueError(f"must be a whole number from 1 to {maximum:,}, {example}; found {found(value)}")
        return number

    return read


def _share(low: float, high: float, words: str) -> Callable[[Any], float]:
    def read(value: Any) -> float:
        text = value.strip() if isinstance(value, str) else getattr(value, "text", None)
        if text is None and isinstance(value, (int, float)) and not isinstance(value, bool):
            text = repr(value)
        try:
            share = float(parse_threshold(str(text)))
        except ValueError:
            share = math.nan
        if not low <= share <= high:
            raise ValueError(f"must be {words}; found {found(value)}")
        return share

    return read


_KEYS: Mapping[str, Callable[[Any], Any]] = {
    "first": _whole(MAX_TRIALS, "for instance 3"),
    "fresh": _whole(MAX_TRIALS, "for instance 20"),
    "cut": _share(0.001, 0.5, "a share from 0.001 to 0.5, for instance 0.30"),
    "alarm": _share(0.0, 0.5, "a share from 0 to 0.5, for instance 0.10; 0 switches the alarm off"),
    "cap": _whole(MAX_CAP, "for instance 5"),
}
