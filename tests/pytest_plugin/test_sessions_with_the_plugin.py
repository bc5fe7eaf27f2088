"""Sessions that do not use the plugin, its options, other plugins beside it, and the files it writes."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parents[2]
FLAKY = """
@pytest.mark.repeat_eval(repeats=10)
def test_flaky(repeat_eval_trial):
    assert repeat_eval_trial.repetition not in (3, 7)
@pytest.mark.repeat_eval(repeats=10)
def test_bad(repeat_eval_trial):
    assert repeat_eval_trial.repetition == 1
@pytest.mark.repeat_eval(repeats=10)
def test_lost(repeat_eval_trial):
    raise ConnectionError
def test_plain():
    pass
"""


def test_pytest_finds_the_plugin_by_its_entry_point() -> None:
    points = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["pytest11"]
    assert import_module(points["repeat_eval"]).pytest_runtest_protocol


def test_a_session_without_repeated_tests_loads_only_what_is_light_and_says_nothing(sessions: Any) -> None:
    (sessions.path / "test_it.py").write_text("def test_a(): pass\n")
    code = """
import sys, pytest
code = pytest.main(["-p", "repeat_eval.pytest_plugin.plugin", "--strict-markers", "-W", "error", "test_it.py"])
print("LOADED", code, *sorted(name for name in sys.modules if name.startswith("repeat_eval")))
print("HEAVY", *sorted({"msgspec", "pydantic", "yaml", "httpx", "rich"} & set(sys.modules)))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=sessions.path, capture_output=True, text=True, timeout=60, check=True
    )
    lines = done.stdout.splitlines()
    plugin = "repeat_eval.pytest_plugin"
    assert f"LOADED 0 repeat_eval {plugin} {plugin}.options {plugin}.plugin repeat_eval.version" in lines
    assert "HEAVY" in lines
    assert "repeat-eval" not in done.stdout


def test_repeat_eval_repeats_every_test_and_overrides_marks(sessions: Any) -> None:
    text = """
@pytest.mark.repeat_eval(repeats=2, threshold=0.5)
def test_a(): pass
def test_b(): pass
"""
    sessions.run(text, "--repeat-eval=7", "--repeat-eval-threshold=0.9", "--repeat-eval-gate=strict")
    found = [(case["trials"], case["threshold"], case["gate"]) for case in sessions.report()["cases"]]
    assert found == [(7, "0.5", "strict"), (7, "0.9", "strict")]


def test_ini_settings_hold_where_neither_mark_nor_option_says_anything(sessions: Any) -> None:
    (sessions.path / "pytest.ini").write_text(
        "[pytest]\nrepeat_eval_repeats = 6\nrepeat_eval_threshold = 0.7\nrepeat_eval_gate = strict\n"
        "repeat_eval_seed = 9\n"
    )
    text = "@pytest.mark.repeat_eval\ndef test_a(): pass\ndef test_b(): pass\n"
    sessions.run(text, "--repeat-eval-threshold=0.75").assert_outcomes(passed=2)
    (case,) = sessions.report()["cases"]
    assert (case["trials"], case["threshold"], case["gate"]) == (6, "0.75", "strict")
    assert sessions.report()["provenance"]["seed"] == 9


def test_wrong_options_are_all_named_before_anything_runs(sessions: Any) -> None:
    result = sessions.run("def test_a(): pass\n", "--repeat-eval=0", "--repeat-eval-threshold=80")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        [
            "*--repeat-eval must be a whole number from 1 to 10000; found '0'",
            "*--repeat-eval-threshold: 80 is above 1, *",
        ]
    )


def test_a_wrong_mark_is_an_error_of_its_test_and_missing_evidence(sessions: Any) -> None:
    text = """
@pytest.mark.repeat_eval(repeat=4, threshold=True, gate="lax")
def test_a(): pass
def test_b(): pass
"""
    result = sessions.run(text)
    result.assert_outcomes(errors=1, passed=1)
    result.stdout.fnmatch_lines(
        [
            "*repeat_eval has no 'repeat'; it takes repeats, threshold, gate",
            "*threshold: must be a rate from 0 to 1, for instance 0.8; found True",
            "*gate must be one of wilson, strict, none; found 'lax'",
        ]
    )
    assert sessions.case("test_a")["verdict"] == "incomplete"


