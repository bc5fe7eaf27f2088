"""ctrf.json: one test a case in the Common Test Report Format, for tools that read test reports.

A test's status is the gate's verdict. Its trials are all in `retryAttempts`, numbered by their repetition: none of them
is a retry of another, but CTRF has no other place for several executions of a test. What CTRF has no field for is in
`extra`. The fields are those of CTRF's schema at version 1.0.0, which allows no others.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from repeat_eval.analysis.report import CaseReport, Report
from repeat_eval.records.trial import OUTCOME_LETTERS, Trial, clean
from repeat_eval.reports.comparison_wording import verdict_of

CTRF_FILE = "ctrf.json"
SPEC_VERSION = "1.0.0"
TOOL = "repeat-eval"
_NAMES = uuid.uuid5(uuid.NAMESPACE_URL, "repeat-eval/ctrf")
_STATUS = {"pass": "passed", "within-noise": "passed", "fail": "failed", "skipped": "skipped", "incomplete": "other"}
_OF_OUTCOME = {"passed": "passed", "failed": "failed", "skipped": "skipped", "error": "other"}
_OF_LETTER = {letter: outcome for outcome, letter in OUTCOME_LETTERS.items()}


def write_ctrf(report: Report, trials: Sequence[Trial] | None = None) -> bytes:
    """The report as a CTRF document: two-space indented UTF-8 JSON with a final newline.

    The same report and trials give the same bytes: times are those of the trials, and the report's id is made from
    what is in it.

    Args:
        report: what is written.
        trials: the run's trials, for the message, times, score and cost of each; None: only outcomes are known.
    """
    of_case: dict[str, list[Trial]] = {}
    for trial in trials or ():
        of_case.setdefault(trial.case, []).append(trial)
    base = _base_figures(report)
    tests = [_test(report, case, of_case.get(case.id), base.get(case.id)) for case in report.case_reports]
    document: dict[str, Any] = {
        "reportFormat": "CTRF",
        "specVersion": SPEC_VERSION,
        "reportId": str(_id_of(report, tests)),
        "timestamp": _rfc(report.provenance.started),
        "generatedBy": f"{TOOL} {report.provenance.version}" if report.provenance.version else TOOL,
        "results": _known(
            tool=_known(name=TOOL, version=report.provenance.version),
            summary=_summary(report, tests, trials or ()),
            tests=tests,
            environment=_known(
                reportName=report.suite, commit=report.provenance.commit, healthy=report.verdict == "pass"
            ),
            extra=_known(
                suite=report.suite,
                verdict=report.verdict,
                exitCode=report.exit_code,
                gate=report.gate,
                reasons=[reason.text for reason in report.reasons],
                warnings=list(report.warnings) or None,
                comparison=verdict_of(report.comparison) if report.comparison is not None else None,
            ),
        ),
        "insights": _insights(report),
        "baseline": _baseline(report),
    }
    document = {name: value for name, value in document.items() if value is not None}
    return msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"


def _test(report: Report, case: CaseReport, trials: Sequence[Trial] | None, base: _Figures | None) -> dict[str, Any]:
    attempts = _attempts(case, trials)
    starts = [attempt["start"] for attempt in attempts if "start" in attempt]
    return _known(
        id=str(uuid.uuid5(_NAMES, f"{clean(report.suite)}\0{clean(case.id)}")),
        name=clean(case.id) or "(no name)",
        status=_STATUS.get(case.verdict, "other"),
        # CTRF wants a number here; trials whose time is not known add nothing.
        duration=sum(attempt.get("duration", 0) for attempt in attempts),
        start=min(starts, default=None),
        stop=max((attempt["stop"] for attempt in attempts if "stop" in attempt), default=None),
        suite=[clean(report.suite)],
        message=case.text or None,
        rawStatus=case.verdict,
        tags=list(case.tags) or None,
        filePath=case.file,
        line=case.line,
        retries=max(0, len(attempts) - 1),
        retryAttempts=attempts or None,
        flaky=case.flaky,
        insights=_known(
            passRate=_delta(case.pass_rate, base.rate if base else None),
            failRate=_delta(_rest(case.pass_rate), _rest(base.rate) if base else None),
            averageTestDuration=_delta(
                _milliseconds(case.duration.mean if case.duration is not None else None),
                _milliseconds(base.duration) if base else None,
            ),
            executedInRuns=case.trials,
            extra=_known(passRateInterval=case.interval, change=base.change if base else None) or None,
        ),
        extra=_known(
            asked=case.asked,
            passed=case.passed,
            failed=case.failed,
            errors=case.errors,
            skipped=case.skipped,
            missing=case.missing,
            threshold=case.threshold,
            gate=case.gate,
            score=case.score.mean if case.score is not None else None,
            cost=case.cost,
        ),
    )


def _attempts(case: CaseReport, trials: Sequence[Trial] | None) -> list[dict[str, Any]]:
    """The trials of a case. Where only the report tells of them, those beyond its letters come from the counts."""
    if trials is not None:
        return [_attempt(trial) for trial in sorted(trials, key=lambda trial: trial.repetition)]
    letters = case.outcomes
    if len(letters) < case.trials:
        letters = "P" * case.passed + "F" * case.failed + "E" * case.errors + "S" * case.skipped
    return [
        {"attempt": number, "status": _OF_OUTCOME[_OF_LETTER[letter]]} for number, letter in enumerate(letters, start=1)
    ]


def _attempt(trial: Trial) -> dict[str, Any]:
    start, duration = _epoch(trial.started), _milliseconds(trial.duration)
    length = None if duration is None else round(duration)
    return _known(
        attempt=trial.repetition,
        status=_OF_OUTCOME[trial.outcome],
        duration=length,
        start=start,
        stop=start + length if start is not None and length is not None else None,
        message=clean(trial.message) if trial.message else None,
        extra=_known(
            errorKind=trial.error_kind,
            score=trial.score,
            cost=trial.cost,
            tokensInput=trial.tokens.input if trial.tokens else None,
            tokensOutput=trial.tokens.output if trial.tokens else None,
            turns=trial.turns,
            cached=trial.cached,
        )
        or None,
    )


def _summary(report: Report, tests: Sequence[Mapping[str, Any]], trials: Sequence[Trial]) -> dict[str, Any]:
    counts = dict.fromkeys(("passed", "failed", "skipped", "pending", "other"), 0)
    for test in tests:
        counts[test["status"]] += 1
    starts = [test["start"] for test in tests if "start" in test]
    start = min(starts, default=None)
    if start is None:
        start = _epoch(report.provenance.started) or 0
    wall = _milliseconds(report.totals.wall)
    ends = [test["stop"] for test in tests if "stop" in test]
    stop = max([start + round(wall) if wall is not None else start, *ends])
    return {
        "tests": len(tests),
        **counts,
        "flaky": sum(case.flaky for case in report.case_reports),
        "suites": 1,
        "start": start,
        "stop": stop,
        "duration": stop - start,
        "extra": {"trials": len(trials) or report.totals.trials, "asked": report.totals.asked},
    }


def _insights(report: Report) -> dict[str, Any] | None:
    totals, comparison = report.totals, report.comparison
    base = comparison.base if comparison is not None else None
    head = comparison.head if comparison is not None else None
    judged = sum(case.verdicts > 0 for case in report.case_reports)
    # Base and head are weighted alike over the cases that both have; without base, each case counts once.
    rate = head.pass_rate if head is not None and base is not None else totals.pass_rate
    before = base.pass_rate if base is not None else None
    interval = totals.interval
    return (
        _known(
            passRate=_delta(rate, before),
            failRate=_delta(_rest(rate), _rest(before)),
            flakyRate=_delta(totals.flaky / judged if judged else None, None),
            averageTestDuration=_delta(_milliseconds(totals.duration), _milliseconds(base.duration if base else None)),
            runsAnalyzed=max((case.trials for case in report.case_reports), default=0),
            extra=_known(
                passRateInterval=interval,
                delta=comparison.delta if comparison is not None else None,
                deltaInterval=comparison.interval if comparison is not None else None,
                p=comparison.p if comparison is not None else None,
            )
            or None,
        )
        or None
    )


def _baseline(report: Report) -> dict[str, Any] | None:
    """Where base comes from. Base need not have a report of this id: the id is made from suite and commit."""
    base = report.comparison.base if report.comparison is not None else None
    if base is None or base.commit is None:
        return None
    return _known(
        reportId=str(uuid.uuid5(_NAMES, f"{clean(report.suite)}\0base\0{base.commit}")),
        timestamp=_rfc(base.started),
        source=base.source,
        commit=base.commit,
    )


class _Figures(msgspec.Struct, frozen=True):
    """What is known of a case on base: its rate, mean seconds a trial, and what happened to it since."""

    rate: float | None
    duration: float | None
    change: str


def _base_figures(report: Report) -> dict[str, _Figures]:
    cases = report.comparison.cases if report.comparison is not None else ()
    return {case.id: _Figures(case.base.pass_rate, case.base.duration, case.change) for case in cases}


def _delta(current: float | None, baseline: float | None) -> dict[str, float] | None:
    if current is None:
        return None
    if baseline is None:
        return {"current": current}
    return {"current": current, "baseline": baseline, "change": current - baseline}


def _rest(rate: float | None) -> float | None:
    return None if rate is None else 1 - rate


def _milliseconds(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * 1000


def _moment(text: str | None) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text or "")
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def _epoch(text: str | None) -> int | None:
    """A time as milliseconds since 1970; None where it is none."""
    moment = _moment(text)
    try:
        return None if moment is None else round(moment.timestamp() * 1000)
    except (OverflowError, ValueError):
        return None


def _rfc(text: str | None) -> str | None:
    moment = _moment(text)
    return None if moment is None else moment.isoformat()


def _id_of(report: Report, tests: Sequence[Mapping[str, Any]]) -> uuid.UUID:
    head = (report.suite, report.provenance.commit, report.provenance.started, report.provenance.attempt)
    return uuid.uuid5(_NAMES, msgspec.json.encode([head, tests]).decode())


def _known(**fields: Any) -> dict[str, Any]:
    """The fields that are known."""
    return {name: value for name, value in fields.items() if value is not None}
