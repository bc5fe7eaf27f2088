"""However a run dies, what was done stays done, and the rest can be run later."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from whole_program import lines_of, program, report_in, running, suite, trials_in, wait_until, write

WORKERS = 4
AGENT = """
    import fcntl, os, threading

    def answer(input, context):
        with open("calls.txt", "a+") as calls:
            fcntl.flock(calls, fcntl.LOCK_EX)
            calls.write(f"{context.case} {context.repetition}\\n")
            calls.flush()
            calls.seek(0)
            late = sum(1 for _ in calls) > input
        while late and not os.path.exists("release"):
            threading.Event().wait(0.005)
        return "fine"
"""


def stopping_suite(folder: Path, cases: int, repeats: int, hangs_after: int, **settings: object) -> None:
    """A suite whose target stops answering after so many calls, until there is a file named `release`."""
    suite(
        folder,
        {f"case {n}": {"input": hangs_after, "expect": [{"equals": "fine"}]} for n in range(cases)},
        agent=AGENT,
        repeats=repeats,
        workers=WORKERS,
        **settings,
    )


def calls(folder: Path) -> Counter[tuple[str, int]]:
    path = folder / "calls.txt"
    lines = path.read_text().splitlines() if path.exists() else []
    return Counter((case, int(repetition)) for case, _, repetition in (line.rpartition(" ") for line in lines))


def test_sigkill_loses_at_most_the_trials_in_flight_and_resume_runs_only_the_missing_ones(tmp_path: Path) -> None:
    stopping_suite(tmp_path, 20, 50, hangs_after=400)
    run_file = tmp_path / "out/run.jsonl"
    with running("run", "suite.yaml", "--out", "out", cwd=tmp_path) as ours:
        ours.until(lambda: calls(tmp_path).total() >= 400 + WORKERS and len(trials_in(run_file)) >= 400)
        ours.signal(signal.SIGKILL)
        assert ours.end().code == -signal.SIGKILL

    kept = {(trial["case"], trial["repetition"]) for trial in trials_in(run_file)}
    called = calls(tmp_path)
    assert 0 < called.total() - len(kept) <= WORKERS

    report = program("report", run_file, "--out", "again", cwd=tmp_path)
    assert report.code == 3, report.text
    assert report_in(tmp_path / "again")["verdict"] == "incomplete"
    assert "interrupted" in report.out

    (tmp_path / "release").touch()
    resumed = program("run", "suite.yaml", "--out", "out", "--resume", cwd=tmp_path)
    assert resumed.code == 0, resumed.text
    twice = {key for key, count in calls(tmp_path).items() if count > 1}
    assert twice == set(called) - kept
    assert calls(tmp_path).keys() == {(f"case {n}", r) for n in range(20) for r in range(1, 51)}
    totals = report_in(tmp_path / "out")["totals"]
    assert (totals["trials"], totals["passed"], totals["missing"]) == (1000, 1000, 0)
    assert lines_of(run_file)[-1]["footer"]["complete"] is True


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_waits_for_the_trials_in_flight_and_can_go_on(
    tmp_path: Path, number: signal.Signals
) -> None:
    stopping_suite(tmp_path, 4, 10, hangs_after=8)
    with running("run", "suite.yaml", "--out", "out", cwd=tmp_path) as ours:
        ours.until(lambda: calls(tmp_path).total() >= 8 + WORKERS)
        ours.signal(number)
        ours.until(lambda: "no further trial starts" in ours.said())
        (tmp_path / "release").touch()
        ended = ours.end()
    assert ended.code == 3, ended.text
    assert "Traceback" not in ended.err
    assert lines_of(tmp_path / "out/run.jsonl")[-1]["footer"] == {
        **lines_of(tmp_path / "out/run.jsonl")[-1]["footer"],
        "complete": False,
        "stopped": "interrupted",
    }
    assert report_in(tmp_path / "out")["totals"]["trials"] == calls(tmp_path).total() == 8 + WORKERS
    resumed = program("run", "suite.yaml", "--out", "out", "--resume", cwd=tmp_path)
    assert resumed.code == 0, resumed.text
    assert set(calls(tmp_path).values()) == {1}
    assert calls(tmp_path).total() == 40


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_second_interruption_ends_at_once(tmp_path: Path, number: signal.Signals) -> None:
    stopping_suite(tmp_path, 4, 10, hangs_after=8)
    with running("run", "suite.yaml", "--out", "out", cwd=tmp_path) as ours:
        ours.until(lambda: calls(tmp_path).total() >= 8 + WORKERS and len(trials_in(tmp_path / "out/run.jsonl")) >= 8)
        ours.signal(number)
        ours.until(lambda: "again: end at once" in ours.said())
        ours.signal(number)
        assert ours.end().code == 3
    assert len(trials_in(tmp_path / "out/run.jsonl")) == 8
    (tmp_path / "release").touch()
    assert program("run", "suite.yaml", "--out", "out", "--resume", cwd=tmp_path).code == 0


def test_nothing_goes_on_behind_a_program_that_was_ended_at_once(tmp_path: Path) -> None:
    write(tmp_path / "agent.py", "import os, time\nopen('pid.txt', 'w').write(str(os.getpid()))\ntime.sleep(3600)")
    suite(tmp_path, {"a": {"input": "x"}}, target={"command": f"exec {sys.executable} agent.py"}, repeats=1)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    with running("run", "suite.yaml", "--out", "out", cwd=tmp_path, env={"TMPDIR": str(scratch)}) as ours:
        ours.until(lambda: (tmp_path / "pid.txt").exists() and (tmp_path / "pid.txt").read_text())
        for _ in range(2):
            said = len(ours.said())
            ours.signal(signal.SIGTERM)
            wait_until(lambda before=said: len(ours.said()) > before, ours.said)
        assert ours.end().code == 3
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid.txt").read_text()), 0)
    assert not list(scratch.iterdir())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_before_the_first_trial_leaves_no_worktree(tmp_path: Path, number: signal.Signals) -> None:
    suite(
        tmp_path,
        {"a": {"input": "x"}},
        agent="""
        import os, time

        open(os.environ["STARTED"], "w").close()
        time.sleep(3600)
        """,
    )

    def git(*arguments: str) -> str:
        who = ("-c", "user.name=a", "-c", "user.email=a@example.invalid")
        done = subprocess.run(["git", *who, *arguments], cwd=tmp_path, check=True, capture_output=True, text=True)
        return done.stdout

    git("init", "--quiet", ".")
    git("add", "suite.yaml", "agent.py")
    git("commit", "--quiet", "-m", "one")
    started, scratch = tmp_path / "started", tmp_path / "scratch"
    scratch.mkdir()
    env = {"STARTED": str(started), "TMPDIR": str(scratch)}
    with running("run", "suite.yaml", "--base-ref", "HEAD", "--out", "out", cwd=tmp_path, env=env) as ours:
        ours.until(started.exists)
        ours.signal(number)
        assert ours.end().code == 3
    assert len(git("worktree", "list").splitlines()) == 1
    assert not list(scratch.iterdir())


def test_what_a_killed_run_left_is_removed_by_the_next_one(tmp_path: Path) -> None:
    """Its temporary folders, and the worktree of base that the user's repository knows of."""
    agent = """
        import os, time

        def answer(input):
            open(os.environ["STARTED"], "w").close()
            time.sleep(3600 if os.environ["HANGS"] == "yes" else 0)
            return "fine"
        """
    suite(tmp_path, {"a": {"input": "x"}}, agent=agent, repeats=2)

    def git(*arguments: str) -> str:
        who = ("-c", "user.name=a", "-c", "user.email=a@example.invalid")
        done = subprocess.run(["git", *who, *arguments], cwd=tmp_path, check=True, capture_output=True, text=True)
        return done.stdout

    git("init", "--quiet", ".")
    git("add", "suite.yaml", "agent.py")
    git("commit", "--quiet", "-m", "one")
    git("worktree", "add", "--detach", "--quiet", str(tmp_path / "mine" / "base"))
    started, scratch = tmp_path / "started", tmp_path / "scratch"
    scratch.mkdir()
    env = {"STARTED": str(started), "TMPDIR": str(scratch), "HANGS": "yes"}
    words = ("run", "suite.yaml", "--base-ref", "HEAD", "--out", "out")
    with running(*words, cwd=tmp_path, env=env) as ours:
        ours.until(started.exists)
        ours.signal(signal.SIGKILL)
        ours.end()
    assert len(git("worktree", "list").splitlines()) == 3
    assert list(scratch.iterdir())
    ended = program(*words, "--fresh", cwd=tmp_path, env={**env, "HANGS": "no"})
    assert ended.code == 0, ended.text
    assert len(git("worktree", "list").splitlines()) == 2
    assert str(tmp_path / "mine" / "base") in git("worktree", "list")
    assert not list(scratch.iterdir())


