"""junit.xml: one testcase a case, with the trials that did not pass in the Surefire shape for flaky and rerun tests.

- Verdict pass or within noise: a `flakyFailure` for each failed trial, a `flakyError` for each error.
- Verdict fail: the first failed trial is the `failure`, the others are `rerunFailure` (errors: `rerunError`).
- Verdict incomplete: one trial without a verdict is the `error`, all others are `rerunError`.
- A case that looked twice is written by its fresh trials, every other one by its first look: the two are never mixed.
- With a base: a case that a comparison blocks is a `failure` whatever its own verdict; a case that fails on base as
  well is `skipped`, with its reason, since it must not turn this change red and is no pass either.
- A gate of the whole suite that fails while no case does gets a testcase of its own: a red run is never all green here.

The root is one `testsuite`: the Surefire schema knows no other root and the Jenkins schema allows it, so one file is
valid under both. Neither allows properties inside a testcase: the default file is valid but for them, the strict one
leaves them out. The schemas allow no unknown time, so a case whose duration is not known has time 0; its property
`repeat-eval.duration_mean` is missing then. Elements must stand in the order of the Surefire schema.

The report holds a few examples of a case's trials. For the others the message is taken from the counted messages, or
only says which trial failed; with `trials` every message is the trial's own.
"""

# mypy: disable-error-code="no-untyped-call"
# junitparser annotates only some of its methods.
from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, zip_longest
from typing import NamedTuple

from junitparser.junitparser import Error, Failure, Properties, Result, Skipped, SystemOut
from junitparser.xunit2 import FlakyError, FlakyFailure, RerunError, RerunFailure, StackTrace, TestCase, TestSuite
from lxml.etree import SubElement

from repeat_eval.analysis.case_figures import MAX_LETTERS
from repeat_eval.analysis.report import CaseReport, CaseVerdict, Example, LowCase, Report
from repeat_eval.analysis.second_look_model import ReRunCase
from repeat_eval.records.trial import Trial
from repeat_eval.reports import format as fmt
from repeat_eval.reports import second_look_text as twice
from repeat_eval.reports import wording
from repeat_eval.reports.escape import xml
from repeat_eval.reports.junit_properties import (
    case_properties,
    comparison_properties,
    second_look_properties,
    suite_properties,
)

MAX_ELEMENTS = 50
"""Trials that are written out for a case; the others are counted in its system-out."""
NAME_LIMIT = 2_000
MESSAGE_LIMIT = 1_000
TEXT_LIMIT = 4_000
NO_MESSAGE = "no message"
"""What the report counts trials under that gave no reason."""

# The order in which the Surefire schema wants them.
_ORDER = ("failure", "rerunFailure", "flakyFailure", "error", "rerunError", "flakyError")
_ELEMENTS = {"rerun": (RerunFailure, RerunError), "flaky": (FlakyFailure, FlakyError)}


class Failing(NamedTuple):
    """A trial that did not pass: whether it is an error, of what kind, why in one line, and the evidence."""

    error: bool
    kind: str
    message: str
    text: str


def write_junit(report: Report, *, strict: bool = False, trials: Iterable[Trial] | None = None) -> bytes:
    """The report as JUnit XML in UTF-8.

    Args:
        report: what is written.
        strict: leave out the properties of testcases, which no schema allows.
        trials: the run's trials, so that every failing trial has its own message; without them the report's examples
            and counted messages serve.
    """
    by_case = _by_case(trials or ())
    rerun = {case: found for case, found in wording.rerun_cases(report).items() if found.fresh_head.verdicts}
    twice_over = report.comparison if wording.second_look(report) is not None else None
    looked = frozenset(case.id for case in twice_over.cases) if twice_over is not None else frozenset()
    if report.looked_alone is not None:
        looked = frozenset(case.id for case in report.case_reports)
    reasons = wording.reasons_by_case(report)
    blocked, excused = wording.blocked_by_comparison(report), wording.broken_before(report)
    shown = [_shown(case, case.id in blocked, case.id in excused) for case in report.case_reports]
    sides = {case.id: case for case in report.comparison.cases} if report.comparison else {}
    # Each case becomes bytes at once, so that a huge run is never in memory as a tree.
    cases: list[bytes] = []
    for case, verdict in zip(report.case_reports, shown, strict=True):
        suspect = rerun.get(case.id)
        if trials is None:
            found = list(_failing_of_report(case) if suspect is None else _failing_of_rerun(case, suspect))
        else:
            own = by_case.get(case.id, [])
            if case.id in looked:
                own = [trial for trial in own if (trial.repetition > case.asked) == (suspect is not None)]
            found = list(_failing_of_trials(case.outcomes if suspect is None else suspect.outcomes, own))
        pairs = chain(
            case_properties(report, case, suspect),
            comparison_properties(sides.get(case.id)),
            second_look_properties(suspect),
        )
        properties = None if strict else _properties(pairs)
        reason = reasons.get(case.id, "")
        told = twice.both(suspect) if isinstance(suspect, ReRunCase) else ""
        element = _testcase(report.suite, case, found, verdict=verdict, properties=properties, reason=reason, told=told)
        cases.append(element.tostring())
    gate = _suite_gate(report, shown)
    if gate is not None:
        cases.append(gate.tostring())
    suite = TestSuite(xml(report.suite, NAME_LIMIT))
    suite.append(_properties(suite_properties(report)))
    suite.tests = len(cases)
    suite.failures = shown.count("fail") + int(gate is not None and report.verdict == "fail")
    suite.errors = shown.count("incomplete") + int(gate is not None and report.verdict == "incomplete")
    suite.skipped = shown.count("skipped")
    suite.time = round(sum(_seconds(case) for case in report.case_reports), 3)
    head, end, _ = bytes(suite.tostring()).rpartition(b"</testsuite>")
    return b"<?xml version='1.0' encoding='UTF-8'?>\n" + head + b"\n" + b"\n".join(cases) + b"\n" + end + b"\n"


