"""The token is in no environment, argument list or file, of this process or of any child."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from repeat_eval.action.base import NoBase, fetched_base

TOKEN = "ghs_0123456789abcdefTOKEN"  # noqa: S105 - a made-up one that the test looks for
LOOK = """
import os, sys
from repeat_eval.action.token import take_token
token = take_token([sys.executable, *sys.orig_argv[1:]])
held = [name for name, value in os.environ.items() if "TOKEN" in value]
started_with = open("/proc/self/environ", "rb").read() if os.access("/proc/self/environ", os.R_OK) else b""
print(token, held, b"abcdefTOKEN" in started_with, os.environ.get("OPENAI_API_KEY"), "ACTIONS_X" in os.environ)
"""


def start(**variables: str) -> str:
    environ = {"PATH": os.environ["PATH"], **variables}
    done = subprocess.run(
        [sys.executable, "-c", LOOK], env=environ, capture_output=True, text=True, timeout=60, check=True
    )
    return done.stdout.strip()


def test_the_program_starts_again_without_the_token_in_its_environment() -> None:
    shown = start(INPUT_TOKEN=TOKEN, GITHUB_TOKEN=TOKEN, HEADER=f"x {TOKEN}", OPENAI_API_KEY="sk-1", ACTIONS_X="y")
    assert shown == f"{TOKEN} [] False sk-1 False"


def test_without_a_token_there_is_none() -> None:
    assert start() == "None [] False None False"


def test_the_process_is_closed_to_others_of_its_user() -> None:
    code = """
import ctypes
from repeat_eval.action.token import make_undumpable
make_undumpable()
print(ctypes.CDLL(None).prctl(3))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "0"


@pytest.fixture
def watching_git(tmp_path: Path) -> Path:
    """A git that notes how it was called before it calls the real one."""
    programs = tmp_path / "bin"
    programs.mkdir()
    real = subprocess.run(["sh", "-c", "command -v git"], capture_output=True, text=True, check=True).stdout.strip()
    log = tmp_path / "calls"
    script = (
        f'#!/bin/sh\n{{ printf "%s " "$@"; echo; env | grep GIT_CONFIG_VALUE; echo; }} >> {log}\nexec {real} "$@"\n'
    )
    (programs / "git").write_text(script)
    (programs / "git").chmod(0o755)
    return tmp_path


def test_only_the_one_fetch_has_the_token_and_in_its_environment_alone(
    watching_git: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = f"{watching_git / 'bin'}:{os.environ['PATH']}"
    monkeypatch.setenv("PATH", path)
    environ = {"PATH": path, "HOME": str(watching_git)}
    with (
        pytest.raises(NoBase) as caught,
        fetched_base("http://127.0.0.1:9/o/r", "a" * 40, token=TOKEN, environ=environ),
    ):
        pass
    assert TOKEN not in str(caught.value)
    calls = (watching_git / "calls").read_text()
    assert TOKEN not in calls
    assert calls.count("Authorization: Basic") == 1
    assert "Basic" in calls.partition(" fetch ")[2]
    assert "Basic" not in "".join(line for line in calls.splitlines() if line.startswith("-C"))
