"""Settings into rules, and a run into a report with the settings that made it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from repeat_eval.analysis.report import Report, Setting
from repeat_eval.analysis.rules import Rules
from repeat_eval.errors import UserError
from repeat_eval.records.run import Run, RunHeader
from repeat_eval.steps.bases import Base
from repeat_eval.suite.settings import ResolvedSettings, Settings, setting_problems, settings_of

GATE_SETTINGS = tuple(Rules.__struct_fields__)
_OF_RECORDINGS = frozenset({"cassettes", "cassette_mode"})
"""Left out of reports: what was replayed says the same as when it was recorded."""


def rules_of(settings: ResolvedSettings) -> Rules:
    """The rules that these settings make."""
    return Rules.from_settings({name: settings[name] for name in GATE_SETTINGS})


def settings_of_run(run: Run) -> Settings:
    """The gate settings that a run file was written with, as a layer; UserError when they are not valid."""
    written = {
        name: value for name, value in run.header.settings.items() if name in GATE_SETTINGS and value is not None
    }
    problems = setting_problems(written)
    if problems:
        raise UserError("the run file's settings are not valid: " + "; ".join(text for _, text in problems))
    return settings_of(written)


def report_of(
    run: Run,
    settings: ResolvedSettings,
    *,
    wall: float | None = None,
    files: Iterable[str] = (),
    base: Base | None = None,
    base_stored: Run | None = None,
    base_written: RunHeader | None = None,
    base_missing: str | None = None,
) -> Report:
    """Judge a run by the rules of these settings, and compare it with base if there is one.

    Args:
        run: the run. settings: all settings with their sources.
        wall: seconds that the run took. files: the files that it was read from.
        base: what it is compared with.
        base_stored: the stored run behind two looks that took it for base; `base` then holds fresh trials only.
        base_written: what base's own suite asks for, to tell how head changes its own gate.
        base_missing: why there is no base, when one was looked for.
    """
    from repeat_eval.analysis.analyse import analyse

    shown = {
        name: Setting(resolved.value, resolved.source)
        for name, resolved in settings.values.items()
        if resolved.value is not None and name not in _OF_RECORDINGS
    }
    compared: dict[str, Any] = {"base_missing": base_missing}
    if base is not None:
        compared = {"base": base.run, "base_source": base.source}
    if base_stored is not None:
        compared |= {"base_stored": base_stored, "base_source": "stored"}
    if (base is not None or base_stored is not None) and base_written is not None:
        compared["base_written"] = base_written
    return analyse(run, rules_of(settings), settings=shown, wall=wall, files=files, **compared)
