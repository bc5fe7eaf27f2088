"""Which trials are shown as evidence: at most three that did not pass and one that did, each text bounded."""

from __future__ import annotations

from collections.abc import Sequence

from repeat_eval.analysis.report import Example
from repeat_eval.records.trial import Trial, bounded

MAX_NOT_PASSING = 3
MAX_TEXT = 2_000


def choose_examples(trials: Sequence[Trial], not_passed: Sequence[Trial]) -> tuple[Example, ...]:
    """Choose examples: trials with different messages first, failures before errors, then one that passed."""
    ranked = sorted(not_passed, key=lambda trial: trial.outcome == "error")
    chosen: list[Trial] = []
    seen: set[str | None] = set()
    for trial in ranked:
        if trial.message not in seen and len(chosen) < MAX_NOT_PASSING:
            seen.add(trial.message)
            chosen.append(trial)
    for trial in ranked:
        if len(chosen) < MAX_NOT_PASSING and trial not in chosen:
            chosen.append(trial)
    passing = next((trial for trial in trials if trial.outcome == "passed"), None)
    if passing is not None:
        chosen.append(passing)
    return tuple(_example(trial) for trial in chosen)


def _example(trial: Trial) -> Example:
    return Example(
        repetition=trial.repetition,
        outcome=trial.outcome,
        error_kind=trial.error_kind,
        message=_cut(trial.message),
        output=_cut(trial.output),
        checks=tuple(
            bounded(f"{check.name}: {check.message or 'does not hold'}", MAX_TEXT)
            for check in trial.checks[:10]
            if not check.passed
        ),
    )


def _cut(text: str | None) -> str | None:
    return None if text is None else bounded(text, MAX_TEXT)
