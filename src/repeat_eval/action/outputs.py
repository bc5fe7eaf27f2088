"""The action's outputs: declared, small, all texts. What is unknown is empty, never 0."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from repeat_eval.analysis.report import Interval, Report
from repeat_eval.reports.comparison_wording import BROKE, verdict_of

OUTPUTS: Mapping[str, str] = {
    "verdict": "`pass`, `fail` or `incomplete`; `not evaluated` when nothing was run on purpose; `shard` of a shard; "
    "empty after an error.",
    "exit-code": "The exit code of the step.",
    "pass-rate": "Mean pass rate over the cases, from 0 to 1.",
    "pass-rate-low": "Lower end of its re-run 95 % interval.",
    "pass-rate-high": "Upper end of that interval.",
    "width": "Width of that interval.",
    "cases": "Number of cases.",
    "trials": "Number of trials that were done.",
    "errors": "Number of trials that gave no verdict.",
    "failing": "Number of cases that fail their gate.",
    "flaky": "Number of cases whose trials disagree.",
    "stability": "Share of cases whose trials all agree.",
    "cost": "US dollars spent on head, as far as known.",
    "comparison": "`regressed`, `improved`, `mixed`, `no detectable change`, `not comparable`, or `incomplete` when a "
    "second look is not whole; empty without a base.",
    "delta": "Difference of the pass rate against base, from -1 to 1; after an alarm that of the second look.",
    "p-value": "Two-sided p-value of that difference; after two looks twice the one-sided p of both.",
    "regressions": "Number of cases that got significantly worse.",
    "base-commit": "The commit that was compared with.",
    "commit": "The commit that was tested.",
    "attempt": "Which attempt of the workflow run this is.",
    "report-dir": "Folder of the report files, relative to the workspace.",
    "report-json": "The report as JSON, relative to the workspace.",
    "junit": "The JUnit XML file, relative to the workspace.",
    "comment-url": "The address of the comment, when there is one.",
}
"""Name and meaning, in the order in which they are declared and written."""


def outputs_of(report: Report, *, report_dir: str, exit_code: int, attempt: int) -> dict[str, str]:
    """All outputs of a report.

    Args:
        report: what was found. report_dir: its folder, relative to the workspace.
        exit_code: of the step. attempt: of the workflow run, from 1.
    """
    totals, comparison = report.totals, report.comparison
    low, high = _ends(totals.interval)
    values: dict[str, object] = {
        "verdict": report.verdict,
        "exit-code": exit_code,
        "pass-rate": totals.pass_rate,
        "pass-rate-low": low,
        "pass-rate-high": high,
        "width": totals.width,
        "cases": totals.cases,
        "trials": totals.trials,
        "errors": totals.errors,
        "failing": totals.failing,
        "flaky": totals.flaky,
        "stability": totals.stability,
        "cost": totals.cost,
        "commit": report.provenance.commit,
        "attempt": attempt,
        "report-dir": report_dir,
        "report-json": f"{report_dir}/report.json",
        "junit": f"{report_dir}/junit.xml",
    }
    if comparison is not None:
        looks = comparison.second_look
        values |= {
            "comparison": verdict_of(comparison),
            "delta": comparison.delta if looks is None else looks.headline.delta,
            "p-value": comparison.p if looks is None else min(1.0, 2.0 * looks.down.p),
            "regressions": sum(case.change in BROKE for case in comparison.cases),
            "base-commit": comparison.base.commit if comparison.base else None,
        }
    return {name: _text(values.get(name)) for name in OUTPUTS}


def outputs_without_report(verdict: str, exit_code: int) -> dict[str, str]:
    """The outputs when there is no report: all but two are empty."""
    return {**dict.fromkeys(OUTPUTS, ""), "verdict": verdict, "exit-code": str(exit_code)}


def _ends(interval: Interval | None) -> tuple[float | None, float | None]:
    return (None, None) if interval is None else interval


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.12g}"
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
