"""The user's code in the container looks for the token in more than ten ways, and tries to write another's outputs."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from boxes import OWNER, TOKEN, Box

SUITE = """
name: spying
target: {command: "python3 spy.py; echo fine"}
repeats: 1
cases:
  - {id: spy, input: look, expect: [{contains: fine}]}
"""
HALF = len(TOKEN) // 2
SPY = ["-e", f"SPY_FIRST={TOKEN[:HALF]}", "-e", f"SPY_SECOND={TOKEN[HALF:]}", "-e", "MODEL_API_KEY=key-of-the-model"]
INPUTS = {"suite": "suite.yaml", "token": TOKEN, "gate": "none", "comment": "off", "base": "none", "setup": "none"}
WITH_THE_TOKEN = ["-e", f"GITHUB_TOKEN={TOKEN}", "-e", f"COPY_OF_IT=bearer {TOKEN}", "-e", "ACTIONS_RUNTIME_TOKEN=abc"]


def spied(box: Box) -> tuple[dict[str, object], str]:
    (box.workspace / "suite.yaml").write_text(SUITE)
    shutil.copy(Path(__file__).with_name("spy.py"), box.workspace)
    done = box.run(INPUTS, options=[*SPY, *WITH_THE_TOKEN])
    found = box.workspace / "findings.json"
    assert found.is_file(), done.stdout + done.stderr
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(found.read_text()), done.stdout + done.stderr


def looks(findings: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in findings.items() if isinstance(value, bool)}


@pytest.mark.parametrize("owner", [OWNER, 0], ids=["owner 1001", "owner root"])
def test_the_token_is_found_nowhere(image: str, tmp_path: Path, owner: int) -> None:
    box = Box(image, tmp_path, owner)
    findings, log = spied(box)
    assert len(looks(findings)) >= 10
    assert [name for name, found in looks(findings).items() if found] == []
    assert findings["user"] == owner
    assert findings["groups"] == [owner]
    assert findings["told"] == []
    assert findings["key"] == "key-of-the-model", "the step's own variables pass"
    assert TOKEN not in log
    kept = [path for path in tmp_path.rglob("*") if path.is_file() and TOKEN.encode() in path.read_bytes()]
    assert kept == []


@pytest.mark.parametrize("owner", [OWNER, 0], ids=["owner 1001", "owner root"])
def test_what_the_code_writes_into_the_command_files_is_gone(image: str, tmp_path: Path, owner: int) -> None:
    box = Box(image, tmp_path, owner)
    _, log = spied(box)
    for path in (tmp_path / "file_commands").iterdir():
        assert path.is_file() and not path.is_symlink(), path
        assert "forged" not in path.read_text("utf-8"), path
    assert "\nverdict" in "\n" + box.command_file("GITHUB_OUTPUT")
    assert (box.workspace / "victim.txt").read_text().startswith("mine")
    assert not [line for line in log.splitlines() if line.lstrip().startswith(("::set-output", "::error"))]
