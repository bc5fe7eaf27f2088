"""report.html: one page that opens from disk, with everything inlined and nothing fetched.

The page's files lie in `templates/report_html`. Data goes in as JSON that no text inside can end, the scripts are
allowed one by one by their hashes, and the scripts write text as text only; what is rendered here is escaped by the
template engine. Parts of the page are named blocks of the template.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from jinja2 import Template

from repeat_eval.analysis.report import Interval, Report
from repeat_eval.records.trial import Trial
from repeat_eval.reports import comparison_wording as words
from repeat_eval.reports import format as fmt
from repeat_eval.reports import looks_alone_text, looks_text, second_look_text, wording
from repeat_eval.reports.escape import cut, visible
from repeat_eval.reports.html_data import page_data, page_trials
from repeat_eval.reports.origin import origin_of
from repeat_eval.reports.template_sandbox import PAGE, Sandbox, environment, rendered

SCRIPTS = (
    "statistics.js",
    "dom.js",
    "words.js",
    "model.js",
    "trials.js",
    "charts.js",
    "detail.js",
    "cases.js",
    "main.js",
)
"""The page's scripts in the order in which they stand in it."""
MAX_REASONS = 30
MAX_WARNINGS = 100
MAX_LISTED = 200
RERUN_TITLES = (
    "case",
    "run again for",
    "first look, base → head",
    "fresh trials, base → head",
    "difference (95% CI)",
    "one-sided p",
    "adjusted",
    "found",
)
_TITLES = {"pass": "Passed", "fail": "Failed", "incomplete": "Incomplete"}


class Part(NamedTuple):
    """A script or style sheet as it stands in the page, and its hash for the Content Security Policy."""

    text: str
    source: str


class Bar(NamedTuple):
    """A rate with its interval as it is drawn at the top of the page."""

    label: str
    rate: float
    interval: Interval
    shown: str


def render_html(
    report: Report,
    trials: Sequence[Trial] | None = None,
    base_trials: Sequence[Trial] = (),
    templates: Path | None = None,
) -> str:
    """The report as an HTML page.

    Args:
        report: what is shown.
        trials: head's trials, so that each can be opened; None where only the report is known.
        base_trials: base's trials, likewise.
        templates: folder of the user's own templates.
    """
    template, scripts, style = load_page(templates)
    details = page_trials(report, trials, base_trials) if trials is not None else None
    content = _content(report) | {
        "policy": _policy([script.source for script in scripts], style.source),
        "style": style.text,
        "scripts": [script.text for script in scripts],
        "data": _json(page_data(report, trials)),
        "trials": None if details is None else _json(details),
    }
    return rendered(template, content, templates)


def load_page(own: Path | None = None) -> tuple[Template, list[Part], Part]:
    """The page's template, scripts and style; loading them early saves time later. `own` holds the user's overrides."""
    return _environment(own).get_template("page.html.j2"), [_part(name) for name in SCRIPTS], _part("style.css")


def _content(report: Report) -> dict[str, Any]:
    """What the template shows of a report, chosen and in words."""
    comparison = words.comparable(report)
    second = comparison.second_look if comparison is not None else None
    told = words.headline(report, "base", name=_quoted, prose=visible)
    text = told.text if report.comparison is not None else wording.headline(report, _quoted, visible)
    word = _TITLES[report.verdict]
    reasons = _reasons(report)
    warnings = [visible(warning) for warning in wording.warnings(report)]
    return {
        "report": report,
        "totals": report.totals,
        "suite": cut(visible(report.suite), 120) or "suite",
        "word": word,
        "headline": cut(_capital(text.removeprefix(f"{word}: ")), 600),
        "reasons": reasons[:MAX_REASONS],
        "reasons_more": max(0, len(reasons) - MAX_REASONS),
        "warnings": warnings[:MAX_WARNINGS],
        "warnings_more": max(0, len(warnings) - MAX_WARNINGS),
        "about": _about(report),
        "bars": _bars(report),
        "comparison": comparison,
        "not_compared": visible(report.comparison.text) if report.comparison and comparison is None else "",
        "decided": words.decided(comparison) if comparison else [],
        "hidden": words.hidden(comparison) if comparison else "",
        "tested": words.tested(comparison) if comparison else "",
        "changes": _changes(report),
        "lists": _lists(report),
        "trials_done": wording.trials_done(report),
        "time_and_cost": wording.time_and_cost(report),
        "single_note": wording.single_note(report),
        "looks": looks_text.rows(report, _quoted, visible),
        "look_titles": looks_text.TITLES,
        "rerun": _rerun(report),
        "rerun_titles": RERUN_TITLES,
        "looked_twice": second,
        "alone": report.looked_alone,
        "alone_intro": _capital(looks_alone_text.intro(report.looked_alone)) if report.looked_alone else "",
        "alone_titles": looks_alone_text.TITLES,
        "alone_rows": [
            looks_alone_text.row(case, cut(visible(case.id), 200))
            for case in looks_alone_text.listed(report.looked_alone, MAX_LISTED)
        ]
        if report.looked_alone
        else [],
        "not_rerun": [cut(visible(case), 200) for case in second.not_rerun[:MAX_LISTED]] if second else [],
        "origin": [(label, cut(visible(text), 1000)) for label, text in origin_of(report)],
        "settings": [
            (name, visible(fmt.setting(setting.value)), setting.source) for name, setting in report.settings.items()
        ],
        "fmt": fmt,
        "words": words,
    }