@pytest.fixture
def unfinished(tmp_path: Path) -> Path:
    """A folder with a run of three cases that broke off after its first trial."""
    stopping_suite(tmp_path, 3, 4, hangs_after=1_000)
    assert program("run", "suite.yaml", "--out", "out", cwd=tmp_path).code == 0
    path = tmp_path / "out/run.jsonl"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:2]))
    (tmp_path / "calls.txt").unlink()
    return tmp_path


def test_an_unfinished_run_is_neither_continued_nor_thrown_away_unasked(unfinished: Path) -> None:
    before = (unfinished / "out/run.jsonl").read_bytes()
    ended = program("run", "suite.yaml", "--out", "out", cwd=unfinished)
    assert ended.code == 2
    assert "--resume" in ended.err and "--fresh" in ended.err
    assert (unfinished / "out/run.jsonl").read_bytes() == before
    assert calls(unfinished).total() == 0


def test_fresh_starts_anew(unfinished: Path) -> None:
    assert program("run", "suite.yaml", "--out", "out", "--fresh", cwd=unfinished).code == 0
    assert calls(unfinished).total() == 12


def test_resume_of_a_finished_run_runs_nothing(unfinished: Path) -> None:
    for _ in range(2):
        assert program("run", "suite.yaml", "--out", "out", "--resume", cwd=unfinished).code == 0
    assert calls(unfinished).total() == 11


