"""Badges: a line of two words for a README, as JSON for shields' endpoint badge and as an SVG drawn here.

White text on dark, saturated grounds, with an outline that shows on black and on white pages.
"""

from __future__ import annotations

import unicodedata
from typing import NamedTuple

import msgspec

from repeat_eval.analysis.report import Report
from repeat_eval.reports import format as fmt
from repeat_eval.reports.escape import cut_middle, visible

GREEN, YELLOW, RED, GREY = "#2a7d2e", "#8a6100", "#b3261e", "#5f6368"
"""Each has a contrast of at least 4.5 to white text."""
LABEL_GROUND, OUTLINE = "#3c4043", "#9aa0a6"
LABEL_LIMIT = 40
NO_FIGURE = "unknown"

_SVG = "http://www.w3.org/2000/svg"
_COLOURS = {"pass": GREEN, "fail": RED, "incomplete": YELLOW}
_HEIGHT, _PADDING, _BASELINE = 20, 6, 14
_NARROW, _WIDE = frozenset("iIjl.,:;'|!()[] tfr1-"), frozenset("mwMW%@+±→")


class Badge(NamedTuple):
    """What a badge says: label on the left, message on the right over `colour` (`#rrggbb`)."""

    label: str
    message: str
    colour: str


def badges_of(report: Report) -> dict[str, Badge]:
    """The badges of a report by name: `badge` (pass rate and verdict), `stability` and `reliability`.

    Stability is the share of cases whose trials all agree; reliability counts the cases rated `high`. Both are green
    when all cases are, and grey when unknown; only the first is coloured by the gate's verdict.
    """
    totals = report.totals
    name = cut_middle(visible(report.suite), LABEL_LIMIT) or "evals"
    rate = "no verdict" if totals.pass_rate is None else fmt.percent1(totals.pass_rate)
    stable = totals.stability
    ratings = [case.reliability for case in report.case_reports if case.reliability is not None]
    rated, high = len(ratings), sum(one.rating == "high" and not one.insufficient for one in ratings)
    return {
        "badge": Badge(name, f"{rate} · {report.verdict}", _COLOURS[report.verdict]),
        "stability": Badge(
            f"{name} stability",
            NO_FIGURE if stable is None else f"{fmt.percent(stable)} of cases",
            GREY if stable is None else GREEN if stable == 1 else YELLOW,
        ),
        "reliability": Badge(
            f"{name} reliability",
            f"high in {high} of {fmt.count(rated, 'case')}" if rated else NO_FIGURE,
            GREY if not rated else GREEN if high == rated else YELLOW,
        ),
    }


def badge_files(report: Report) -> dict[str, str]:
    """All badges of a report as files: name -> text, `.svg` and `.json` of each."""
    files: dict[str, str] = {}
    for name, badge in badges_of(report).items():
        files |= {f"{name}.svg": badge_svg(badge), f"{name}.json": badge_json(badge)}
    return files


def badge_json(badge: Badge) -> str:
    """The answer of an endpoint for shields: schema version 1, label, message, colour."""
    value = {
        "schemaVersion": 1,
        "label": badge.label,
        "message": badge.message,
        "color": badge.colour.removeprefix("#"),
    }
    return msgspec.json.encode(value).decode() + "\n"


def badge_svg(badge: Badge) -> str:
    """The badge as an SVG of 20 pixels height, whose texts keep their place in any font."""
    from lxml import etree

    left, right = _width(badge.label) + 2 * _PADDING, _width(badge.message) + 2 * _PADDING
    whole = left + right
    text = f"{badge.label}: {badge.message}"
    root = etree.Element("svg", xmlns=_SVG, width=str(whole), height=str(_HEIGHT), role="img")
    root.set("viewBox", f"0 0 {whole} {_HEIGHT}")
    root.set("aria-label", text)
    etree.SubElement(root, "title").text = text
    clip = etree.SubElement(root, "clipPath", id="r")
    etree.SubElement(clip, "rect", width=str(whole), height=str(_HEIGHT), rx="4")
    grounds = etree.SubElement(root, "g")
    grounds.set("clip-path", "url(#r)")
    etree.SubElement(grounds, "rect", width=str(left), height=str(_HEIGHT), fill=LABEL_GROUND)
    etree.SubElement(grounds, "rect", x=str(left), width=str(right), height=str(_HEIGHT), fill=badge.colour)
    outline = {"x": "0.5", "y": "0.5", "width": str(whole - 1), "height": str(_HEIGHT - 1), "rx": "3.5"}
    etree.SubElement(root, "rect", {**outline, "fill": "none", "stroke": OUTLINE})
    texts = etree.SubElement(root, "g", fill="#fff")
    texts.set("font-family", "Verdana,DejaVu Sans,Geneva,sans-serif")
    texts.set("font-size", "11")
    for start, words in ((0, badge.label), (left, badge.message)):
        place = {"x": str(start + _PADDING), "y": str(_BASELINE), "textLength": str(_width(words))}
        etree.SubElement(texts, "text", place).text = words
    return etree.tostring(root, encoding="unicode") + "\n"


def _width(text: str) -> int:
    """About how many pixels a text takes in Verdana of 11 pixels."""
    return round(sum(map(_character, text)))


def _character(character: str) -> float:
    if unicodedata.combining(character):
        return 0.0
    if unicodedata.east_asian_width(character) in "WF" or character in _WIDE:
        return 11.0
    if character in _NARROW:
        return 4.4
    return 8.0 if character.isupper() else 7.0
