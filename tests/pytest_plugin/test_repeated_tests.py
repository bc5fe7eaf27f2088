"""A marked test runs its trials with fresh fixtures, and the gate decides whether it passes."""

from __future__ import annotations

from typing import Any

import pytest

pytest_plugins = ["pytester"]

EIGHT_OF_TEN = """
@pytest.mark.repeat_eval(repeats=10, threshold=0.9)
def test_x(repeat_eval_trial):
    assert repeat_eval_trial.repetition not in (3, 7), "three or seven"

def test_plain():
    pass
"""


def test_a_rate_below_its_threshold_passes_within_noise_and_is_marked(sessions: Any) -> None:
    result = sessions.run(EIGHT_OF_TEN)
    result.assert_outcomes(passed=2)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["test_it.py ~. *", "~ test_x 8/10 [[]49–94%[]] within noise"])
    case = sessions.case("test_x")
    assert (case["verdict"], case["outcomes"], case["threshold"]) == ("within-noise", "PPFPPPFPPP", "0.9")
    assert [case["id"] for case in sessions.report()["cases"]] == ["test_it.py::test_x"]


def test_a_gate_that_fails_fails_the_test_once_with_the_first_failing_trial_as_evidence(sessions: Any) -> None:
    result = sessions.run(EIGHT_OF_TEN.replace("0.9", "1.0"))
    result.assert_outcomes(passed=1, failed=1)
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            "E * AssertionError: three or seven",
            "trial 3 failed: AssertionError: three or seven",
            "trial 7 failed: AssertionError: three or seven",
            "~ test_x 8/10 [[]49–94%[]] fail",
            "FAILED test_it.py::test_x - *8/10 is below 1.0, needs 10 of 10*",
        ]
    )
    assert sessions.report()["exit_code"] == 1


@pytest.mark.parametrize(("gate", "code"), [("wilson", 0), ("strict", 1), ("none", 0)])
def test_the_gate_is_named_by_the_mark(sessions: Any, gate: str, code: int) -> None:
    result = sessions.run(EIGHT_OF_TEN.replace("threshold=0.9", f"threshold=0.9, gate={gate!r}"))
    assert result.ret == code


def test_verbose_output_shows_the_figures_beside_each_test(sessions: Any) -> None:
    result = sessions.run(EIGHT_OF_TEN, "-v")
    result.stdout.fnmatch_lines(
        ["test_it.py::test_x PASSED ~ 8/10 [[]49–94%[]] within noise*", "test_it.py::test_plain PASSED *"]
    )


def test_function_fixtures_are_fresh_for_each_trial_and_module_fixtures_are_shared(sessions: Any) -> None:
    text = """
    made = []
    @pytest.fixture(scope="module")
    def shared():
        made.append("up")
        yield made
        made.append("down")
    @pytest.fixture
    def own(tmp_path):
        made.append("own up")
        yield tmp_path
        made.append("own down")
    @pytest.mark.repeat_eval(repeats=5)
    def test_a(shared, own):
        assert list(own.iterdir()) == []
        (own / "file").touch()
        assert made.count("up") == 1 and made.count("own up") == made.count("own down") + 1
    def test_b(shared):
        assert made == ["up", *["own up", "own down"] * 5]
    """
    import textwrap

    sessions.run(textwrap.dedent(text)).assert_outcomes(passed=2)
    assert sessions.case("test_a")["outcomes"] == "PPPPP"


def test_classes_have_a_new_instance_for_each_trial_with_unittest_and_without(sessions: Any) -> None:
    sessions.run(
        """
import unittest
@pytest.mark.repeat_eval(repeats=5)
class TestPlain:
    def setup_method(self):
        assert not hasattr(self, "used")
    def test_a(self):
        self.used = True
@pytest.mark.repeat_eval(repeats=5)
class TestCase(unittest.TestCase):
    count = 0
    def setUp(self):
        self.used = getattr(self, "used", 0) + 1
    def test_b(self):
        type(self).count += 1
        self.assertEqual(self.used, 1)
        self.assertNotEqual(self.count, 2)
"""
    ).assert_outcomes(passed=2)
    assert sessions.case("TestPlain::test_a")["outcomes"] == "PPPPP"
    assert sessions.case("TestCase::test_b")["outcomes"] == "PFPPP"


def test_a_failing_subtest_fails_its_trial_and_not_the_session(sessions: Any) -> None:
    text = """
@pytest.mark.repeat_eval(repeats=5)
def test_a(subtests, repeat_eval_trial):
    for number in range(2):
        with subtests.test(number=number):
            assert (number, repeat_eval_trial.repetition) != (1, 2)
"""
    if tuple(map(int, pytest.__version__.split(".")[:1])) < (9,):
        pytest.skip("pytest has subtests from version 9 on")
    result = sessions.run(text, "-x")
    assert result.ret == 0
    assert sessions.case("test_a")["outcomes"] == "PFPPP"


