"""The columns of the terminal's table: which there are, what a cell says, which go first when space is short."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from repeat_eval.analysis.report import CaseReport, Report
from repeat_eval.reports import format as fmt
from repeat_eval.reports.wording import broken_before, rerun_cases, single_trial

MIN_NAME = 24
"""Width that the case column keeps, if its names need it, before other columns are dropped for it."""
GAP = 2

STYLES = {"pass": "green", "within-noise": "yellow", "fail": "bold red", "incomplete": "magenta", "skipped": "dim"}


class Column(NamedTuple):
    """One column: its title, what it says of a case, how it is aligned and coloured."""

    key: str
    title: str
    cell: Callable[[CaseReport], str]
    right: bool = True
    style: Callable[[CaseReport], str] | None = None


def mark(case: CaseReport) -> str:
    """`~` trials disagree, `✓` all pass, `✗` none passes, `?` no verdict, `-` skipped."""
    if case.verdict == "skipped":
        return "-"
    if case.verdict == "incomplete":
        return "?"
    if case.flaky:
        return "~"
    return "✓" if case.passed and not case.failed else "✗"


def mark_style(case: CaseReport) -> str:
    """Colour of the mark: it follows the trials, while the status follows the gate."""
    return {"✓": "green", "✗": "red", "~": "yellow", "?": "magenta"}.get(mark(case), "dim")


def status_style(case: CaseReport) -> str:
    """Colour of the status."""
    return {"FLAKY": "yellow", "BROKEN": "red"}.get(fmt.status(case), STYLES[case.verdict])


def _some(number: int) -> str:
    return f"{number:,}" if number else ""


def _k(k: str) -> Callable[[CaseReport], str]:
    return lambda case: fmt.percent(case.pass_hat_k.get(k)) if case.verdicts > 1 else fmt.UNKNOWN


def _number(value: float | None) -> str:
    return fmt.UNKNOWN if value is None else f"{value:,.0f}" if value >= 100 else f"{value:,.3g}"


COLUMNS = (
    Column("mark", "", mark, right=False, style=mark_style),
    Column("case", "Case", lambda case: case.id, right=False),
    Column("rate", "Pass rate", fmt.rate_of_case),
    Column("interval", "95% CI", lambda case: fmt.interval(case.interval)),
    Column("pass^2", "pass^2", _k("2")),
    Column("pass^3", "pass^3", _k("3")),
    Column("score", "Score", fmt.score_of_case),
    Column("stability", "Stability", fmt.stability_of_case, right=False),
    Column("reliability", "Reliability", fmt.reliability_of_case, right=False),
    Column("turns", "Turns", lambda case: _number(case.turns)),
    Column("tokens", "Tokens", lambda case: _number(case.tokens)),
    Column("time", "Time", lambda case: fmt.duration(case.duration.mean if case.duration else None)),
    Column("cost", "Cost", lambda case: fmt.money(case.cost)),
    Column("errors", "Err", lambda case: _some(case.errors), style=lambda case: "magenta"),
    Column("skipped", "Skip", lambda case: _some(case.skipped)),
    Column("missing", "Miss", lambda case: _some(case.missing), style=lambda case: "magenta"),
    Column("status", "Status", fmt.status, right=False, style=status_style),
)

KEPT = frozenset({"mark", "case", "rate", "interval", "status"})
"""Always there. Columns of trials without a verdict appear only where there are some, and then they stay, too."""
DROP_ORDER = ("turns", "tokens", "cost", "time", "reliability", "stability", "score", "pass^3", "pass^2")
ONLY_WITH_REPEATS = frozenset({"pass^2", "pass^3", "stability", "reliability"})


def known_columns(report: Report) -> list[Column]:
    """The columns that say something about at least one case."""
    single = single_trial(report)
    before, rerun = broken_before(report), frozenset(rerun_cases(report))
    return [
        _status_beside(column, before, rerun) if column.key == "status" and (before or rerun) else column
        for column in COLUMNS
        if column.key in KEPT
        or (
            not (single and column.key in ONLY_WITH_REPEATS)
            and any(column.cell(case) not in (fmt.UNKNOWN, "") for case in report.case_reports)
        )
    ]


def _status_beside(column: Column, before: frozenset[str], rerun: frozenset[str]) -> Column:
    """The status column of a report in which some cases fail that were below their threshold before, or looked twice.

    The status of a case that was run again comes from its fresh trials, and the other columns do not.
    """

    def cell(case: CaseReport) -> str:
        if case.id in before:
            return "FAIL (old)"
        return f"{column.cell(case)} (re-run)" if case.id in rerun else column.cell(case)

    def style(case: CaseReport) -> str:
        return "yellow" if case.id in before else status_style(case)

    return column._replace(cell=cell, style=style)


def drop_order(cases: Sequence[CaseReport]) -> tuple[str, ...]:
    """Which columns go first. Scores that are all 0 or 1 say what the pass rate says, so they go before the others."""
    if all(_only_zero_or_one(case) for case in cases):
        return ("turns", "tokens", "score", *(key for key in DROP_ORDER[2:] if key != "score"))
    return DROP_ORDER


def _only_zero_or_one(case: CaseReport) -> bool:
    # Among numbers in [0, 1] only 0 and 1 reach the variance mean × (1 − mean).
    if case.score is None:
        return True
    return abs(case.score.std**2 - case.score.mean * (1 - case.score.mean)) < 1e-9


def fit(
    columns: Sequence[Column], widths: dict[str, int], order: Sequence[str], width: int
) -> tuple[list[Column], dict[str, int]]:
    """Drop columns in `order` until the table fits into `width`; what is still missing is taken from the names.

    Args:
        columns: the columns that have something to say.
        widths: what each of them needs, in terminal cells.
        order: keys of the columns that may go, first to go first.
        width: cells there are.
    """
    kept = list(columns)
    widths = dict(widths)

    def rest() -> int:
        return sum(widths[column.key] for column in kept if column.key != "case") + GAP * (len(kept) - 1)

    wanted = min(widths["case"], MIN_NAME)
    for key in order:
        if rest() + wanted <= width:
            break
        kept = [column for column in kept if column.key != key]
    widths["case"] = max(min(widths["case"], width - rest()), min(widths["case"], 8))
    return kept, widths
