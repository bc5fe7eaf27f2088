"""A command that runs a whole suite of another tool, repeated."""

from __future__ import annotations

import shlex
import signal
import sys
from pathlib import Path

import pytest
from whole_program import case_of, program, report_in, running, trials_in, write

PYTHON = shlex.quote(sys.executable)
PYTEST = f"{PYTHON} -m pytest evals -q -p no:cacheprovider --junitxml {{results}}"
TESTS = """
    import os

    REPETITION = int(os.environ["REPEAT_EVAL_TRIAL_REPETITION"])

    def test_solid():
        assert True is not False

    def test_flaky():
        assert REPETITION != 2, "slipped"
"""
NAMES = ("evals.test_evals::test_solid", "evals.test_evals::test_flaky")


def evals(folder: Path, more: str = "") -> None:
    write(folder / "evals/test_evals.py", TESTS)
    if more:
        write(folder / "evals/conftest.py", more)


def passes(folder: Path) -> dict[str, tuple[int, int, int]]:
    return {
        case["id"].rpartition("test_")[2]: (case["passed"], case["failed"], case["errors"])
        for case in report_in(folder / "out")["cases"]
    }


def test_pytest_is_run_so_often_and_its_results_are_read(tmp_path: Path) -> None:
    evals(tmp_path)
    ended = program("run", "--command", PYTEST, "--repeats", "4", "--out", "out", cwd=tmp_path)
    assert ended.code == 0, ended.text
    assert passes(tmp_path) == {"solid": (4, 0, 0), "flaky": (3, 1, 0)}
    flaky = next(case for case in report_in(tmp_path / "out")["cases"] if case["id"].endswith("test_flaky"))
    assert flaky["outcomes"] == "PFPP"
    assert "slipped" in flaky["failures"][0][0]


def test_several_runs_at_once_in_a_copy_of_the_folder_each(tmp_path: Path) -> None:
    evals(
        tmp_path,
        """
        import os, pathlib

        def pytest_sessionstart(session):
            number = os.environ["REPEAT_EVAL_TRIAL_REPETITION"]
            assert not list(pathlib.Path.cwd().glob("trace-*"))
            pathlib.Path(f"trace-{number}").touch()
    """,
    )
    ended = program(
        *("run", "--command", PYTEST, "--repeats", "4", "--workers", "2", "--workdir", "copy", "--out", "out"),
        cwd=tmp_path,
    )
    assert ended.code == 0, ended.text
    assert passes(tmp_path) == {"solid": (4, 0, 0), "flaky": (3, 1, 0)}
    assert not list(tmp_path.glob("trace-*"))


def test_a_run_that_dies_without_results_is_an_error_of_every_case_known_from_the_others(tmp_path: Path) -> None:
    evals(
        tmp_path,
        """
        import os

        def pytest_sessionstart(session):
            if os.environ["REPEAT_EVAL_TRIAL_REPETITION"] == "3":
                os._exit(9)
    """,
    )
    ended = program(
        "run", "--command", PYTEST, "--repeats", "4", "--out", "out", "--max-error-rate", "0.3", cwd=tmp_path
    )
    assert passes(tmp_path) == {"solid": (3, 0, 1), "flaky": (2, 1, 1)}
    assert "repetition 3: the command left no results" in ended.err
    errors = [trial for trial in trials_in(tmp_path / "out/run.jsonl") if trial["outcome"] == "error"]
    assert {(trial["repetition"], trial["error_kind"]) for trial in errors} == {(3, "harness")}
    assert "9" in errors[0]["message"]
    strict = program("report", "out/run.jsonl", "--max-error-rate", "0.1", cwd=tmp_path)
    assert strict.code == 3


