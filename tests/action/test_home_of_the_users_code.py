"""The user's code runs as the workspace's owner, and has a HOME that this owner can write to."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root runs code as somebody else")
ASK = 'echo "home is $HOME"; touch "$HOME/written"'


def give(folder: Path, user: int) -> None:
    for path in (folder, *folder.rglob("*")):
        os.lchown(path, user, user)


@pytest.fixture
def step(harmless: Any) -> Any:
    """A step whose workspace belongs to user 1234, who can reach it."""
    for parent in (harmless.workspace, *harmless.workspace.parents):
        if "pytest" in str(parent) and parent.stat().st_uid == 0:
            parent.chmod(0o755)
    give(harmless.workspace, 1234)
    return harmless


def homes(step: Any) -> set[str]:
    """What the setup of both sides said; the suite itself may not be able to run as that user here."""
    return set(re.findall(r"home is (/\S+)$", step.log, re.MULTILINE))


def test_a_home_that_the_owner_can_write_to_is_kept(step: Any) -> None:
    home = step.root / "home"
    home.mkdir()
    give(home, 1234)
    step.environ["HOME"] = str(home)
    step.run(setup=ASK)
    assert homes(step) == {str(home)}
    assert (home / "written").stat().st_uid == 1234


@pytest.mark.parametrize("variables", [{"HOME": "/root"}, {"HOME": "/nowhere"}, {}], ids=["roots", "missing", "none"])
def test_otherwise_there_is_a_temporary_one_that_goes_away(step: Any, variables: dict[str, str]) -> None:
    del step.environ["HOME"]
    step.environ |= variables
    step.run(setup=ASK)
    (home,) = homes(step)
    assert "repeat-eval-home-" in home
    assert not Path(home).exists()
