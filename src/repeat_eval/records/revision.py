"""Which revision of the user's code is under test."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

_SHA = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?\Z")


def commit_of(folder: Path) -> str | None:
    """The commit checked out around `folder`, or None: no repository, no git, or a repository git does not trust."""
    try:
        found = subprocess.run(
            ["git", "-C", str(folder), "rev-parse", "HEAD"], capture_output=True, text=True, timeout=10, check=False
        )
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return None
    commit = found.stdout.strip()
    return commit if found.returncode == 0 and _SHA.match(commit) else None
