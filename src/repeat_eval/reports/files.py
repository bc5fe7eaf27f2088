"""Writing files so that nobody ever reads half of one."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path

from repeat_eval.errors import UserError


def write_atomic(path: Path, data: bytes) -> None:
    """Write a file whole: to a temporary file in the same folder, then renamed over `path`.

    The folder must exist. The file's mode is that of any new file (0666 less the umask).

    Raises:
        UserError: the file cannot be written; the text says why. A file that was there before is untouched.
    """
    temporary = path.with_name(f".{path.name[:100]}.{secrets.token_hex(6)}.tmp")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        temporary.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise UserError(f"{path} cannot be written: {error.strerror or error}") from error
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise
