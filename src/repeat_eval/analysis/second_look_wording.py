"""What two looks have to say, as keys: reports turn them into sentences, none of them decides."""

from __future__ import annotations

from collections.abc import Iterator

from repeat_eval.analysis.second_look_model import Wording
from repeat_eval.statistics.second_look import SecondLook, SecondLookSettings


def wording(found: SecondLook, settings: SecondLookSettings) -> tuple[Wording, ...]:
    """The keys that hold, most important first.

    "The suite got worse" may be said only after an alarm, when all of it was re-run; otherwise a red suite half speaks
    of the re-run cases together.

    Args:
        found: both looks. settings: under which they were taken.
    """
    return tuple(_keys(found, settings))


def _keys(found: SecondLook, settings: SecondLookSettings) -> Iterator[Wording]:
    first, down, up = found.first, found.down, found.up
    if found.incomplete:
        yield "incomplete"
    if down.rejected:
        yield "case-regressed"
    if down.suite:
        yield "suite-regressed" if down.claim == "suite" else "together-regressed"
    if up is not None and up.rejected:
        yield "case-improved"
    if up is not None and up.suite:
        yield "suite-improved" if up.claim == "suite" else "together-improved"
    if up is None and found.improved:
        yield "improved-at-first-look"
    if first.down.alarm and not down.suite and not found.alarm_cut_short:
        yield "alarm-not-confirmed"
    pending = set(found.incomplete_cases)
    if any(case not in down.rejected and case not in pending for case in first.down.suspects):
        yield "cleared"
    if not first.rerun:
        yield "nothing-suspected"
    if first.down.left_out and not first.alarm:
        yield "not-re-run"
    if settings.alarm == 0.0:
        yield "alarm-off"