def test_an_interrupted_run_of_commands_goes_on_with_the_missing_repetitions(tmp_path: Path) -> None:
    evals(
        tmp_path,
        """
        import os, pathlib, threading

        def pytest_sessionstart(session):
            number = os.environ["REPEAT_EVAL_TRIAL_REPETITION"]
            with open("calls.txt", "a") as file:
                file.write(number + "\\n")
            while number == "3" and not os.path.exists("release"):
                threading.Event().wait(0.005)
    """,
    )
    arguments = ("run", "--command", PYTEST, "--repeats", "4", "--out", "out")
    calls = tmp_path / "calls.txt"
    with running(*arguments, cwd=tmp_path) as ours:
        ours.until(lambda: calls.exists() and calls.read_text().splitlines() == ["1", "2", "3"])
        ours.signal(signal.SIGKILL)
        ours.end()
    assert len(trials_in(tmp_path / "out/run.jsonl")) == 4
    assert program("report", "out/run.jsonl", cwd=tmp_path).code == 3
    assert program(*arguments, cwd=tmp_path).code == 2
    (tmp_path / "release").touch()
    resumed = program(*arguments, "--resume", cwd=tmp_path)
    assert resumed.code == 0, resumed.text
    assert calls.read_text().splitlines() == ["1", "2", "3", "3", "4"]
    assert passes(tmp_path) == {"solid": (4, 0, 0), "flaky": (3, 1, 0)}
    other = program("run", "--command", PYTEST + " -x", "--repeats", "4", "--out", "out", "--resume", cwd=tmp_path)
    assert other.code == 2 and "command was" in other.err


def test_a_case_that_is_missing_from_one_of_the_runs_has_a_missing_trial(tmp_path: Path) -> None:
    evals(
        tmp_path,
        """
        import os

        def pytest_collection_modifyitems(items):
            if os.environ["REPEAT_EVAL_TRIAL_REPETITION"] == "1":
                items[:] = items[:1]
    """,
    )
    program("run", "--command", PYTEST, "--repeats", "3", "--out", "out", cwd=tmp_path)
    case = next(case for case in report_in(tmp_path / "out")["cases"] if case["id"].endswith("test_flaky"))
    assert (case["asked"], case["trials"], case["missing"]) == (3, 2, 1)


@pytest.mark.parametrize(
    ("command", "code", "says"),
    [
        ("pytest evals", 2, "{results}"),
        (" ", 2, "--command is empty"),
        ("true # {results}", 3, "the command left no results"),
        ("echo broken > {results}", 3, "repetition 1"),
        ("no-such-program {results}", 3, "no-such-program"),
    ],
)
def test_commands_that_give_no_results_never_pass(tmp_path: Path, command: str, code: int, says: str) -> None:
    ended = program("run", "--command", command, "--repeats", "2", "--out", "out", cwd=tmp_path)
    assert ended.code == code, ended.text
    assert says in ended.text and "Traceback" not in ended.text


def test_rows_as_json_lines_are_read_when_the_results_end_so(tmp_path: Path) -> None:
    script = write(
        tmp_path / "tool.py",
        """
        import os, sys

        number = int(os.environ["REPEAT_EVAL_TRIAL_REPETITION"])
        with open(sys.argv[1], "w") as file:
            file.write('{"case": "greets", "passed": true, "score": 0.9, "cost": 0.01}\\n')
            file.write('{"case": "refuses", "passed": %s}\\n' % ("true" if number > 1 else "false"))
    """,
    )
    command = f"{shlex.quote(sys.executable)} {script.name} {{results}}.jsonl"
    ended = program("run", "--command", command, "--repeats", "5", "--out", "out", cwd=tmp_path)
    assert ended.code == 0, ended.text
    report = report_in(tmp_path / "out")
    assert (case_of(report, "greets")["passed"], case_of(report, "refuses")["outcomes"]) == (5, "FPPPP")
    assert case_of(report, "greets")["cost"] == pytest.approx(0.05)


TOOL = """
    import os, sys, threading

    number = os.environ["REPEAT_EVAL_TRIAL_REPETITION"]
    with open("calls.txt", "a") as calls:
        calls.write(number + "\\n")
    while number == "2" and not os.path.exists("release"):
        threading.Event().wait(0.005)
    with open(sys.argv[1], "w") as file:
        file.write('{"case": "greets", "passed": true, "cost": 0.5}\\n')
"""


