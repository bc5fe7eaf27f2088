"""Process 1, tried in a space of processes of its own, which only root can make."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from repeat_eval.action import init

SPACE = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]


def can_make_space() -> bool:
    if shutil.which("unshare") is None:
        return False
    return not subprocess.run([*SPACE, "true"], check=False, capture_output=True).returncode


in_a_space = pytest.mark.skipif(not can_make_space(), reason="no right to make a space of processes")


def command(tmp_path: Path, code: str) -> list[str]:
    program = tmp_path / "program.py"
    start = "import os, signal, subprocess, sys, time\nfrom repeat_eval.action.init import *\nbecome_init()\n"
    program.write_text(start + textwrap.dedent(code))
    return [*SPACE, sys.executable, str(program)]


def run(tmp_path: Path, code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(tmp_path, code), capture_output=True, text=True, timeout=60, check=False)


@contextlib.contextmanager
def started(tmp_path: Path, code: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """The program in its space once it has said "ready", and the number of process 1 as we see it."""
    with subprocess.Popen(command(tmp_path, code), stdout=subprocess.PIPE, text=True) as outer:
        assert outer.stdout is not None
        assert outer.stdout.readline() == "ready\n"
        first = int(Path(f"/proc/{outer.pid}/task/{outer.pid}/children").read_text())
        try:
            yield outer, first
        finally:
            outer.kill()


def test_outside_of_a_container_nothing_happens() -> None:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    init.become_init()
    assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == before


def test_outside_of_a_container_nothing_is_killed() -> None:
    with subprocess.Popen(["sleep", "60"]) as other:
        init.end_everything_else()
        assert other.poll() is None
        other.kill()


@in_a_space
def test_the_program_runs_below_process_1() -> None:
    script = (
        "from repeat_eval.action.init import become_init; import os; become_init(); print(os.getppid(), os.getpid())"
    )
    done = subprocess.run([*SPACE, sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["1", "2"]


@in_a_space
@pytest.mark.parametrize(("ending", "code"), [("sys.exit(3)", 3), ("os.kill(os.getpid(), signal.SIGKILL)", 137)])
def test_its_exit_code_is_the_containers(tmp_path: Path, ending: str, code: int) -> None:
    assert run(tmp_path, ending).returncode == code


@in_a_space
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals_reach_the_program(tmp_path: Path, number: signal.Signals) -> None:
    code = f"""
        signal.signal({int(number)}, lambda *_: os._exit(42))
        print("ready", flush=True)
        while True:
            signal.pause()
    """
    with started(tmp_path, code) as (outer, first):
        os.kill(first, number)
        assert outer.wait(60) == 42


@in_a_space
def test_a_signal_that_the_program_does_not_handle_ends_it(tmp_path: Path) -> None:
    code = 'print("ready", flush=True)\nwhile True:\n    signal.pause()\n'
    with started(tmp_path, code) as (outer, first):
        os.kill(first, signal.SIGTERM)
        assert outer.wait(60) == 128 + signal.SIGTERM


@in_a_space
def test_orphans_are_collected_and_the_programs_own_children_are_left_to_it(tmp_path: Path) -> None:
    code = """
        own = subprocess.Popen(["sh", "-c", "exit 7"])
        orphan = int(subprocess.run(
            ["setsid", "sh", "-c", "sleep 0.05 >/dev/null 2>&1 & echo $!"], capture_output=True, check=True
        ).stdout)
        end = time.monotonic() + 30
        while os.path.exists(f"/proc/{orphan}") and time.monotonic() < end:
            time.sleep(0.01)
        print(os.path.exists(f"/proc/{orphan}"), own.wait())
    """
    assert run(tmp_path, code).stdout.split() == ["False", "7"]


@in_a_space
def test_everything_else_is_ended_even_what_left_its_group(tmp_path: Path) -> None:
    code = """
        subprocess.run(["sh", "-c", "setsid sleep 60 >/dev/null 2>&1 & setsid setsid sleep 60 >/dev/null 2>&1 &"])
        def names():
            found = []
            for pid in filter(str.isdigit, os.listdir("/proc")):
                try:
                    found.append(open(f"/proc/{pid}/comm").read().strip())
                except OSError:
                    pass  # it ended between being listed and being looked at
            return found

        end = time.monotonic() + 30
        while names().count("sleep") < 2 and time.monotonic() < end:
            time.sleep(0.01)
        print(names().count("sleep"))
        end_everything_else()
        # What was killed stays listed until process 1 has collected it.
        while len(names()) > 2 and time.monotonic() < end:
            time.sleep(0.01)
        print(names().count("sleep"), len(names()))
    """
    assert run(tmp_path, code).stdout.split() == ["2", "0", "2"]


@in_a_space
def test_nothing_is_killed_where_process_1_is_somebody_elses(tmp_path: Path) -> None:
    code = "from repeat_eval.action.init import end_everything_else; end_everything_else()"
    script = f'sleep 60 & "{sys.executable}" -c "{code}" && kill -0 $! && echo alive'
    done = subprocess.run([*SPACE, "sh", "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.strip() == "alive"


@in_a_space
def test_process_1_holds_none_of_the_programs_descriptors(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import os\nreader, writer = os.pipe()\nfrom repeat_eval.action.init import become_init\nbecome_init()\n"
        "import time\nend = time.monotonic() + 30\n"
        "while f'{writer}' in os.listdir('/proc/1/fd') and time.monotonic() < end:\n    time.sleep(0.01)\n"
        "os.close(writer)\nprint(os.read(reader, 1))\n"
    )
    done = subprocess.run(
        [*SPACE, sys.executable, str(program)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout.strip() == "b''"
