"""What pytest loads at every start: options, the mark, one fixture, and the way to the rest.

Only what is light is imported here. Sessions without a repeated test load nothing else of repeat-eval.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from repeat_eval.pytest_plugin.options import MARK, MARK_HELP, Options, add_options, read_options

if TYPE_CHECKING:
    from repeat_eval.pytest_plugin.repeating import Repeating
    from repeat_eval.pytest_plugin.session import Evidence

_OPTIONS = pytest.StashKey[Options]()
_EVIDENCE: pytest.StashKey[Evidence] = pytest.StashKey()
_REPEATING: pytest.StashKey[Repeating] = pytest.StashKey()
_ONCE = pytest.StashKey[bool]()
_FOLDER = "repeat_eval_folder"


@dataclass(frozen=True, slots=True)
class TrialInfo:
    """Which trial this is.

    Attributes:
        case: the test's id.
        repetition: number of the trial, counted from 1.
        repeats: how many trials there are.
        seed: seed of this trial, in [0, 2^56); the same in every session with the same --repeat-eval-seed.
    """

    case: str
    repetition: int
    repeats: int
    seed: int


@pytest.fixture
def repeat_eval_trial(request: pytest.FixtureRequest) -> TrialInfo:
    """Which trial of the test this is: case, repetition, repeats and seed. A test that is not repeated has one."""
    environ = os.environ
    number = environ.get("REPEAT_EVAL_TRIAL_REPETITION", "")
    if number.isdecimal() and environ.get("REPEAT_EVAL_TRIAL_SEED", "").isdecimal():
        repeats = environ.get("REPEAT_EVAL_TRIAL_REPEATS", "")
        case = environ.get("REPEAT_EVAL_TRIAL_CASE") or request.node.nodeid
        return TrialInfo(case, int(number), int(repeats or number), int(environ["REPEAT_EVAL_TRIAL_SEED"]))
    from repeat_eval.records.fingerprints import trial_seed

    case = request.node.nodeid
    return TrialInfo(case, 1, 1, trial_seed(request.config.stash[_OPTIONS].seed, case, 1))


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare options and ini settings."""
    add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Declare the mark, and check the settings before anything runs."""
    config.addinivalue_line("markers", MARK_HELP)
    config.stash[_OPTIONS] = options = read_options(config)
    # Inside a trial of our own runner the repetitions are the runner's.
    config.stash[_ONCE] = "REPEAT_EVAL_TRIAL_REPETITION" in os.environ
    if config.stash[_ONCE]:
        from repeat_eval.pytest_plugin.once import Once

        config.pluginmanager.register(Once(), "repeat_eval_once")
    elif options.out is not None and not _is_worker(config):
        from repeat_eval.pytest_plugin.session import check_folder

        check_folder(options.out)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell a worker of xdist where it writes its trials as they end, so that they outlive it."""
    node.workerinput[_FOLDER] = str(_evidence(node.config).workers_folder)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Run a test that is to be repeated; leave all others alone."""
    config = item.config
    options = config.stash[_OPTIONS]
    if options.repeats is None and item.get_closest_marker(MARK) is None:
        return None
    if config.stash[_ONCE] or config.getoption("setuponly", False) or config.getoption("setupplan", False):
        return None
    repeating = config.stash.get(_REPEATING, None)
    if repeating is None:
        from repeat_eval.pytest_plugin.repeating import Repeating
        from repeat_eval.pytest_plugin.session import WorkerFile

        sink = WorkerFile(config.workerinput[_FOLDER]) if _is_worker(config) else _evidence(config)  # type: ignore[attr-defined]
        config.stash[_REPEATING] = repeating = Repeating(options, sink)
        config.pluginmanager.register(repeating, "repeat_eval_repeating")
    return repeating.run(item, nextitem)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Take the trials that came with a report from a worker."""
    carried = getattr(report, "repeat_eval", None)
    if carried is not None and (node := getattr(report, "node", None)) is not None:
        _evidence(node.config).take_carried(carried)


@pytest.hookimpl(tryfirst=True)
def pytest_report_teststatus(report: pytest.TestReport) -> tuple[str, str, str] | None:
    """The word for a repeated test that passes; the others keep theirs, which other tools look for."""
    carried = getattr(report, "repeat_eval", None)
    if carried is None or not report.passed or hasattr(report, "wasxfail"):
        return None
    return "passed", carried["letter"], f"PASSED {carried['word']}"


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Judge the session as a whole, and write what was asked for."""
    config = session.config
    if _is_worker(config):
        return
    evidence = config.stash.get(_EVIDENCE, None)
    if evidence is not None or (config.stash[_OPTIONS].out is not None and not config.stash[_ONCE]):
        _evidence(config).finish(session, config.stash[_OPTIONS])


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """The section about repeated tests."""
    evidence = config.stash.get(_EVIDENCE, None)
    if evidence is not None and evidence.finished is not None:
        from repeat_eval.pytest_plugin.terminal import write_summary

        write_summary(terminalreporter, evidence.finished)


def _evidence(config: pytest.Config) -> Evidence:
    evidence = config.stash.get(_EVIDENCE, None)
    if evidence is None:
        from repeat_eval.pytest_plugin.session import Evidence

        config.stash[_EVIDENCE] = evidence = Evidence()
    return evidence


def _is_worker(config: pytest.Config) -> bool:
    return hasattr(config, "workerinput")
