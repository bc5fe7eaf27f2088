"""Fresh copies of the user's folder, for trials that must not see each other's files."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from repeat_eval.targets.run_as import RunAs
from repeat_eval.targets.scratch import new_folder, remove_tree

_A = TypeVar("_A")
_R = TypeVar("_R")

NOT_COPIED = frozenset({".git", ".venv", "node_modules", "__pycache__"})
"""Names that are left out: they are large, and a trial has no business changing them."""


def copy_folder(source: Path, to: Path, *, left_out: Sequence[Path] = ()) -> None:
    """Copy a folder; symbolic links stay links, sockets and pipes and `left_out` are not copied. Raises OSError."""
    skipped = {os.path.realpath(path) for path in left_out}

    def is_left_out(path: Path) -> bool:
        ordinary = path.is_symlink() or path.is_dir() or path.is_file()
        return path.name in NOT_COPIED or not ordinary or os.path.realpath(path) in skipped

    def names_left_out(parent: str, names: list[str]) -> set[str]:
        return {name for name in names if is_left_out(Path(parent, name))}

    shutil.copytree(source, to, symlinks=True, ignore=names_left_out)


@contextlib.contextmanager
def private_folder(
    copy_from: Path | None = None, *, left_out: Sequence[Path] = (), run_as: RunAs | None = None
) -> Iterator[Path]:
    """A new folder of one's own (of `run_as`), empty or a copy of another, removed afterwards."""
    parent = new_folder()
    try:
        folder = parent
        if copy_from is not None:
            folder = parent / "copy"
            copy_folder(copy_from, folder, left_out=(*left_out, parent))
        if run_as is not None:
            run_as.give(parent)
        yield folder
    finally:
        remove_tree(parent)


async def to_the_end(function: Callable[[_A], _R], argument: _A) -> _R:
    """Run in a thread and wait for its end even when cancelled: what it makes must not appear after the removal."""
    work = asyncio.ensure_future(asyncio.to_thread(function, argument))
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        await asyncio.wait([work])
        raise
