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
    descriptor = _locked(path)
    while descriptor is None:
        descriptor = _locked(path)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)
        os.close(descriptor)


def _locked(path: Path) -> int | None:
    """The locked file's descriptor; None when its last holder removed it in the meantime."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise UserError(Problem(f"cannot be written: {error.strerror}", str(path))) from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise UserError(
            Problem("another repeat-eval is writing to this folder; choose another with --out", str(path.parent))
        ) from None
    try:
        if os.path.samestat(os.fstat(descriptor), path.stat()):
            return descriptor
    except FileNotFoundError:
        pass
    os.close(descriptor)
    return None
