"""The Markdown parts of a comparison that comment and job summary share, chosen, counted and escaped for templates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from repeat_eval.analysis.report import CaseComparison, CaseReport, Comparison, Report, Side
from repeat_eval.analysis.second_look_model import ReRunCase, SecondLook
from repeat_eval.reports import comparison_wording as words
from repeat_eval.reports import format as fmt
from repeat_eval.reports import second_look_text as twice
from repeat_eval.reports import wording
from repeat_eval.reports.escape import markdown
from repeat_eval.reports.luck import luck, luck_of_looks
from repeat_eval.reports.markdown_templates import case_name, code, tight

MAX_BROKE = 10
MAX_LISTED = 5
MAX_NAMED = 20
MAX_WARNINGS = 10
MAX_GATE_CHANGES = 10
NAME_COLUMN = "\u00a0" * 40

CaseLink = Callable[[str], str]


class Sides(NamedTuple):
    """What the two sides are called. `base_code` and `base` are the same name, as code and as plain text, escaped."""

    base_code: str
    base: str
    head: str


class Detail(NamedTuple):
    """How much is shown; a step of the ladder by which a comment gets shorter.

    Attributes:
        rows: rows in the folded table of cases, None for all. bars: with bars. wide: with pass^k, time and cost.
        broke: rows of the table of what broke. why: one failing trial each. listed: names in each visible list.
        named: names in folded lists. warnings: warnings. figures, measured, suite: whether those parts are there.
    """

    rows: int | None = None
    bars: bool = True
    wide: bool = True
    figures: bool = True
    measured: bool = True
    named: int = MAX_NAMED
    warnings: int = MAX_WARNINGS
    why: bool = True
    listed: int = MAX_LISTED
    suite: bool = True
    broke: int = MAX_BROKE


class Table(NamedTuple):
    """A table: titles, alignments as Markdown writes them, rows of cells that are safe to print."""

    titles: Sequence[str]
    alignments: Sequence[str]
    rows: Sequence[Sequence[str]]


def sides(base: str, head: str) -> Sides:
    """The names of the sides; the plain words "base" and "head" stay plain."""
    return Sides(base if base == "base" else code(base, 60), markdown(base, 60), markdown(head, 60))


def comparison_parts(
    report: Report, comparison: Comparison, names: Sides, detail: Detail, link: CaseLink
) -> dict[str, object]:
    """Everything that the templates say of a comparison; `link` prints the name of a case for a table or a line."""
    cases = {case.id: case for case in report.case_reports}
    broke = words.broke(comparison)
    told = {case.id for case in broke}
    others = [case for case in wording.failing_cases(report) if case.id not in told]
    better = words.better(comparison)
    shown = broke[: detail.broke]
    shown_others = others[: detail.broke - len(shown)]
    looks = comparison.second_look
    listed_together = {case.id for case in shown_others} | told
    together = [case for case in twice.blamed_together(looks) if case.id not in listed_together] if looks else []
    listed = Lists(comparison, names, detail)
    quiet = comparison.verdict == "no detectable change" and not (looks is not None and looks.incomplete)
    return {
        "names": names,
        "gate_changes": [markdown(text) for text in comparison.gate_changes[:MAX_GATE_CHANGES]],
        "gate_changes_more": max(len(comparison.gate_changes) - MAX_GATE_CHANGES, 0),
        "reasons": _reasons(report, names),
        "broke": _broke_table(comparison, _Rows(shown, shown_others, together[: detail.broke]), names, link),
        "broke_more": len(broke) + len(others) - len(shown) - len(shown_others),
        "why": _why(
            cases,
            comparison,
            [
                *(case.id for case in shown),
                *(case.id for case in shown_others),
                *(case.id for case in together[: detail.broke]),
            ],
        )
        if detail.why
        else [],
        "better": _better_table(comparison, better[: detail.broke], names, link)
        if better and not broke and not others
        else None,
        "better_more": max(len(better) - detail.broke, 0),
        "better_line": listed.better(better) if broke or others else "",
        "suite": _suite_table(comparison, names, shown) if detail.suite else None,
        "shown": words.shown(report, comparison, names.base),
        "hidden": words.hidden(comparison) if quiet else "",
        "not_confirmed": listed.rerun(twice.not_confirmed(looks)) if looks is not None else "",
        # One by one they are cleared, and the suite is red all the same.
        "alone": looks is not None and looks.down.changed,
        "unanswered": listed.rerun(twice.unanswered(looks)) if looks is not None else "",
        "not_rerun": listed.plain(looks.not_rerun) if looks is not None else "",
        "saved": twice.saved(looks) if looks is not None and not looks.incomplete else "",
        "not_this": listed.not_this(words.not_this_change(comparison)),
        "watch": listed.watch(words.watched(comparison)),
        "removed": listed.plain(comparison.removed),
    }


def _reasons(report: Report, names: Sides) -> list[str]:
    """The reasons of the whole suite that the first line does not tell."""
    first = words.headline(report, names.base_code, name=case_name, prose=markdown).text
    texts = [
        markdown(reason.text)
        for reason in wording.suite_reasons(report)
        if reason.gate not in ("suite-regression", "case-regression", "error-regression") or reason.verdict == "pass"
    ]
    return [text for text in dict.fromkeys(texts) if text not in first][:MAX_BROKE]


class _Rows(NamedTuple):
    """What broke, what else stands in the way, and what only got worse together."""

    broke: Sequence[CaseComparison]
    others: Sequence[CaseReport]
    together: Sequence[ReRunCase]


def _broke_table(comparison: Comparison, rows_of: _Rows, names: Sides, link: CaseLink) -> Table | None:
    """What broke, then what else stands in the way: below its threshold, without a verdict, or worse together."""
    broke, others, together = rows_of
    if not broke and not others and not together:
        return None
    by_id = {case.id: case for case in comparison.cases} if others else {}
    suspects = suspects_of(comparison)
    rows = [_row(case, link, suspects.get(case.id)) for case in broke]
    for case in others:
        suspect = suspects.get(case.id)
        if suspect is not None and suspect.outcome != "incomplete":
            rows.append(_row_of_looks(suspect, link, f"below {markdown(case.threshold, 20)}"))
            continue
        compared = by_id.get(case.id)
        why = fmt.needs(case) or fmt.verdict_words(case)
        if case.verdict == "incomplete":
            why = "no verdict"
        elif compared is None:
            why = f"new, {why}"
        else:
            why = f"{why}; {luck(compared.p, compared.level)}"
        before = words.counts(compared.base) if compared else "new"
        after = f"**{case.passed}/{case.verdicts}**" if case.verdicts else "no verdict"
        if without := fmt.errors_of_case(case):
            after += f", {without}"
        change = case_difference(compared) if compared else "–"
        rows.append([link(case.id), tight(f"{before} → {after}"), tight(why), change])
    rows += [_row_of_looks(case, link, f"not by itself, p {twice.p_value(case.p2)}") for case in together]
    title = ("broke" if broke else "not passed" if others else "worse together") + held_open(
        [*(case.id for case in broke), *(case.id for case in others), *(case.id for case in together)]
    )
    return Table(
        [title, tight(f"{names.base} → {names.head}"), "luck?", tight("difference (95 % CI)")], [":--"] * 4, rows
    )


def _better_table(comparison: Comparison, cases: Sequence[CaseComparison], names: Sides, link: CaseLink) -> Table:
    title = "fixed" if all(case.change == "fixed" for case in cases) else "better"
    title += held_open([case.id for case in cases])
    suspects = suspects_of(comparison)
    rows = [_row(case, link, suspects.get(case.id)) for case in cases]
    return Table(
        [title, tight(f"{names.base} → {names.head}"), "luck?", tight("difference (95 % CI)")], [":--"] * 4, rows
    )


def held_open(names: Sequence[str]) -> str:
    """What keeps a column of names wide enough to read: a browser breaks them at every space before it scrolls."""
    return NAME_COLUMN if any(" " in name or not name.isascii() for name in names) else ""


def suspects_of(comparison: Comparison) -> dict[str, ReRunCase]:
    """The cases that were run again, by id."""
    return {case.id: case for case in comparison.second_look.suspects} if comparison.second_look is not None else {}


def _row_of_looks(suspect: ReRunCase, link: CaseLink, luck: str) -> list[str]:
    """A case that was run again: its fresh rates, the first look beside them in small."""
    after = f"**{twice.counts(suspect.fresh_head)}**"
    return [
        link(suspect.id),
        f"{tight(f'{twice.counts(suspect.fresh_base)} → {after}')}<br><sub>{tight(twice.first(suspect))}</sub>",
        tight(luck),
        tight(twice.difference(suspect)),
    ]


def _row(case: CaseComparison, link: CaseLink, suspect: ReRunCase | None = None) -> list[str]:
    if suspect is not None:
        cells = _row_of_looks(suspect, link, luck_of_looks(suspect))
        cells[2] += ", definition&nbsp;changed" if case.definition_changed else ""
        return cells
    return [
        link(case.id),
        tight(f"{words.counts(case.base)} → **{words.counts(case.head)}**"),
        tight(luck(case.p, case.level)) + (", definition&nbsp;changed" if case.definition_changed else ""),
        case_difference(case),
    ]


def case_difference(case: CaseComparison) -> str:
    """The difference of a case in whole points, with its interval."""
    if case.delta is None:
        return "–"
    limits = f" ({fmt.points_interval(case.interval, 0)})" if case.interval else ""
    return tight(fmt.points(case.delta, 0) + limits)


def _why(cases: dict[str, CaseReport], comparison: Comparison, ids: Sequence[str]) -> list[str]:
    """One failing trial a case, in one line; alike failures are counted together. Of a re-run case a fresh one."""
    lines = []
    suspects = suspects_of(comparison)
    for case in ids:
        found = wording.evidence(cases[case], suspects.get(case)) if case in cases else None
        if found is not None:
            place = "" if found.repetition is None else f" trial {found.repetition}"
            alike = f" – {found.likeness}" if found.likeness else ""
            lines.append(f"{case_name(case)}{place}: {code(found.message)}{alike}")
    return lines


def _suite_table(comparison: Comparison, names: Sides, shown: Sequence[CaseComparison]) -> Table | None:
    base, head = comparison.base, comparison.head
    if base is None or head is None:
        return None
    looks = comparison.second_look
    rows = _fresh_rates(looks) if looks is not None else []
    large = "" if rows else "**"
    rows += [
        [
            tight("pass rate" if not rows else "first look"),
            tight(f"{fmt.percent1(base.pass_rate)} ({base.passed}/{base.verdicts})"),
            tight(f"{large}{fmt.percent1(head.pass_rate)}{large} ({head.passed}/{head.verdicts})"),
            words.difference(comparison, tight)
            if looks is None
            else tight(twice.rate_difference(looks.first_difference)),
        ],
        [tight("re-run 95 % interval"), _rerun(base), _rerun(head), ""],
        [
            "flaky&nbsp;`~`",
            fmt.count(base.flaky, "case"),
            fmt.count(head.flaky, "case"),
            _newly_flaky(comparison, {case.id for case in shown}),
        ],
    ]
    if comparison.errors is not None:
        errors = comparison.errors
        rows.append(
            ["errors", _errors(base), _errors(head), "" if errors.p is None else words.short_p(errors.p, errors.level)]
        )
    title = "whole suite" if looks is None else tight("whole suite, first look")
    if looks is not None and looks.fresh_difference is not None:
        title = "whole suite"
    return Table([title, names.base, names.head, "difference"], [":--"] * 4, rows)


def _fresh_rates(looks: SecondLook) -> list[list[str]]:
    """After an alarm every case was run again, and the first look is known to be too low: the fresh rates go first."""
    fresh = looks.fresh_difference
    if fresh is None:
        return []
    p = words.short_p(min(1.0, 2.0 * looks.down.p), twice.level_of(looks.down.p))
    rates = (tight(fmt.percent1(fresh.base)), tight(f"**{fmt.percent1(fresh.head)}**"))
    parts = [twice.rate_difference(fresh), *(f"{p} over both looks".split(", ") if looks.mode != "screen" else [p])]
    return [[tight("second look"), *rates, ", ".join(map(tight, parts))]]


def _rerun(side: Side) -> str:
    if side.rerun_interval is None:
        return fmt.UNKNOWN
    width = "" if side.width is None else f" ({fmt.percent(side.width).removesuffix('%')} wide)"
    return tight(fmt.interval(side.rerun_interval) + width)


def _errors(side: Side) -> str:
    return tight(f"{side.errors} of {fmt.count(side.trials, 'trial')}")


def _newly_flaky(comparison: Comparison, above: set[str]) -> str:
    newly = [case for case in comparison.cases if case.head.flaky and not case.base.flaky]
    told = [case for case in newly if case.id in above]
    rest = [case for case in newly if case.id not in above]
    parts = []
    if told:
        parts.append(f"{len(told)} of those above")
    parts += [f"{case_name(case.id, table=True, limit=40)} {words.counts(case.head)}" for case in rest[:2]]
    if len(rest) > 2:
        parts.append(f"{len(rest) - 2:,} more")
    if not parts:
        return ""
    return f"newly: {', '.join(parts)}{', may be luck' if rest else ''}"


class Lists(NamedTuple):
    """Lists of cases in a line, each of a bounded length."""

    comparison: Comparison
    names: Sides
    detail: Detail

    def join(self, parts: Sequence[str], total: int) -> str:
        """The parts with how many more there are."""
        more = total - len(parts)
        return ", ".join(parts) + (f" and {more:,} more" if more and parts else "")

    def counts(self, cases: Sequence[CaseComparison], tail: Callable[[CaseComparison], str]) -> str:
        """Cases with both sides' counts, and what `tail` adds to each."""
        parts = [
            f"{case_name(case.id)} {words.counts(case.base)} → {words.counts(case.head)}{tail(case)}"
            for case in cases[: self.detail.listed]
        ]
        return self.join(parts, len(cases))

    def not_this(self, cases: Sequence[CaseComparison]) -> str:
        """The cases that fail on base as well, as a sentence."""
        parts = [
            f"{case_name(case.id)} ({words.counts(case.base)} → {words.counts(case.head)})"
            for case in cases[: self.detail.listed]
        ]
        fails = f"fails on {self.names.base}, too"
        if len(cases) == 1 and parts:
            return f"{case_name(cases[0].id)} {fails} ({words.counts(cases[0].base)} → {words.counts(cases[0].head)})"
        return f"{self.join(parts, len(cases))} {fails.replace('fails', 'fail')}" if parts else ""

    def watch(self, cases: Sequence[CaseComparison]) -> str:
        """The cases that fell without evidence, with their p."""
        return self.counts(cases, lambda case: f" (p {fmt.p_value(case.p)})" if case.p is not None else "")

    def rerun(self, cases: Sequence[ReRunCase]) -> str:
        """Suspects with both looks' figures."""
        parts = [
            f"{case_name(case.id)} {twice.both(case)}".replace(" re-run ", f" {tight('re-run')} ")
            for case in cases[: self.detail.listed]
        ]
        more = len(cases) - len(parts)
        return "; ".join(parts) + (f"; and {more:,} more" if more and parts else "")

    def better(self, cases: Sequence[CaseComparison]) -> str:
        """The cases that got better, with how likely luck is."""
        return self.counts(cases, lambda case: f" (luck: {luck(case.p, case.level)})")

    def plain(self, ids: Sequence[str]) -> str:
        """Names alone."""
        return self.join([case_name(case) for case in ids[: self.detail.listed]], len(ids))
