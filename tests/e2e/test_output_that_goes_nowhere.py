"""Standard output and error that are closed, or on a full disk: the verdict and the files are there all the same."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from whole_program import environment, report_in, write

PROGRAM = f"{shlex.quote(sys.executable)} -m repeat_eval"
FULL = Path("/dev/full")


def shell(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/bin/sh", "-c", line], cwd=folder, env=environment(), capture_output=True, text=True, timeout=60, check=False
    )


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    write(tmp_path / "agent.py", "def answer(text):\n    return text\n")
    write(
        tmp_path / "s.yaml", 'target: "agent:answer"\nrepeats: 2\ncases: [{id: a, input: x, expect: [{equals: y}]}]\n'
    )
    return tmp_path


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-", ">&- --quiet"])
def test_closed_streams_change_no_verdict(closed: str, suite: Path) -> None:
    ended = shell(f"{PROGRAM} run s.yaml --out out {closed}", suite)
    assert ended.returncode == 1, ended.stderr
    assert "Traceback" not in ended.stdout + ended.stderr
    assert "fault" not in ended.stderr
    assert report_in(suite / "out")["verdict"] == "fail"


@pytest.mark.parametrize("words", ["--version", "--help", "plan", "schema suite"])
def test_a_closed_standard_output_is_no_fault(words: str, tmp_path: Path) -> None:
    ended = shell(f"{PROGRAM} {words} >&-", tmp_path)
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.skipif(not FULL.exists(), reason="no /dev/full here")
@pytest.mark.parametrize("quiet", ["", "--quiet"])
def test_a_full_disk_behind_standard_output_changes_no_verdict(quiet: str, suite: Path) -> None:
    ended = shell(f"{PROGRAM} run s.yaml --out out {quiet} > /dev/full", suite)
    assert ended.returncode == 1
    assert "the report cannot be shown on standard output: No space left on device" in ended.stderr
    assert report_in(suite / "out")["verdict"] == "fail"


@pytest.mark.skipif(not FULL.exists(), reason="no /dev/full here")
@pytest.mark.parametrize("words", ["plan", "validate s.yaml"])
def test_what_exists_only_to_be_shown_says_that_it_could_not_be(words: str, suite: Path) -> None:
    ended = shell(f"{PROGRAM} {words} > /dev/full", suite)
    assert ended.returncode == 2
    assert ended.stderr == "error: cannot be written: No space left on device\n"
