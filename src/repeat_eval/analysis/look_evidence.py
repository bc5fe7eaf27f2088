"""What one look shows of a case: its counts with rate and interval, and a trial that tells why it did not pass."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from repeat_eval.analysis.examples import MAX_TEXT
from repeat_eval.analysis.second_look_model import LookCounts, LookEvidence
from repeat_eval.records.trial import Trial, bounded
from repeat_eval.statistics.intervals import wilson_interval


def look_counts(passed: int, verdicts: int, *, errors: int = 0, skipped: int = 0, missing: int = 0) -> LookCounts:
    """Counts of one side in one look, with the pass rate and its 95 % Wilson interval; both None without a verdict."""
    return LookCounts(
        passed=passed,
        verdicts=verdicts,
        errors=errors,
        skipped=skipped,
        missing=missing,
        pass_rate=passed / verdicts if verdicts else None,
        interval=wilson_interval(passed, verdicts) if verdicts else None,
    )


def look_evidence(trials: Iterable[tuple[Trial, str]]) -> LookEvidence | None:
    """A trial that did not pass: a failure before an error, then what most of them say, then the earliest.

    Args:
        trials: each with the letter of its outcome; those that passed or were skipped say nothing.

    Returns:
        None when no trial says why it did not pass.
    """
    said = [(letter, _why_not_passed(trial), trial.repetition) for trial, letter in trials if letter in ("F", "E")]
    told = Counter(message for _, message, _ in said)
    known = sorted([one for one in said if one[1]], key=lambda one: (one[0] != "F", -told[one[1]], one[2]))
    if not known:
        return None
    _, message, repetition = known[0]
    return LookEvidence(
        repetition=repetition, message=bounded(message, MAX_TEXT), alike=told[message], failing=len(said)
    )


def _why_not_passed(trial: Trial) -> str:
    """Why a trial did not pass, in one line: its kind of error and its message, or its first check that failed."""
    failed = next((check for check in trial.checks if not check.passed), None)
    text = trial.message or (f"{failed.name}: {failed.message or 'does not hold'}" if failed is not None else "")
    return f"{trial.error_kind}: {text}" if trial.error_kind and text else text or trial.error_kind or ""
