"""Take the values of secrets out of trials and headers before they are written or shown anywhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from repeat_eval.records.run import RunHeader
from repeat_eval.records.trial import ToolCall, Trial


def scrub_header(header: RunHeader, scrub: Callable[[str], str]) -> RunHeader:
    """The header with what users and results files wrote scrubbed: command, target, warnings, recordings' names."""
    changed = header.recordings_changed
    return msgspec.structs.replace(
        header,
        command=None if header.command is None else scrub(header.command),
        target=None if header.target is None else scrub(header.target),
        warnings=tuple(scrub(warning) for warning in header.warnings),
        recordings_changed=tuple(scrub(text) for text in changed) if changed else changed,
    )


def scrub_trial(trial: Trial, scrub: Callable[[str], str]) -> Trial:
    """The trial with every text in it scrubbed; the same object when there was nothing to do."""
    changes: dict[str, Any] = {}
    for name in ("message", "output"):
        text = getattr(trial, name)
        if text is not None and (clean := scrub(text)) is not text:
            changes[name] = clean
    checks = tuple(
        check
        if check.message is None or (message := scrub(check.message)) is check.message
        else msgspec.structs.replace(check, message=message)
        for check in trial.checks
    )
    if any(new is not old for new, old in zip(checks, trial.checks, strict=True)):
        changes["checks"] = checks
    if trial.tool_calls:
        calls = tuple(ToolCall(scrub(call.name), _scrub_value(call.arguments, scrub)) for call in trial.tool_calls)
        if calls != trial.tool_calls:
            changes["tool_calls"] = calls
    return msgspec.structs.replace(trial, **changes) if changes else trial


def _scrub_value(value: Any, scrub: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return scrub(value)
    if isinstance(value, dict):
        return {_scrub_value(key, scrub): _scrub_value(inner, scrub) for key, inner in value.items()}
    if isinstance(value, list):
        return [_scrub_value(inner, scrub) for inner in value]
    return value
