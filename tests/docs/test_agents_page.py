"""docs/agents.md: its first commands work in an empty folder, and what it shows of a suite is valid."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from doc_pages import ROOT, blocks, commands, text_of

from repeat_eval.suite.load import load_suite

PAGE = text_of(ROOT / "docs" / "agents.md")


@pytest.mark.e2e
def test_the_commands_marked_as_runnable_pass_without_a_key(tmp_path: Path) -> None:
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("REPEAT_EVAL_", "PYTEST_"))}
    environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environ['PATH']}"
    (block,) = re.findall(r"<!-- runnable -->\n```console\n(.*?)```", PAGE, re.DOTALL)
    outputs = []
    for command in commands(block):
        done = subprocess.run(
            shlex.split(command), check=False, cwd=tmp_path, env=environ, capture_output=True, text=True
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        outputs.append(done.stdout)
    assert "1 flaky" in outputs[-1] and "PASSED 4 cases" in outputs[-1]


def test_the_target_that_is_shown_is_valid(tmp_path: Path) -> None:
    (shown,) = blocks(PAGE, "yaml")
    body = {**yaml.safe_load(shown), "cases": [{"id": "a", "input": "Hello", "expect": [{"contains": "x"}]}]}
    path = tmp_path / "suite.yaml"
    path.write_text(yaml.safe_dump(body), "utf-8")
    suite = load_suite(path)
    assert suite.target is not None
    assert suite.target.kind == "model"
