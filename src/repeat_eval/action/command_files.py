"""GitHub's command files of this step, through which a step speaks to those after it.

The code under test is not told where they are, but it may look for them: they belong to the same user. So whatever is
in them when the trials have ended is not ours, and is thrown away before we write what is.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path

NAMES = ("GITHUB_ENV", "GITHUB_OUTPUT", "GITHUB_PATH", "GITHUB_STATE", "GITHUB_STEP_SUMMARY")


def empty_command_files(environ: Mapping[str, str]) -> None:
    """Empty the step's command files; what is no plain file any more (a link, a pipe) is made anew.

    To be called when the user's code has ended, in a container after `end_everything_else`, and before anything of
    ours is written. Variables that are missing, and files that were never there, are passed over.

    Raises:
        OSError: a file can neither be emptied nor made anew. What it holds may then be forged.
    """
    for name in NAMES:
        path = Path(environ.get(name) or os.devnull)
        if path.is_absolute() and path.parent.is_dir() and path != Path(os.devnull):
            _empty(path)


def _empty(path: Path) -> None:
    if path.is_file() and not path.is_symlink():
        descriptor = os.open(path, os.O_WRONLY | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC)
        os.close(descriptor)
        return
    if not path.is_symlink() and not path.exists():
        return
    if path.is_dir() and not path.is_symlink():
        raise IsADirectoryError(f"a folder stands in place of the command file {path.name}")
    path.unlink()
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    try:
        owner = path.parent.stat()
        with contextlib.suppress(PermissionError):  # not root: it is our own user's anyhow
            os.fchown(descriptor, owner.st_uid, owner.st_gid)
    finally:
        os.close(descriptor)
