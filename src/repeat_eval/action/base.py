"""Base's files: one commit, fetched into a repository of our own. The user's `.git` is never touched."""

from __future__ import annotations

import base64
import contextlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

from repeat_eval.errors import RepeatEvalError
from repeat_eval.targets.run_as import RunAs
from repeat_eval.targets.scratch import new_folder

FETCH_SECONDS = 300.0
_SHA = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?\Z")
_KEPT = ("PATH", "HOME", "TMPDIR", "SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO", "LANG")
_PROXIES = ("http_proxy", "https_proxy", "no_proxy", "all_proxy")


class NoBase(RepeatEvalError):
    """Base's files cannot be had; the text says why, in a sentence."""


@contextlib.contextmanager
def fetched_base(
    repository: str, commit: str, *, token: str | None, environ: Mapping[str, str], run_as: RunAs | None = None
) -> Iterator[Path]:
    """The files of one commit of the repository, in a temporary folder that is removed afterwards.

    The token is handed to git's one fetch through its environment: not in its arguments, and in no file.

    Args:
        repository: address of the repository, such as https://github.com/OWNER/REPO.
        commit: the full SHA.
        token: for private repositories; None asks without one.
        environ: the process's environment; only proxies, certificates and paths are taken from it.
        run_as: the user that the files are given to; None keeps them our own.

    Raises:
        NoBase: there is no git, or the commit cannot be fetched.
    """
    if not _SHA.match(commit):
        raise NoBase(f"{commit[:60]!r} is no commit")
    # The name of the folder must not tell the sides apart: code that looks at its own path would behave differently.
    place = new_folder()
    try:
        folder = place / "checkout"
        plain = _git_environment(environ)
        _git(["init", "--quiet", "--template=", str(folder)], plain)
        fetch = ["-C", str(folder), "fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules"]
        _git([*fetch, "--", repository, commit], plain | _authorization(repository, token), hide=token)
        _git(["-C", str(folder), "checkout", "--quiet", "--detach", commit], plain)
        if run_as is not None:
            run_as.give(place)
        yield folder
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _git_environment(environ: Mapping[str, str]) -> dict[str, str]:
    kept = {name: value for name, value in environ.items() if name in _KEPT or name.lower() in _PROXIES}
    ours = {"GIT_TERMINAL_PROMPT": "0", "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "LC_ALL": "C"}
    return kept | ours


def _authorization(repository: str, token: str | None) -> dict[str, str]:
    if not token or not repository.startswith(("https://", "http://")):
        return {}
    secret = base64.b64encode(f"x-access-token:{token}".encode()).decode()
    host = "/".join(repository.split("/")[:3])
    return {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"http.{host}/.extraHeader",
        "GIT_CONFIG_VALUE_0": f"Authorization: Basic {secret}",
    }


def _git(arguments: list[str], environ: dict[str, str], *, hide: str | None = None) -> None:
    try:
        done = subprocess.run(
            ["git", *arguments],
            capture_output=True,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            env=environ,
            timeout=FETCH_SECONDS,
            check=False,
        )
    except FileNotFoundError:
        raise NoBase("there is no git to fetch it with") from None
    except (OSError, subprocess.SubprocessError) as error:
        raise NoBase(f"git did not end well: {type(error).__name__}") from None
    if done.returncode:
        lines = [line.strip() for line in done.stderr.splitlines() if line.strip()] or ["git gave no reason"]
        reason = next((line for line in lines if line.startswith(("fatal:", "error:"))), lines[-1])
        raise NoBase(f"git: {reason.replace(hide, '***') if hide else reason}"[:500])
