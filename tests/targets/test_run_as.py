"""The user's code as another user: only root can do that, so elsewhere only the decisions are tested."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from repeat_eval.execution.command_runs import CommandLane, CommandPlan, CommandRun, run_commands
from repeat_eval.execution.stopping import Stop
from repeat_eval.targets import run_as
from repeat_eval.targets.base import Call
from repeat_eval.targets.command_target import CommandTarget
from repeat_eval.targets.processes import run_process
from repeat_eval.targets.run_as import RunAs, owner_of, popen_user
from repeat_eval.targets.worker_pool import FunctionSpec, WorkerPool
from repeat_eval.targets.worker_process import WORKER_FILE

STRANGER = RunAs(user=54_321, group=54_322)
ENVIRON = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
CALL = Call(case="refund", input="text", repetition=1, repeats=1, seed=1, timeout=60, variables={})

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can start processes of another user")


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder of the stranger's; pytest's own ones lie in folders that only we may enter."""
    path = Path(tempfile.mkdtemp(prefix="run-as-"))
    (path / "suite").mkdir()
    STRANGER.give(path)
    yield path / "suite"
    shutil.rmtree(path)


def python_for_everybody() -> Path:
    """A Python that the stranger may run, and who may read the worker's file; ours may lie in root's own folders."""
    for candidate in (Path(sys.executable), Path("/usr/bin/python3"), Path("/usr/local/bin/python3")):
        command = [str(candidate), "-c", f"import sys; open({str(WORKER_FILE)!r}); sys.exit(sys.version_info < (3, 9))"]
        with contextlib.suppress(OSError):
            if not subprocess.run(command, check=False, capture_output=True, user=54_321, cwd="/").returncode:
                return candidate
    pytest.skip("no Python of this machine can be run by other users than root")


def who(text: str) -> list[int]:
    return [int(word) for word in text.split()]


def test_nothing_changes_without_another_user() -> None:
    assert popen_user(None) == {}


@as_root
def test_a_command_runs_as_the_user_and_in_no_further_group(folder: Path) -> None:
    done = asyncio.run(run_process("id -u; id -g; id -G", cwd=folder, environ=ENVIRON, run_as=STRANGER))
    assert who(done.stdout.decode()) == [54_321, 54_322, 54_322]


@as_root
def test_the_process_is_stopped_when_its_time_is_up(folder: Path) -> None:
    done = asyncio.run(run_process("sleep 60", cwd=folder, environ=ENVIRON, timeout=0.2, run_as=STRANGER))
    assert done.timed_out


@as_root
@pytest.mark.parametrize("workdir", ["shared", "copy"])
def test_trials_of_a_command_can_write_where_they_should_and_own_what_they_wrote(folder: Path, workdir: str) -> None:
    command = 'id -u; echo x > here.txt && echo y > "$TMPDIR/there.txt" && stat -c %u here.txt . "$TMPDIR"'

    async def scenario() -> str:
        target = CommandTarget(command, folder=folder, environ=ENVIRON, workdir=workdir, run_as=STRANGER)
        await target.start()
        try:
            answer, _ = await target.answer(CALL)
        finally:
            await target.close()
        return str(answer.output)

    assert who(asyncio.run(scenario())) == [54_321] * 4
    assert (folder / "here.txt").exists() is (workdir == "shared")


@as_root
@pytest.mark.parametrize("isolation", ["worker", "process"])
def test_functions_run_as_the_user_with_a_folder_of_their_own(folder: Path, isolation: str) -> None:
    python = python_for_everybody()
    (folder / "stranger_agent.py").write_text(
        "import os\n\ndef answer(value, context):\n"
        "    (context.tmpdir / 'x').write_text('x')\n"
        "    return f'{os.getuid()} {os.getgid()} {len(set(os.getgroups()) - {os.getgid()})}'\n"
    )

    async def scenario() -> str:
        spec = FunctionSpec("stranger_agent:answer")
        pool = WorkerPool(python, folder, [spec], environ=ENVIRON, isolation=isolation, run_as=STRANGER)  # type: ignore[arg-type]
        await pool.start()
        try:
            return str((await pool.call(0, CALL, "text")).value)
        finally:
            await pool.close()

    assert who(asyncio.run(scenario())) == [54_321, 54_322, 0]


@as_root
def test_a_repeated_command_can_leave_its_results(folder: Path) -> None:
    results = folder / "results"
    results.mkdir()
    runs: list[CommandRun] = []
    plan = CommandPlan(
        command="id -u > {results}.txt && touch $TMPDIR/x && touch here",
        folder=folder,
        results=results,
        repeats=1,
        timeout=60,
        copy=True,
        seed=1,
        environ=ENVIRON,
        on_log=lambda _: None,
        run_as=STRANGER,
    )
    asyncio.run(run_commands([CommandLane(plan=plan, wanted=[1], on_run=runs.append)], workers=1, stop=Stop()))
    (run,) = runs
    assert run.problem is None and run.results is not None
    assert who(run.results.read_text()) == [54_321]
    assert run.results.stat().st_uid == 54_321


@as_root
def test_giving_a_folder_away_does_not_follow_links_out_of_it(folder: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").touch()
    (folder / "link").symlink_to(outside)
    (folder / "file-link").symlink_to(outside / "file")
    STRANGER.give(folder)
    assert (folder / "link").lstat().st_uid == 54_321
    assert (outside.stat().st_uid, (outside / "file").stat().st_uid) == (0, 0)


@as_root
def test_the_owner_of_a_folder_is_taken_with_its_group(folder: Path) -> None:
    assert owner_of(folder) == STRANGER


@as_root
@pytest.mark.parametrize("group", [0, 54_399])
def test_groups_that_give_power_over_the_machine_are_not_handed_on(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, group: int
) -> None:
    socket = tmp_path / "docker.sock"
    socket.touch()
    os.chown(socket, 0, 54_399)
    monkeypatch.setattr(run_as, "_ENGINE_SOCKETS", (str(socket),))
    os.chown(folder, 54_321, group)
    assert owner_of(folder) == RunAs(54_321, 54_321)


@as_root
def test_a_folder_of_root_changes_nothing(tmp_path: Path) -> None:
    assert owner_of(tmp_path) is None


@pytest.mark.skipif(os.geteuid() == 0, reason="this is about everybody but root")
def test_nobody_but_root_changes_users(tmp_path: Path) -> None:
    assert owner_of(tmp_path) is None
