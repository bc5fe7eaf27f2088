"""From a suite and its settings to a plan: how many trials of each case, under which threshold and gate."""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from repeat_eval.records.fingerprints import case_fingerprint, target_fingerprint
from repeat_eval.records.run import CasePlan
from repeat_eval.suite.settings import ResolvedSettings
from repeat_eval.suite.spec import CaseSpec, SuiteSpec, TargetSpec

MAX_SOURCE_BYTES = 1_000_000


def plan_cases(spec: SuiteSpec, cases: Sequence[CaseSpec], settings: ResolvedSettings) -> tuple[CasePlan, ...]:
    """What is asked of each case.

    `--repeats` (option or variable) overrides every case; a threshold or gate from there is only the default of cases
    that do not say their own. Cases written with `repeat` and no pass rate anywhere must pass every time.
    """
    forced = settings["repeats"] if settings.source("repeats") in ("option", "variable") else None
    all_must_pass = settings.source("threshold") == "default"
    return tuple(
        CasePlan(
            id=case.id,
            asked=forced or case.repeats or settings["repeats"],
            threshold=case.threshold
            or ("1.0" if all_must_pass and (case.written_repeat or spec.written_repeat) else None),
            gate=case.gate,
            case_fingerprint=_fingerprint_of(case, settings),
            tags=case.tags,
            file=case.file,
            line=case.line,
        )
        for case in cases
    )


def _fingerprint_of(case: CaseSpec, settings: ResolvedSettings) -> str:
    judges = None
    if any(configured.check.kind == "judge" for configured in case.checks):
        from repeat_eval.execution.judges import judge_identities

        judges = judge_identities(case, settings)
    return case_fingerprint(case.input, case.expect_written, case.expected, judges)


def describe_target(target: TargetSpec | None) -> str | None:
    """A target in one line, for instance `python:agent:answer`."""
    if target is None:
        return None
    value = target.value
    if target.kind == "http":
        return f"http:{value.get('url', '')}"
    if target.kind == "model":
        name = value if isinstance(value, str) else value.get("name")
        return f"model:{name}" if name else "model: a script"
    return f"{target.kind}:{value if isinstance(value, str) else shlex.join(value)}"


def fingerprint_targets(spec: SuiteSpec, cases: Sequence[CaseSpec]) -> str | None:
    """Fingerprint of everything that is evaluated: targets as written, and their source files beside the suite."""
    targets = [target for target in (spec.target, *(case.target for case in cases)) if target is not None]
    if not targets:
        return None
    written: list[Any] = []
    sources: dict[str, str] = {}
    for target in targets:
        entry = [target.kind, target.value]
        if entry not in written:
            written.append(entry)
            sources.update(_sources(target, spec.folder))
    return target_fingerprint(written, sources)


def _sources(target: TargetSpec, folder: Path) -> dict[str, str]:
    names: list[str] = []
    if target.kind == "python":
        module = str(target.value).partition(":")[0].replace(".", "/")
        names = [f"{module}.py", f"{module}/__init__.py"]
    elif target.kind == "model":
        names = _files_of_model(target.value)
    elif target.kind == "command":
        try:
            names = shlex.split(target.value) if isinstance(target.value, str) else list(target.value)
        except ValueError:
            names = []
    hashes = {}
    for name in names:
        path = folder / name
        try:
            if path.is_file() and path.stat().st_size <= MAX_SOURCE_BYTES:
                hashes[name] = hashlib.sha256(path.read_bytes()).hexdigest()
        except (OSError, ValueError):
            continue
    return hashes


def _files_of_model(value: Any) -> list[str]:
    """The file of the system prompt, and those of Python functions behind tools."""
    names: list[str] = []
    system = value.get("system") if isinstance(value, dict) else None
    if isinstance(system, dict):
        names.append(str(system.get("file")))
    pending: list[Any] = [value.get("tools")] if isinstance(value, dict) else []
    while pending:
        inner = pending.pop()
        if isinstance(inner, dict):
            if isinstance(inner.get("python"), str):
                module = inner["python"].partition(":")[0].replace(".", "/")
                names += [f"{module}.py", f"{module}/__init__.py"]
            pending += [inner[key] for key in ("mock", "then") if key in inner]
        elif isinstance(inner, list):
            pending += inner
    return names
