"""Running one test N times within its place in the session: each trial with fresh fixtures, one verdict at the end."""

from __future__ import annotations

import copy
import os
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Protocol

import pytest
from _pytest.runner import call_and_report, runtestprotocol

from repeat_eval.pytest_plugin.options import Asked, Options, asked_of
from repeat_eval.pytest_plugin.plugin import TrialInfo
from repeat_eval.pytest_plugin.trials import Ended, Phases, ended
from repeat_eval.pytest_plugin.usage import Usage, taking_usage
from repeat_eval.pytest_plugin.verdict import fails, plan_of, verdict_reports
from repeat_eval.readers.base import identity
from repeat_eval.records.fingerprints import trial_seed
from repeat_eval.records.run import CasePlan
from repeat_eval.records.trial import Trial, one_line


class Sink(Protocol):
    """Takes what is known of repeated tests, as soon as it is known."""

    def plan(self, plan: CasePlan) -> None:
        """Take what is asked of a test; a later plan of the same test takes the place of an earlier one."""

    def add(self, trial: Trial) -> None:
        """Take a trial that ended."""


@dataclass(slots=True)
class _Running:
    """The trial under way."""

    item: pytest.Item
    info: TrialInfo
    phases: Phases
    sibling: pytest.Item
    calling: bool = False
    own_teardown: BaseException | None = None


class Repeating:
    """Runs repeated tests; a plugin itself while there are any, to see what happens inside of their trials."""

    def __init__(self, options: Options, sink: Sink) -> None:
        self._options = options
        self._sink = sink
        self._running: _Running | None = None
        self._refused: str | None = None

    def run(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool:
        """Run all trials of a test and report its verdict; True, since nobody else is to run it."""
        hook = item.ihook
        hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        try:
            asked = asked_of(item, self._options)
        except ValueError as error:
            case = case_of(item)
            self._sink.plan(plan_of(item, case, replace(self._options.defaults, repeats=1)))
            self._sink.add(refused_trial(case, str(error)))
            self._refused = str(error)
            runtestprotocol(item, nextitem=nextitem)
        else:
            for report in self._trials(item, nextitem, asked):
                hook.pytest_runtest_logreport(report=report)
        hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True

    def _trials(self, item: pytest.Item, nextitem: pytest.Item | None, asked: Asked) -> list[pytest.TestReport]:
        case = case_of(item)
        self._sink.plan(plan_of(item, case, asked))
        properties = list(item.user_properties)
        # Tear-down goes as far as the next test needs; before a further trial that is another item of the same parent.
        sibling = copy.copy(item)
        trials: list[Ended] = []
        for repetition in range(1, asked.repeats + 1):
            info = TrialInfo(case, repetition, asked.repeats, trial_seed(self._options.seed, case, repetition))
            self._running = running = _Running(item, info, Phases(), sibling)
            if repetition > 1:
                _renew(item, properties)
            with trial_variables(info), taking_usage() as usage, _own_timer(item):
                self._one(running, nextitem if repetition == asked.repeats else sibling, trials, asked)
            self._running = None
            trials.append(ended(running.phases, case=case, repetition=repetition, usage=usage))
            self._sink.add(trials[-1].trial)
        if any(one.expected for one in trials):
            self._sink.plan(plan_of(item, case, asked, expected_to_fail=True))
        return verdict_reports(item, case, asked, trials)

    def _one(self, running: _Running, nextitem: pytest.Item | None, earlier: list[Ended], asked: Asked) -> None:
        """Set-up, call and tear-down of one trial; KeyboardInterrupt and pytest.exit() pass."""
        item: Any = running.item
        reports = running.phases.reports
        has_request = hasattr(item, "_request")
        if has_request and not item._request:
            item._initrequest()
        try:
            reports["setup"] = call_and_report(item, "setup", log=False)
            if reports["setup"].passed:
                reports["call"] = call_and_report(item, "call", log=False)
            if nextitem is not running.sibling and _session_ends(item, running, earlier, asked):
                nextitem = None
            reports["teardown"] = call_and_report(item, "teardown", log=False, nextitem=nextitem)
        finally:
            if has_request:
                item._request = False
                item.funcargs = None
        if nextitem is not running.sibling:
            # What this tear-down says beyond the trial's own concerns the module or the session.
            running.phases.outer = reports["teardown"]
            reports["teardown"] = _passed(reports["teardown"])
        if running.own_teardown is not None:
            reports["teardown"] = _failed_teardown(item, running.own_teardown)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self) -> None:
        """A test whose mark is wrong is an error, and is not run."""
        if self._refused is not None:
            text, self._refused = self._refused, None
            pytest.fail(text, pytrace=False)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> None:
        """Tear the trial's own fixtures down apart, so that an error of the module's is not taken for the trial's."""
        running = self._running
        if running is None or running.item is not item:
            return
        try:
            item.session._setupstate.teardown_exact(running.sibling)
        except (KeyboardInterrupt, pytest.exit.Exception):
            raise
        except BaseException as error:
            running.own_teardown = error

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, None, None]:
        """Know when the test itself is running."""
        running = self._running
        if running is None or running.item is not item:
            return (yield)
        running.calling = True
        try:
            return (yield)
        finally:
            running.calling = False

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """See what was raised. A subtest that fails is a part of its trial, and fails nothing by itself."""
        report = yield
        running = self._running
        if running is None or running.item is not item:
            return report
        if not running.calling:
            if call.excinfo is not None:
                running.phases.raised[call.when] = call.excinfo.value
            return report
        if not report.failed:
            return report
        running.phases.subtests.append(report)
        return _passed(report)


