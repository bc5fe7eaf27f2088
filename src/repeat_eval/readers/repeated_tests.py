"""Testcases of our own pytest plugin: each is the verdict of a test, and a property tells the trials behind it."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from repeat_eval.readers.base import FoundTrial
from repeat_eval.readers.numbers import count
from repeat_eval.records.trial import Outcome

REPORT_MARK = "repeat-eval.verdict"
"""A property that the suite in our own report has, and that of the plugin has not."""
OUTCOMES = "repeat-eval.outcomes"
MAX_TRIALS = 10_000
"""Trials of one test that the plugin takes at most."""

_LETTERS: dict[str, Outcome] = {"P": "passed", "F": "failed", "E": "error", "S": "skipped"}
_TOLD_BY: dict[str, tuple[str, ...]] = {
    "passed": ("pass", "within-noise"),
    "failed": ("fail",),
    "error": ("incomplete",),
}


def trials_behind(verdict: FoundTrial, properties: Mapping[str, str]) -> tuple[list[FoundTrial], int] | None:
    """The trials of a repeated test, and how many were asked for.

    Args:
        verdict: the testcase as it reads by itself. properties: the testcase's.

    Returns:
        None where pytest judged otherwise than the gate, as for tests that are marked xfail: then the testcase counts.
    """
    letters = properties.get(OUTCOMES, "")
    if not 0 < len(letters) <= MAX_TRIALS or not _LETTERS.keys() >= set(letters):
        return None
    if properties.get("repeat-eval.verdict") not in _TOLD_BY.get(verdict.outcome, ()):
        return None
    asked = min(count(properties.get("repeat-eval.asked", "")) or 0, MAX_TRIALS)
    trials = [
        msgspec.structs.replace(
            verdict,
            outcome=(outcome := _LETTERS[letter]),
            repetition=repetition,
            error_kind="harness" if outcome == "error" else None,
            score=None,
            duration=None,
            cost=None,
            tokens=None,
            message=verdict.message if outcome in ("failed", "error") else None,
        )
        for repetition, letter in enumerate(letters, 1)
    ]
    return trials, max(asked, len(trials))