@pytest.mark.parametrize("options", [(), ("-n2",)])
def test_the_report_says_what_is_wrong_with_a_mark(sessions: Any, options: tuple[str, ...]) -> None:
    sessions.run("@pytest.mark.repeat_eval('x')\ndef test_a(): pass\n", *options, plugins=("xdist",))
    (trial,) = sessions.trials()
    assert (trial["outcome"], trial["error_kind"]) == ("error", "harness")
    assert trial["message"].endswith("must be a whole number from 1 to 10000; found 'x'")


def test_kinds_of_errors_may_count_as_failures(sessions: Any) -> None:
    text = """
@pytest.fixture
def server(repeat_eval_trial):
    assert repeat_eval_trial.repetition > 5

@pytest.mark.repeat_eval(threshold=0.9)
def test_a(server): pass
"""
    sessions.run(text).assert_outcomes(errors=1)
    result = sessions.run(None, "--repeat-eval-count-as-failed=crash,timeout")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*test_a 5/10 *fail*"])
    case = sessions.case("test_a")
    assert (case["verdict"], case["outcomes"]) == ("fail", "FFFFFPPPPP")
    result = sessions.run(None, "--repeat-eval-count-as-failed=crush")
    result.stderr.fnmatch_lines(["*--repeat-eval-count-as-failed takes crash, *; found 'crush'"])


def test_the_junit_file_of_pytest_is_read_with_all_trials(sessions: Any) -> None:
    sessions.run(FLAKY, "--junitxml=junit.xml")
    command = [sys.executable, "-m", "repeat_eval", "report", "junit.xml", "--out", "again"]
    subprocess.run(command, cwd=sessions.path, capture_output=True, timeout=60, check=False)
    read = json.loads((sessions.path / "again" / "report.json").read_text())
    outcomes = {case["id"]: case["outcomes"] for case in read["cases"]}
    assert outcomes["test_it::test_flaky"] == "PPFPPPFPPP"
    assert outcomes["test_it::test_plain"] == "P"


def test_the_junit_file_of_pytest_has_one_testcase_a_test(sessions: Any) -> None:
    sessions.run(FLAKY, "--junitxml=junit.xml")
    suite = ElementTree.parse(sessions.path / "junit.xml").getroot()[0]  # noqa: S314 - written by pytest
    cases = {case.get("name"): case for case in suite}
    assert list(cases) == ["test_flaky", "test_bad", "test_lost", "test_plain"]
    assert [suite.get(name) for name in ("tests", "failures", "errors")] == ["4", "1", "1"]
    flaky = {one.get("name"): one.get("value") for one in cases["test_flaky"].iter("property")}
    assert flaky["repeat-eval.verdict"] == "pass"
    assert (flaky["repeat-eval.flaky"], flaky["repeat-eval.outcomes"]) == ("true", "PPFPPPFPPP")
    (failure,) = cases["test_bad"].iter("failure")
    assert failure.get("message", "").startswith("1/10 is below 0.8, needs ")
    (error,) = cases["test_lost"].iter("error")
    assert "no trial gave a verdict: 10 errors" in error.get("message", "")
    assert list(cases["test_plain"]) == []