def test_parameters_are_cases_of_their_own(sessions: Any) -> None:
    sessions.run(
        """
@pytest.mark.parametrize("value", [1, 2])
@pytest.mark.repeat_eval(repeats=5)
def test_a(value, repeat_eval_trial):
    assert value == 1
"""
    ).assert_outcomes(passed=1, failed=1)
    assert (sessions.case("test_a[1]")["passed"], sessions.case("test_a[2]")["failed"]) == (5, 5)


@pytest.mark.parametrize(("plugin", "mark"), [("pytest_asyncio.plugin", "asyncio"), ("anyio", "anyio")])
def test_async_tests_are_repeated(sessions: Any, plugin: str, mark: str) -> None:
    text = f"""
import asyncio
@pytest.fixture
def anyio_backend():
    return "asyncio"
@pytest.mark.{mark}
@pytest.mark.repeat_eval(repeats=5)
async def test_a(repeat_eval_trial):
    await asyncio.sleep(0)
    assert repeat_eval_trial.repetition != 4
"""
    config = "-c", "/dev/null", "--rootdir=."
    sessions.run(text, *config, plugins=(plugin,)).assert_outcomes(passed=1)
    assert sessions.case("test_a")["outcomes"] == "PPPFP"


def test_the_first_failing_trial_does_not_stop_a_session_with_x_but_a_failing_verdict_does(sessions: Any) -> None:
    text = """
log = []
@pytest.fixture(scope="module", autouse=True)
def shared():
    yield
    print("module", "torn", "down")
@pytest.mark.repeat_eval(repeats=5)
def test_flaky(repeat_eval_trial):
    assert repeat_eval_trial.repetition > 1
@pytest.mark.repeat_eval(repeats=5)
def test_bad(repeat_eval_trial):
    assert repeat_eval_trial.repetition < 1
@pytest.mark.repeat_eval(repeats=5)
def test_never():
    pass
"""
    result = sessions.run(text, "-x")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["1 test not run"])
    assert sessions.case("test_flaky")["outcomes"] == "FPPPP"
    assert sessions.case("test_bad")["outcomes"] == "FFFFF"
    assert (sessions.case("test_never")["verdict"], sessions.report()["exit_code"]) == ("incomplete", 3)
    again = sessions.run(None, "--lf")
    again.assert_outcomes(failed=1)
    assert [case["id"] for case in sessions.report()["cases"]] == ["test_it.py::test_bad"]
    first = sessions.run(None, "--ff", "-v")
    assert first.stdout.str().index("::test_bad") < first.stdout.str().index("::test_flaky")


def test_each_trial_knows_which_it_is_and_has_a_seed_of_its_own(sessions: Any) -> None:
    text = """
import json
@pytest.mark.repeat_eval(repeats=3)
def test_a(repeat_eval_trial):
    names = ("CASE", "REPETITION", "REPEATS", "SEED")
    told = [os.environ["REPEAT_EVAL_TRIAL_" + name] for name in names]
    info = repeat_eval_trial
    assert told == [info.case, str(info.repetition), str(info.repeats), str(info.seed)]
    with open("seen", "a") as file:
        print(json.dumps(told), file=file)
def test_plain(repeat_eval_trial):
    assert "REPEAT_EVAL_TRIAL_SEED" not in os.environ
    assert (repeat_eval_trial.repetition, repeat_eval_trial.repeats) == (1, 1)
"""
    sessions.run(text, "--repeat-eval-seed=7").assert_outcomes(passed=2)
    first = (sessions.path / "seen").read_text().splitlines()
    assert len(set(first)) == 3
    sessions.run(text, "--repeat-eval-seed=7")
    assert (sessions.path / "seen").read_text().splitlines() == first * 2


def test_output_and_properties_of_a_trial_are_its_own(sessions: Any) -> None:
    text = """
@pytest.mark.repeat_eval(repeats=3, threshold=1)
def test_a(repeat_eval_trial, record_property):
    record_property("mine", repeat_eval_trial.repetition)
    print("this is trial", repeat_eval_trial.repetition)
    assert repeat_eval_trial.repetition != 2
"""
    result = sessions.run(text)
    assert "this is trial 2" in result.stdout.str()
    assert "this is trial 1" not in result.stdout.str()


def test_usage_that_a_test_records_stands_in_the_run_file(sessions: Any) -> None:
    text = """
import threading
@pytest.mark.repeat_eval(repeats=2)
def test_a(repeat_eval_trial):
    repeat_eval.record(score=0.25 * repeat_eval_trial.repetition, cost=0.01, tokens={"input": 100})
    thread = threading.Thread(target=lambda: repeat_eval.record(cost=0.02, tokens={"input": 1, "output": 7}))
    thread.start()
    thread.join()
@pytest.mark.repeat_eval(repeats=1)
def test_b():
    pass
"""
    sessions.run(text).assert_outcomes(passed=2)
    one, two, none = sessions.trials()
    assert (one["score"], two["score"]) == (0.25, 0.5)
    assert one["cost"] == pytest.approx(0.03)
    assert one["tokens"] == {"input": 101, "output": 7}
    assert (none["score"], none["cost"], none["tokens"]) == (None, None, None)