def _shown(case: CaseReport, blocked: bool, excused: bool) -> CaseVerdict:
    """What a testcase says: the case's verdict, but for what a comparison blocks or excuses."""
    if blocked and case.verdict in ("pass", "within-noise"):
        return "fail"
    return "skipped" if case.verdict == "fail" and excused and not blocked else case.verdict


def _testcase(
    suite: str,
    case: CaseReport,
    failing: Sequence[Failing],
    *,
    verdict: CaseVerdict,
    properties: Properties | None,
    reason: str,
    told: str = "",
) -> TestCase:
    """One case: its properties, its trials that did not pass, its line, and what else is told of it."""
    element = TestCase(xml(case.id, NAME_LIMIT), xml(suite, NAME_LIMIT), _seconds(case))
    if properties is not None:
        element.append(properties)
    if verdict == "skipped":
        why = (
            "all trials were skipped" if case.verdict == "skipped" else f"not this change, fails on base, too: {reason}"
        )
        element.append(Skipped(xml(why, MESSAGE_LIMIT)))
    shown = failing[:MAX_ELEMENTS]
    results = [] if verdict == "skipped" else _results(verdict, shown, reason)
    results.sort(key=lambda result: _ORDER.index(result._tag))
    element.extend(results)
    lines = [fmt.case_line(case)]
    lines += [text for text in (told, case.text) if text]
    if len(failing) > len(shown):
        lines.append(f"{fmt.count(len(failing) - len(shown), 'more failing trial')} not written out here")
    element.append(SystemOut(xml("\n".join(lines), TEXT_LIMIT)))
    return element


def _results(verdict: CaseVerdict, failing: Sequence[Failing], reason: str) -> list[Result]:
    """The elements for the trials that did not pass: exactly one for each, or one that says why there are none."""
    if verdict in ("pass", "within-noise"):
        return [_interim("flaky", trial, trial.error) for trial in failing]
    wants_error = verdict == "incomplete"
    first = next((trial for trial in failing if trial.error == wants_error), failing[0] if failing else None)
    message = f"{reason}; {first.message}" if first else reason
    final = (Error if wants_error else Failure)(
        xml(message, MESSAGE_LIMIT), xml(first.kind if first else "incomplete", 100)
    )
    if first and first.text:
        final.text = xml(first.text, TEXT_LIMIT)
    # In an incomplete case nothing is judged, so its failed trials are errors of the case, too.
    others = [_interim("rerun", trial, trial.error or wants_error) for trial in failing if trial is not first]
    return [final, *others]


def _interim(family: str, trial: Failing, error: bool) -> Result:
    message = xml(trial.message, MESSAGE_LIMIT)
    element = _ELEMENTS[family][error](message, xml(trial.kind, 100))
    element.append(StackTrace(xml(trial.text, TEXT_LIMIT) if trial.text else message))
    return element


def _suite_gate(report: Report, shown: Sequence[CaseVerdict]) -> TestCase | None:
    """A testcase for a verdict of the suite that none of its cases carries; None where one does, or all is well."""
    carried = {"fail": ("fail",), "incomplete": ("fail", "incomplete")}.get(report.verdict)
    if carried is None or any(verdict in carried for verdict in shown):
        return None
    reasons = [reason.text for reason in report.reasons if reason.verdict == report.verdict]
    element = TestCase("(whole suite)", xml(report.suite, NAME_LIMIT), 0.0)
    message = "; ".join(reasons) or f"the suite is {report.verdict}"
    final = (Failure if report.verdict == "fail" else Error)(xml(message, MESSAGE_LIMIT), "gate")
    final.text = xml("\n".join(reasons), TEXT_LIMIT)
    element.append(final)
    return element