def tool(folder: Path) -> str:
    return f"{shlex.quote(sys.executable)} {write(folder / 'tool.py', TOOL).name} {{results}}.jsonl"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_waits_for_the_run_in_flight_and_reads_its_results(
    tmp_path: Path, number: signal.Signals
) -> None:
    arguments = ("run", "--command", tool(tmp_path), "--repeats", "5", "--out", "out")
    calls = tmp_path / "calls.txt"
    with running(*arguments, cwd=tmp_path) as ours:
        ours.until(lambda: calls.exists() and calls.read_text().splitlines() == ["1", "2"])
        ours.signal(number)
        ours.until(lambda: "no further trial starts" in ours.said())
        (tmp_path / "release").touch()
        ended = ours.end()
    assert ended.code == 3, ended.text
    assert "the run was interrupted after 2 of 5 trials" in ended.out
    resumed = program(*arguments, "--resume", cwd=tmp_path)
    assert resumed.code == 0, resumed.text
    assert calls.read_text().splitlines() == ["1", "2", "3", "4", "5"]


def test_money_that_results_tell_of_stops_further_runs(tmp_path: Path) -> None:
    (tmp_path / "release").touch()
    arguments = ("run", "--command", tool(tmp_path), "--repeats", "5", "--out", "out")
    ended = program(*arguments, "--max-cost", "1", cwd=tmp_path)
    assert ended.code == 3, ended.text
    assert "max-cost was reached after 2 of 5 trials" in ended.out
    more = program(*arguments, "--resume", "--max-cost", "1.5", cwd=tmp_path)
    assert "$1.00 of max-cost $1.50 were spent before" in more.err, more.text
    assert "max-cost was reached after 3 of 5 trials" in more.out
    enough = program(*arguments, "--fresh", "--max-cost", "2.5", cwd=tmp_path)
    assert enough.code == 0, enough.text


def test_exactly_one_of_suite_command_and_results_is_given(tmp_path: Path) -> None:
    for arguments in ((), ("a.yaml", "--command", "x {results}"), ("--results", "a.xml", "--command", "x {results}")):
        ended = program("run", *arguments, cwd=tmp_path)
        assert ended.code == 2
        assert "give exactly one of SUITE, --command and --results" in ended.err


def test_several_trials_of_a_case_in_one_run_all_count_and_those_that_a_run_lost_are_errors(tmp_path: Path) -> None:
    write(
        tmp_path / "tool.py",
        """
        import json, os, sys

        repetition = int(os.environ["REPEAT_EVAL_TRIAL_REPETITION"])
        rows = [
            {"case": "twice", "passed": True},
            {"case": "twice", "passed": repetition != 2},
            {"case": "once", "passed": True},
        ]
        if repetition == 3:
            del rows[1]
        if repetition != 4:
            open(sys.argv[1], "w").write("".join(json.dumps(row) + "\\n" for row in rows))
        """,
    )
    ended = program(
        *("run", "--command", PYTHON + " tool.py {results}.jsonl", "--repeats", "4", "--out", "out", "--gate", "none"),
        cwd=tmp_path,
    )
    assert "holds 2 trials of 'twice'" in ended.text
    figures = {
        case["id"]: (case["passed"], case["failed"], case["errors"]) for case in report_in(tmp_path / "out")["cases"]
    }
    assert figures == {"twice": (4, 1, 3), "once": (3, 0, 1)}
    asked = {case["id"]: (case["asked"], case["trials"]) for case in report_in(tmp_path / "out")["cases"]}
    assert asked == {"twice": (8, 8), "once": (4, 4)}
    again = program("report", "out/run.jsonl", "--out", "again", cwd=tmp_path)
    assert "is there twice" not in again.text
    assert report_in(tmp_path / "again")["cases"] == report_in(tmp_path / "out")["cases"]


