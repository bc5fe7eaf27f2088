"""The folded part of a comparison in Markdown: figures of both sides, one line a case, and what else is known."""

from __future__ import annotations

from collections import Counter

from repeat_eval.analysis.report import CaseComparison, Change, Comparison, Report, SideOfCase
from repeat_eval.analysis.second_look_model import LookCounts, ReRunCase, SecondLook
from repeat_eval.reports import comparison_wording as words
from repeat_eval.reports import format as fmt
from repeat_eval.reports import second_look_text as twice
from repeat_eval.reports.bars import bar
from repeat_eval.reports.comparison_parts import (
    CaseLink,
    Detail,
    Lists,
    Sides,
    Table,
    case_difference,
    held_open,
    suspects_of,
)
from repeat_eval.reports.escape import markdown
from repeat_eval.reports.markdown_templates import case_name, tight


def figures_table(comparison: Comparison, names: Sides) -> Table | None:
    """pass^2 and pass^3, latency and cost of both sides; only what is known."""
    base, head = comparison.base, comparison.head
    if base is None or head is None:
        return None
    rows = []
    if base.pass_hat_k or head.pass_hat_k:
        rows.append(["pass^2 · pass^3", _pass_hat(base.pass_hat_k), _pass_hat(head.pass_hat_k), ""])
    if base.duration is not None or head.duration is not None:
        rows.append(
            ["mean latency", fmt.duration(base.duration), fmt.duration(head.duration), _ratio(comparison.duration)]
        )
    if base.cost is not None or head.cost is not None:
        label = "cost" if comparison.second_look is None else "cost of the first look"
        rows.append([label, fmt.money(base.cost), fmt.money(head.cost), _ratio(comparison.cost)])
    return Table(["", names.base, names.head, "change"], [":--"] * 4, rows) if rows else None


def _pass_hat(values: dict[str, float | None]) -> str:
    return " · ".join(fmt.percent(values.get(k)) for k in ("2", "3"))


def _ratio(change: Change | None) -> str:
    """`×1.08 (1.02 to 1.15), p 0.013 ✦ significant`: the mean over cases of how many times as much."""
    if change is None or change.ratio is None:
        return ""
    limits = f" ({change.interval[0]:.2f} to {change.interval[1]:.2f})" if change.interval else ""
    p = "" if change.p is None else f", {words.short_p(change.p, change.level)}"
    return f"×{change.ratio:.2f}{limits}{p}"


def cases_table(
    report: Report, comparison: Comparison, names: Sides, detail: Detail, link: CaseLink
) -> tuple[Table | None, int]:
    """One line a case: broke, better, watch, flaky, the rest; and how many cases have no line."""
    cases = words.in_order(comparison)
    rows = cases if detail.rows is None else cases[: detail.rows]
    if not rows:
        return None, len(cases)
    figures = {case.id: case for case in report.case_reports} if detail.wide else {}
    timed = detail.wide and any(case.head.duration is not None for case in rows)
    paid = detail.wide and any(case.head.cost is not None for case in rows)
    repeated = detail.wide and any(case.head.verdicts > 1 for case in rows)
    titles = ["case", names.base, names.head, "points", "p", "q", ""]
    titles += ["pass^2 · pass^3"] if repeated else []
    titles += ["time"] if timed else []
    titles += ["cost"] if paid else []
    alignments = [":--", "--:", "--:", "--:", "--:", "--:", ":--", *["--:"] * (len(titles) - 7)]
    table = []
    suspects = suspects_of(comparison)
    again = {} if comparison.second_look is None else twice.run_again(comparison.second_look)
    for case in rows:
        suspect = suspects.get(case.id)
        if suspect is not None:
            cells = _cells_of_looks(case, suspect, detail, names, link)
            if repeated:
                cells.append(tight(f"{_pass_hat(suspect.pass_hat_k)} (re-run)"))
            cells += _time_and_cost(case, timed=timed, paid=paid)
            table.append(cells)
            continue
        cells = [link(case.id), _side(case.base, detail), _side(case.head, detail)]
        cells += [_brief_difference(case), fmt.p_value(case.p), fmt.p_value(case.q) if case.testable else "–"]
        told = [words.change_words(case, names.base), f"re-run {again[case.id]}" if case.id in again else ""]
        cells.append(tight("; ".join(filter(None, told))))
        if repeated:
            known = figures.get(case.id)
            cells.append(tight(_pass_hat(known.pass_hat_k)) if known and known.verdicts > 1 else "–")
        cells += _time_and_cost(case, timed=timed, paid=paid)
        table.append(cells)
    titles[0] += held_open([case.id for case in rows])
    return Table(titles, alignments, table), len(cases) - len(rows)


def _time_and_cost(case: CaseComparison, *, timed: bool, paid: bool) -> list[str]:
    cells = [tight(f"{fmt.duration(case.base.duration)} → {fmt.duration(case.head.duration)}")] if timed else []
    return cells + ([tight(f"{fmt.money(case.base.cost)} → {fmt.money(case.head.cost)}")] if paid else [])


