"""The comparison in a terminal: the cases that changed as a table, then the suite in a few rows, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from repeat_eval.analysis.report import CaseComparison, Comparison
from repeat_eval.analysis.second_look_model import ReRunCase
from repeat_eval.reports import comparison_wording as words
from repeat_eval.reports import format as fmt
from repeat_eval.reports import second_look_text as twice
from repeat_eval.reports import wording
from repeat_eval.reports.escape import terminal

MAX_ROWS = 40
"""Rows of the table of changed cases; the first ones are what broke."""
MAX_NAMES = 5
_STYLES = {"regressed": "bold red", "newly broken": "bold red", "improved": "green", "fixed": "green"}
_VERDICT_STYLES = {"regressed": "bold red", "improved": "bold green", "mixed": "bold yellow"}


class Row(NamedTuple):
    """One changed case: its cells and its colour."""

    cells: Sequence[str]
    style: str


TITLES = ("Case", "Base", "Head", "Difference", "95% CI", "p", "What happened")
DROP_ORDER = ((4, 24), (3, 12))
"""Columns that go when names have fewer cells than this: the interval, then the difference; luck stays."""


def changed_rows(comparison: Comparison, *, all_cases: bool = False) -> tuple[list[Row], int]:
    """The cases that differ between the sides, what broke first, and how many were left out."""
    looks = comparison.second_look
    moved = frozenset() if looks is None else twice.moved_again(looks)
    cases = [
        case
        for case in words.in_order(comparison)
        if case.delta or case.change != "unchanged" or case.second_look is not None or case.id in moved
    ]
    shown = cases if all_cases else cases[:MAX_ROWS]
    suspects = {} if looks is None else {case.id: case for case in looks.suspects}
    again = {} if looks is None else twice.run_again(looks)
    return [_row(case, suspects.get(case.id), again.get(case.id)) for case in shown], len(cases) - len(shown)


def _row(case: CaseComparison, suspect: ReRunCase | None, again: str | None) -> Row:
    style = _STYLES.get(case.change, "yellow" if case.watch else "")
    if suspect is not None:
        mark = {"strong": " ✦✦", "significant": " ✦"}.get(twice.level_of(suspect.adjusted), "")
        what = case.change if case.second_look == "confirmed" else words.happened(case, "base")
        return Row(
            (
                terminal(case.id, 300),
                twice.counts(suspect.fresh_base),
                twice.counts(suspect.fresh_head),
                fmt.points(suspect.delta, 0).removesuffix(" points").removesuffix(" point"),
                fmt.points_interval(suspect.interval, 0),
                twice.p_value(suspect.p2) + mark,
                f"{what}; {twice.first(suspect)}",
            ),
            style,
        )
    mark = {"strong": " ✦✦", "significant": " ✦"}.get(case.level, "") if case.p is not None else ""
    cells = (
        terminal(case.id, 300),
        words.counts(case.base),
        words.counts(case.head),
        fmt.points(case.delta, 0).removesuffix(" points").removesuffix(" point"),
        fmt.points_interval(case.interval, 0),
        fmt.p_value(case.p) + mark,
        (words.happened(case, "base") or "may be luck") + (f"; re-run {again}" if again is not None else ""),
    )
    return Row(cells, style)


def summary_lines(comparison: Comparison) -> Iterator[tuple[str, str]]:
    """The suite in words, each line with its colour: rates, re-run intervals, flaky cases, significance, verdict."""
    base, head = comparison.base, comparison.head
    if base is not None and head is not None:
        looks = comparison.second_look
        label = "Pass rate"
        if looks is not None:
            label = "Pass rate, first look"
            if (fresh := looks.fresh_difference) is not None:
                rates = f"{fmt.percent1(fresh.base)} → {fmt.percent1(fresh.head)}"
                label = "First look"
                yield f"Second look at all cases  {rates}, {twice.rate_difference(fresh)}", "bold"
        yield f"{label}  {words.rates(comparison)}{_interval(comparison)}{_weighted(comparison)}", "bold"
        if base.rerun_interval and head.rerun_interval:
            yield (
                f"Re-run 95% interval  {fmt.interval(base.rerun_interval)} → {fmt.interval(head.rerun_interval)} "
                f"({fmt.width_points(head.width)})",
                "",
            )
        yield f"Flaky cases  {base.flaky:,} → {head.flaky:,}", ""
        if comparison.errors is not None:
            p = f"   {words.significance(comparison.errors.p, comparison.errors.level)}"
            yield f"Errors  {base.errors:,} of {base.trials:,} → {head.errors:,} of {head.trials:,}{p}", "magenta"
        for label, change, show, figures in (
            ("Latency", comparison.duration, fmt.duration, (base.duration, head.duration)),
            ("Cost", comparison.cost, fmt.money, (base.cost, head.cost)),
        ):
            if figures != (None, None):
                known = change is not None and change.ratio is not None
                ratio = f"   ×{change.ratio:.2f}, {_p(change.p, change.level)}" if change and known else ""
                yield f"{label}  {show(figures[0])} → {show(figures[1])}{ratio}", ""
    if (looks := comparison.second_look) is None:
        yield f"Statistical significance: {words.significance(comparison.p, comparison.level)}", ""
    elif over := words.over_both_looks(looks):
        yield over, ""
    yield f"Verdict: {words.verdict_words(comparison)}", _VERDICT_STYLES.get(comparison.verdict, "bold")


def _weighted(comparison: Comparison) -> str:
    """Why these rates are not quite the suite's own, where cases have different numbers of trials."""
    trials = {(case.base.verdicts, case.head.verdicts) for case in comparison.cases if case.delta is not None}
    return ", cases weighted by their trials" if len(trials) > 1 else ""


def _interval(comparison: Comparison) -> str:
    return f" ({fmt.points_interval(comparison.interval)})" if comparison.interval else ""


def _p(p: float | None, level: str) -> str:
    return "not tested" if p is None else f"p {fmt.p_value(p)}{', likely noise' if level == 'noise' else ''}"


def note_lines(comparison: Comparison) -> Iterator[tuple[str, str]]:
    """What stands apart: what could hide, what was broken before, what came and went."""
    whole = comparison.second_look is None or not comparison.second_look.incomplete
    if comparison.verdict != "not comparable" and whole and (hidden := words.hidden(comparison)):
        yield f"What could hide: {hidden}", "dim"
    looks = comparison.second_look
    if looks is not None and (text := twice.saved(looks)) and not looks.incomplete:
        yield f"Saved: {text}", "dim"
    for label, ids, style in (
        ("Suspected, not re-run", looks.not_rerun if looks is not None else (), "yellow"),
        ("Not this change, fails on base, too", [case.id for case in words.not_this_change(comparison)], ""),
        ("Only on head", comparison.added, ""),
        ("Removed, only on base", comparison.removed, "yellow"),
        ("Input or checks changed", comparison.changed, ""),
    ):
        if ids:
            more = f" and {len(ids) - MAX_NAMES:,} more" if len(ids) > MAX_NAMES else ""
            yield f"{label}: {', '.join(map(wording.quoted, ids[:MAX_NAMES]))}{more}", style
    new = comparison.new_cases
    if new is not None:
        answer = f"{fmt.points(new.delta)} ({fmt.points_interval(new.interval)}), p {fmt.p_value(new.p)}"
        yield f"New cases like these: {answer}", "dim"
    if comparison.common and comparison.verdict != "not comparable":
        yield words.tested(comparison), "dim"
