"""The page about two looks: its picture is drawn from the program, and its values can be set."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest
import write_second_look_picture as drawn
from doc_pages import ROOT, text_of
from lxml import etree

from repeat_eval.cli.main import run
from repeat_eval.statistics.gates import gate_fail_probability
from repeat_eval.statistics.low_rule import low_rule_fail_probability
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


def alone() -> list[list[str]]:
    table = text_of(PAGE).partition("## Without a base")[2].partition("\n\nA suite of cases")[0]
    rows = [line.strip("| \n").split(" | ") for line in table.splitlines() if line.startswith("| ")]
    return [row for row in rows if len(row) == 8]


def test_without_a_base_cases_fail_as_often_as_the_page_says() -> None:
    (fixed, looks), threshold = alone(), Fraction("0.8")
    for place, rate in enumerate((0.3, 0.5, 0.6, 0.7, 0.8, 0.9), start=1):
        one = gate_fail_probability(10, threshold, rate, "wilson")
        two = low_rule_fail_probability(3, 20, threshold, rate)
        for row, chance in ((fixed, one), (looks, two)):
            digits = 1 if chance < 0.1 else 0
            assert row[place] == f"{100 * chance:.{digits}f} %"
    low = gate_fail_probability(3, threshold, 0.9, "strict")
    assert looks[7] == f"{3 + 20 * low:.1f}"


def test_the_plan_that_the_page_names_tells_of_looks_without_a_base(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "--cases", "24", "--second-look", "3+20"]) == 0
    told = capsys.readouterr().out
    assert "Without a base: second look 3+20" in told
    assert "72 trials first" in told
    assert run(["plan", "--cases", "24"]) == 0
    assert "Without a base" not in capsys.readouterr().out
