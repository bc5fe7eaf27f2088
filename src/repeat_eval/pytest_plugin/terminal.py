"""The section about repeated tests at the end of pytest's output."""

from __future__ import annotations

from collections import Counter
from typing import Any

from repeat_eval.analysis.report import CaseReport, Report
from repeat_eval.pytest_plugin.session import Finished
from repeat_eval.pytest_plugin.words import line
from repeat_eval.reports import format as fmt
from repeat_eval.reports.escape import terminal

MAX_LINES = 100
_COLOURS = {"pass": "green", "within-noise": "yellow", "fail": "red", "incomplete": "red", "skipped": "yellow"}


def write_summary(reporter: Any, finished: Finished) -> None:
    """Write a line for each test whose trials disagree or that does not pass (with -v for each test), and the sum."""
    reporter.write_sep("=", "repeat-eval")
    if finished.trouble is not None:
        reporter.write_line(f"the reports were not written: {terminal(finished.trouble)}", red=True)
        return
    report = finished.report
    if report is None:
        reporter.write_line("no test was repeated; nothing was written", yellow=True)
        return
    names = _names(report)
    verbose = reporter.config.get_verbosity() > 0
    run = [case for case in report.case_reports if case.trials]
    shown = [case for case in run if verbose or not _stable(case)]
    limit = len(shown) if verbose else MAX_LINES
    for case in shown[:limit]:
        reporter.write_line(line(case, names[case.id]), **{_colour(case): True})
    if len(shown) > limit:
        reporter.write_line(f"… and {fmt.count(len(shown) - limit, 'more test')}")
    if stable := len(run) - len(shown):
        reporter.write_line(f"{fmt.count(stable, 'test')} passed in every trial")
    if left := len(report.case_reports) - len(run):
        reporter.write_line(f"{fmt.count(left, 'test')} not run", red=True)
    for warning in report.warnings[:20]:
        reporter.write_line(f"! {terminal(warning)}", yellow=True)
    for reason in report.reasons:
        if reason.gate == "evidence":
            reporter.write_line(f"! {terminal(reason.text)}", red=True)
    if finished.turned is not None:
        reporter.write_line(f"The session does not pass: {terminal(finished.turned)}", red=True)
    totals = report.totals
    parts = [fmt.count(totals.cases, "test"), fmt.count(totals.trials, "trial")]
    parts += [f"{totals.flaky} flaky"] if totals.flaky else []
    parts += [fmt.count(totals.errors, "error")] if totals.errors else []
    parts += [fmt.money(totals.cost)] if totals.cost is not None else []
    parts += [f"reports in {finished.out}"] if finished.out is not None else []
    reporter.write_line(" · ".join(parts))


def _stable(case: CaseReport) -> bool:
    return case.verdict == "pass" and case.passed == case.asked


def _colour(case: CaseReport) -> str:
    return "yellow" if case.verdict == "pass" and (case.flaky or case.broken) else _COLOURS[case.verdict]


def _names(report: Report) -> dict[str, str]:
    """The shortest name of each test that no other test has."""
    short = {
        case.id: case.id.partition("[")[0].rpartition("::")[2] + _parameters(case.id) for case in report.case_reports
    }
    used = Counter(short.values())
    return {case: terminal(name if used[name] == 1 else case, 200) for case, name in short.items()}


def _parameters(case: str) -> str:
    _, bracket, rest = case.partition("[")
    return bracket + rest
