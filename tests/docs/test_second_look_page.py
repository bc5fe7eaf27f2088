"""The page about two looks: its picture is drawn from the program, and its values can be set."""

from __future__ import annotations

import re

import pytest
import write_second_look_picture as drawn
from doc_pages import ROOT, text_of
from lxml import etree

from repeat_eval.statistics.second_look import SecondLookSettings
from repeat_eval.statistics.second_look_planning import chance_to_find
from repeat_eval.suite.second_look import WORDS, parse_second_look

PAGE = ROOT / "docs" / "second-look.md"


def test_the_picture_is_what_the_script_draws() -> None:
    assert drawn.PICTURE.read_text(encoding="utf-8") == drawn.picture()
    assert etree.fromstring(drawn.picture().encode()).tag.endswith("svg")


def test_the_pull_request_of_the_picture_is_the_first_that_shows_what_there_is_to_show() -> None:
    assert next(seed for seed in range(100) if drawn.telling(drawn.simulated(seed))) == drawn.SEED


def written() -> list[str]:
    table = text_of(PAGE).partition("## Settings")[2].partition("\n\nA fixed")[0]
    return re.findall(r"^\| `([^`]+)` \|", table, re.MULTILINE)


@pytest.mark.parametrize("value", written())
def test_every_value_on_the_page_can_be_set(value: str) -> None:
    parse_second_look(value)


def test_the_page_names_every_word_that_can_be_set() -> None:
    assert set(WORDS) < set(written())


def test_a_case_that_falls_to_half_is_found_as_often_as_the_page_says() -> None:
    found = chance_to_find(0.5, SecondLookSettings(), suspects=3)
    assert 0.8 <= found <= 0.9  # "about four of five", also when the suite varies
