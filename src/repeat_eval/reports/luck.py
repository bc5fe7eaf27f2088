"""How likely luck is, in words, so that comment, summary and terminal say the same."""

from __future__ import annotations

from collections.abc import Iterable

from repeat_eval.analysis.report import CaseComparison, Level
from repeat_eval.analysis.second_look_model import ReRunCase
from repeat_eval.reports import format as fmt
from repeat_eval.reports import second_look_text
from repeat_eval.statistics.significance import level

_LUCK: dict[Level, str] = {
    "strong": "very unlikely ✦✦",
    "significant": "unlikely ✦",
    "marginal": "possible, marginal",
    "noise": "likely noise",
}


def luck(p: float | None, level: Level) -> str:
    """How likely luck is, in words and numbers: `very unlikely ✦✦ p 0.0021`."""
    return fmt.UNKNOWN if p is None else f"{_LUCK[level]} p {fmt.p_value(p)}"


def luck_of_looks(case: ReRunCase) -> str:
    """The same for a case that was run again, by its fresh trials."""
    return f"{_LUCK[second_look_text.level_of(case.adjusted)]} p {second_look_text.p_value(case.p2)}"


def level_among_all(case: CaseComparison) -> Level:
    """How unlikely luck is for a case that was picked out of many: by its p after correction, both directions."""
    adjusted = case.adjusted_down if case.rejected_down else case.adjusted_up if case.rejected_up else None
    if adjusted is not None:
        return level(min(1.0, 2.0 * adjusted))
    return case.level if case.q is None or case.rejected_down or case.rejected_up else level(case.q)


def unlikely(levels: Iterable[Level]) -> str:
    """The word for the surest of these levels.

    What a gate rejected is unlikely, even where the two-sided p alone would read "marginal" (3/3 to 0/3).
    """
    return "very unlikely" if "strong" in levels else "unlikely"