def test_run_file_and_reports_are_read_by_the_program(sessions: Any) -> None:
    sessions.run(FLAKY)
    out = sessions.path / "out"
    assert {"run.jsonl", "report.json", "junit.xml"} <= {path.name for path in out.iterdir()}
    command = [sys.executable, "-m", "repeat_eval", "report", "out/run.jsonl", "--out", "again"]
    done = subprocess.run(command, cwd=sessions.path, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == sessions.report()["exit_code"] == 3
    assert "test_it.py::test_flaky" in done.stdout


@pytest.mark.parametrize("dist", ["load", "loadgroup"])
def test_workers_of_xdist_share_the_tests_and_the_totals_are_the_same(sessions: Any, dist: str) -> None:
    text = FLAKY.replace("@pytest.mark.repeat_eval", "@pytest.mark.xdist_group('g')\n@pytest.mark.repeat_eval", 1)
    one = sessions.run(text, "-m", "not nothing", plugins=("xdist.plugin",))
    expected = {case["id"]: case["outcomes"] for case in sessions.report()["cases"]}
    result = sessions.run(None, "-n2", f"--dist={dist}", plugins=("xdist.plugin",))
    assert {case["id"]: case["outcomes"] for case in sessions.report()["cases"]} == expected
    assert result.parseoutcomes() == one.parseoutcomes() | {
        name: number for name, number in result.parseoutcomes().items() if "warning" in name
    }
    result.stdout.fnmatch_lines(["~ test_flaky 8/10 [[]49–94%[]] pass"])


def test_a_worker_that_is_killed_loses_no_trial_that_ended_and_doubles_none(sessions: Any) -> None:
    text = """
import signal
@pytest.mark.repeat_eval(repeats=10)
def test_killed(repeat_eval_trial):
    if repeat_eval_trial.repetition == 5:
        os.kill(os.getpid(), signal.SIGKILL)
@pytest.mark.parametrize("number", range(4))
@pytest.mark.repeat_eval(repeats=10)
def test_other(number):
    pass
"""
    result = sessions.run(text, "-n2", plugins=("xdist.plugin",))
    result.assert_outcomes(passed=4, failed=1)
    keys = [(trial["case"], trial["repetition"]) for trial in sessions.trials()]
    assert len(keys) == len(set(keys)) == 45
    case = sessions.case("test_killed")
    assert (case["outcomes"], case["missing"], case["verdict"]) == ("PPPPE", 5, "incomplete")


def test_inside_a_trial_of_the_runner_each_test_runs_once_and_usage_goes_into_the_junit_file(sessions: Any) -> None:
    text = """
@pytest.mark.repeat_eval(repeats=10)
def test_a(repeat_eval_trial):
    assert (repeat_eval_trial.repetition, repeat_eval_trial.repeats, repeat_eval_trial.seed) == (2, 5, 99)
    repeat_eval.record(score=0.5, cost=0.01, tokens={"output": 3})
    with open("count", "a") as file:
        file.write("x")
"""
    env = {"REPEAT_EVAL_TRIAL_REPETITION": "2", "REPEAT_EVAL_TRIAL_REPEATS": "5", "REPEAT_EVAL_TRIAL_SEED": "99"}
    sessions.run(text, "--junitxml=junit.xml", env=env).assert_outcomes(passed=1)
    assert (sessions.path / "count").read_text() == "x"
    assert not (sessions.path / "out").exists()
    root = ElementTree.parse(sessions.path / "junit.xml").getroot()  # noqa: S314 - written by pytest
    found = {one.get("name"): one.get("value") for one in root.iter("property")}
    assert found == {"score": "0.5", "cost": "0.01", "tokens_output": "3"}


def test_secrets_stay_out_of_the_run_file(sessions: Any) -> None:
    text = """
@pytest.mark.repeat_eval(repeats=5)
def test_a():
    assert not os.environ["SOME_API_KEY"]
"""
    sessions.run(text, env={"SOME_API_KEY": "sk-very-secret-0123456789"})
    texts = [path.read_text() for path in (sessions.path / "out").iterdir() if path.is_file()]
    assert not any("very-secret" in text for text in texts)


def test_an_output_folder_that_cannot_be_made_is_refused_before_anything_runs(sessions: Any) -> None:
    (sessions.path / "out").write_text("a file")
    result = sessions.run("def test_a(): pass\n")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--repeat-eval-out: *out: cannot be made*"])


def test_a_folder_for_reports_without_repeated_tests_is_said(sessions: Any) -> None:
    result = sessions.run("def test_a(): pass\n")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["no test was repeated; nothing was written"])
