"""Failing trials grouped by what they have in common: first failing check, tool calls, the message's shape.

Each way of grouping looks at every failing trial by itself, so that one trial stands in one group of each way. A
message's shape is the message without what changes from trial to trial: numbers, quoted texts, identifiers, addresses.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Literal

import msgspec

from repeat_eval.records.trial import ToolCall, Trial

GroupedBy = Literal["check", "call", "message"]
WAYS: tuple[GroupedBy, ...] = ("check", "call", "message")
MAX_GROUPS = 40
"""Groups that are kept of each way; the largest come first."""
MAX_MEMBERS = 60
"""Trials that a group names."""
SHAPE_LIMIT = 160
"""Characters of a message's shape."""

_SHAPES = (
    (re.compile(r"https?://\S+"), "‹address›"),
    (re.compile(r"(?<![\w])(['\"`“‘])(?:(?!\1)[^”’]){1,400}?(?:\1|[”’])(?!\w)"), "‹text›"),
    (re.compile(r"\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b|\b(?=[0-9a-f]*\d)[0-9a-f]{12,}\b"), "‹id›"),
    (re.compile(r"\b0x[0-9a-fA-F]+\b"), "‹id›"),
    (re.compile(r"[-+]?\d+(?:[.,:]\d+)*(?:[eE][-+]?\d+)?"), "#"),
)


class FailureGroup(msgspec.Struct, frozen=True, omit_defaults=True):
    """Failing trials that have something in common.

    Attributes:
        title: what they share, in words; may quote text from outside.
        trials: how many trials. cases: of how many cases. errors: how many of the trials gave no verdict.
        message: the message of one of them.
        members: (case id, repetition) of the first `MAX_MEMBERS`; empty where single trials are not known.
    """

    title: str
    trials: int
    cases: int
    errors: int = 0
    message: str | None = None
    members: tuple[tuple[str, int], ...] = ()


class _Growing:
    """A group while trials are added to it."""

    def __init__(self) -> None:
        self.trials = 0
        self.errors = 0
        self.cases: set[str] = set()
        self.message: str | None = None
        self.members: list[tuple[str, int]] = []

    def add(self, trial: Trial, *, error: bool) -> None:
        self.trials += 1
        self.errors += error
        self.cases.add(trial.case)
        self.message = self.message or trial.message
        if len(self.members) < MAX_MEMBERS:
            self.members.append((trial.case, trial.repetition))

    def closed(self, title: str) -> FailureGroup:
        return FailureGroup(
            title=title,
            trials=self.trials,
            cases=len(self.cases),
            errors=self.errors,
            message=self.message,
            members=tuple(self.members),
        )


def failure_groups(
    by_case: Mapping[str, Sequence[Trial]], count_as_failed: Collection[str] = ()
) -> dict[GroupedBy, tuple[FailureGroup, ...]]:
    """Group the failing trials of a run in every way, the largest groups first.

    Args:
        by_case: the trials of each case.
        count_as_failed: error kinds that count as failures.

    Returns:
        Groups by way; a way that says nothing about any trial has none, such as `call` where no tool was called.
    """
    growing: dict[GroupedBy, dict[str, _Growing]] = {way: {} for way in WAYS}
    for trials in by_case.values():
        failing = [trial for trial in trials if trial.outcome in ("failed", "error")]
        if not failing:
            continue
        usual = _usual_calls(trials)
        for trial in failing:
            error = trial.outcome == "error" and trial.error_kind not in count_as_failed
            shared: dict[GroupedBy, str | None] = {
                "check": _first_failing_check(trial),
                "call": None if usual is None or trial.tool_calls is None else diverging_call(trial.tool_calls, usual),
                "message": _message(trial),
            }
            for way, title in shared.items():
                if title is not None:
                    growing[way].setdefault(title, _Growing()).add(trial, error=error)
    return {way: _largest(groups) for way, groups in growing.items()}


def groups_of_messages(messages: Iterable[tuple[str, str, int]]) -> tuple[FailureGroup, ...]:
    """The same by message alone, where only messages and their numbers are known.

    Args:
        messages: (case id, message, how many trials).
    """
    counts: dict[str, tuple[int, set[str], str]] = {}
    for case, message, number in messages:
        title = message_shape(message)
        before, cases, example = counts.get(title, (0, set(), message))
        counts[title] = (before + number, cases | {case}, example)
    groups = [
        FailureGroup(title=title, trials=number, cases=len(cases), message=example)
        for title, (number, cases, example) in counts.items()
    ]
    return tuple(sorted(groups, key=lambda group: -group.trials)[:MAX_GROUPS])


def _largest(groups: Mapping[str, _Growing]) -> tuple[FailureGroup, ...]:
    ordered = sorted(groups.items(), key=lambda item: (-item[1].trials, -len(item[1].cases)))
    return tuple(group.closed(title) for title, group in ordered[:MAX_GROUPS])


def _first_failing_check(trial: Trial) -> str | None:
    if trial.outcome == "error":
        return f"error: {trial.error_kind or 'harness'}"
    return next((check.name for check in trial.checks if not check.passed), None)


def _message(trial: Trial) -> str:
    shape = message_shape(trial.message) if trial.message else "no message"
    return f"{trial.error_kind or 'harness'}: {shape}" if trial.outcome == "error" else shape


@lru_cache(maxsize=1 << 12)
def message_shape(message: str) -> str:
    """A message without what changes from trial to trial: `output has # words, not ‹text›`."""
    shape = " ".join(message[: 4 * SHAPE_LIMIT].split())
    for pattern, stands_for in _SHAPES:
        shape = pattern.sub(stands_for, shape)
    return shape if len(shape) <= SHAPE_LIMIT else shape[: SHAPE_LIMIT - 1] + "…"


def _usual_calls(trials: Sequence[Trial]) -> tuple[str, ...] | None:
    """The tool names that most passing trials of a case called, in order; None where none passed or none is known."""
    sequences = Counter(
        tuple(call.name for call in trial.tool_calls)
        for trial in trials
        if trial.outcome == "passed" and trial.tool_calls is not None
    )
    return sequences.most_common(1)[0][0] if sequences else None


def diverging_call(calls: Sequence[ToolCall], usual: Sequence[str]) -> str | None:
    """Where a trial's tool calls first leave the way of passing trials, in words; None where neither calls a tool.

    Args:
        calls: the trial's calls. usual: tool names in the order of passing trials.
    """
    if not calls and not usual:
        return None
    for number, wanted in enumerate(usual, start=1):
        if number > len(calls):
            return f"stops before call {number}, {wanted}"
        if calls[number - 1].name != wanted:
            return f"call {number} is {calls[number - 1].name}, not {wanted}"
    if len(calls) > len(usual):
        return f"one more call, {len(usual) + 1}: {calls[len(usual)].name}"
    return "same tools as passing trials"
