"""A pull request that writes other answers into its recordings has that at the top of its summary."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from repeat_eval.cli.main import run

SUITE = """name: desk
target: {model: {script: [{when: refund, turns: [{say: I will not.}]}, {turns: [{say: Hello there.}]}]}}
repeats: 4
cassettes: tapes
cases:
  - {id: refunds, input: a refund please, expect: [contains: refunded]}
  - {id: greets, input: good morning, expect: [contains: Hello]}
"""
TOLD = "4 recordings answer the same question otherwise than in base's own checkout: case refunds, repetition 1,"


def recorded(folder: Path) -> dict[str, str]:
    """The suite with its recordings, as files of a repository."""
    (folder / "suite.yaml").write_text(SUITE)
    run(["run", str(folder / "suite.yaml"), "-o", str(folder / "out"), "-q"])
    files = [folder / "suite.yaml", *(folder / "tapes").glob("*.json")]
    return {f"evals/{path.relative_to(folder)}": path.read_text() for path in files}


def test_forged_recordings_are_told_at_the_top_and_are_no_verdict(
    tmp_path_factory: Any, step_between: Callable[..., Any]
) -> None:
    files = recorded(tmp_path_factory.mktemp("recorded"))
    forged = {name: text.replace("I will not.", "It is refunded.") for name, text in files.items() if "tapes" in name}
    step = step_between(files, forged)
    assert step.run(setup="none") == 0
    assert "changes its own gate" in step.summary
    assert TOLD in step.summary
    assert step.summary.index(TOLD) < step.summary.index("| ")
    report = json.loads((step.workspace / step.outputs["report-json"]).read_text())
    assert report["comparison"]["gate_changes"][0].startswith(TOLD)


def test_recordings_that_nobody_touched_are_not_mentioned(
    tmp_path_factory: Any, step_between: Callable[..., Any]
) -> None:
    step = step_between(recorded(tmp_path_factory.mktemp("recorded")), {"README": "the desk"})
    step.run(setup="none")
    assert "recordings answer" not in step.summary
