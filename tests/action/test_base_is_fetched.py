"""Base's files come from one fetch of one commit into a folder of our own, which goes away."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from repeat_eval.action.base import NoBase, fetched_base
from repeat_eval.targets.run_as import RunAs

ENVIRON = {"PATH": os.environ["PATH"]}


def test_one_commit_and_no_history_is_there_and_gone_afterwards(broken) -> None:
    server = (broken.root / "server/octo/shop").as_uri()
    with fetched_base(server, broken.base, token=None, environ=ENVIRON) as folder:
        assert "return input\n" in (folder / "evals/agent.py").read_text()
        count = subprocess.run(
            ["git", "-C", folder, "rev-list", "--count", "HEAD"], capture_output=True, text=True, check=True
        )
        assert count.stdout.strip() == "1"
    assert not folder.exists()


def test_no_program_of_anybodys_configuration_is_run(broken, tmp_path: Path) -> None:
    config = tmp_path / ".gitconfig"
    config.write_text(f"[core]\n\thooksPath = {tmp_path}\n")
    (tmp_path / "post-checkout").write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    (tmp_path / "post-checkout").chmod(0o755)
    server = (broken.root / "server/octo/shop").as_uri()
    with fetched_base(server, broken.base, token=None, environ={**ENVIRON, "HOME": str(tmp_path)}):
        assert not (tmp_path / "ran").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_the_files_belong_to_the_user_that_runs_them(broken) -> None:
    server = (broken.root / "server/octo/shop").as_uri()
    with fetched_base(server, broken.base, token=None, environ=ENVIRON, run_as=RunAs(1234, 1235)) as folder:
        paths = [folder, *folder.rglob("*")]
        assert {(path.lstat().st_uid, path.lstat().st_gid) for path in paths} == {(1234, 1235)}


@pytest.mark.parametrize("commit", ["main", "--upload-pack=touch x", "a" * 39, "A" * 40])
def test_what_is_no_full_commit_is_not_asked_for(broken, commit: str) -> None:
    with pytest.raises(NoBase), fetched_base("file:///nowhere", commit, token=None, environ=ENVIRON):
        pass


def test_a_commit_that_is_not_there_is_no_base_with_gits_reason(broken) -> None:
    server = (broken.root / "server/octo/shop").as_uri()
    with pytest.raises(NoBase, match="git: "), fetched_base(server, "1" * 40, token=None, environ=ENVIRON):
        pass
