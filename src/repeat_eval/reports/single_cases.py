"""The table of all cases of one run, as cells that are safe to print in Markdown.

Built here and not in the template: a thousand rows of attribute look-ups in the sandbox take several times as long.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from repeat_eval.analysis.report import CaseReport, Report
from repeat_eval.reports import format as fmt
from repeat_eval.reports import wording
from repeat_eval.reports.columns import mark
from repeat_eval.reports.comparison_parts import CaseLink
from repeat_eval.reports.markdown_templates import tight

_Cell = Callable[[CaseReport], str]


class CasesTable(NamedTuple):
    """Titles, alignments and rows of a table; `names` says which figures it has besides the usual ones."""

    titles: tuple[str, ...]
    alignments: tuple[str, ...]
    rows: list[list[str]]
    names: tuple[str, ...]


def cases_table(report: Report, cases: Sequence[CaseReport], link: CaseLink) -> CasesTable:
    """The table of these cases, with the columns that the whole report has something to say in.

    Args:
        report: decides which columns there are. cases: the rows. link: prints the name of a case.
    """
    every = report.case_reports
    columns: list[tuple[str, str, _Cell]] = [
        ("case", ":--", lambda case: link(case.id)),
        ("", ":--", _mark),
        ("pass&nbsp;rate", "--:", lambda case: tight(fmt.rate_of_case(case))),
        ("95%&nbsp;CI", "--:", lambda case: tight(fmt.interval(case.interval))),
    ]
    names = []
    if not wording.single_trial(report):
        columns += [
            ("pass^2", "--:", lambda case: fmt.percent(case.pass_hat_k.get("2"))),
            ("pass^3", "--:", lambda case: fmt.percent(case.pass_hat_k.get("3"))),
            ("rating", ":--", fmt.reliability_of_case),
        ]
    if any(case.score for case in every):
        columns.append(("score", "--:", fmt.score_of_case))
    if any(case.duration for case in every):
        names.append("time")
        columns.append(("time", "--:", lambda case: tight(fmt.duration(case.duration.mean if case.duration else None))))
    if any(case.cost is not None for case in every):
        names.append("cost")
        columns.append(("cost", "--:", lambda case: fmt.money(case.cost)))
    if any(fmt.errors_of_case(case) for case in every):
        columns.append(("no verdict", ":--", lambda case: tight(fmt.errors_of_case(case))))
    columns.append(("status", ":--", lambda case: tight(fmt.verdict_words(case))))
    return CasesTable(
        titles=tuple(title for title, _, _ in columns),
        alignments=tuple(alignment for _, alignment, _ in columns),
        rows=[[cell(case) for _, _, cell in columns] for case in cases],
        names=tuple(names),
    )


def _mark(case: CaseReport) -> str:
    sign = mark(case)
    return "\\~" if sign == "~" else "–" if sign == "-" else sign
