"""Running the user's code as another user: in a container we are root, and the user's code must not be."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TypedDict

import msgspec

_ENGINE_SOCKETS = ("/var/run/docker.sock", "/run/docker.sock", "/run/podman/podman.sock")


class PopenUser(TypedDict, total=False):
    """The arguments of `subprocess.Popen` that change the user."""

    user: int
    group: int
    extra_groups: list[int]


class RunAs(msgspec.Struct, frozen=True):
    """The user that children run as, without any further groups. Only root can start them.

    Attributes:
        user, group: their numbers; they need no entry in /etc/passwd.
    """

    user: int
    group: int

    def give(self, path: Path | str) -> None:
        """Make a file or folder, with all that is in it, the user's own; links are not followed. Raises OSError."""
        os.lchown(path, self.user, self.group)
        for parent, folders, files in os.walk(path):  # does not follow links
            for name in (*folders, *files):
                os.lchown(os.path.join(parent, name), self.user, self.group)  # noqa: PTH118 - many of them


def popen_user(run_as: RunAs | None) -> PopenUser:
    """The arguments for `subprocess.Popen`; none at all where the user stays the same."""
    if run_as is None:
        return {}
    return {"user": run_as.user, "group": run_as.group, "extra_groups": []}


def owner_of(folder: Path) -> RunAs | None:
    """The owner of a folder as the user that children run as.

    On runners the workspace's group is often the one that may talk to the container engine, which is as good as being
    root on the machine. Such a group is not handed on, nor is root's: the group then has the user's own number.

    Returns:
        None where nothing is to be changed: we are not root, or root is the owner.

    Raises:
        OSError: the folder is not there.
    """
    state = folder.stat()
    if os.geteuid() != 0 or state.st_uid == 0:
        return None
    group = state.st_gid
    return RunAs(state.st_uid, state.st_uid if group in _powerful_groups() else group)


def _powerful_groups() -> set[int]:
    groups = {0}
    for socket in _ENGINE_SOCKETS:
        try:
            groups.add(os.stat(socket).st_gid)  # noqa: PTH116
        except OSError:
            continue
    return groups
