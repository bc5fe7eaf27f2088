"""Which revision of the user's code is under test."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

_NAMES_A_REPOSITORY = frozenset(
    {
        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
        "GIT_COMMON_DIR",
        "GIT_DIR",
        "GIT_INDEX_FILE",
        "GIT_OBJECT_DIRECTORY",
        "GIT_PREFIX",
        "GIT_WORK_TREE",
    }
)
_SHA = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?\Z")


def commit_of(folder: Path) -> str | None:
    """The commit checked out around `folder`, or None: no repository, no git, or a repository git does not trust."""
    commit = ask_git(folder, "rev-parse", "HEAD")
    return commit if commit is not None and _SHA.match(commit) else None


def ask_git(folder: Path, *question: str) -> str | None:
    """What git says about the repository around `folder`; None when it has no answer, or there is no git."""
    try:
        found = subprocess.run(
            ["git", "-C", str(folder), *question],
            capture_output=True,
            text=True,
            env=git_environment(),
            timeout=10,
            check=False,
        )
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return None
    return found.stdout.strip() or None if found.returncode == 0 else None


def git_environment() -> dict[str, str]:
    """The environment for git, less what names a repository: in a hook of git that is the one the hook belongs to."""
    return {name: value for name, value in os.environ.items() if name not in _NAMES_A_REPOSITORY}
