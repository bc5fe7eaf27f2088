"""The example in the container: verdict, files and their owner, signals."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path

import pytest
from boxes import OWNER, Box, engine_environment, podman

INPUTS = {"suite": "refund_desk/suite.yaml", "seed": "7", "comment": "off", "base": "none"}
READ_ONLY = ["--read-only", "--tmpfs", "/tmp:exec,mode=1777"]  # noqa: S108 - the container's own
FEW_RIGHTS = ["--cap-drop", "ALL", "--cap-add", "SETUID", "--cap-add", "SETGID", "--cap-add", "CHOWN"]
"""What it takes to run children as somebody else, with KILL and DAC_OVERRIDE below."""
ENVIRONMENT_SUITE = f"""
name: own-environment
target: {{python: "own:answer"}}
repeats: 2
threshold: 1
cases:
  - {{id: where, input: text, expect: [{{contains: ["/github/workspace/.venv", "{OWNER}"]}}]}}
"""
SLOW_SUITE = """
name: slow
target: {command: "echo $$ >> started; exec sleep 120"}
repeats: 2
workers: 2
timeout: 110
cases:
  - {id: slow, input: text, expect: [{contains: x}]}
"""


def report(box: Box) -> dict[str, object]:
    return json.loads((box.workspace / "repeat-eval-report" / "report.json").read_text("utf-8"))


@pytest.mark.parametrize(
    "options",
    [[], READ_ONLY, [*FEW_RIGHTS, "--cap-add", "KILL", "--cap-add", "DAC_OVERRIDE"]],
    ids=["as on GitHub", "read-only root", "few rights"],
)
def test_the_example_fails_its_gate_and_all_files_are_the_owners(box: Box, options: list[str]) -> None:
    box.add_example()
    done = box.run(INPUTS, options=options)
    assert done.returncode == 1, done.stdout + done.stderr
    assert report(box)["verdict"] == "fail"
    assert "verdict=fail" in box.command_file("GITHUB_OUTPUT") or "\nfail\n" in box.command_file("GITHUB_OUTPUT")
    assert "refund-desk" in box.command_file("GITHUB_STEP_SUMMARY")
    strangers = [path for path in box.workspace.rglob("*") if path.lstat().st_uid != OWNER]
    assert strangers == []


def test_setup_makes_an_environment_of_the_owners_and_the_suite_runs_in_it(box: Box) -> None:
    (box.workspace / "suite.yaml").write_text(ENVIRONMENT_SUITE)
    (box.workspace / "own.py").write_text(
        "import os, sys\n\ndef answer(text):\n    return f'{sys.prefix} {os.getuid()}'\n"
    )
    done = box.run({**INPUTS, "suite": "suite.yaml", "setup": "uv venv --quiet .venv", "gate": "strict"})
    assert done.returncode == 0, done.stdout + done.stderr
    assert (box.workspace / ".venv" / "pyvenv.cfg").stat().st_uid == OWNER


def test_the_jobs_python_variables_do_not_reach_the_program(box: Box) -> None:
    box.add_example()
    (box.workspace / "click.py").write_text("raise SystemExit('the workspace was imported')\n")
    broken = ["-e", "PYTHONPATH=/github/workspace", "-e", "PYTHONHOME=/nowhere", "-e", "PYTHONSTARTUP=/nowhere"]
    done = box.run({**INPUTS, "suite": "none.yaml"}, options=broken)
    assert done.returncode == 2, done.stdout + done.stderr
    assert "none.yaml" in done.stdout


def test_the_command_lines_program_is_in_it_too(box: Box) -> None:
    box.add_example()
    done = box.program("run", "refund_desk/suite.yaml", "--seed", "7", "--quiet", "-o", "out")
    assert done.returncode == 1, done.stderr


@pytest.mark.parametrize("number", ["TERM", "INT"])
def test_a_signal_ends_it_within_seconds_with_what_was_done_so_far(box: Box, number: str) -> None:
    (box.workspace / "suite.yaml").write_text(SLOW_SUITE)
    arguments = ["podman", *box.arguments({**INPUTS, "suite": "suite.yaml"}), box.image]
    with subprocess.Popen(
        arguments, env=engine_environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as running:
        try:
            _wait_for(box.workspace / "started", running)
            asked = time.monotonic()
            assert podman("kill", "--signal", number, box.name).returncode == 0
            said, _ = running.communicate(timeout=60)
            took = time.monotonic() - asked
        finally:
            podman("rm", "--force", "--time", "0", box.name)
    assert running.returncode == 3, said
    print(f"\nSIG{number}: over after {took:.1f} s")
    assert took < 10, said
    assert report(box)["verdict"] == "incomplete"
    assert {path.lstat().st_uid for path in box.workspace.rglob("*")} == {OWNER}


def _wait_for(path: Path, running: subprocess.Popen[str]) -> None:
    end = time.monotonic() + 60
    while not (path.exists() and path.read_text().count("\n") == 2):
        assert running.poll() is None and time.monotonic() < end, "no trial was started"
        os.sched_yield()
