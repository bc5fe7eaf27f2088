"""From the reports that pytest makes of one trial to its outcome."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest

from repeat_eval.pytest_plugin.usage import Usage
from repeat_eval.records.trial import MAX_MESSAGE_CHARACTERS, ErrorKind, Outcome, Tokens, Trial, bounded, clean
from repeat_eval.targets.worker import describe

_TIMEOUT = re.compile(r"(?:Failed: )?Timeout (?:\(|>)")
"""How pytest-timeout words the failure that it causes."""
_XPASS_STRICT = "[XPASS(strict)]"


@dataclass(slots=True)
class Phases:
    """What pytest said about one trial.

    Attributes:
        reports: the reports of set-up, call (if it came to that) and tear-down, by phase.
        raised: what each phase raised, by phase.
        subtests: reports of subtests that failed.
        outer: after the last trial, how tearing down what the test shares with others went.
    """

    reports: dict[str, pytest.TestReport] = field(default_factory=dict)
    raised: dict[str, BaseException] = field(default_factory=dict)
    subtests: list[pytest.TestReport] = field(default_factory=list)
    outer: pytest.TestReport | None = None


@dataclass(frozen=True, slots=True)
class Ended:
    """A trial that ended: the record, and the report that shows why it did not pass.

    Attributes:
        trial: the record.
        report: the report of the phase that decided; None where all of them passed.
        expected: the test is marked xfail, so that a failure is what was expected.
    """

    trial: Trial
    report: pytest.TestReport | None
    expected: bool
    phases: Phases


def ended(phases: Phases, *, case: str, repetition: int, usage: Usage) -> Ended:
    """The outcome of one trial.

    A failing set-up or tear-down, a time-out, and an exception of a provider (rate limit, network, 5xx) tell nothing
    about what was asked: they are errors. A skip is a skipped trial. Whatever else the test raises is a failure.
    """
    outcome, kind, report, expected = _outcome(phases)
    setup, call = phases.reports["setup"], phases.reports.get("call")
    trial = Trial(
        case=case,
        repetition=repetition,
        outcome=outcome,
        error_kind=kind,
        score=usage.score,
        message=None if report is None or outcome == "passed" else message_of(report),
        duration=None if call is None else max(call.duration, 0.0),
        cost=usage.cost,
        tokens=Tokens(usage.tokens.get("input"), usage.tokens.get("output")) if usage.tokens else None,
        started=datetime.fromtimestamp(setup.start, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        source="pytest",
    )
    return Ended(trial, report, expected, phases)


def message_of(report: pytest.TestReport) -> str:
    """Why a phase did not pass, in a line or few."""
    text = report.longrepr
    if isinstance(text, tuple):
        return bounded(clean(str(text[2]).removeprefix("Skipped: ")), MAX_MESSAGE_CHARACTERS)
    crash = getattr(text, "reprcrash", None)
    said = crash.message if crash is not None else str(text or "").strip()
    if report.when == "teardown":
        said = f"failed on teardown: {said}"
    elif report.when == "setup" and report.failed:
        said = f"failed on setup: {said}"
    return bounded(clean(said), MAX_MESSAGE_CHARACTERS)


def xpassed_strictly(trials: Sequence[Ended]) -> bool:
    """Whether a pass of a test marked xfail counts as a failure (strict)."""
    return any(str(report.longrepr).startswith(_XPASS_STRICT) for one in trials if (report := one.report) is not None)


_Found = tuple[Outcome, ErrorKind | None, "pytest.TestReport | None", bool]


def _outcome(phases: Phases) -> _Found:
    reports = phases.reports
    setup, call, teardown = reports["setup"], reports.get("call"), reports.get("teardown")
    if setup.skipped or (call is not None and call.skipped and not _as_marked(call, phases.raised)):
        skipped = setup if setup.skipped else call
        return "skipped", None, skipped, hasattr(skipped, "wasxfail")
    if setup.failed or call is None:
        return "error", _kind(phases.raised.get("setup"), setup), setup, False
    expected = hasattr(call, "wasxfail")
    found: _Found = ("passed", None, None, expected)
    if call.skipped:
        found = ("failed", None, call, True)
    elif call.failed and str(call.longrepr).startswith(_XPASS_STRICT):
        found = ("passed", None, call, True)
    elif call.failed:
        kind = _no_verdict(phases.raised.get("call"), call)
        found = ("failed" if kind is None else "error", kind, call, False)
    elif phases.subtests:
        found = ("failed", None, phases.subtests[0], expected)
    if teardown is not None and teardown.failed and found[0] == "passed":
        return "error", _kind(phases.raised.get("teardown"), teardown), teardown, expected
    return found


def _as_marked(call: pytest.TestReport, raised: Mapping[str, BaseException]) -> bool:
    """Whether a call is skipped because it failed as its xfail mark says; `pytest.xfail()` inside it is a skip."""
    return hasattr(call, "wasxfail") and not isinstance(raised.get("call"), pytest.xfail.Exception)


def _kind(error: BaseException | None, report: pytest.TestReport) -> ErrorKind:
    """The kind of an error in set-up or tear-down."""
    return _no_verdict(error, report) or "crash"


def _no_verdict(error: BaseException | None, report: pytest.TestReport) -> ErrorKind | None:
    """The kind of error where what was raised tells nothing about the answer; None where it is a failure."""
    if isinstance(error, pytest.fail.Exception):
        return "timeout" if _TIMEOUT.match(message_of(report).removeprefix("failed on setup: ")) else None
    if error is None or isinstance(error, AssertionError):
        return None
    kind: ErrorKind = describe(error)["kind"]
    return None if kind == "crash" else kind