def _reasons(report: Report) -> list[tuple[str | None, str]]:
    """Why the suite did not pass: a case's reasons in one line, the suite's own each for itself."""
    lines: list[tuple[str | None, str]] = []
    places: dict[str, int] = {}
    for reason in report.reasons:
        text = visible(reason.text)
        if reason.case in places:
            place = places[reason.case]
            lines[place] = (lines[place][0], f"{lines[place][1]}; {text}")
            continue
        if reason.case is not None:
            places[reason.case] = len(lines)
        lines.append((None if reason.case is None else cut(visible(reason.case), 200), text))
    return lines


def _quoted(case: str) -> str:
    return f"‘{cut(visible(case), 120)}’"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _about(report: Report) -> list[str]:
    origin, base = report.provenance, report.comparison.base if report.comparison else None
    parts = [f"commit {visible(origin.commit)[:12]}"] if origin.commit else []
    if words.same_commit(report):
        parts.append("base at the same commit")
    elif base is not None and base.commit:
        parts.append(f"base {visible(base.commit)[:12]}")
    if report.comparison is not None and (source := words.source(report.comparison, "base")):
        parts.append(source)
    if report.case_reports:
        parts += [fmt.count(report.totals.cases, "case"), wording.repeats(report)]
    parts.append(wording.gate(report))
    if origin.started:
        parts.append(visible(origin.started)[:16].replace("T", " ") + " UTC")
    return parts


def _bars(report: Report) -> list[Bar]:
    """The suite's rate, or both sides' over their common cases."""
    comparison = words.comparable(report)
    sides = [("base", comparison.base), ("head", comparison.head)] if comparison else []
    bars = [
        Bar(label, side.pass_rate, side.interval, fmt.percent1(side.pass_rate))
        for label, side in sides
        if side is not None and side.pass_rate is not None and side.interval is not None
    ]
    totals = report.totals
    if not bars and totals.pass_rate is not None and totals.interval is not None:
        bars.append(Bar("suite", totals.pass_rate, totals.interval, fmt.percent1(totals.pass_rate)))
    return bars


def _changes(report: Report) -> list[tuple[str, str, str]]:
    """Changes of errors, time and cost against base: what, from where to where, how sure."""
    comparison = words.comparable(report)
    if comparison is None:
        return []
    shown = []
    for name, change, show in (
        ("errors", comparison.errors, fmt.percent1),
        ("time", comparison.duration, fmt.duration),
        ("cost", comparison.cost, fmt.money),
    ):
        if change is not None:
            sure = words.short_p(change.p, change.level) if change.p is not None else "not tested"
            shown.append((name, f"{show(change.base)} → {show(change.head)}", sure))
    return shown


def _lists(report: Report) -> list[tuple[str, list[str], int]]:
    """Cases that only one side has or whose definition changed, and how head weakens its gate; with how many more."""
    comparison = report.comparison
    if comparison is None:
        return []
    lists = (
        ("Only in base", comparison.removed),
        ("New in head", comparison.added),
        ("Definition changed", comparison.changed),
        ("Gate changed by head", comparison.gate_changes),
    )
    return [
        (title, [cut(visible(text), 200) for text in texts[:MAX_LISTED]], max(0, len(texts) - MAX_LISTED))
        for title, texts in lists
        if texts
    ]


def _rerun(report: Report) -> list[list[str]]:
    """The cases that a second look ran again, both looks side by side; a row in the order of `RERUN_TITLES`."""
    comparison = report.comparison
    looks = comparison.second_look if comparison is not None else None
    if comparison is None or looks is None:
        return []
    suspects = second_look_text.rows(looks, lambda case: cut(visible(case), 200))
    shown = [
        [row[0], "looking worse" if case.direction == "down" else "looking better", *row[1:]]
        for case, row in zip(looks.suspects, suspects, strict=True)
    ]
    again, first = second_look_text.run_again(looks), {case.id: case for case in comparison.cases}
    for case_id, fresh in again.items():
        sides = first.get(case_id)
        before = "" if sides is None else f"{words.counts(sides.base)} → {words.counts(sides.head)}"
        shown.append([cut(visible(case_id), 200), "the alarm", before, fresh, "", "", "", "counts for the suite"])
    return shown[:MAX_LISTED]


def _json(value: object) -> str:
    """Data as JSON inside of a script element: no text in it can end the element or begin a comment."""
    text = msgspec.json.encode(value).replace(b"<", b"\\u003c").decode()
    return text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


@cache
def _part(name: str) -> Part:
    text = "\n" + (PAGE / name).read_text(encoding="utf-8").strip() + "\n"
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return Part(text, f"'sha256-{digest}'")


def _policy(scripts: Sequence[str], style: str) -> str:
    """The Content Security Policy: our own scripts and style, pictures inside of the page, and nothing else."""
    rules = (
        "default-src 'none'",
        f"script-src {' '.join(scripts)}",
        f"style-src {style}",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
    )
    return "; ".join(rules)


@cache
def _environment(own: Path | None) -> Sandbox:
    return environment(PAGE, own, autoescape=True)
