"""`setup: auto` with the real uv and pip: base and head with different locks have different environments.

The packages are wheels that the test makes itself, so that no index is asked. Needs uv, on PATH or where the variable
REPEAT_EVAL_TEST_UV says.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from repeat_eval.action.setup import SetupFailed, set_up

UV = os.environ.get("REPEAT_EVAL_TEST_UV") or shutil.which("uv")

needs_uv = pytest.mark.skipif(
    UV is None, reason="NOT TESTED: `setup: auto` with uv.lock; there is no uv on PATH and no REPEAT_EVAL_TEST_UV"
)

Files: TypeAlias = dict[str, str]
StepOf: TypeAlias = Callable[[Files, Files], Any]

AGENT = "import greeting\n\ndef answer(input):\n    return greeting.WORD + ' ' + input\n"
SUITE = """name: shop
target: {python: "agent:answer"}
repeats: 10
cases: [{id: greets, input: Ann, expect: [{contains: hello}]}]
"""


@pytest.fixture
def wheels(tmp_path: Path) -> Path:
    """A folder with two versions of a package: 1.0 says hello, 2.0 says goodbye."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    for version, word in (("1.0", "hello"), ("2.0", "goodbye")):
        info = f"greeting-{version}.dist-info"
        with zipfile.ZipFile(folder / f"greeting-{version}-py3-none-any.whl", "w") as wheel:
            wheel.writestr("greeting.py", f"WORD = {word!r}\n")
            wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: greeting\nVersion: {version}\n")
            wheel.writestr(
                f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
            )
            wheel.writestr(f"{info}/RECORD", f"greeting.py,,\n{info}/METADATA,,\n{info}/WHEEL,,\n{info}/RECORD,,\n")
    return folder


def environ(tmp_path: Path) -> dict[str, str]:
    """What uv needs to work without settings, caches and indexes of this machine."""
    own = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path), "UV_CACHE_DIR": str(tmp_path / "cache")}
    programs = [str(Path(UV).parent)] if UV else []
    return {"PATH": os.pathsep.join([*programs, os.environ["PATH"]]), "UV_PYTHON_DOWNLOADS": "never", **own}


def project(wheels: Path, version: str) -> str:
    return f"""[project]
name = "shop"
version = "0"
requires-python = ">=3.9"
dependencies = ["greeting=={version}"]
[tool.uv]
no-index = true
find-links = [{str(wheels)!r}]
"""


def locked(tmp_path: Path, wheels: Path, version: str) -> dict[str, str]:
    """A project's files with its lock, made by uv."""
    folder = tmp_path / f"locking-{version}"
    folder.mkdir(parents=True)
    (folder / "pyproject.toml").write_text(project(wheels, version))
    words = [str(UV), "lock", "--python", sys.executable]
    done = subprocess.run(words, cwd=folder, env=environ(tmp_path), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return {name: (folder / name).read_text() for name in ("pyproject.toml", "uv.lock")}


@pytest.fixture
def step_of(step_between: Any, tmp_path: Path) -> StepOf:
    """Makes a step with the suite, and with these files of base and head."""

    def make(base: Files, head: Files) -> Any:
        step = step_between({"evals/suite.yaml": SUITE, "evals/agent.py": AGENT, **base}, head)
        step.environ |= environ(tmp_path)
        return step

    return make


@needs_uv
def test_base_and_head_with_different_uv_locks_are_run_with_different_packages(
    step_of: StepOf, tmp_path: Path, wheels: Path
) -> None:
    step = step_of(locked(tmp_path, wheels, "1.0"), locked(tmp_path, wheels, "2.0"))
    assert step.run(setup="auto", gate="none") == 1, step.log
    assert (step.outputs["comparison"], step.outputs["regressions"]) == ("regressed", "1")
    assert "head: an environment from uv.lock" in step.log
    assert "base: an environment from uv.lock" in step.log
    (installed,) = (step.workspace / "evals/.venv").glob("lib/python*/site-packages/greeting.py")
    assert "goodbye" in installed.read_text()
    assert (step.workspace / "uv.lock").read_text() == locked(tmp_path / "again", wheels, "2.0")["uv.lock"]


@pytest.mark.parametrize("with_uv", [pytest.param(True, marks=needs_uv), False], ids=["uv", "pip"])
def test_requirements_of_both_sides_are_installed_by_uv_or_pip(
    with_uv: bool, step_of: StepOf, tmp_path: Path, wheels: Path
) -> None:
    def requirements(version: str) -> dict[str, str]:
        return {"requirements.txt": f"--no-index\n--find-links {wheels}\ngreeting=={version}\n"}

    step = step_of(requirements("1.0"), requirements("2.0"))
    if not with_uv:
        programs = tmp_path / "programs"
        programs.mkdir()
        for name in ("git", "sh"):
            (programs / name).symlink_to(str(shutil.which(name)))
        step.environ["PATH"] = str(programs)
    assert step.run(setup="auto", gate="none") == 1, step.log
    assert step.outputs["comparison"] == "regressed"
    assert (" -m pip install " in step.log) is not with_uv


@needs_uv
def test_a_lock_of_head_that_does_not_install_is_one_error_with_what_uv_said_last(
    step_of: StepOf, tmp_path: Path, wheels: Path
) -> None:
    files = locked(tmp_path, wheels, "1.0")
    step = step_of(files, {"README": "new"})
    (wheels / "greeting-1.0-py3-none-any.whl").unlink()
    assert step.run(setup="auto") == 2
    assert len(step.errors) == 1
    assert "the setup of head failed (exit code " in step.errors[0]
    assert "greeting" in step.errors[0]


@needs_uv
def test_a_lock_of_base_that_does_not_install_is_said_and_head_stands_alone(
    step_of: StepOf, tmp_path: Path, wheels: Path
) -> None:
    broken = {name: text.replace("1.0", "3.0") for name, text in locked(tmp_path, wheels, "1.0").items()}
    step = step_of(broken, locked(tmp_path, wheels, "2.0"))
    assert step.run(setup="auto", gate="none") == 0, step.log
    assert step.outputs["comparison"] == "not comparable"
    assert "the setup of base failed (exit code " in step.summary


def test_what_a_command_said_last_is_told_in_the_error_and_bounded(tmp_path: Path) -> None:
    def run(command: str) -> str:
        with pytest.raises(SetupFailed) as caught:
            set_up(
                command,
                tmp_path,
                tmp_path,
                side="head",
                environ={"PATH": os.environ["PATH"]},
                run_as=None,
                say=lambda line: None,
            )
        return str(caught.value)

    failed = "the setup of head failed (exit code 3): "
    assert run("echo no; echo ' such'; echo; echo lock; exit 3") == f"{failed}no such lock"
    assert run("exit 3") == f"{failed}it printed nothing"
    assert len(run("head -c 100000 /dev/zero | tr '\\\\0' x; exit 3")) < 1000
