"""The recipes page holds the commands that `make recipes` runs; the one that needs no tool is run here."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from doc_pages import ROOT, text_of

from repeat_eval.cli.main import cli

PAGE = text_of(ROOT / "docs" / "recipes.md")
SCRIPT = ROOT / "scripts" / "try_recipes.sh"
RECIPES = re.findall(r"^<!-- recipe: ([\w-]+) -->\n```sh\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def test_the_script_runs_every_recipe_of_the_page() -> None:
    (listed,) = re.findall(r'^recipes=\$\{\*:-"(.*)"\}', SCRIPT.read_text(), re.MULTILINE)
    assert [name for name, _ in RECIPES] == listed.split()
    assert PAGE.count("<!-- recipe:") == len(RECIPES)


def test_the_versions_are_those_that_the_script_installs() -> None:
    (tried,) = re.findall(r"^Tried with (.*)\.$", PAGE, re.MULTILINE)
    shown = set(re.findall(r"([\w-]+) (\d[\d.]*\d)", tried))
    assert shown == set(re.findall(r"([\w-]+)(?:==|@)(\d[\d.]*\d)", SCRIPT.read_text()))


@pytest.mark.parametrize(("name", "command"), RECIPES)
def test_recipes_are_one_command_with_options_that_there_are(name: str, command: str) -> None:
    assert command.startswith("repeat-eval run ")
    own = re.sub(r"'.*?'", "", command, flags=re.DOTALL)
    run = cli.get_command(None, "run")  # type: ignore[arg-type]
    assert run is not None
    known = {word for parameter in run.params for word in parameter.opts}
    assert set(re.findall(r"--[\w-]+", own)) <= known, name
    assert "{results}" in command


@pytest.mark.skipif(not shutil.which("git") or not (ROOT / ".venv/bin/repeat-eval").exists(), reason="no git or .venv")
def test_the_gate_passes_with_a_head_like_base_and_fails_with_a_worse_one(tmp_path: Path) -> None:
    path = f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin"
    done = subprocess.run(
        ["sh", str(SCRIPT), "any-command"],
        env={"PATH": path, "KEEP": str(tmp_path), "COLUMNS": "120"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "any-command, head is alike: exit code 0. PASSED" in done.stdout
    assert "any-command, head is worse: exit code 1. FAILED" in done.stdout
