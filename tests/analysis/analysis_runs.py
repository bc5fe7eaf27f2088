"""Runs for tests, written as one letter a trial: `run_of({"greets": "PPFPP"})`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from repeat_eval.analysis.analyse import analyse
from repeat_eval.analysis.case_figures import case_report
from repeat_eval.analysis.report import CaseReport, Report
from repeat_eval.analysis.rules import Rules
from repeat_eval.records.run import CasePlan, Run, RunFooter, RunHeader
from repeat_eval.records.trial import ErrorKind, Outcome, Trial

OUTCOMES: dict[str, Outcome] = {"P": "passed", "F": "failed", "E": "error", "S": "skipped"}


def trials_of(case: str, letters: str, *, kind: ErrorKind = "provider", **fields: Any) -> list[Trial]:
    """Trials from letters; `.` stands for a repetition that was not done."""
    return [
        Trial(
            case=case,
            repetition=repetition,
            outcome=OUTCOMES[letter],
            error_kind=kind if letter == "E" else None,
            **fields,
        )
        for repetition, letter in enumerate(letters, start=1)
        if letter != "."
    ]


def figures(letters: str, *, asked: int | None = None, kind: ErrorKind = "provider", **rules: Any) -> CaseReport:
    """What becomes of one case with these trials under these rules."""
    plan = CasePlan(id="greets", asked=asked or len(letters))
    return case_report(plan, trials_of("greets", letters, kind=kind), Rules(**rules))


def run_of(
    cases: Mapping[str, str],
    *,
    asked: Mapping[str, int] | None = None,
    thresholds: Mapping[str, str] | None = None,
    footer: RunFooter | bool | None = True,
    trials: Sequence[Trial] | None = None,
    target: str | None = None,
) -> Run:
    """A run of these cases; finished unless `footer` says otherwise."""
    plans = tuple(
        CasePlan(id=case, asked=(asked or {}).get(case, len(letters)), threshold=(thresholds or {}).get(case))
        for case, letters in cases.items()
    )
    done = [trial for case, letters in cases.items() for trial in trials_of(case, letters)]
    end = RunFooter(complete=True, trials=len(done)) if footer is True else footer or None
    header = RunHeader(suite="desk", repeats=10, cases=plans, target=target)
    return Run(header=header, trials=tuple(done if trials is None else trials), footer=end)


def report_of(cases: Mapping[str, str], *, run: Mapping[str, Any] | None = None, **rules: Any) -> Report:
    """The report of a finished run of these cases under these rules."""
    return analyse(run_of(cases, **(run or {})), Rules(**rules))
