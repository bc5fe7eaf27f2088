"""The job summary: Markdown whose first line alone is enough, then what failed, then the suite; the rest is folded.

Every text from outside passes through the escape filters of the template. When the text is too long, detail is shed in
a fixed order, and what was shed is said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from repeat_eval.analysis.report import CaseReport, Report
from repeat_eval.reports import comparison_parts as parts
from repeat_eval.reports import format as fmt
from repeat_eval.reports import looks_alone_text, looks_text, wording
from repeat_eval.reports.comparison_details import details
from repeat_eval.reports.comparison_parts import CaseLink
from repeat_eval.reports.comparison_wording import comparable, headline, same_commit
from repeat_eval.reports.escape import markdown, markdown_code
from repeat_eval.reports.markdown_templates import case_name, load_template
from repeat_eval.reports.origin import origin_of
from repeat_eval.reports.single_cases import cases_table
from repeat_eval.reports.template_sandbox import rendered
from repeat_eval.reports.trend import trend_lines

LIMIT = 1_000_000
"""Bytes of a job summary; GitHub drops one of more than 1 MiB whole."""
MAX_FAILED = 10
MAX_FLAKY = 20
MAX_WARNINGS = 50
TREND_ROWS = 10
"""Runs of the default branch that are shown one by one."""

_BLANK = re.compile(r"\n{3,}")
_SIGNS = {"pass": "✅", "fail": "❌", "incomplete": "⚠️"}
_WORDS = {"pass": "Passed", "fail": "Failed", "incomplete": "Incomplete"}


class Detail(NamedTuple):
    """How much is shown; a step of the ladder by which the summary gets shorter."""

    rows: int | None = None
    failed: int = MAX_FAILED
    stable: bool = True
    settings: bool = True
    flaky: int = MAX_FLAKY
    evidence: bool = True
    warnings: int = MAX_WARNINGS


def render_summary(report: Report, limit: int = LIMIT, templates: Path | None = None) -> str:
    """The report as Markdown of at most `limit` bytes (and so characters) in UTF-8.

    Sheds in this order: rows of stable cases that pass, further rows of the folded table, settings, warnings, the list
    of flaky cases, the messages of failing trials, the table of failing cases. The verdict always stays. `templates` is
    the folder of the user's own templates.
    """
    template = load_template("summary.md.j2", templates)
    text = ""
    for detail in _ladder(report, limit):
        text = _BLANK.sub("\n\n", rendered(template, content(report, detail), templates))
        if len(text.encode()) <= limit:
            return text
    first = text.partition("\n")[0].encode()
    return first[: max(limit, 0)].decode("utf-8", "ignore")


def _ladder(report: Report, limit: int) -> Iterator[Detail]:
    # A row takes some 150 bytes, so far too many rows are not tried at all.
    most = limit // 140
    if len(report.case_reports) <= most:
        yield Detail()
    for rows in (most, limit // 300, limit // 600, 20):
        yield Detail(rows=rows, stable=False)
    yield Detail(rows=20, stable=False, settings=False)
    yield Detail(rows=0, stable=False, settings=False, warnings=3)
    yield Detail(rows=0, stable=False, settings=False, warnings=0, flaky=0)
    yield Detail(rows=0, stable=False, settings=False, warnings=0, flaky=0, evidence=False)
    yield Detail(rows=0, failed=0, stable=False, settings=False, warnings=0, flaky=0, evidence=False)


def _case_cell(case: str) -> str:
    return case_name(case, table=True)


def content(report: Report, detail: Detail, *, link: CaseLink = _case_cell, compare: bool = True) -> dict[str, object]:
    """Everything that the templates say of a run, already chosen and counted.

    Args:
        report: what is shown. detail: how much of it.
        link: prints the name of a case in a table. compare: with the parts of the comparison, if there is one.
    """
    comparison = comparable(report) if compare else None
    names = parts.sides("base", "head")
    shown = parts.Detail(
        rows=detail.rows,
        broke=detail.failed,
        why=detail.evidence,
        listed=detail.flaky and parts.MAX_LISTED,
        named=detail.flaky,
        figures=detail.settings,
        wide=detail.stable,
        bars=detail.stable,
    )
    sign, text = _headline(report)
    failed = wording.failing_cases(report)
    flaky = [] if wording.single_trial(report) else list(report.flaky_cases())
    rows, left_out = _rows(report, detail)
    warnings = list(wording.warnings(report))
    alone = report.looked_alone
    return {
        "report": report,
        "totals": report.totals,
        "sign": sign,
        "headline": text,
        "about": _about(report),
        "failed": failed[: detail.failed],
        "failed_more": max(len(failed) - detail.failed, 0),
        "why": _why(report, failed[:MAX_FAILED]) if detail.evidence else [],
        "suite_reasons": wording.suite_reasons(report)[:MAX_FAILED],
        "flaky": flaky[: detail.flaky],
        "flaky_count": len(flaky),
        "all_cases": cases_table(report, rows, link),
        "left_out": left_out,
        "settings": report.settings if detail.settings else None,
        "how": origin_of(report),
        "trend": trend_lines(report, TREND_ROWS if detail.settings else 0),
        "warnings": warnings[: detail.warnings],
        "warnings_more": max(len(warnings) - detail.warnings, 0),
        "looks": _looks(report),
        "again": _again(report, detail),
        "fresh_looks": {case.id: case.fresh_head for case in alone.cases} if alone is not None else {},
        "shed": _shed(detail, bool(report.settings), bool(failed)),
        "trials_done": wording.trials_done(report),
        "suite_interval": wording.suite_interval(report),
        "time_and_cost": ", ".join(wording.time_and_cost(report)),
        "single_note": wording.single_note(report),
        "noise_note": wording.noise_note(report),
        "c": comparison and parts.comparison_parts(report, comparison, names, shown, link),
        "details": comparison and details(report, comparison, names, shown, link),
        "link": link,
        "f": fmt,
    }


def _headline(report: Report) -> tuple[str, str]:
    if report.comparison is not None:
        return headline(report, "base", name=case_name, prose=markdown)
    word = _WORDS[report.verdict]
    return _SIGNS[report.verdict], f"{word}: {wording.headline(report, case_name, markdown)}"


def _rows(report: Report, detail: Detail) -> tuple[list[CaseReport], int]:
    """The rows of the folded table, worst first, and how many cases have none."""
    cases = wording.by_severity(report.case_reports)
    if not detail.stable:
        cases = [case for case in cases if case.verdict != "pass" or case.flaky or case.broken]
    if detail.rows is not None:
        cases = cases[: detail.rows]
    return cases, len(report.case_reports) - len(cases)


def _about(report: Report) -> list[str]:
    parts = []
    if report.provenance.commit:
        parts.append(markdown_code(report.provenance.commit[:12]))
    base = report.comparison.base if report.comparison else None
    if same_commit(report):
        parts.append("base at the same commit")
    elif base is not None and base.commit:
        parts.append(f"base {markdown_code(base.commit[:12])}")
    if report.case_reports:
        parts.append(wording.repeats(report))
    parts.append(wording.gate(report))
    return parts


def _why(report: Report, failed: list[CaseReport]) -> list[dict[str, str]]:
    """One line a case that did not pass: its reason, and one trial that shows it."""
    reasons, suspects = wording.reasons_by_case(report), wording.rerun_cases(report)
    lines = []
    for case in failed:
        found = wording.evidence(case, suspects.get(case.id))
        if found is None:
            lines.append({"case": case.id, "place": "", "message": "", "text": reasons[case.id], "alike": ""})
            continue
        place = "" if found.repetition is None else f"trial {found.repetition}"
        lines.append({"case": case.id, "place": place, "message": found.message, "text": "", "alike": found.likeness})
    return lines


def _looks(report: Report) -> parts.Table | None:
    """The looks at this commit side by side; None where there was only one."""
    rows = looks_text.rows(report, _case_cell, markdown)
    return parts.Table(list(looks_text.TITLES), [":--"] * len(looks_text.TITLES), rows) if rows else None


def _again(report: Report, detail: Detail) -> dict[str, object] | None:
    """What a run without a base ran again: a sentence, a table, and how many more there are."""
    looks = report.looked_alone
    if looks is None:
        return None
    shown = looks_alone_text.listed(looks)[: detail.failed]
    rows = [looks_alone_text.row(case, _case_cell(case.id)) for case in shown]
    titles = list(looks_alone_text.TITLES)
    table = parts.Table(titles, [":--"] * len(titles), rows) if rows else None
    return {"intro": looks_alone_text.intro(looks), "table": table, "more": len(looks.cases) - len(shown)}


def _shed(detail: Detail, settings: bool, failed: bool) -> list[str]:
    """What was left out to keep the summary short, besides rows, which the table counts itself."""
    shed = []
    if settings and not detail.settings:
        shed.append("settings")
    if not detail.flaky:
        shed.append("the list of flaky cases")
    if failed and not detail.evidence:
        shed.append("the messages of failing trials")
    return shed
