"""A/A in a terminal: false alarms gate by gate, what they come from, and what would help."""

from __future__ import annotations

from rich.console import Console

from repeat_eval.analysis.false_alarms import Alarm, FalseAlarms
from repeat_eval.analysis.looks_alarms import LooksShare
from repeat_eval.reports import format as fmt
from repeat_eval.reports.escape import terminal
from repeat_eval.reports.text_table import Paper, table
from repeat_eval.statistics.intervals import wilson_interval

GATES = {
    "case": "cases below their threshold",
    "suite-threshold": "suite threshold",
    "min-stability": "stability",
    "min-reliability": "reliability of every case",
    "run": "a run by itself goes red",
    "suite-regression": "regression of the suite",
    "case-regression": "regression of a single case",
    "error-regression": "more errors than base",
    "non-inferiority": "not shown to be non-inferior",
    "comparison": "any change claimed, up or down",
    "pull-request": "a pull request goes red",
}
MAX_NAMES = 5


def render_aa(found: FalseAlarms, console: Console) -> None:
    """Print what A/A found."""
    paper = Paper(console)
    trials = fmt.count(found.trials, "trial")
    paper.paragraph(
        f"{terminal(found.suite, 80)}: false alarms on an unchanged system, from {trials} of "
        f"{fmt.count(found.cases, 'case')}",
        style="bold",
    )
    paper.paragraph("")
    paper.table(table(_head(found), _rows(found)))
    paper.paragraph("")
    paper.paragraph(
        f"simulated (seed {found.seed}): both sides anew from the seen rates, {_repeats(found.simulated_repeats)} "
        "a case and side; independent draws, if the rates are right.",
        indent="  ",
    )
    if found.split_repeats is not None and found.splits:
        paper.paragraph(
            f"split: the seen trials in random halves, {_repeats(found.split_repeats)} a case and side. All halves are "
            "of the same trials: the interval says how finely this run was split, not what another run would show.",
            indent="  ",
        )
    if found.in_order is not None:
        sign = "+" if found.in_order.delta > 0 else ""
        paper.paragraph(
            f"in order of repetition: second half against first {sign}{100 * found.in_order.delta:.1f} points, "
            f"p = {fmt.p_value(found.in_order.p)}.",
            indent="  ",
        )
    _looks(found, paper)
    _left_out(found, paper)
    paper.heading("What to change" if found.advice else "Nothing to change")
    for text in found.advice:
        paper.paragraph(terminal(text, 600), indent="  * ")
    if not found.advice:
        paper.paragraph("No gate raises a false alarm in more than 5% of unchanged runs.", indent="  ")
    if found.warnings:
        console.print()
    for warning in found.warnings:
        paper.paragraph(terminal(warning, 600), indent="! ", style="yellow")


def _head(found: FalseAlarms) -> tuple[str, ...]:
    return ("gate", "simulated", "95% interval", *(("split", "interval") if found.splits else ()), "")


def _rows(found: FalseAlarms) -> list[tuple[str, ...]]:
    split = {alarm.gate: alarm for alarm in found.splits}
    rows = []
    for alarm in found.simulations:
        cells = [GATES[alarm.gate], *_cells(alarm)]
        if found.splits:
            other = split.get(alarm.gate)
            cells += _cells(other) if other is not None else [fmt.UNKNOWN, fmt.UNKNOWN]
        cells.append("too often" if alarm.too_often else "" if alarm.blocks else "does not block")
        rows.append(tuple(cells))
    return rows


def _cells(alarm: Alarm) -> list[str]:
    low, high = alarm.interval
    return [fmt.percent1(alarm.rate), f"{fmt.percent1(low).removesuffix('%')}–{fmt.percent1(high)}"]


def _repeats(span: tuple[int, int]) -> str:
    return f"{fmt.span(span)} trials" if span != (1, 1) else "1 trial"


def _looks(found: FalseAlarms, paper: Paper) -> None:
    twice = found.second_look
    if twice is None:
        return
    parts = [f"simulated {_share(twice.simulated)}, {twice.simulated.trials:,.0f} trials on average"]
    if twice.split is not None:
        parts.append(f"split {_share(twice.split)}, {twice.split.first}+{twice.split.fresh} trials a side")
    text = f"two looks at a change ({terminal(twice.looks, 80)}) block an unchanged system: {'; '.join(parts)}."
    if twice.lasting is not None:
        differ = "differ more than luck explains" if twice.depends else "differ no more than luck makes them"
        text += f" Earlier and later trials of the same cases {differ}, p = {fmt.p_value(twice.lasting)}."
    paper.paragraph(text, indent="  ")


def _share(share: LooksShare) -> str:
    low, high = wilson_interval(share.blocked, share.of)
    return f"{fmt.percent1(share.rate)} ({fmt.percent1(low).removesuffix('%')}–{fmt.percent1(high)})"


def _left_out(found: FalseAlarms, paper: Paper) -> None:
    if found.below:
        are = fmt.count(len(found.below), "case is", "cases are")
        paper.paragraph(
            f"not counted: {are} below the threshold in this run, so an alarm is deserved: {_names(found.below)}.",
            indent="  ",
        )
    for gate, reason in found.deserved.items():
        paper.paragraph(f"not counted: {GATES[gate]}, because {reason}.", indent="  ")
    if found.left_out:
        were = fmt.count(len(found.left_out), "case")
        paper.paragraph(f"not judged: {were} without any verdict: {_names(found.left_out)}.", indent="  ")


def _names(cases: tuple[str, ...]) -> str:
    text = ", ".join(terminal(case, 60) for case in cases[:MAX_NAMES])
    return text if len(cases) <= MAX_NAMES else f"{text} and {len(cases) - MAX_NAMES:,} more"
