"""The report in a terminal: a table that people like to read, then what is flaky, what went wrong, and the verdict."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import IO

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from repeat_eval.analysis.report import CaseReport, Report
from repeat_eval.reports import format as fmt
from repeat_eval.reports import looks_alone_text, looks_text, wording
from repeat_eval.reports import terminal_comparison as compared
from repeat_eval.reports.columns import GAP, Column, drop_order, fit, known_columns
from repeat_eval.reports.comparison_wording import repeats, same_commit, source, verdict_line
from repeat_eval.reports.escape import terminal

ROWS = 40
"""Rows above which the stable cases that pass are folded into one line."""
MAX_ROWS = 200
"""Rows that are shown at most; the worst ones."""
MAX_LISTED = 20
"""Flaky cases and reasons that are listed one by one."""
LOG_WIDTH = 120
"""Width where the output is no terminal and nobody said how wide it is, such as the log of a CI job."""

_SIGNS = {
    "✦": "*", "→": "->", "↑": "^", "↓": "v", "×": "x",
    "✓": "+", "✗": "x", "…": "...", "–": "-", "—": "-", "·": "-", "•": "*", "⚠": "!", "±": "+/-", "─": "-", "−": "-",
}  # fmt: skip
_ASCII = str.maketrans(_SIGNS)
_VERDICT_STYLES = {"pass": "bold green", "fail": "bold red", "incomplete": "bold magenta"}


def make_console(no_color: bool = False, width: int | None = None, file: IO[str] | None = None) -> Console:
    """A console for `render`.

    Args:
        no_color: write no colours at all; so does a NO_COLOR in the environment that is not empty.
        width: cells a line; None takes the terminal's width or COLUMNS, and 120 where there is neither.
        file: where to write; None is standard output.
    """
    plain = no_color or bool(os.environ.get("NO_COLOR"))
    settings = {"highlight": False, "markup": False, "emoji": False, "soft_wrap": False, "file": file}
    console = Console(color_system=None if plain else "auto", width=width, **settings)  # type: ignore[arg-type]
    if width is None and not console.is_terminal and not os.environ.get("COLUMNS", "").isdigit():
        console.width = LOG_WIDTH
    return console


def render(report: Report, console: Console, *, all_cases: bool = False) -> None:
    """Print a report.

    Args:
        report: what is shown.
        console: where; see `make_console`.
        all_cases: show every case, instead of folding stable cases that pass when there are more than 40 rows.
    """
    _Page(report, console, all_cases).print()


class _Page:
    """The parts of one printed report, in the order in which they are printed."""

    def __init__(self, report: Report, console: Console, all_cases: bool) -> None:
        self.report = report
        self.console = console
        self.all_cases = all_cases
        self.encoding = console.encoding or "utf-8"
        # Signs are replaced together, so that a table does not mix two sets of them.
        self.ascii = not _encodable("".join(_SIGNS), self.encoding)

    def print(self) -> None:
        """Print all parts, apart by blank lines."""
        self.title()
        self.table()
        self.flaky()
        self.rerun()
        self.looks()
        self.comparison()
        self.reasons()
        self.totals()
        self.notes()
        self.verdict()

    # -- text -----------------------------------------------------------------------------------------------------

    def own(self, text: str) -> str:
        """Text of ours or already cleaned, in signs that the output's encoding has."""
        if self.ascii:
            text = text.translate(_ASCII)
        if not _encodable(text, self.encoding):
            text = text.encode(self.encoding, "backslashreplace").decode(self.encoding)
        return text

    def name(self, case: str) -> str:
        """The name of a case in a sentence."""
        return wording.quoted(case)

    def line(self, text: str, style: str = "", indent: str = "", hanging: str | None = None) -> None:
        """Print a paragraph, broken at words, with an indent for its first and one for its other lines."""
        hanging = " " * len(indent) if hanging is None else hanging
        width = max(self.console.width - max(len(indent), len(hanging)), 20)
        lines = Text(self.own(text), style=style).wrap(self.console, width)
        for number, line in enumerate(lines):
            line.rstrip()
            prefix = self.own(indent) if number == 0 else hanging
            self.console.print(Text.assemble(prefix, line), no_wrap=True, overflow="ignore", crop=False)

    def blank(self) -> None:
        """Print an empty line."""
        self.console.print()

    # -- parts ----------------------------------------------------------------------------------------------------

    def title(self) -> None:
        """Suite, commit and what was asked, in one line."""
        report = self.report
        parts = [terminal(report.suite, 80), fmt.count(report.totals.cases, "case")]
        if report.provenance.selection:
            parts.append(f"only {terminal(', '.join(report.provenance.selection), 80)}")
        if report.case_reports:
            parts.append(wording.repeats(report))
        parts.append(wording.gate(report))
        if report.provenance.commit:
            parts.append(f"commit {terminal(report.provenance.commit, 40)[:12]}")
        self.line(" · ".join(parts), style="bold")
        for text in report.comparison.gate_changes if report.comparison else ():
            self.line(f"The gate changed: {terminal(text)}", style="yellow", indent="⚠ ", hanging="  ")
        self.blank()

    def table(self) -> None:
        """The table of cases."""
        rows, folded, left_out = self.rows()
        if rows:
            self.print_rows(rows)
        if folded:
            self.line(f"… and {fmt.count(folded, 'stable case')} that pass", style="dim", indent="   ")
        if left_out:
            self.line(f"… and {fmt.count(left_out, 'more case')}, see report.json", style="dim", indent="   ")
        if rows or folded or left_out:
            self.blank()

    def rows(self) -> tuple[list[CaseReport], int, int]:
        """The cases that get a row, in suite order, the number of folded ones, and the number of those left out."""
        cases = list(self.report.case_reports)
        if self.all_cases or len(cases) <= ROWS:
            return cases, 0, 0
        shown = [case for case in cases if case.verdict != "pass" or case.flaky or case.broken]
        folded = len(cases) - len(shown)
        worst = {id(case) for case in wording.by_severity(shown)[:MAX_ROWS]}
        rows = [case for case in shown if id(case) in worst]
        return rows, folded, len(shown) - len(rows)

    def print_rows(self, cases: Sequence[CaseReport]) -> None:
        """Print head, rule and rows, as one text: a table of thousands of rows costs milliseconds, not seconds."""
        columns = known_columns(self.report)
        cells: dict[str, list[str]] = {}
        for column in columns:
            texts = [column.cell(case) for case in cases]
            if column.key == "case":
                texts = [terminal(text, 300) for text in texts]
            cells[column.key] = [self.own(text) for text in texts]
        needed = {
            column.key: max(cell_len(column.title), max(map(cell_len, cells[column.key]), default=0))
            for column in columns
        }
        columns, widths = fit(columns, needed, drop_order(cases), self.console.width)
        cells["case"] = [
            _shorten(text, widths["case"], self.own("…")) if cell_len(text) > widths["case"] else text
            for text in cells["case"]
        ]
        total = sum(widths[column.key] for column in columns) + GAP * (len(columns) - 1)
        head = (" " * GAP).join(_pad(column.title, widths[column.key], column.right) for column in columns)
        page = Text(no_wrap=True, overflow="ignore")
        page.append(head.rstrip() + "\n", style="bold")
        page.append(self.own("─") * min(total, self.console.width) + "\n", style="dim")
        for number, case in enumerate(cases):
            self.append_row(page, case, columns, widths, {key: texts[number] for key, texts in cells.items()})
        page.right_crop(1)
        self.console.print(page, no_wrap=True, overflow="ignore", crop=False)

    @staticmethod
    def append_row(
        page: Text, case: CaseReport, columns: Sequence[Column], widths: dict[str, int], cells: dict[str, str]
    ) -> None:
        """Add one row to the table's text; only coloured cells become spans."""
        plain = ""
        for position, column in enumerate(columns):
            if position:
                plain += " " * GAP
            padded = _pad(cells[column.key], widths[column.key], column.right)
            if column.style is None:
                plain += padded
                continue
            page.append(plain)
            page.append(padded.rstrip() if column is columns[-1] else padded, style=column.style(case))
            plain = ""
        page.append(plain.rstrip() + "\n")

    def flaky(self) -> None:
        """The cases whose trials disagree, and how stable the suite is."""
        report = self.report
        if wording.single_trial(report) or not report.case_reports:
            return
        flaky = list(report.flaky_cases())
        if flaky:
            self.line(wording.flaky_intro(report), style="yellow", indent="⚠ ", hanging="  ")
            shown = flaky if self.all_cases else flaky[:MAX_LISTED]
            for case in shown:
                without = fmt.errors_of_case(case)
                tail = f"{case.passed}/{case.verdicts} runs passed{f'; {without}' if without else ''}"
                self.line(f"{self.name(case.id)}  ({tail})", indent="  • ", hanging="    ")
            if len(flaky) > len(shown):
                self.line(f"… and {len(flaky) - len(shown):,} more", style="dim", indent="    ")
            self.blank()
        self.line(f"Stability: {fmt.percent(report.stability)}   Flaky: {report.flaky_count}")
        self.blank()

    def comparison(self) -> None:
        """What changed against base: the cases, the suite, and what stands apart."""
        comparison = self.report.comparison
        if comparison is None:
            return
        if comparison.verdict == "not comparable":
            self.line(f"Not comparable: {terminal(comparison.text or 'no base')}", style="yellow")
            self.blank()
            return
        parts = ["Compared with base"]
        if same_commit(self.report):
            parts[0] += " at the same commit"
        elif comparison.base is not None and comparison.base.commit:
            parts[0] += f" {terminal(comparison.base.commit, 40)[:12]}"
        if comparison.cases:
            parts += [fmt.count(comparison.common, "common case"), repeats(comparison, "base")]
        parts += [text for text in (source(comparison, "base"),) if text]
        self.line(" · ".join(parts), style="bold")
        rows, left_out = compared.changed_rows(comparison, all_cases=self.all_cases)
        if rows:
            self.blank()
            self.print_changed(rows)
        if left_out:
            self.line(f"… and {fmt.count(left_out, 'more case')}, see report.json", style="dim", indent="  ")
        self.blank()
        for text, style in compared.summary_lines(comparison):
            self.line(text, style=style, hanging="  ")
        notes = list(compared.note_lines(comparison))
        if notes:
            self.blank()
        for text, style in notes:
            self.line(text, style=style, hanging="  ")
        self.blank()

    def rerun(self) -> None:
        """The cases that a run without a base ran again, both looks side by side."""
        looks = self.report.looked_alone
        if looks is None:
            return
        self.line(f"Second look: {looks_alone_text.intro(looks)}")
        shown = looks_alone_text.listed(looks, None if self.all_cases else MAX_LISTED)
        for case in shown:
            self.line(f"{self.name(case.id)}: {looks_alone_text.line(case)}", indent="  • ", hanging="    ")
        if len(looks.cases) > len(shown):
            self.line(f"… and {len(looks.cases) - len(shown):,} more", style="dim", indent="    ")
        self.blank()

    def looks(self) -> None:
        """The looks at this commit, where there was more than one, and what of alpha they spend."""
        rows = looks_text.rows(self.report, self.name, terminal)
        for look, what, found, level in rows:
            self.line(f"Look {look}: {what}; {found}; spends {level} of alpha", hanging="  ")
        if kept := looks_text.kept_back(self.report):
            self.line(f"How this was measured: {kept}", style="dim", hanging="  ")
        if kept:
            self.blank()

    def print_changed(self, rows: Sequence[compared.Row]) -> None:
        """The table of changed cases; in a narrow terminal columns go, and names are cut."""
        table = [[self.own(cell) for cell in cells] for cells in (compared.TITLES, *(row.cells for row in rows))]
        columns = list(range(len(compared.TITLES)))
        needed = [max(cell_len(cells[column]) for cells in table) for column in columns]

        def rest() -> int:
            return sum(needed[column] for column in columns[1:]) + GAP * (len(columns) - 1)

        for column, least in compared.DROP_ORDER:
            if rest() + min(needed[0], least) > self.console.width:
                columns.remove(column)
        needed[0] = max(min(needed[0], self.console.width - rest()), 8)
        styles = ["bold", *(row.style for row in rows)]
        page = Text(no_wrap=True, overflow="ignore")
        for number, cells in enumerate(table):
            name = cells[0]
            cells[0] = _shorten(name, needed[0], self.own("…")) if cell_len(name) > needed[0] else name
            padded = [_pad(cells[column], needed[column], right=0 < column < len(cells) - 1) for column in columns]
            page.append((" " * GAP).join(padded).rstrip() + "\n", style=styles[number])
        page.right_crop(1)
        self.console.print(page, no_wrap=True, overflow="ignore", crop=False)

    def reasons(self) -> None:
        """Why the gate failed or the evidence is incomplete, with one failing trial's message each."""
        report = self.report
        cases = wording.failing_cases(report)
        whole = wording.suite_reasons(report)
        if not cases and not whole:
            return
        word = "is incomplete" if report.verdict == "incomplete" else "failed"
        self.line("Not passed:" if report.verdict == "pass" else f"Why it {word}:", style="bold")
        for reason in whole:
            self.line(terminal(reason.text), indent="  • ", hanging="    ")
        shown = cases if self.all_cases else cases[:MAX_LISTED]
        why = wording.reasons_by_case(report)
        for case in shown:
            text = terminal(why[case.id])
            named = self.name(case.id)
            self.line(
                text if text.startswith((f"{case.id} ", named)) else f"{named}: {text}", indent="  • ", hanging="    "
            )
            self.evidence(case)
        if len(cases) > len(shown):
            self.line(f"… and {fmt.count(len(cases) - len(shown), 'more case')}", style="dim", indent="    ")
        self.blank()

    def evidence(self, case: CaseReport) -> None:
        """One failing trial's message."""
        found = wording.evidence(case, wording.rerun_cases(self.report).get(case.id))
        if found is None:
            return
        place = "" if found.repetition is None else f"trial {found.repetition}: "
        likeness = f" – {found.likeness}" if found.likeness else ""
        self.line(f"{place}{terminal(found.message, 300)}{likeness}", style="dim", indent="    ", hanging="      ")

    def totals(self) -> None:
        """The suite's figures."""
        report = self.report
        totals = report.totals
        if not report.case_reports:
            return
        rate = f"Pass rate: {fmt.percent1(totals.pass_rate)}"
        if totals.interval is not None:
            rate += f"   re-run 95% interval {wording.suite_interval(report)}"
        if totals.new_cases_interval is not None:
            rate += f"   cases like these: {fmt.interval(totals.new_cases_interval)}"
        self.line(rate)
        self.line(wording.trials_done(report))
        parts = [f"Score: {totals.score:.2f}"] if totals.score is not None else []
        if cost := wording.time_and_cost(report):
            parts.append(f"Time and cost: {', '.join(cost)}")
        if parts:
            self.line("   ".join(parts))
        self.blank()

    def notes(self) -> None:
        """What the marks mean where it is not plain, and the warnings."""
        notes = list(self.all_notes())
        for note, style in notes:
            self.line(note, style=style, indent="⚠ " if style == "yellow" else "  ", hanging="  ")
        if notes:
            self.blank()

    def all_notes(self) -> Iterator[tuple[str, str]]:
        """Notes and warnings with their style."""
        if note := wording.noise_note(self.report):
            yield f"NOISE: {note}", "dim"
        if wording.broken_before(self.report):
            yield "FAIL (old): below its threshold on base, too, so this change is not blamed", "dim"
        if note := wording.single_note(self.report):
            yield terminal(note), "dim"
        for warning in wording.warnings(self.report):
            yield terminal(warning), "yellow"

    def verdict(self) -> None:
        """The last line: the verdict in words."""
        report = self.report
        self.line(verdict_line(report), style=_VERDICT_STYLES[report.verdict])


def _encodable(text: str, encoding: str) -> bool:
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True


def _pad(text: str, width: int, right: bool) -> str:
    spaces = " " * (width - cell_len(text))
    return spaces + text if right else text + spaces


def _shorten(text: str, width: int, ellipsis: str) -> str:
    """Cut a text in the middle to `width` cells; wide characters count two."""
    room = max(width - cell_len(ellipsis), 0)
    head, tail = "", ""
    for at in range(len(text)):
        for end in (True, False):
            piece = text[at] if end else text[-1 - at]
            if cell_len(head + tail + piece) > room:
                return head + ellipsis + tail
            if end:
                head += piece
            else:
                tail = piece + tail
    return text
