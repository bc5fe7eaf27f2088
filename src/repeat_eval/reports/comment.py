"""The comment of a pull request: the first line alone is enough, then what broke, then the suite; the rest is folded.

Everything from outside is escaped. When the text is too long, detail is shed in a fixed order, and what was shed is
said; the first line, the link to the full report and the hidden marker at the end always stay.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from repeat_eval.analysis.report import CaseReport, Report
from repeat_eval.reports import comparison_parts as parts
from repeat_eval.reports import comparison_wording as words
from repeat_eval.reports import format as fmt
from repeat_eval.reports import looks_text, wording
from repeat_eval.reports import markdown as summary
from repeat_eval.reports.comparison_details import details
from repeat_eval.reports.comparison_parts import Detail, Sides
from repeat_eval.reports.escape import markdown, markdown_code
from repeat_eval.reports.markdown_templates import case_name, code, load_template
from repeat_eval.reports.template_sandbox import rendered
from repeat_eval.reports.trend import trend_lines

LIMIT_CHARACTERS = 65_536
LIMIT_BYTES = 262_144
LINKED_NAME = 60
"""Characters of a name in a table: a phone shows about 45."""
FEWEST_ROWS = 20
"""Rows below which a table of cases is given up rather than shown."""
TREND_ROWS = 5
"""Runs of the default branch that a comment shows one by one."""
_SHORTEST_ROW = 60
_METHOD = "Stratified exact mid-p test over the common cases, q after Benjamini-Hochberg"
_METHOD_OF_LOOKS = "Stratified exact mid-p tests, both looks at all cases together by the inverse normal method"
_BLANK = re.compile(r"\n{3,}")


@dataclass(frozen=True, slots=True)
class CommentLinks:
    """Where a comment may link to; what is None is not linked.

    Attributes:
        full_report: address of the whole report, such as the run's page.
        blob: address that a path in the repository is put after, up to and with the commit: `https://…/blob/a1b2c3d`.
    """

    full_report: str | None = None
    blob: str | None = None


class _Frame(NamedTuple):
    """What does not change while a comment gets shorter."""

    report: Report
    names: Sides
    links: CommentLinks
    reproduce: str | None
    about: list[str]
    templates: Path | None


def render_comment(
    report: Report,
    *,
    base_name: str = "main",
    head_name: str = "this PR",
    links: CommentLinks | None = None,
    reproduce: str | None = None,
    marker: str | None = None,
    head_commit: str | None = None,
    limit_characters: int = LIMIT_CHARACTERS,
    limit_bytes: int = LIMIT_BYTES,
    templates: Path | None = None,
) -> str:
    """The report as a comment, with or without a comparison.

    Sheds in this order: lines of unchanged cases, bars, pass^k with time and cost of single cases, all further lines of
    cases, most names and warnings, figures and how it was measured, the failing trials, the lists of cases, most of
    what broke, the suite.

    Args:
        report: what is shown.
        base_name: what base is called, such as its branch. head_name: what head is called in tables.
        links: addresses; None links nothing.
        reproduce: the command that gives the same figures again.
        marker: the hidden line by which the comment is found again, written as it is at the very end.
        head_commit: the pull request's own commit, where the tested one is its merge into base.
        limit_characters: most characters, counted as UTF-16 does, which is never fewer than Unicode's.
        limit_bytes: most bytes in UTF-8.
        templates: folder of the user's own templates.
    """
    names = parts.sides(base_name, head_name)
    links = links or CommentLinks()
    frame = _Frame(report, names, links, reproduce, _about(report, names, links, head_commit), templates)
    tail = f"\n{marker}" if marker else ""
    limits = (limit_characters - _units(tail), limit_bytes - len(tail.encode()))
    text = _shortest(frame, limits) if (fitting := _fitting(frame, limits)) is None else fitting
    return f"{text.rstrip()}{tail}" if tail else text


def _units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def _size(text: str, limits: tuple[int, int]) -> float:
    """The share of the limits that a text takes; it fits up to 1."""
    if min(limits) <= 0:
        return float("inf")
    return max(_units(text) / limits[0], len(text.encode()) / limits[1])


def _fitting(frame: _Frame, limits: tuple[int, int]) -> str | None:
    """The first step of the ladder that fits; None when not even the last one does."""
    report = frame.report
    comparison = words.comparable(report)
    cases = len(comparison.cases if comparison else report.case_reports)
    telling = sum(map(words.says_something, comparison.cases)) if comparison else cases
    for detail, wanted, most in _ladder(cases, telling, compared=comparison is not None):
        text = _with_rows(frame, detail, (wanted, most, cases), limits)
        if text is not None:
            return text
    return None


def _ladder(cases: int, telling: int, *, compared: bool) -> Iterator[tuple[Detail, int, int]]:
    """The steps by which a comment gets shorter, each with the fewest and the most rows of cases that it may have."""
    detail = Detail()
    if compared:  # only a table of two sides has bars and wide rows
        yield detail, telling, cases
        detail = detail._replace(bars=False)
        yield detail, telling, telling
        detail = detail._replace(wide=False)
    yield detail, min(FEWEST_ROWS, telling), telling
    for step in (
        {"rows": 0, "named": 3, "warnings": 3},
        {"figures": False, "measured": False, "named": 0, "warnings": 0},
        {"why": False},
        {"listed": 0},
        {"broke": 3},
        {"broke": 0, "suite": False},
    ):
        detail = detail._replace(**step)
        yield detail, 0, 0


def _with_rows(frame: _Frame, detail: Detail, numbers: tuple[int, int, int], limits: tuple[int, int]) -> str | None:
    """The text of one step with as many rows of cases as fit; None when fewer than wanted do.

    `numbers` are the rows wanted at least, those allowed at most, and the cases there are.
    """
    wanted, most, cases = numbers
    if detail.rows == 0:
        text = _render(frame, detail)
        return text if _size(text, limits) <= 1 else None
    rows = min(most, max(limits[0] // _SHORTEST_ROW, 0))
    if rows < wanted:
        return None
    text = _render(frame, detail if rows == cases else detail._replace(rows=rows))
    bare = None
    while (size := _size(text, limits)) > 1:
        if rows <= wanted:
            return None
        if bare is None:
            bare = _size(_render(frame, detail._replace(rows=0)), limits)
        share = (1 - bare) / (size - bare) if size > bare else 0
        # The rows differ in length, so the estimate may have to be made again.
        rows = max(min(int(rows * share * 0.98), rows - 1), wanted)
        text = _render(frame, detail._replace(rows=rows))
    return text


def _shortest(frame: _Frame, limits: tuple[int, int]) -> str:
    """As much of the first line as there is room for beside the link."""
    first = f"### {' '.join(_headline(frame))}"
    link = _report_link(frame.links)
    tail = f"\n\n{link}\n" if link else "\n"
    while first and _size(first + tail, limits) > 1:
        first = first[: int(len(first) * 0.9)]
    return first + tail if first else ""


def _headline(frame: _Frame) -> words.Headline:
    return words.headline(frame.report, frame.names.base_code, name=case_name, prose=markdown)


def _render(frame: _Frame, detail: Detail) -> str:
    text = rendered(load_template("comment.md.j2", frame.templates), _content(frame, detail), frame.templates)
    return _BLANK.sub("\n\n", text).rstrip() + "\n"


def _content(frame: _Frame, detail: Detail) -> dict[str, object]:
    report, names = frame.report, frame.names
    comparison = words.comparable(report)
    link = _case_link(report, frame.links)
    warnings = list(wording.warnings(report))
    content = summary.content(
        report,
        summary.Detail(
            rows=detail.rows,
            failed=detail.broke,
            settings=False,
            flaky=2 * detail.listed,
            evidence=detail.why,
            warnings=detail.warnings,
        ),
        link=link,
        compare=False,
    )
    content |= {
        "headline": _headline(frame),
        "about": frame.about,
        "c": None,
        "details": {"open": False},
        "how": _how(report, detail) if detail.measured else [],
        "trend": trend_lines(report, TREND_ROWS if detail.figures else 0) if detail.measured else [],
        "reproduce": code(frame.reproduce, 1000) if frame.reproduce and detail.measured else None,
        "warnings": warnings[: detail.warnings],
        "warnings_more": max(len(warnings) - detail.warnings, 0) if detail.measured else 0,
        "shed": _shed(detail),
        "looks": _looks(report),
    }
    if comparison is not None:
        quiet = comparison.verdict == "no detectable change" and report.verdict == "pass"
        content |= {
            "c": parts.comparison_parts(report, comparison, names, detail, link),
            "details": details(report, comparison, names, detail, link, go_on=quiet),
        }
    return content


def _looks(report: Report) -> parts.Table | None:
    """The looks at this commit side by side; None where there was only one."""
    rows = looks_text.rows(report, lambda case: case_name(case, table=True, limit=LINKED_NAME), markdown)
    return parts.Table(list(looks_text.TITLES), [":--"] * len(looks_text.TITLES), rows) if rows else None


def _shed(detail: Detail) -> list[str]:
    whole = Detail()
    shed = {
        "bars": detail.bars != whole.bars,
        "pass^k, time and cost of single cases": detail.wide != whole.wide,
        "figures and how this was measured": detail.measured != whole.measured,
        "failing trials": detail.why != whole.why,
        "lists of cases": detail.listed != whole.listed,
        "the suite": detail.suite != whole.suite,
    }
    return [what for what, gone in shed.items() if gone]


def _about(report: Report, names: Sides, links: CommentLinks, head_commit: str | None) -> list[str]:
    """Suite, commits, repeats and the link, in the order in which they are read."""
    comparison = words.comparable(report)
    tested = report.provenance.commit
    items = [f"**{markdown(report.suite, 100)}**"]
    commits = ""
    if tested or head_commit:
        commits = markdown_code((head_commit or tested or "")[:7])
    if comparison is not None:
        base = comparison.base.commit if comparison.base else None
        base_text = f"{names.base} {markdown_code(base[:7])}" if base else ""
        if words.same_commit(report) and not head_commit:
            base_text = f"{names.base} at the same commit"
        if commits and base_text:
            merged = head_commit is not None and tested is not None and head_commit != tested
            commits += f" merged into {base_text}" if merged else f" against {base_text}"
        else:
            commits = commits or base_text
        source = words.source(comparison, names.base)
        items += [commits, ", ".join(text for text in (words.repeats(comparison, names.base), source) if text)]
    else:
        items.append(commits)
        if report.case_reports:
            items.append(wording.repeats(report))
        items.append(wording.gate(report))
    items.append(_report_link(links))
    return [item for item in items if item]


def _report_link(links: CommentLinks) -> str:
    address = _address(links.full_report)
    return f"[full report]({address})" if address else ""


def _address(address: str | None) -> str | None:
    """An address as a link may hold it; None for anything that is no web address."""
    if not address or not re.match(r"https?://", address):
        return None
    return quote(address, safe=":/?#[]@!$&'*+,;=%~-._")


def _case_link(report: Report, links: CommentLinks) -> parts.CaseLink:
    """Prints the name of a case for a table, linked to its line in the suite file where that is known."""
    blob = _address(links.blob)
    places: dict[str, CaseReport] = {case.id: case for case in report.case_reports if case.file} if blob else {}

    def link(case: str) -> str:
        shown = case_name(case, table=True, limit=LINKED_NAME)
        place = places.get(case)
        if place is None or not place.file or place.file.startswith("/") or ".." in place.file.split("/"):
            return shown
        line = f"#L{place.line}" if place.line else ""
        return f"[{shown}]({blob}/{quote(place.file)}{line})"

    return link


def _how(report: Report, detail: Detail) -> list[str]:
    """How it was measured, in a sentence of parts."""
    comparison = words.comparable(report)
    origin = report.provenance
    items = []
    if comparison is not None:
        items += [_METHOD if comparison.second_look is None else _METHOD_OF_LOOKS, words.tested(comparison)]
        if comparison.p_exact is not None and comparison.second_look is None:
            items.append(f"conservative p {fmt.p_value(comparison.p_exact)}")
        if comparison.verdict != "no detectable change" and (hidden := words.hidden(comparison)):
            items.append(f"what could hide: {hidden}")
        items.append(f"alpha {markdown(comparison.alpha, 20)}")
        items += [kept] if (kept := looks_text.kept_back(report)) else []
    if origin.seed is not None:
        items.append(f"seed {origin.seed}")
    items.append(fmt.count(report.totals.errors, "error"))
    twice = comparison is not None and comparison.second_look is not None
    if report.totals.cost is not None and not twice:
        items.append(f"cost {fmt.money(report.totals.cost)}{_cost_of_base(report)}")
    if report.totals.judge_cost is not None:
        when = " in the first look" if twice else ""
        items.append(f"judges {fmt.money(report.totals.judge_cost)}{_judges_of_base(report)}{when}")
    items.append(f"attempt {origin.attempt}")
    if origin.version:
        items.append(f"repeat-eval {markdown(origin.version, 40)}")
    return items


def _cost_of_base(report: Report) -> str:
    """What base cost beside head, when it was run in the same minutes: that is money spent, too."""
    base = report.comparison.base if report.comparison else None
    if base is None or base.source != "side-by-side" or base.cost is None:
        return ""
    return f" and {fmt.money(base.cost)} for base"


def _judges_of_base(report: Report) -> str:
    base = report.comparison.base if report.comparison else None
    if base is None or base.source != "side-by-side" or base.judge_cost is None:
        return ""
    return f" and {fmt.money(base.judge_cost)} for base's"
