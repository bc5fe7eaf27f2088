"""The token's way through the process.

A process keeps the environment that it was started with readable in /proc for every process of its user, whatever it
deletes later. So the entry hands the token to a second start of itself through a pipe, and that one has never had it in
its environment; it also marks itself undumpable, which closes its memory and descriptors to others of its user.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
from collections.abc import Sequence

HANDED = "REPEAT_EVAL_TOKEN_DESCRIPTOR"
_HOLDERS = ("INPUT_TOKEN", "GITHUB_TOKEN", "GH_TOKEN")
_SET_DUMPABLE = 4
_MOST = 65_536
"""Bytes that a pipe takes without a reader. Tokens are far shorter."""


def take_token(argv: Sequence[str]) -> str | None:
    """The token, from a process that holds it nowhere else; None when there is none.

    The first time, with the token in the environment, this does not return: the program starts again without it.

    Args:
        argv: the words to start the program with again.
    """
    handed = os.environ.pop(HANDED, None)
    if handed is not None and handed.isdecimal():
        with os.fdopen(int(handed), "rb") as pipe:
            token = pipe.read(_MOST).decode("utf-8", "surrogateescape")
        make_undumpable()
        return token or None
    token = next((os.environ[name] for name in _HOLDERS if os.environ.get(name)), "")
    kept = {name: value for name, value in os.environ.items() if not _holds(name, value, token)}
    reader, writer = os.pipe()
    os.set_inheritable(reader, True)
    os.write(writer, token.encode("utf-8", "surrogateescape")[:_MOST])
    os.close(writer)
    sys.stdout.flush()
    os.execve(sys.executable, list(argv), {**kept, HANDED: str(reader)})  # noqa: S606 - ourselves, without a shell


def _holds(name: str, value: str, token: str) -> bool:
    """Whether a variable holds the token, or one of the runner's own."""
    return name in _HOLDERS or name.startswith("ACTIONS_") or (len(token) >= 8 and token in value)


def make_undumpable() -> None:
    """Close memory, environment and descriptors of this process to others of the same user, where Linux can."""
    if sys.platform.startswith("linux"):
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_SET_DUMPABLE, 0, 0, 0, 0)
