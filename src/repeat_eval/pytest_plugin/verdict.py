"""From the trials of one test to its verdict, and to the reports that pytest and its other plugins see of the test."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from repeat_eval.analysis.case_figures import case_report
from repeat_eval.analysis.report import CaseReport
from repeat_eval.analysis.rules import Rules
from repeat_eval.pytest_plugin.options import Asked
from repeat_eval.pytest_plugin.trials import Ended, message_of, xpassed_strictly
from repeat_eval.pytest_plugin.words import letter, word
from repeat_eval.records.run import CasePlan
from repeat_eval.records.trial import one_line
from repeat_eval.reports.escape import terminal
from repeat_eval.reports.junit_properties import own_properties

MAX_LISTED = 5


def plan_of(item: pytest.Item, case: str, asked: Asked, *, expected_to_fail: bool = False) -> CasePlan:
    """What is asked of a test, for the run file. A test that is marked xfail is not gated: pytest judges it."""
    file, line, _ = item.location
    gate: Any = "none" if expected_to_fail else asked.gate
    number = None if line is None else line + 1
    return CasePlan(id=case, asked=asked.repeats, threshold=asked.threshold, gate=gate, file=file, line=number)


def judged(case: str, asked: Asked, trials: Sequence[Ended]) -> CaseReport:
    """Figures and verdict of a test by its own gate."""
    gate: Any = asked.gate
    plan = CasePlan(id=case, asked=asked.repeats, threshold=asked.threshold, gate=gate)
    return case_report(plan, [one.trial for one in trials], Rules(count_as_failed=asked.count_as_failed))


def fails(asked: Asked, trials: Sequence[Ended]) -> bool:
    """Whether the verdict makes the test fail in pytest: the gate failed, or the evidence is incomplete."""
    return judged("", asked, trials).verdict in ("fail", "incomplete") and not any(one.expected for one in trials)


def verdict_reports(item: pytest.Item, case: str, asked: Asked, trials: Sequence[Ended]) -> list[pytest.TestReport]:
    """The reports that stand for the whole test: set-up, call and tear-down, as of a test that ran once.

    A gate that fails is a failed call. Incomplete evidence is an error in set-up, which pytest shows as an error, not
    as a failure. Times are those of all trials together.
    """
    figures = judged(case, asked, trials)
    if any(one.expected for one in trials):
        reports = _of_xfail(figures, trials)
    elif figures.verdict == "skipped":
        reports = _of_phases(next(one for one in trials if one.trial.outcome == "skipped"))
    elif figures.verdict == "fail":
        reports = [_plain(trials, "setup"), _failed(figures, trials, "failed", "call")]
    elif figures.verdict == "incomplete":
        reports = [_failed(figures, trials, "error", "setup")]
    else:
        reports = [_plain(trials, "setup"), _plain(trials, "call")]
        reports[-1].sections = [("repeat-eval", _listed(figures, trials))] if figures.passed < figures.trials else []
    outer = trials[-1].phases.outer
    reports.append(_plain(trials, "teardown") if outer is None or outer.passed else outer)
    for report in reports:
        report.duration = math.fsum(
            one.phases.reports[phase].duration
            for one in trials
            for phase in _phases_within(report.when, reports)
            if phase in one.phases.reports
        )
    reports[-1].user_properties = [*reports[-1].user_properties, *own_properties(figures)]
    said: Any = next((report for report in reports if not report.passed), reports[-2])
    said.repeat_eval = {
        "word": word(figures),
        "letter": letter(figures),
        "plan": msgspec.json.encode(plan_of(item, case, asked, expected_to_fail=_expected(trials))).decode(),
        "trials": msgspec.json.encode([one.trial for one in trials]).decode(),
    }
    return reports


def _expected(trials: Sequence[Ended]) -> bool:
    return any(one.expected for one in trials)


def _of_xfail(figures: CaseReport, trials: Sequence[Ended]) -> list[pytest.TestReport]:
    """A test that is marked xfail: the verdict is what is expected to fail, not each trial."""
    passes = figures.verdict in ("pass", "within-noise") and (figures.gate != "none" or not figures.failed)
    not_passed = [one for one in trials if one.trial.outcome in ("failed", "skipped") and one.report is not None]
    if not passes and not_passed:
        wanted = next((one for one in not_passed if hasattr(one.report, "wasxfail")), not_passed[0])
        return _of_phases(wanted)
    if xpassed_strictly(trials):
        return _of_phases(next(one for one in trials if one.trial.outcome == "passed" and one.report is not None))
    passed = [one for one in trials if one.trial.outcome == "passed"]
    return _of_phases(passed[0]) if passed else [_failed(figures, trials, "error", "setup")]


def _of_phases(one: Ended) -> list[pytest.TestReport]:
    """Set-up and call of one trial, as they are."""
    return [copy.copy(one.phases.reports[when]) for when in ("setup", "call") if when in one.phases.reports]


def _plain(trials: Sequence[Ended], when: Any) -> pytest.TestReport:
    """A report of a phase that passed."""
    model = next((one.phases.reports[when] for one in trials if when in one.phases.reports), None)
    report = copy.copy(model if model is not None else trials[0].phases.reports["setup"])
    report.when, report.outcome, report.longrepr, report.sections = when, "passed", None, []
    report.__dict__.pop("wasxfail", None)
    return report


def _failed(figures: CaseReport, trials: Sequence[Ended], outcome: str, when: Any) -> pytest.TestReport:
    """A report of a phase that failed, with the evidence of the first trial of this outcome."""
    shown = next((one for one in trials if one.trial.outcome == outcome and one.report is not None), None)
    if shown is None or shown.report is None:
        shown = next((one for one in trials if one.report is not None), None)
    report = copy.copy(shown.report) if shown is not None and shown.report is not None else _plain(trials, when)
    report.when, report.outcome = when, "failed"
    report.__dict__.pop("wasxfail", None)
    report.sections = [*report.sections, ("repeat-eval", _listed(figures, trials))]
    crash = getattr(report.longrepr, "reprcrash", None)
    if crash is None or not hasattr(report.longrepr, "toterminal"):
        first = "" if shown is None else f"; trial {shown.trial.repetition}: {message_of(shown.report or report)}"
        report.longrepr = f"{figures.text}{first}"
        return report
    crash = copy.copy(crash)
    crash.message = f"{figures.text}; trial {shown.trial.repetition if shown else 1}: {crash.message}"
    evidence: Any = copy.copy(report.longrepr)
    evidence.reprcrash = crash
    if chain := getattr(evidence, "chain", None):
        evidence.chain = [*chain[:-1], (chain[-1][0], crash, chain[-1][2])]
    report.longrepr = evidence
    return report


def _listed(figures: CaseReport, trials: Sequence[Ended]) -> str:
    """The verdict with the messages of the trials that did not pass."""
    lines = [f"{word(figures)}: {figures.text}"]
    rest = [one.trial for one in trials if one.trial.outcome != "passed"]
    for trial in rest[:MAX_LISTED]:
        kind = f" ({trial.error_kind})" if trial.error_kind else ""
        lines.append(f"trial {trial.repetition} {trial.outcome}{kind}: {terminal(one_line(trial.message or ''))}")
    if len(rest) > MAX_LISTED:
        lines.append(f"… and {len(rest) - MAX_LISTED} more")
    return "\n".join(lines)


def _phases_within(when: str | None, reports: Sequence[pytest.TestReport]) -> tuple[str, ...]:
    """The phases whose time a report takes: where there is none for the call, its time goes to the set-up."""
    if when == "setup" and all(report.when != "call" for report in reports):
        return ("setup", "call")
    return () if when is None else (when,)
