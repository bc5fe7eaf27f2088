"""The commit under test, from a real repository."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from repeat_eval.records.revision import commit_of


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "-q")
    return folder


def git(folder: Path, *words: str) -> str:
    who = ["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", "-C", str(folder), *who, *words], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def commit(folder: Path) -> str:
    git(folder, "commit", "-q", "--allow-empty", "-m", "more")
    return git(folder, "rev-parse", "HEAD")


def test_the_commit_is_that_of_the_repository_around_the_folder(repository: Path) -> None:
    below = repository / "evals" / "deep"
    below.mkdir(parents=True)
    first = commit(repository)
    assert commit_of(repository) == commit_of(below) == first
    second = commit(repository)
    assert commit_of(below) == second != first


def test_a_repository_without_commits_has_none(repository: Path) -> None:
    assert commit_of(repository) is None


def test_outside_of_any_repository_there_is_none(repository: Path, tmp_path: Path) -> None:
    folder = tmp_path / "plain"
    folder.mkdir()
    assert commit_of(folder) is None
    assert commit_of(tmp_path / "missing") is None


def test_without_git_there_is_none(repository: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    commit(repository)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert commit_of(repository) is None


def test_in_a_hook_of_another_repository_it_is_still_the_one_around_the_folder(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = commit(repository)
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q")
    commit(other)
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    assert commit_of(repository) == first
