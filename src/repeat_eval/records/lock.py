"""A lock that keeps two writers of one output folder apart. It falls with the process, however that dies."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from repeat_eval.errors import Problem, UserError


@contextlib.contextmanager
def writer_lock(folder: Path) -> Iterator[None]:
    """Hold the lock of an output folder; UserError when another process holds it or it cannot be made."""
    path = folder / ".repeat-eval.lock"
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise UserError(Problem(f"cannot be written: {error.strerror}", str(path))) from None
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UserError(
                Problem("another repeat-eval is writing to this folder; choose another with --out", str(folder))
            ) from None
        yield
        path.unlink(missing_ok=True)
    finally:
        os.close(descriptor)
