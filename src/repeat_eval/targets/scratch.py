"""Temporary folders of ours, whose names say which process made them: what a killed one left is removed later.

The name holds the process's number, when it started, and a hash of the machine's boot and its space of numbers: only in
the same space can it be told whether a process is alive. Where /proc does not tell these, nothing is ever removed.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import tempfile
from pathlib import Path

_OURS = re.compile(r"repeat-eval-(?P<pid>[0-9]{1,10})-(?P<start>[0-9]{1,20})-(?P<space>[0-9a-f]{8})-")


def new_folder(parent: str | Path | None = None) -> Path:
    """A new folder that only we may enter, in `parent` or where temporary files belong. Raises OSError."""
    pid, space = os.getpid(), _space()
    start = _start(pid)
    known = f"{pid}-{start}-{space}-" if start is not None and space is not None else ""
    return Path(tempfile.mkdtemp(prefix=f"repeat-eval-{known}", dir=parent))


def is_left_behind(name: str) -> bool:
    """Whether a folder of this name was made by a process that is no more."""
    match = _OURS.match(name)
    if match is None or match["space"] != _space():
        return False
    return _start(int(match["pid"])) != int(match["start"])


def remove_left_behind(parent: str | Path | None = None) -> None:
    """Remove our user's folders in `parent`, or where temporary files belong, that processes left which are no more."""
    try:
        with os.scandir(parent or tempfile.gettempdir()) as entries:
            found = [entry for entry in entries if is_left_behind(entry.name)]
    except OSError:
        return
    for entry in found:
        try:
            ours = entry.is_dir(follow_symlinks=False) and entry.stat(follow_symlinks=False).st_uid == os.geteuid()
        except OSError:
            continue
        if ours:
            remove_tree(Path(entry.path))


def remove_tree(path: Path) -> None:
    """Remove a folder; what the user's code made unremovable stays, since that is no reason to lose a trial."""
    with contextlib.suppress(OSError):
        if path.is_symlink() or path.is_file():
            path.unlink()
    shutil.rmtree(path, ignore_errors=True)
    if path.exists():
        for parent, _, _ in os.walk(path):  # does not follow links
            with contextlib.suppress(OSError):
                Path(parent).chmod(0o700)
        shutil.rmtree(path, ignore_errors=True)


def _start(pid: int) -> int | None:
    """When a process started, in ticks since the machine did; None when there is none, or nobody tells."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        # The second field is the program's name in brackets, which may hold anything; this is the 22nd.
        state, *rest = text.rpartition(")")[2].split()
        return None if state in ("Z", "X") else int(rest[18])
    except (OSError, ValueError, IndexError):
        return None


def _space() -> str | None:
    """Stands for this boot of the machine and this process's space of numbers; None when nobody tells."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return hashlib.sha256(f"{boot} {os.readlink('/proc/self/ns/pid')}".encode()).hexdigest()[:8]  # noqa: PTH115
    except (OSError, ValueError):
        return None