def test_what_the_results_say_that_they_were_asked_for_and_no_run_holds_is_missing(tmp_path: Path) -> None:
    write(
        tmp_path / "tool.py",
        """
        import json, sys

        row = {"promptIdx": 0, "success": True, "provider": {"id": "p"}, "prompt": {"label": "q"}, "score": 1}
        rows = [{**row, "testIdx": number, "vars": {"q": number % 2}} for number in range(5)]
        results = {"version": 3, "results": rows, "prompts": []}
        json.dump({"results": results, "config": {}, "runtimeOptions": {"repeat": 3}}, open(sys.argv[1], "w"))
        """,
    )
    ended = program(
        *("run", "--command", PYTHON + " tool.py {results}.json", "--repeats", "2", "--out", "out", "--gate", "none"),
        cwd=tmp_path,
    )
    cases = report_in(tmp_path / "out")["cases"]
    assert [(case["asked"], case["passed"], case["errors"]) for case in cases] == [(6, 6, 0), (6, 4, 2)], ended.text
    assert "the results hold 2 of 3 trials" in cases[1]["examples"][0]["message"]
    assert "each counts as a trial" not in ended.text


def test_numbers_that_pytest_repeat_puts_into_names_are_repetitions(tmp_path: Path) -> None:
    write(
        tmp_path / "tool.py",
        """
        import sys

        cases = "".join(f'<testcase classname="m" name="{name}[{i}-3]"/>' for name in "ab" for i in (1, 2, 3))
        open(sys.argv[1], "w").write(f"<testsuites><testsuite>{cases}</testsuite></testsuites>")
        """,
    )
    ended = program(
        *("run", "--command", PYTHON + " tool.py {results}", "--repeats", "2", "--out", "out"), cwd=tmp_path
    )
    assert ended.code == 0, ended.text
    cases = {case["id"]: (case["asked"], case["outcomes"]) for case in report_in(tmp_path / "out")["cases"]}
    assert cases == {"m::a": (6, "PPPPPP"), "m::b": (6, "PPPPPP")}
    # Both runs have the same to say of their files; it is said once.
    assert ended.text.count("are read as repetitions") == 1


def test_a_case_that_every_run_gave_as_an_error_is_tried_again(tmp_path: Path) -> None:
    write(
        tmp_path / "tool.py",
        """
        import json, os, sys

        broken = {"error": "down"} if not os.path.exists("mended") else {"passed": True}
        rows = [{"case": "solid", "passed": True}, {"case": "remote", **broken}]
        open(sys.argv[1], "w").write("".join(json.dumps(row) + "\\n" for row in rows))
        """,
    )
    command = ("run", "--command", PYTHON + " tool.py {results}.jsonl", "--repeats", "2", "--out", "out")
    assert program(*command, cwd=tmp_path).code == 3
    (tmp_path / "mended").touch()
    ended = program(*command, "--resume", cwd=tmp_path)
    assert ended.code == 0, ended.text
    assert [case["outcomes"] for case in report_in(tmp_path / "out")["cases"]] == ["PP", "PP"]


def test_a_run_whose_folders_cannot_be_made_is_an_error_and_no_fault_of_the_program(tmp_path: Path) -> None:
    (tmp_path / "release").touch()
    (tmp_path / "out/results").mkdir(parents=True)
    (tmp_path / "out/results/repetition-001").symlink_to(tmp_path / "calls.txt")
    ended = program(
        "run", "--command", tool(tmp_path), "--repeats", "3", "--out", "out", "--gate", "none", cwd=tmp_path
    )
    assert ended.code == 3, ended.text
    assert "repetition 1: the command could not be run" in ended.err
    (case,) = report_in(tmp_path / "out")["cases"]
    assert case["outcomes"] == "EPP"


def test_what_a_command_prints_reaches_the_screen_without_control_sequences(tmp_path: Path) -> None:
    command = r"printf '\033]0;title\007\033[2Jwoe\n'; exit 1; : {results}"
    ended = program("run", "--command", command, "--repeats", "1", "--out", "out", cwd=tmp_path)
    assert ended.code == 3 and "woe" in ended.err
    assert "\x1b" not in ended.text and "\x07" not in ended.text
