"""Badges: what they say, in which colour, and that nothing in a name becomes markup."""

from __future__ import annotations

import json

import pytest
import report_examples as examples
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from repeat_eval.reports.badge import GREEN, GREY, RED, YELLOW, Badge, badge_files, badge_json, badge_svg, badges_of

SVG = "{http://www.w3.org/2000/svg}"


def luminance(colour: str) -> float:
    """Relative luminance as WCAG 2 defines it."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_pass_rate_and_verdict_stability_and_reliability_each_have_a_badge() -> None:
    report = examples.report([examples.case("a", "P" * 10), examples.case("b", "P" * 8 + "FF")], suite="refunds")
    badges = badges_of(report)
    assert badges["badge"] == ("refunds", "90.0% · pass", GREEN)
    assert badges["stability"] == ("refunds stability", "50% of cases", YELLOW)
    assert badges["reliability"][0] == "refunds reliability"
    assert badges["reliability"][1].startswith("high in ")
    assert badges["reliability"][1].endswith(" of 2 cases")


def test_the_colour_of_the_first_is_the_verdict() -> None:
    assert badges_of(examples.report([examples.case("a", "F" * 10)]))["badge"].colour == RED


def test_what_is_unknown_is_grey_and_never_0() -> None:
    badges = badges_of(examples.empty())
    assert badges["badge"].message.startswith("no verdict")
    assert badges["stability"] == (badges["stability"].label, "unknown", GREY)
    assert badges["reliability"] == (badges["reliability"].label, "unknown", GREY)


def test_high_from_few_trials_is_not_counted_as_high() -> None:
    report = examples.report([examples.case("a", "PPP")])
    assert badges_of(report)["reliability"].message == "high in 0 of 1 case"


def test_the_json_is_what_shields_endpoint_reads() -> None:
    value = json.loads(badge_json(Badge("refunds", "90.0% · pass", GREEN)))
    assert value == {"schemaVersion": 1, "label": "refunds", "message": "90.0% · pass", "color": GREEN[1:]}


def test_every_badge_is_a_file_in_both_forms() -> None:
    assert set(badge_files(examples.small())) == {
        f"{name}.{form}" for name in ("badge", "stability", "reliability") for form in ("svg", "json")
    }


@pytest.mark.parametrize("colour", [GREEN, YELLOW, RED, GREY, "#3c4043"])
def test_white_text_is_readable_on_every_ground(colour: str) -> None:
    assert 1.05 / (luminance(colour) + 0.05) >= 4.5


@given(st.text(max_size=60))
def test_a_suites_name_is_text_in_the_picture_whatever_it_holds(name: str) -> None:
    report = examples.report([examples.case("a", "PPFPP")], suite=name)
    for badge in badges_of(report).values():
        root = etree.fromstring(badge_svg(badge))
        tags = {element.tag.removeprefix(SVG) for element in root.iter()}
        assert tags == {"svg", "title", "clipPath", "rect", "g", "text"}
        assert [text.text for text in root.iter(f"{SVG}text")] == [badge.label, badge.message]
        assert all(not set(element.keys()) & {"href", "onload", "style"} for element in root.iter())
