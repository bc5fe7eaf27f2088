"""The lock of an output folder: one writer at a time, and never a lock that outlives its holder."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from repeat_eval.errors import UserError
from repeat_eval.records.lock import writer_lock

HOLD = """
import sys
from pathlib import Path
from repeat_eval.records.lock import writer_lock
with writer_lock(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


@contextmanager
def another_holder(folder: Path) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        try:
            yield process
        finally:
            process.kill()


def test_a_second_process_is_refused_while_the_first_one_writes(tmp_path: Path) -> None:
    with (
        another_holder(tmp_path),
        pytest.raises(UserError, match=r"another repeat-eval is writing to this folder; .* --out"),
        writer_lock(tmp_path),
    ):
        pytest.fail("two writers")


def test_a_lock_ends_with_its_block_and_leaves_nothing(tmp_path: Path) -> None:
    for _ in range(3):
        with writer_lock(tmp_path):
            pass
        assert list(tmp_path.iterdir()) == []


def test_a_lock_ends_when_its_block_fails(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), writer_lock(tmp_path):
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == []


def test_a_process_that_is_killed_frees_its_lock(tmp_path: Path) -> None:
    with another_holder(tmp_path) as process:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        assert (tmp_path / ".repeat-eval.lock").exists()
        with writer_lock(tmp_path):
            pass
    assert list(tmp_path.iterdir()) == []


def test_folders_have_locks_of_their_own(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    with writer_lock(tmp_path), writer_lock(other):
        assert (other / ".repeat-eval.lock").exists()


def test_a_folder_that_is_not_there_cannot_be_locked(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be written: No such file or directory"), writer_lock(tmp_path / "none"):
        pytest.fail("locked")
