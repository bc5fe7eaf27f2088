"""Errors, skips and expected failures of repeated tests, and sessions that do not come to their end."""

from __future__ import annotations

import json
from typing import Any

import pytest

pytest_plugins = ["pytester"]


def test_a_set_up_that_fails_is_an_error_and_bounds_decide(sessions: Any) -> None:
    text = """
@pytest.fixture
def database(repeat_eval_trial):
    if repeat_eval_trial.repetition > os.environ["UP"].count("x"):
        raise RuntimeError("no database")
@pytest.mark.repeat_eval(repeats=10)
def test_a(database):
    pass
"""
    result = sessions.run(text, env={"UP": "xxxxxxxxx"})
    result.assert_outcomes(passed=1)
    case = sessions.case("test_a")
    assert (case["outcomes"], case["verdict"]) == ("PPPPPPPPPE", "pass")
    assert sessions.trials()[-1]["message"] == "failed on setup: RuntimeError: no database"
    result = sessions.run(text, env={"UP": "xxx"})
    result.assert_outcomes(errors=1)
    assert result.ret == 1
    assert (sessions.case("test_a")["verdict"], sessions.report()["exit_code"]) == ("incomplete", 3)


def test_errors_that_no_case_suffers_from_alone_can_make_the_session_incomplete(sessions: Any) -> None:
    text = """
@pytest.fixture
def database(repeat_eval_trial):
    assert repeat_eval_trial.repetition > 2
@pytest.mark.repeat_eval(repeats=10, threshold=0.5)
def test_a(database):
    pass
"""
    result = sessions.run(text)
    result.assert_outcomes(passed=1)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["The session does not pass: *"])
    assert sessions.report()["verdict"] == "incomplete"


def test_a_trial_whose_tear_down_fails_is_an_error_and_the_modules_tear_down_is_not_the_trials(sessions: Any) -> None:
    text = """
@pytest.fixture
def own(repeat_eval_trial):
    yield
    assert repeat_eval_trial.repetition != 2, "own"
@pytest.fixture(scope="module")
def shared():
    yield
    raise RuntimeError("shared")
@pytest.mark.repeat_eval(repeats=12)
def test_a(own, shared):
    pass
"""
    result = sessions.run(text)
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*ERROR at teardown of test_a*", "E * RuntimeError: shared"])
    assert sessions.case("test_a")["outcomes"] == "PEPPPPPPPPPP"


def test_a_rate_limit_is_an_error_of_the_provider_and_other_exceptions_are_failures(sessions: Any) -> None:
    text = """
class Limited(Exception):
    status_code = 429
@pytest.mark.repeat_eval(repeats=10, gate="none")
def test_a(repeat_eval_trial):
    if repeat_eval_trial.repetition == 1:
        raise Limited("slow down")
    if repeat_eval_trial.repetition == 2:
        raise ConnectionError("no network")
    if repeat_eval_trial.repetition == 3:
        raise KeyError("a bug")
"""
    sessions.run(text)
    assert sessions.case("test_a")["outcomes"] == "EEFPPPPPPP"
    assert [trial["error_kind"] for trial in sessions.trials()[:3]] == ["provider", "provider", None]


def test_skips_are_skipped_trials(sessions: Any) -> None:
    text = """
@pytest.mark.repeat_eval(repeats=5)
def test_all():
    pytest.skip("not here")
@pytest.mark.repeat_eval(repeats=10)
def test_once(repeat_eval_trial):
    if repeat_eval_trial.repetition == 1:
        pytest.skip("not now")
@pytest.mark.skip(reason="never")
@pytest.mark.repeat_eval(repeats=5)
def test_marked():
    pass
"""
    result = sessions.run(text, "-rs")
    result.assert_outcomes(passed=1, skipped=2)
    result.stdout.fnmatch_lines(["SKIPPED*not here"])
    assert (sessions.case("test_all")["verdict"], sessions.case("test_once")["outcomes"]) == ("skipped", "SPPPPPPPPP")


@pytest.mark.parametrize(
    ("mark", "passes", "outcomes"),
    [
        ("xfail", "== 0", {"xfailed": 1}),
        ("xfail", "<= 2", {"xfailed": 1}),
        ("xfail", "<= 9", {"xpassed": 1}),
        ("xfail(strict=True)", "<= 9", {"failed": 1}),
        ("xfail(strict=True)", "<= 2", {"xfailed": 1}),
        ("xfail(run=False)", "<= 9", {"xfailed": 1}),
    ],
)
def test_an_xfail_mark_expects_the_verdict_to_fail(
    sessions: Any, mark: str, passes: str, outcomes: dict[str, int]
) -> None:
    text = f"""
@pytest.mark.{mark}
@pytest.mark.repeat_eval(repeats=10)
def test_a(repeat_eval_trial):
    assert repeat_eval_trial.repetition {passes}
"""
    sessions.run(text).assert_outcomes(**outcomes)
    if "run=False" not in mark:
        assert sessions.case("test_a")["gate"] == "none"


def test_what_was_done_before_an_interruption_is_reported_as_interrupted(sessions: Any) -> None:
    text = """
@pytest.mark.repeat_eval(repeats=5)
def test_a(repeat_eval_trial):
    if repeat_eval_trial.repetition == 4:
        raise KeyboardInterrupt
@pytest.mark.repeat_eval(repeats=5)
def test_b():
    pass
"""
    result = sessions.run(text)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["! the run was interrupted after 3 of 10 trials"])
    assert sessions.case("test_a")["outcomes"] == "PPP"
    footer = json.loads((sessions.path / "out" / "run.jsonl").read_text().splitlines()[-1])["footer"]
    assert (footer["complete"], footer["stopped"]) == (False, "interrupted")
    assert sessions.report()["exit_code"] == 3


def test_the_timer_of_pytest_timeout_starts_anew_for_each_trial(sessions: Any) -> None:
    (sessions.path / "stopwatch.py").write_text(
        """
import types, pytest
log = []
class Hooks:
    @pytest.hookspec(firstresult=True)
    def pytest_timeout_set_timer(self, item, settings): ...
    @pytest.hookspec(firstresult=True)
    def pytest_timeout_cancel_timer(self, item): ...
class Timeout:
    def _get_item_settings(self, item):
        return types.SimpleNamespace(timeout=1.0, func_only=False)
    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        item.config.hook.pytest_timeout_set_timer(item=item, settings=self._get_item_settings(item))
        try:
            return (yield)
        finally:
            item.config.hook.pytest_timeout_cancel_timer(item=item)
            print("TIMERS", "".join(log))
    @pytest.hookimpl
    def pytest_timeout_set_timer(self, item, settings):
        log.append("+")
        return True
    @pytest.hookimpl
    def pytest_timeout_cancel_timer(self, item):
        log.append("-")
        return True
def pytest_addhooks(pluginmanager):
    pluginmanager.add_hookspecs(Hooks)
def pytest_configure(config):
    config.pluginmanager.register(Timeout(), "timeout")
"""
    )
    text = """
@pytest.mark.repeat_eval(repeats=10)
def test_a(repeat_eval_trial):
    if repeat_eval_trial.repetition == 1:
        pytest.fail("Timeout (>1.0s) from pytest-timeout.")
"""
    result = sessions.run(text, "-s", plugins=("stopwatch",), env={"PYTHONPATH": str(sessions.path)})
    result.stdout.fnmatch_lines(["*TIMERS +" + "-+-" * 10 + "-"])
    assert (sessions.trials()[0]["outcome"], sessions.trials()[0]["error_kind"]) == ("error", "timeout")
