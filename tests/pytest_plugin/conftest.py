"""Real pytest sessions with the plugin, in processes and folders of their own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest


class Sessions:
    """Runs pytest on test files, with the plugins named and no others."""

    def __init__(self, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
        self.pytester = pytester
        self._monkeypatch = monkeypatch
        monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
        monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
        for name in ("CASE", "REPETITION", "REPEATS", "SEED"):
            monkeypatch.delenv(f"REPEAT_EVAL_TRIAL_{name}", raising=False)

    @property
    def path(self) -> Path:
        """The folder of the sessions."""
        return self.pytester.path

    def run(
        self, text: str | None, *arguments: str, plugins: tuple[str, ...] = (), env: Mapping[str, str] | None = None
    ) -> pytest.RunResult:
        """Run pytest on a test file with this text (None: the one that is there), reports going into `out`."""
        if text is not None:
            (self.path / "test_it.py").write_text("import os, pytest, repeat_eval\n" + text)
        for name, value in (env or {}).items():
            self._monkeypatch.setenv(name, value)
        named = [word for plugin in ("repeat_eval.pytest_plugin.plugin", *plugins) for word in ("-p", plugin)]
        return self.pytester.runpytest_subprocess(*named, "--repeat-eval-out=out", *arguments, timeout=60)

    def report(self) -> dict[str, Any]:
        """The report of the last session."""
        found: dict[str, Any] = json.loads((self.path / "out" / "report.json").read_text())
        return found

    def case(self, name: str) -> dict[str, Any]:
        """A case of the last session's report."""
        return {case["id"]: case for case in self.report()["cases"]}[f"test_it.py::{name}"]

    def trials(self) -> list[dict[str, Any]]:
        """The trials in the run file of the last session, in its order."""
        lines = [json.loads(line) for line in (self.path / "out" / "run.jsonl").read_text().splitlines()]
        return [line for line in lines if "repetition" in line]


@pytest.fixture
def sessions(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Sessions:
    return Sessions(pytester, monkeypatch)
