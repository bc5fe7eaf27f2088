"""Temporary folders of a process that was killed are removed by a later one; those of living processes stay."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from repeat_eval.targets.scratch import is_left_behind, new_folder, remove_left_behind

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="this system has no /proc")

MAKES_ONE = """
import sys
from repeat_eval.targets.scratch import new_folder
folder = new_folder(sys.argv[1])
(folder / "deep").mkdir()
(folder / "deep" / "file").touch()
(folder / "deep").chmod(0)
print(folder, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def other(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process, which has made a folder in ours."""
    words = [sys.executable, "-c", MAKES_ONE, str(tmp_path)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield process
        process.kill()


def test_what_a_killed_process_left_goes_and_what_a_living_one_has_stays(
    other: subprocess.Popen[str], tmp_path: Path
) -> None:
    assert other.stdout is not None
    folder, own = Path(other.stdout.readline().strip()), new_folder(tmp_path)
    remove_left_behind(tmp_path)
    assert folder.is_dir()
    other.kill()
    other.wait()
    assert is_left_behind(folder.name)
    remove_left_behind(tmp_path)
    assert list(tmp_path.iterdir()) == [own]


def test_a_dead_process_that_nobody_has_waited_for_is_dead(other: subprocess.Popen[str]) -> None:
    assert other.stdout is not None
    folder = Path(other.stdout.readline().strip())
    other.kill()
    os.waitid(os.P_PID, other.pid, os.WEXITED | os.WNOWAIT)
    assert is_left_behind(folder.name)


def test_another_process_with_the_same_number_is_another_process(tmp_path: Path) -> None:
    name = new_folder(tmp_path).name
    pid, start = name.split("-")[2:4]
    assert not is_left_behind(name)
    assert is_left_behind(name.replace(f"-{pid}-{start}-", f"-{pid}-{int(start) - 1}-"))


@pytest.mark.parametrize("change", ["space", "links", "others", "files"])
def test_what_cannot_be_told_or_is_none_of_ours_stays(change: str, tmp_path: Path) -> None:
    name = new_folder(tmp_path).name
    number, pid, start, space = name.split("-")[1:5]
    assert number == "eval"
    dead = name.replace(f"-{pid}-{start}-", f"-{pid}-{int(start) - 1}-")
    if change == "space":  # another boot, or a container with numbers of its own
        dead = dead.replace(f"-{space}-", "-00000000-")
        (tmp_path / dead).mkdir()
    elif change == "links":
        (tmp_path / "target").mkdir()
        (tmp_path / dead).symlink_to(tmp_path / "target")
    elif change == "others":
        dead = "repeat-eval-something-else"
        (tmp_path / dead).mkdir()
    else:
        (tmp_path / dead).touch()
    remove_left_behind(tmp_path)
    assert os.path.lexists(tmp_path / dead)
