"""Each side's own environment: made from its own lock file, or by a command of the user's, once per side.

It is made as `.venv` beside the suite (or in the working directory of a command), where a run looks for it. What is
installed is the pull request's choice, so this is the user's code like any other: it gets the children's environment
and runs as the children's user.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO

from repeat_eval.errors import RepeatEvalError
from repeat_eval.targets.environment import child_environment
from repeat_eval.targets.run_as import RunAs, popen_user

ENVIRONMENT = ".venv"
SETUP_SECONDS = 1800.0
_LOCKS = ("uv.lock", "requirements.txt")
_NOT_READ = ("poetry.lock", "Pipfile.lock", "pdm.lock", "environment.yml")
_LAST_LINES = 15
_TOLD_LINES, _TOLD = 5, 600
"""Lines and characters of what a command that failed printed last, in the one error that is told of it."""
_PIECE, _KEPT = 65_536, 131_072
"""Bytes that are read at once, and those that are kept of what a command prints."""
_LAST_WORDS_SECONDS = 1.0
"""For what is still in the pipe when a command has ended."""


class SetupFailed(RepeatEvalError):
    """The environment of a side could not be made; the text ends with what the command printed last."""


def set_up(
    setup: str,
    folder: Path,
    root: Path,
    *,
    side: str,
    environ: Mapping[str, str],
    run_as: RunAs | None,
    say: Callable[[str], None],
    as_root: bool = False,
) -> None:
    """Make the environment of one side.

    Args:
        setup: `auto`, `none`, or a shell command, which runs in `folder`.
        folder: where the suite stands, or where the command runs. root: the root of the side's checkout.
        side: `head` or `base`, for messages.
        environ: what the command inherits, less what children must not see.
        run_as: the user that it runs as, and that what it makes belongs to; None for our own.
        say: takes a line about what is done.
        as_root: it runs as ourselves, and what it made is given to `run_as` afterwards.

    Raises:
        SetupFailed: a command failed, or what is needed is not there.
    """
    if setup == "none":
        return
    if as_root and run_as is not None:
        try:
            set_up(setup, folder, root, side=side, environ=environ, run_as=None, say=say)
        finally:
            run_as.give(root)
        return
    if setup != "auto":
        _run([["sh", "-e", "-c", setup]], folder, side=side, environ=environ, run_as=run_as, say=say)
        return
    if (folder / ENVIRONMENT).exists():
        say(f"{side}: there is an environment in {ENVIRONMENT} already")
        return
    lock = find_lock(folder, root)
    if lock is None:
        return
    if lock.name in _NOT_READ:
        say(f"{side}: {lock.name} is there, which `setup: auto` does not install from; give a command as `setup`")
        return
    uv, python = (shutil.which(name, path=environ.get("PATH")) for name in ("uv", "python3"))
    commands = commands_for(lock, folder / ENVIRONMENT, uv=uv, python=python)
    extra = {"UV_PROJECT_ENVIRONMENT": str(folder / ENVIRONMENT)}
    say(f"{side}: an environment from {lock.relative_to(root)}")
    _run(commands, lock.parent, side=side, environ={**environ, **extra}, run_as=run_as, say=say)


def find_lock(folder: Path, root: Path) -> Path | None:
    """The lock file that stands for a folder: the nearest one, from the folder up to the root of its checkout."""
    folder, root = folder.resolve(), root.resolve()
    for place in (folder, *folder.parents):
        for name in (*_LOCKS, *_NOT_READ):
            if (place / name).is_file():
                return place / name
        if place == root:
            break
    return None


def commands_for(lock: Path, environment: Path, *, uv: str | None, python: str | None = None) -> list[list[str]]:
    """The commands that make `environment` from a lock file, to be run beside the lock file.

    `uv` and `python` are where these programs are, if they are; without uv our own Python stands for one that is not.

    Raises:
        SetupFailed: only uv can do it, and there is none.
    """
    if lock.name == "uv.lock":
        if uv is None:
            raise SetupFailed(
                "uv.lock is there and uv is not; install uv in a step before, or give a command as `setup`"
            )
        return [[uv, "sync", "--frozen"]]
    own = str(environment / "bin" / "python")
    if uv is not None:
        install = [uv, "pip", "install", "--quiet", "--python", own, "-r", lock.name]
        return [[uv, "venv", "--quiet", str(environment)], install]
    install = [own, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", lock.name]
    return [[python or sys.executable, "-m", "venv", str(environment)], install]


def _run(
    commands: Sequence[Sequence[str]],
    folder: Path,
    *,
    side: str,
    environ: Mapping[str, str],
    run_as: RunAs | None,
    say: Callable[[str], None],
) -> None:
    for command in commands:
        say(f"{side}: {shlex.join(command)}")
        try:
            code, printed = _ran(command, folder, child_environment(environ), run_as)
        except subprocess.TimeoutExpired:
            raise SetupFailed(f"the setup of {side} took more than {SETUP_SECONDS / 60:.0f} minutes") from None
        except OSError as error:
            raise SetupFailed(f"the setup of {side} could not be run: {error.strerror}") from None
        last = [line for line in printed.splitlines() if line.strip()][-_LAST_LINES:]
        for line in last:
            say(f"  {line}")
        if code:
            end = " ".join(line.strip() for line in last[-_TOLD_LINES:])[-_TOLD:] or "it printed nothing"
            raise SetupFailed(f"the setup of {side} failed (exit code {code}): {end}")


def _ran(command: Sequence[str], folder: Path, environ: Mapping[str, str], run_as: RunAs | None) -> tuple[int, str]:
    """Exit code of a command, and what it printed last. Its whole group is killed when we do not wait for its end."""
    tail = bytearray()
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        **popen_user(run_as),
    )

    def read(stream: IO[bytes]) -> None:
        with stream:
            while piece := os.read(stream.fileno(), _PIECE):
                tail.extend(piece)
                del tail[:-_KEPT]

    # What it leaves running on purpose, such as a server, may hold the pipe open for as long as we live.
    reader = threading.Thread(target=read, args=(process.stdout,), daemon=True)
    try:
        reader.start()
        code = process.wait(SETUP_SECONDS)
    except BaseException:
        _kill(process)
        process.wait()
        raise
    reader.join(_LAST_WORDS_SECONDS)
    return code, bytes(tail).decode("utf-8", "replace")


def _kill(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(OSError):
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)