def refused_trial(case: str, reason: str) -> Trial:
    """What stands for a test whose mark is wrong: one error, whose reason the report gives."""
    return Trial(
        case=case, repetition=1, outcome="error", error_kind="harness", message=one_line(reason), source="pytest"
    )


def case_of(item: pytest.Item) -> str:
    """The id of a test as a case: its node id, without the group that xdist's --dist loadgroup appends."""
    name = item.nodeid
    if getattr(item.config.option, "loadgroup", False) and "@" in name and item.get_closest_marker("xdist_group"):
        name = name.rpartition("@")[0]
    return identity(name)


@contextmanager
def trial_variables(info: TrialInfo) -> Iterator[None]:
    """Tell the trial, and programs that it starts, which one it is; as in commands of the runner."""
    values = {
        "REPEAT_EVAL_TRIAL_CASE": info.case.replace("\0", "(null)"),
        "REPEAT_EVAL_TRIAL_REPETITION": str(info.repetition),
        "REPEAT_EVAL_TRIAL_REPEATS": str(info.repeats),
        "REPEAT_EVAL_TRIAL_SEED": str(info.seed),
    }
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _renew(item: Any, properties: list[tuple[str, object]]) -> None:
    """Make a test that has run ready for another trial: nothing of the last one is left on it."""
    item.user_properties[:] = properties
    item._report_sections.clear()
    if getattr(item, "cls", None) is not None and hasattr(item, "originalname"):
        item.__dict__.pop("_instance", None)
        # Through the setter: the getter would add the marks of the function a second time.
        item.obj = getattr(item.instance, item.originalname)


@contextmanager
def _own_timer(item: pytest.Item) -> Iterator[None]:
    """Give a trial the whole time that pytest-timeout allows a test; that plugin's timer runs around all trials."""
    timeouts = item.config.pluginmanager.getplugin("timeout")
    settings_of = getattr(timeouts, "_get_item_settings", None)
    if settings_of is None:
        yield
        return
    settings = settings_of(item)
    hook: Any = item.config.pluginmanager.hook
    timed = bool(settings.timeout) and settings.timeout > 0 and settings.func_only is False
    if timed:
        hook.pytest_timeout_cancel_timer(item=item)
        hook.pytest_timeout_set_timer(item=item, settings=settings)
    try:
        yield
    finally:
        if timed:
            hook.pytest_timeout_cancel_timer(item=item)


def _session_ends(item: pytest.Item, running: _Running, earlier: list[Ended], asked: Asked) -> bool:
    """Whether the session stops after this test, so that its last tear-down must leave nothing set up."""
    session = item.session
    if session.shouldfail or session.shouldstop:
        return True
    most = item.config.getoption("maxfail", 0)
    if not most or session.testsfailed + 1 < most:
        return False
    phases = Phases(dict(running.phases.reports), dict(running.phases.raised), list(running.phases.subtests))
    last = ended(phases, case="", repetition=running.info.repetition, usage=Usage())
    return fails(asked, [*earlier, last])


def _passed(report: pytest.TestReport) -> pytest.TestReport:
    passed = copy.copy(report)
    passed.outcome, passed.longrepr = "passed", None
    return passed


def _failed_teardown(item: pytest.Item, error: BaseException) -> pytest.TestReport:
    def again() -> None:
        raise error

    call = pytest.CallInfo.from_call(again, "teardown")
    report: pytest.TestReport = item.ihook.pytest_runtest_makereport(item=item, call=call)
    return report
