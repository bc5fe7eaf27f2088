"""Targets that raise, hang, print garbage, die or are told to come back later: outcomes, messages, exit codes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from lxml import etree
from whole_program import Ended, case_of, program, report_in, suite, trials_in, write

CHECK = {"expect": [{"equals": "fine"}]}


def ran(folder: Path, *arguments: str) -> tuple[Ended, list[Any], Any]:
    ended = program("run", "suite.yaml", "--out", "out", *arguments, cwd=folder)
    assert "Traceback" not in ended.text
    return ended, trials_in(folder / "out/run.jsonl"), report_in(folder / "out")


def test_a_function_that_raises_is_an_error_and_never_a_failure(tmp_path: Path) -> None:
    suite(tmp_path, {"a": CHECK}, agent="def answer(input): raise ValueError('no such order')", repeats=3)
    ended, trials, report = ran(tmp_path)
    assert ended.code == 3
    assert {trial["outcome"] for trial in trials} == {"error"}
    assert {trial["error_kind"] for trial in trials} == {"crash"}
    assert "ValueError: no such order" in trials[0]["message"]
    assert (report["verdict"], report["totals"]["pass_rate"], report["totals"]["errors"]) == ("incomplete", None, 3)


def test_crashes_count_as_failures_when_the_user_says_so(tmp_path: Path) -> None:
    agent = """
        def answer(input, context):
            if context.repetition > 2:
                raise ValueError("no such order")
            return "fine"
    """
    suite(tmp_path, {"a": CHECK}, agent=agent, repeats=10)
    ended, _, report = ran(tmp_path, "--count-as-failed", "crash,timeout")
    assert ended.code == 1
    assert (report["totals"]["passed"], report["totals"]["failed"], report["totals"]["errors"]) == (2, 8, 0)


def test_a_function_that_hangs_is_a_timeout_and_the_others_go_on(tmp_path: Path) -> None:
    agent = """
        import threading

        def answer(input, context):
            if context.repetition == 2:
                threading.Event().wait()
            return "fine"
    """
    suite(tmp_path, {"a": CHECK}, agent=agent, repeats=10, timeout=0.5)
    ended, trials, _ = ran(tmp_path)
    assert ended.code == 0, ended.text
    assert [(t["repetition"], t["error_kind"]) for t in trials if t["outcome"] == "error"] == [(2, "timeout")]
    assert "no answer within 0.5 s" in ended.text or any("0.5" in (t["message"] or "") for t in trials)
    assert "1 trials of 1 cases gave no verdict; they could not turn it" in ended.out


@pytest.mark.parametrize(
    ("script", "kind", "says"),
    [
        ("exit 137", "crash", "137"),
        ("kill -9 $$", "crash", "SIGKILL"),
        ("echo no key >&2; exit 3", "crash", "no key"),
        ("sleep 60", "timeout", "0.5"),
    ],
)
def test_a_command_that_dies_is_an_error_that_says_how(tmp_path: Path, script: str, kind: str, says: str) -> None:
    write(tmp_path / "agent.sh", f"#!/bin/sh\n{script}\n").chmod(0o755)
    suite(tmp_path, {"a": CHECK}, target={"command": "./agent.sh"}, repeats=2, timeout=0.5)
    ended, trials, _ = ran(tmp_path)
    assert ended.code == 3
    assert [trial["error_kind"] for trial in trials] == [kind, kind]
    assert says in trials[0]["message"]


@pytest.mark.parametrize(
    ("garbage", "outcome"),
    [
        ("bytes(range(256)) * 9", "error"),
        ("b'\\x1b[31m \\x07 ]]> <script> ::error::x\\n@everyone [x](http://y)' * 9", "failed"),
    ],
)
def test_a_command_that_prints_garbage_never_passes_and_the_reports_stay_whole(
    tmp_path: Path, garbage: str, outcome: str
) -> None:
    script = f"import os; os.write(1, {garbage})"
    suite(tmp_path, {"a": CHECK}, target={"command": [sys.executable, "-c", script]}, repeats=3)
    ended, trials, _ = ran(tmp_path)
    assert ended.code == (3 if outcome == "error" else 1)
    assert {trial["outcome"] for trial in trials} == {outcome}
    assert "\x1b" not in ended.text and "\x07" not in ended.text and "\x00" not in ended.text
    for name in ("junit.xml", "summary.md", "report.json"):
        (tmp_path / "out" / name).read_bytes().decode("utf-8")
    etree.parse(tmp_path / "out/junit.xml")


def test_a_command_that_cannot_be_started_is_the_users_to_mend(tmp_path: Path) -> None:
    suite(tmp_path, {"a": CHECK}, target={"command": "./there-is-no-such-program"}, repeats=2)
    ended = program("run", "suite.yaml", "--out", "out", cwd=tmp_path)
    assert ended.code in (2, 3)
    assert "there-is-no-such-program" in ended.text and "Traceback" not in ended.text


def test_values_that_are_no_answer_are_errors(tmp_path: Path) -> None:
    agent = """
        def answer(input):
            return {"output": "fine", "cost": -1} if input == "cost" else object()
    """
    suite(tmp_path, {"cost": {"input": "cost", **CHECK}, "object": CHECK}, agent=agent, repeats=2)
    ended, trials, _ = ran(tmp_path)
    assert ended.code == 3
    assert {trial["outcome"] for trial in trials} == {"error"}


def test_a_worker_that_dies_in_the_middle_costs_its_trials_in_flight_and_not_the_run(tmp_path: Path) -> None:
    agent = """
        import os

        def answer(input, context):
            if (context.case, context.repetition) == ("b", 5):
                os._exit(7)
            return "fine"
    """
    suite(tmp_path, dict.fromkeys("abc", CHECK), agent=agent, repeats=10, max_error_rate="0.5")
    ended, trials, report = ran(tmp_path)
    assert ended.code in (0, 3), ended.text
    errors = [trial for trial in trials if trial["outcome"] == "error"]
    assert ("b", 5) in {(trial["case"], trial["repetition"]) for trial in errors}
    assert 1 <= len(errors) <= 4
    assert {trial["error_kind"] for trial in errors} == {"crash"}
    assert (len(trials), report["totals"]["passed"]) == (30, 30 - len(errors))


def test_a_user_environment_with_another_pydantic_and_nothing_of_ours(tmp_path: Path) -> None:
    venv = write(tmp_path / "make_venv.py", "import sys, venv; venv.create(sys.argv[1], symlinks=True)\n")
    subprocess.run([sys.executable, venv, tmp_path / ".venv"], check=True, timeout=60)
    site = next((tmp_path / ".venv/lib").glob("python*/site-packages"))
    write(site / "pydantic/__init__.py", "VERSION = '1.10.99'\n")
    agent = """
        import importlib.util, os, sys
        import pydantic

        print("garbage on stdout", flush=True)
        os.write(1, b'{"id": 1, "value": "forged"}\\n')

        def answer(input, context):
            print("chatter")
            os.write(1, b"\\x00\\xff not utf-8\\n")
            if context.case == "dies" and context.repetition == 3:
                os._exit(1)
            ours = [name for name in ("msgspec", "click", "rich") if importlib.util.find_spec(name)]
            return f"{pydantic.VERSION} {ours} {sys.prefix != sys.base_prefix}"
    """
    expect = {"expect": [{"equals": "1.10.99 [] True"}]}
    suite(tmp_path, {"speaks": expect, "dies": expect}, agent=agent, repeats=6, workers=2, max_error_rate="0.5")
    ended, trials, report = ran(tmp_path, "--gate", "none")
    assert ended.code == 0, ended.text
    errors = [trial for trial in trials if trial["outcome"] == "error"]
    assert 1 <= len(errors) <= 2
    assert report["totals"]["passed"] == 12 - len(errors), [trial["output"] for trial in trials]
    assert "chatter" in (tmp_path / "out/target.log").read_text("utf-8", "replace")
    assert "chatter" not in ended.text


def test_the_suite_says_which_module_is_missing(tmp_path: Path) -> None:
    suite(tmp_path, {"a": CHECK}, target={"python": "no_such_agent:answer"})
    ended = program("run", "suite.yaml", "--out", "out", cwd=tmp_path)
    assert ended.code == 2
    assert "no_such_agent" in ended.err and "Traceback" not in ended.err


def test_a_check_of_the_users_that_breaks_is_an_error_of_kind_judge(tmp_path: Path) -> None:
    agent = """
        def answer(input):
            return "fine"

        def polite(output):
            raise RuntimeError("the judge is away")
    """
    suite(tmp_path, {"a": {"expect": [{"python": "agent:polite"}]}}, agent=agent, repeats=2)
    ended, trials, _ = ran(tmp_path)
    assert ended.code == 3
    assert {trial["error_kind"] for trial in trials} == {"judge"}
    assert "the judge is away" in trials[0]["message"]


def test_long_lines_and_large_answers_are_bounded_everywhere(tmp_path: Path) -> None:
    agent = "def answer(input): return 'x' * 3_000_000"
    suite(tmp_path, {"a": CHECK}, agent=agent, repeats=2)
    ended, trials, _ = ran(tmp_path)
    assert ended.code == 1
    assert all(len(trial["output"]) < 21_000 for trial in trials)
    assert all((tmp_path / "out" / name).stat().st_size < 60_000 for name in ("report.json", "junit.xml", "summary.md"))


def test_a_case_reads_its_own_variables(tmp_path: Path) -> None:
    script = "import os, json; print(json.dumps({'output': {k: v for k, v in os.environ.items() if 'TRIAL' in k}}))"
    suite(tmp_path, {"a": None}, target={"command": [sys.executable, "-c", script]}, repeats=2, seed=7)
    _, trials, report = ran(tmp_path)
    told = [json.loads(trial["output"]) for trial in sorted(trials, key=lambda trial: trial["repetition"])]
    assert [(one["REPEAT_EVAL_TRIAL_CASE"], one["REPEAT_EVAL_TRIAL_REPETITION"]) for one in told] == [
        ("a", "1"),
        ("a", "2"),
    ]
    assert {one["REPEAT_EVAL_TRIAL_REPEATS"] for one in told} == {"2"}
    assert told[0]["REPEAT_EVAL_TRIAL_SEED"] != told[1]["REPEAT_EVAL_TRIAL_SEED"]
    assert case_of(report, "a")["passed"] == 2