def _by_case(trials: Iterable[Trial]) -> dict[str, list[Trial]]:
    """The trials by case, in order of repetition."""
    found: dict[str, list[Trial]] = {}
    for trial in trials:
        found.setdefault(trial.case, []).append(trial)
    return {case: sorted(some, key=lambda trial: trial.repetition) for case, some in found.items()}


def _failing_of_rerun(case: CaseReport, suspect: ReRunCase | LowCase) -> Iterator[Failing]:
    """As many entries as fresh trials of head that did not pass; a number is known only when none is missing."""
    shown = suspect.evidence
    for number, letter in enumerate(suspect.outcomes, start=case.asked + 1):
        if letter in "FE":
            repetition = None if suspect.fresh_head.missing else number
            why = shown.message if shown is not None and shown.repetition == number else ""
            yield _failing(repetition, why, error=letter == "E")


def _failing_of_trials(letters: str, trials: Sequence[Trial]) -> Iterator[Failing]:
    """The trials that did not pass. An error that counts as a failure is one: the report's letters know."""
    if len(letters) < MAX_LETTERS and len(letters) != len(trials):
        letters = ""
    for trial, letter in zip_longest(trials, letters[: len(trials)]):
        if trial.outcome in ("failed", "error"):
            yield _of_trial(trial, error=letter == "E" if letter else trial.outcome == "error")


def _of_trial(trial: Trial, *, error: bool) -> Failing:
    checks = [check.message or check.name for check in trial.checks if not check.passed]
    why = trial.message or (checks[0] if checks else "")
    return _failing(trial.repetition, why, error=error, kind=trial.error_kind, checks=checks, output=trial.output)


def _of_example(example: Example, *, error: bool) -> Failing:
    why = example.message or next(iter(example.checks), "")
    return _failing(
        example.repetition, why, error=error, kind=example.error_kind, checks=example.checks, output=example.output
    )


def _failing(
    repetition: int | None,
    why: str,
    *,
    error: bool = False,
    kind: str | None = None,
    checks: Sequence[str] = (),
    output: str | None = None,
) -> Failing:
    """What is written of one trial that did not pass; `repetition` is None where its number is not known."""
    name = "a trial" if repetition is None else f"trial {repetition}"
    word = "gave no verdict" if error else "failed"
    shown = f" ({kind})" if kind else ""
    message = f"{name} {word}{shown}: {why}" if why else f"{name} {word}{shown}"
    parts = [check for check in checks if check != why]
    if output:
        parts.append(f"output: {output}")
    return Failing(
        error, kind or ("error" if error else "failed"), message, "\n".join([message, *parts]) if parts else ""
    )


def _failing_of_report(case: CaseReport) -> Iterator[Failing]:
    """As many entries as trials that did not pass, with as much as the report knows about each.

    The letters of the outcomes tell a trial's number only when no trial is missing.
    """
    examples = {one.repetition: one for one in case.examples if one.outcome in ("failed", "error")}
    left = {"F": case.failed, "E": case.errors}
    entries: list[tuple[int | None, str]]
    if not case.missing:
        entries = [(number, letter) for number, letter in enumerate(case.outcomes, start=1) if letter in "FE"]
    else:
        # An error may count as a failure, so the counts decide.
        entries = [
            (number, "E" if one.outcome == "error" and case.errors else "F") for number, one in sorted(examples.items())
        ]
    for _, letter in entries:
        left[letter] -= 1
    entries += [(None, letter) for letter, number in left.items() for _ in range(number)]
    messages = _other_messages(case)
    for repetition, letter in entries:
        example = examples.get(repetition) if repetition is not None else None
        if example is not None:
            yield _of_example(example, error=letter == "E")
        elif letter == "E":
            kind = next(iter(case.error_kinds)) if len(case.error_kinds) == 1 else None
            yield _failing(repetition, "", error=True, kind=kind)
        else:
            # Which of the remaining trials had which message is not known, so a message from the counts has no number.
            why = next(messages, "")
            yield _failing(None if why else repetition, why)


def _other_messages(case: CaseReport) -> Iterator[str]:
    """The messages of failed trials that are no examples, each as often as it was counted."""
    if sum(number for _, number in case.failures) > case.failed:
        return
    shown = [one.message for one in case.examples if one.outcome == "failed"]
    for message, number in case.failures:
        if message == NO_MESSAGE:
            continue
        for _ in range(number - shown.count(message)):
            yield message


def _properties(pairs: Iterable[tuple[str, str]]) -> Properties:
    element = Properties()
    # A Property object around each of the fifty elements of a case would double the time that the file takes.
    tree = element._elem
    for name, value in pairs:
        SubElement(tree, "property", name=name, value=xml(value, MESSAGE_LIMIT))
    return element


def _seconds(case: CaseReport) -> float:
    return round(case.duration.mean, 3) if case.duration else 0.0
