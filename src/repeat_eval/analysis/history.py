"""A report as a run to keep, and kept runs as the history that a report shows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from repeat_eval.analysis.first_look import first_trials
from repeat_eval.analysis.report import CaseReport, HistoryPoint, Report
from repeat_eval.analysis.sides import means_of, trials_by_case
from repeat_eval.records.run import CasePlan, RunHeader
from repeat_eval.records.stored import StoredCase, StoredRun
from repeat_eval.records.trial import Trial

MAX_POINTS = 30
"""Runs that a report remembers."""


def stored_run(
    report: Report, header: RunHeader, trials: Iterable[Trial], *, commit: str, run: int, attempt: int
) -> StoredRun:
    """What is kept of a run: counts, sums and fingerprints.

    Args:
        report: the judged run. header, trials: the run itself, for fingerprints, durations and costs.
        commit: the full SHA that was tested. run, attempt: of the workflow.

    Raises:
        msgspec.ValidationError: a count is beyond what a store file may hold, or a time or commit is none.
    """
    # Fresh trials are those of suspects: they would bend what is kept.
    by_case = trials_by_case(first_trials(header, trials))
    plans = {plan.id: plan for plan in header.cases}
    stored = StoredRun(
        suite=report.suite,
        source=header.source,
        commit=commit,
        started=header.started or "",
        run=run,
        attempt=attempt,
        seed=header.seed,
        version=header.tool_version,
        target_fingerprint=header.target_fingerprint,
        selection=header.selection,
        settings={name: value for name, value in header.settings.items() if value is not None},
        verdict=report.verdict,
        pass_rate=report.totals.pass_rate,
        interval=report.totals.interval,
        cases=tuple(_stored_case(case, plans.get(case.id), by_case.get(case.id, [])) for case in report.case_reports),
    )
    # Structs are checked where they are decoded, and what is written must be readable again.
    return msgspec.json.decode(msgspec.json.encode(stored), type=StoredRun)


def with_history(report: Report, runs: Sequence[StoredRun]) -> Report:
    """The report with the newest of these runs, which are ordered from old to new, as its history."""
    points = tuple(
        HistoryPoint(
            commit=run.commit,
            started=run.started,
            pass_rate=run.pass_rate,
            interval=run.interval,
            verdict=run.verdict,
        )
        for run in runs[-MAX_POINTS:]
    )
    return msgspec.structs.replace(report, history=points)


def _stored_case(case: CaseReport, plan: CasePlan | None, trials: Sequence[Trial]) -> StoredCase:
    means = means_of(trials)
    return StoredCase(
        id=case.id,
        asked=max(case.asked, 1),
        passed=case.passed,
        failed=case.failed,
        errors=case.errors,
        skipped=case.skipped,
        threshold=case.threshold,
        gate=case.gate,
        fingerprint=plan.case_fingerprint if plan is not None else None,
        seconds=None if means.duration is None else means.duration * means.timed,
        timed=means.timed,
        cost=None if means.cost is None else means.cost * means.paid,
        paid=means.paid,
    )