def test_resume_and_fresh_together_are_refused(unfinished: Path) -> None:
    assert program("run", "suite.yaml", "--out", "out", "--fresh", "--resume", cwd=unfinished).code == 2


@pytest.mark.parametrize(
    ("change", "arguments", "reason"),
    [
        (None, ("--seed", "99"), "seed was 0 and is now 99"),
        (None, ("--repeats", "5"), "repeats was 4 and is now 5"),
        (None, ("--case", "case 1"), "selected cases"),
        ({"name": "other"}, (), "suite was 'desk' and is now 'other'"),
        ({"cases": [{"id": "case 0"}]}, (), "case 'case 1' is gone"),
        ({"target": {"python": "agent:answer_otherwise"}}, (), "target fingerprint"),
    ],
)
def test_resume_refuses_a_run_of_something_else(
    unfinished: Path, change: dict[str, object] | None, arguments: tuple[str, ...], reason: str
) -> None:
    path = unfinished / "suite.yaml"
    path.write_text(json.dumps({**json.loads(path.read_text()), **(change or {})}))
    before = (unfinished / "out/run.jsonl").read_bytes()
    ended = program("run", "suite.yaml", "--out", "out", "--resume", *arguments, cwd=unfinished)
    assert ended.code == 2, ended.text
    assert "cannot be resumed" in ended.err and reason in ended.err
    assert (unfinished / "out/run.jsonl").read_bytes() == before


def test_resume_refuses_a_changed_target(unfinished: Path) -> None:
    write(unfinished / "agent.py", "def answer(input): return 'something else'\n")
    ended = program("run", "suite.yaml", "--out", "out", "--resume", cwd=unfinished)
    assert ended.code == 2 and "target fingerprint" in ended.err


def test_errors_are_tried_again(unfinished: Path) -> None:
    path = unfinished / "out/run.jsonl"
    header, trial = path.read_text().splitlines()
    broken = {**json.loads(trial), "outcome": "error", "error_kind": "provider", "message": "503"}
    path.write_text(f"{header}\n{json.dumps(broken)}\n")
    ended = program("run", "suite.yaml", "--out", "out", "--resume", cwd=unfinished)
    assert ended.code == 0, ended.text
    assert calls(unfinished).total() == 12
    totals = report_in(unfinished / "out")["totals"]
    assert (totals["trials"], totals["errors"]) == (12, 0)


def test_a_torn_last_line_is_dropped_and_said_and_any_other_bad_line_is_named(unfinished: Path) -> None:
    path = unfinished / "out/run.jsonl"
    whole = path.read_text()
    path.write_text(whole + whole.splitlines()[1][:40])
    torn = program("report", path, cwd=unfinished)
    assert (torn.code, "torn" in torn.text) == (3, True)
    path.write_text(whole.splitlines()[0] + "\nnot json\n" + whole.splitlines()[1] + "\n")
    bad = program("report", path, cwd=unfinished)
    assert bad.code == 2 and "run.jsonl:2:" in bad.err


def test_two_writers_are_kept_apart(tmp_path: Path) -> None:
    stopping_suite(tmp_path, 2, 5, hangs_after=2)
    with running("run", "suite.yaml", "--out", "out", cwd=tmp_path) as ours:
        ours.until(lambda: calls(tmp_path).total() >= 3)
        for arguments in ((), ("--fresh",), ("--resume",)):
            other = program("run", "suite.yaml", "--out", "out", *arguments, cwd=tmp_path)
            assert other.code == 2
            assert "another repeat-eval is writing to this folder" in other.err
        (tmp_path / "release").touch()
        assert ours.end().code == 0
    assert calls(tmp_path).total() == 10


def test_another_persons_file_is_not_overwritten(tmp_path: Path) -> None:
    stopping_suite(tmp_path, 1, 1, hangs_after=9)
    write(tmp_path / "out/run.jsonl", "my notes\n")
    ended = program("run", "suite.yaml", "--out", "out", "--fresh", cwd=tmp_path)
    assert ended.code == 2
    assert (tmp_path / "out/run.jsonl").read_text() == "my notes\n"
