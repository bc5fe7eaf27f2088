"""Text from outside is data: nothing in it acts on the surface that shows it."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from repeat_eval.reports import escape

anything = st.text(st.characters(exclude_categories=()), max_size=200)
marks = "| ` `` \\ <b> </td> <!-- @me #1 GH-2 https://x.y www.x.y a@b.c ** _ ![i](u) [x](y) ~~ :smile: - 1. # a $"
pieces = [*marks.split(), "\n", " ", "\x1b[31m", "\x1b]8;;http://x\x07", "\u202e"]
hostile = st.lists(st.sampled_from(pieces), max_size=10).map("".join)


def unescaped(text: str, character: str) -> list[int]:
    """Where `character` stands with an even number of backslashes before it."""
    return [
        match.start()
        for match in re.finditer(re.escape(character), text)
        if (len(text[: match.start()]) - len(text[: match.start()].rstrip("\\"))) % 2 == 0
    ]


@given(anything | hostile)
def test_plain_text_in_markdown_has_no_markup_left(text: str) -> None:
    result = escape.markdown(text)
    assert "<" not in result and ">" not in result
    for character in "|`*_[]~$":
        assert not unescaped(result, character)
    assert not re.search(r"[@#]\w", result)
    assert "://" not in result
    assert not re.search(r"www\.", result, re.IGNORECASE)
    assert "\n" not in result


@given(anything | hostile)
def test_inline_code_is_fenced_by_more_backticks_than_it_holds(text: str) -> None:
    for table in (False, True):
        result = escape.markdown_code(text, table=table)
        assert "\n" not in result
        if result == "(empty)":
            continue
        fence = re.match("`+", result)
        assert fence
        inner = result[len(fence[0]) : -len(fence[0])]
        assert result == fence[0] + inner + fence[0]
        assert len(fence[0]) not in {len(run) for run in re.findall("`+", inner)}
        assert not (inner.startswith("`") or inner.endswith("`"))
        if table:
            assert not re.search(r"(?<!\\)\|", inner)


@given(anything | hostile)
def test_terminal_text_has_no_control_characters_or_direction_overrides(text: str) -> None:
    result = escape.terminal(text)
    assert all(unicodedata.category(character) not in ("Cc", "Cs", "Zl", "Zp") for character in result)
    assert not re.search("[\u202a-\u202e\u2066-\u2069]", result)


@given(anything | hostile)
def test_xml_text_can_stand_in_a_document(text: str) -> None:
    element = etree.Element("a", name=escape.xml(text))
    element.text = escape.xml(text)
    read = etree.fromstring(etree.tostring(element, encoding="utf-8"))
    assert (read.text or "") == escape.xml(text)


@given(anything | hostile, st.integers(min_value=1, max_value=50))
def test_every_text_is_bounded(text: str, limit: int) -> None:
    assert len(escape.terminal(text, limit)) <= limit
    assert len(escape.xml(text, limit)) <= limit
    assert len(escape.cut_middle(text, limit)) <= limit


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b]0;title\x07text", "text"),
        ("\x9b31mred", "red"),
        ("two\nlines\tand\u2028more", "two lines and more"),
        ("a\u202eb", "ab"),
        ("half \ud800", "half \ufffd"),
        ("👨‍👩‍👧 é", "👨‍👩‍👧 é"),
    ],
)
def test_control_sequences_vanish_whole_and_letters_stay(text: str, shown: str) -> None:
    assert escape.terminal(text) == shown


def test_a_text_that_starts_like_a_block_starts_no_block() -> None:
    assert escape.markdown("1. one") == "1\\. one"
    assert escape.markdown("- one") == "\\- one"
    assert escape.markdown("# one") == "\\#\u200b one"
    assert escape.markdown("0.8") == "0.8"


def test_a_huge_hostile_text_is_cut_before_it_is_searched() -> None:
    assert len(escape.terminal("\x1b[" * 5_000_000 + "x", 10)) <= 10


def test_names_are_cut_in_the_middle() -> None:
    assert escape.cut_middle("suite/group/case_0001", 11) == "suite…_0001"