def _cells_of_looks(
    case: CaseComparison, suspect: ReRunCase, detail: Detail, names: Sides, link: CaseLink
) -> list[str]:
    """A suspect's line: what its fresh trials say, and the first look beside it."""
    points = twice.difference(suspect).replace(" points", "").replace(" point", "")
    told = words.change_words(case, names.base) or "re-run"
    return [
        link(case.id),
        _fresh_side(suspect.fresh_base, detail),
        _fresh_side(suspect.fresh_head, detail),
        tight(points),
        twice.p_value(suspect.p2),
        "–",
        tight(f"{told}; {twice.first(suspect)}"),
    ]


def _fresh_side(side: LookCounts, detail: Detail) -> str:
    shown = tight(twice.counts(side) + (" \\~" if 0 < side.passed < side.verdicts else ""))
    return f"{shown}&nbsp;`{bar(side.pass_rate, side.interval)}`" if detail.bars else shown


def looks_table(looks: SecondLook | None, link: CaseLink) -> Table | None:
    """Both looks at the suspects, with intervals and corrected p; None where nothing was run again."""
    if looks is None or not looks.suspects:
        return None
    rows = [[cells[0], *map(tight, cells[1:])] for cells in twice.rows(looks, link)]
    return Table(twice.TITLES, [":--", *["--:"] * 5, ":--"], rows)


def _brief_difference(case: CaseComparison) -> str:
    """The difference in a table of many cases: no interval where nothing moved."""
    if not case.delta:
        return "–" if case.delta is None else "0"
    return case_difference(case).replace("\u00a0points", "").replace("\u00a0point", "")


def _side(side: SideOfCase, detail: Detail) -> str:
    mark = " \\~" if side.flaky else ""
    lacking = [fmt.count(side.errors, "error")] if side.errors else []
    lacking += [f"{side.missing:,} missing"] if side.missing else []
    without = "".join(f", {text}" for text in lacking)
    shown = tight(words.counts(side) + mark + without)
    return f"{shown}&nbsp;`{bar(side.pass_rate, side.interval)}`" if detail.bars else shown


def case_notes(report: Report, comparison: Comparison, names: Sides, detail: Detail) -> list[str]:
    """Added, removed and changed cases, errors, and the question about new cases, a line each."""
    lines = []
    known = {case.id: case for case in report.case_reports} if comparison.added else {}
    added = [
        f"{case_name(case)} {fmt.rate_of_case(known[case])} {fmt.verdict_words(known[case])}"
        if case in known
        else case_name(case)
        for case in comparison.added[: detail.named]
    ]
    listed = Lists(comparison, names, detail._replace(listed=detail.named))
    stored = comparison.base is not None and comparison.base.source == "stored"
    how = "not compared" if stored else "compared all the same"
    for label, text, number in (
        ("Added, judged by their own threshold", listed.join(added, len(comparison.added)), len(comparison.added)),
        (f"Removed, only {names.base} has them", listed.plain(comparison.removed), len(comparison.removed)),
        (f"Changed input or checks, {how}", listed.plain(comparison.changed), len(comparison.changed)),
    ):
        if number:
            lines.append(f"{label} ({number:,}): {text}" if text else f"{label}: {number:,}")
    kinds: Counter[str] = Counter()
    for case in report.case_reports:
        kinds.update(case.error_kinds)
    if kinds:
        told = ", ".join(f"{markdown(kind, 40)} {number:,}" for kind, number in kinds.most_common(6))
        lines.append(f"Errors on {names.head}: {told}")
    new = comparison.new_cases
    if new is not None:
        answer = f"{fmt.points(new.delta)} ({fmt.points_interval(new.interval)}), p {fmt.p_value(new.p)}"
        lines.append(f"Would new cases like these change, too? {answer} (paired t over {fmt.count(new.cases, 'case')})")
    return lines


def details(
    report: Report, comparison: Comparison, names: Sides, detail: Detail, link: CaseLink, *, go_on: bool = False
) -> dict[str, object]:
    """The folded part: figures of both sides, all cases, notes. `go_on`: more follows within the same fold."""
    table, left_out = cases_table(report, comparison, names, detail, link)
    title = f"All {fmt.count(comparison.common, 'case')}, pass^2, pass^3, latency, cost"
    figures = figures_table(comparison, names) if detail.figures else None
    notes = case_notes(report, comparison, names, detail) if detail.figures else []
    return {
        "looks": looks_table(comparison.second_look, link) if detail.figures else None,
        "title": f"{title}, how this was measured" if go_on else title,
        "figures": figures,
        "cases": table,
        "left_out": left_out,
        "notes": notes,
        "open": go_on and bool(table or left_out or figures or notes),
    }
