"""Building the image with podman, and running it as GitHub's runner would: the same mounts, variables and owners."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "refund_desk"
BASE = "docker.io/library/python:3.13-slim"
IMAGE = "localhost/repeat-eval:test"
OWNER = 1001
PYTHON = "/opt/repeat-eval/bin/python"
TOKEN = "ghs_" + "TestOnlyTokenOfTheContainer0123456789"
COMMAND_FILES = ("GITHUB_ENV", "GITHUB_OUTPUT", "GITHUB_PATH", "GITHUB_STATE", "GITHUB_STEP_SUMMARY")


class NoContainers(Exception):
    """Containers cannot be built or run on this machine."""


@cache
def engine_folder() -> Path:
    """Where images and podman's settings are; kept from run to run, since making the base takes a minute."""
    given = os.environ.get("REPEAT_EVAL_TEST_PODMAN")
    return Path(given) if given else Path(tempfile.gettempdir()) / f"repeat-eval-podman-{os.getuid()}"


def engine_environment() -> dict[str, str]:
    folder = engine_folder()
    files = {"CONTAINERS_CONF": folder / "containers.conf", "CONTAINERS_STORAGE_CONF": folder / "storage.conf"}
    return {**os.environ, **{name: str(path) for name, path in files.items()}}


def podman(*arguments: str | Path, timeout: float = 120) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["podman", *map(str, arguments)],
        env=engine_environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        timeout=timeout,
        check=False,
    )


def build_image() -> str:
    """Install podman if need be, see to the base, and build; one process at a time."""
    folder = engine_folder()
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.stat().st_uid != os.getuid():
        raise NoContainers(f"{folder} belongs to somebody else")
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        _script("install_podman.sh", str(folder))
        _script("stand_in_base.sh", BASE)
        done = podman("build", "--format", "docker", "--build-arg", f"BASE={BASE}", "-t", IMAGE, ROOT, timeout=900)
        assert done.returncode == 0, done.stdout + done.stderr
    return IMAGE


def _script(name: str, *arguments: str) -> None:
    try:
        done = subprocess.run(
            ["sh", str(ROOT / "scripts" / name), *arguments],
            env=engine_environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=900,
            check=False,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise NoContainers(str(error)) from None
    if done.returncode:
        raise NoContainers(f"{name}: {(done.stderr.strip().splitlines() or ['no reason given'])[-1]}")


@dataclass
class Box:
    """One run of the image: a workspace, the runner's other folders, and variables.

    Attributes:
        image: what is run. folder: ours, on the host. owner: the user whom all of it belongs to.
        name: of the container.
    """

    image: str
    folder: Path
    owner: int = OWNER
    name: str = field(default_factory=lambda: f"repeat-eval-{uuid.uuid4().hex[:12]}")

    def __post_init__(self) -> None:
        for name in ("workspace", "file_commands", "home", "workflow"):
            (self.folder / name).mkdir()
        for name in COMMAND_FILES:
            (self.folder / "file_commands" / name).touch()
        (self.folder / "workflow" / "event.json").write_text("{}")

    @property
    def workspace(self) -> Path:
        return self.folder / "workspace"

    def command_file(self, name: str) -> str:
        return (self.folder / "file_commands" / name).read_text("utf-8")

    def add_example(self) -> None:
        shutil.copytree(EXAMPLE, self.workspace / "refund_desk", ignore=shutil.ignore_patterns("__pycache__"))

    def arguments(self, inputs: Mapping[str, str], options: Sequence[str] = ()) -> list[str]:
        """The words after `podman run` up to the image; hands the folders to their owner."""
        subprocess.run(["chown", "-R", f"{self.owner}:{self.owner}", str(self.folder)], check=True)
        variables = {
            "CI": "true",
            "GITHUB_ACTIONS": "true",
            "GITHUB_WORKSPACE": "/github/workspace",
            "GITHUB_EVENT_PATH": "/github/workflow/event.json",
            "GITHUB_EVENT_NAME": "workflow_dispatch",
            "GITHUB_REPOSITORY": "octocat/hello",
            "GITHUB_SHA": "0123456789abcdef0123456789abcdef01234567",
            "GITHUB_REF": "refs/heads/main",
            "GITHUB_RUN_ID": "1",
            "GITHUB_RUN_ATTEMPT": "1",
            "GITHUB_API_URL": "http://127.0.0.1:9",
            "GITHUB_SERVER_URL": "http://127.0.0.1:9",
            "HOME": "/github/home",
            **{name: f"/github/file_commands/{name}" for name in COMMAND_FILES},
            **{f"INPUT_{name.upper()}": value for name, value in inputs.items()},
        }
        words = ["run", "--name", self.name, "--network", "none", "--workdir", "/github/workspace"]
        for name, value in variables.items():
            words += ["-e", f"{name}={value}"]
        for name in ("workspace", "file_commands", "home", "workflow"):
            words += ["-v", f"{self.folder / name}:/github/{name}"]
        return [*words, *options]

    def run(
        self, inputs: Mapping[str, str], *, options: Sequence[str] = (), words: Sequence[str] = ()
    ) -> subprocess.CompletedProcess[str]:
        """Run the image to its end. Without a network: nothing may need one that was not asked for."""
        return podman(*self.arguments(inputs, [*options, "--rm"]), self.image, *words)

    def program(self, *words: str, options: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
        """Run the command line's program in place of the action."""
        entry = [*options, "--entrypoint", "repeat-eval"]
        return self.run({}, options=entry, words=words)

    def shell(self, script: str) -> str:
        """What a shell in the image prints."""
        done = self.run({}, options=["--entrypoint", "sh"], words=["-c", script])
        assert done.returncode == 0, done.stderr
        return done.stdout
