"""Each side gets its own environment, from its own lock file or by a command."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import traceback
from pathlib import Path

import pytest

from repeat_eval.action.setup import SetupFailed, commands_for, find_lock, set_up
from repeat_eval.targets.run_as import RunAs

ENVIRON = {"PATH": os.environ["PATH"], "INPUT_TOKEN": "ghs_secret_of_a_test", "OPENAI_API_KEY": "sk-mine"}


def run(folder: Path, setup: str, root: Path | None = None, **environ: str) -> list[str]:
    said: list[str] = []
    set_up(setup, folder, root or folder, side="head", environ={**ENVIRON, **environ}, run_as=None, say=said.append)
    return said


def test_a_command_runs_in_the_sides_folder_with_the_childrens_environment(tmp_path: Path) -> None:
    run(tmp_path, 'echo "${INPUT_TOKEN-none} $OPENAI_API_KEY" > seen')
    assert (tmp_path / "seen").read_text() == "none sk-mine\n"


def test_the_first_line_that_fails_ends_it(tmp_path: Path) -> None:
    with pytest.raises(SetupFailed, match=r"failed \(exit code 1\): told you"):
        run(tmp_path, "echo told you\nfalse\ntouch after")
    assert not (tmp_path / "after").exists()


def test_what_a_command_prints_is_bounded_and_its_last_words_are_told(tmp_path: Path) -> None:
    with pytest.raises(SetupFailed, match=r"last words$") as failed:
        run(tmp_path, "head -c 3000000 /dev/zero | tr '\\0' x; echo; echo last words; exit 4")
    assert len(str(failed.value)) < 1000


def test_a_server_that_a_command_leaves_running_does_not_hold_it_up(tmp_path: Path) -> None:
    started = time.monotonic()
    assert "  ready" in run(tmp_path, "sleep 30 & echo $! > pid; echo ready")
    assert time.monotonic() - started < 20
    os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)


def test_when_a_step_is_cancelled_no_child_of_its_setup_goes_on(tmp_path: Path) -> None:
    def interrupt(line: str) -> None:
        threading.Thread(target=wait_and_interrupt, daemon=True).start()

    def wait_and_interrupt() -> None:
        with (tmp_path / "started").open() as started:
            started.read()
        while not any(frame.name == "wait" for frame in traceback.extract_stack(sys._current_frames()[main])):
            os.sched_yield()
        os.kill(os.getpid(), signal.SIGINT)

    main = threading.get_ident()
    os.mkfifo(tmp_path / "started")
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            command = "sleep 300 & echo $! > pid; echo > started; wait"
            set_up(command, tmp_path, tmp_path, side="head", environ=ENVIRON, run_as=None, say=interrupt)
    finally:
        signal.signal(signal.SIGINT, before)
    process = Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}/stat")
    deadline = time.monotonic() + 20
    while process.exists() and process.read_text().rpartition(")")[2].split()[0] != "Z":
        assert time.monotonic() < deadline


def test_auto_does_nothing_where_there_is_no_lock_file(tmp_path: Path) -> None:
    assert run(tmp_path, "auto") == []
    assert list(tmp_path.iterdir()) == []


def test_none_does_nothing_at_all(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("no-such-package-anywhere\n")
    assert run(tmp_path, "none") == []


def test_an_environment_that_is_there_is_kept(tmp_path: Path) -> None:
    (tmp_path / ".venv").mkdir()
    (tmp_path / "requirements.txt").write_text("no-such-package-anywhere\n")
    assert run(tmp_path, "auto") == ["head: there is an environment in .venv already"]


def test_the_nearest_lock_file_counts_and_none_above_the_checkout(tmp_path: Path) -> None:
    root, folder = tmp_path / "repo", tmp_path / "repo/evals/deep"
    folder.mkdir(parents=True)
    (tmp_path / "uv.lock").touch()
    assert find_lock(folder, root) is None
    (root / "uv.lock").touch()
    assert find_lock(folder, root) == root / "uv.lock"
    (root / "evals/requirements.txt").touch()
    assert find_lock(folder, root) == root / "evals/requirements.txt"


@pytest.mark.parametrize("name", ["poetry.lock", "pdm.lock", "Pipfile.lock", "environment.yml"])
def test_a_lock_file_that_auto_does_not_know_is_said(name: str, tmp_path: Path) -> None:
    (tmp_path / name).touch()
    assert f"{name} is there" in run(tmp_path, "auto")[0]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be told from another user")
def test_setup_as_root_gives_what_it_made_to_the_workspaces_owner(tmp_path: Path) -> None:
    said: list[str] = []
    owner = RunAs(user=54_321, group=54_322)
    places = {"side": "head", "environ": ENVIRON, "run_as": owner, "say": said.append}
    set_up("id -u > who; ln -s /etc/hosts link", tmp_path, tmp_path, as_root=True, **places)  # type: ignore[arg-type]
    assert (tmp_path / "who").read_text() == "0\n"
    assert {path.lstat().st_uid for path in (tmp_path, *tmp_path.iterdir())} == {54_321}
    assert Path("/etc/hosts").stat().st_uid != 54_321


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be told from another user")
def test_what_setup_as_root_made_is_given_back_when_it_fails_too(tmp_path: Path) -> None:
    owner = RunAs(user=54_321, group=54_322)
    places = {"side": "head", "environ": ENVIRON, "run_as": owner, "say": lambda line: None}
    with pytest.raises(SetupFailed):
        set_up("touch half; exit 1", tmp_path, tmp_path, as_root=True, **places)  # type: ignore[arg-type]
    assert (tmp_path / "half").stat().st_uid == 54_321


def test_uv_lock_needs_uv() -> None:
    assert commands_for(Path("/x/uv.lock"), Path("/x/.venv"), uv="/bin/uv") == [["/bin/uv", "sync", "--frozen"]]
    with pytest.raises(SetupFailed, match="uv is not"):
        commands_for(Path("/x/uv.lock"), Path("/x/.venv"), uv=None)


def test_requirements_become_an_environment_beside_the_suite(tmp_path: Path) -> None:
    """With an empty list, so that nothing is asked of any registry."""
    folder = tmp_path / "evals"
    folder.mkdir()
    (tmp_path / "requirements.txt").write_text("# nothing\n")
    run(folder, "auto", tmp_path)
    assert (folder / ".venv/bin/python").exists()
