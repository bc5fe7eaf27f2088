"""What keeps texts from outside short, on one line and encodable."""

from __future__ import annotations

import hashlib

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from repeat_eval.records.trial import (
    ERROR_KINDS,
    MAX_OUTPUT_CHARACTERS,
    OUTCOME_LETTERS,
    OUTCOMES,
    Trial,
    bounded,
    clean,
    one_line,
    sha256_of,
)

ANY_TEXT = st.text(st.characters())  # lone surrogates too


def test_a_text_within_its_bound_stays_as_it_is() -> None:
    assert bounded("x" * MAX_OUTPUT_CHARACTERS) == "x" * MAX_OUTPUT_CHARACTERS


def test_a_text_beyond_its_bound_says_how_much_was_cut() -> None:
    assert bounded("abcdef", 4) == "abcd… [2 characters cut]"


def test_a_lone_surrogate_becomes_encodable_and_other_text_stays() -> None:
    assert clean("a\ud800b").encode() == b"a?b"
    assert clean("größe 🙂") == "größe 🙂"


@pytest.mark.parametrize(
    ("text", "line"),
    [("", ""), ("\n \n", ""), ("\n  first \nsecond", "first"), ("a\r\nb", "a"), ("a\u2028b", "a"), ("x" * 9, "x" * 9)],
)
def test_one_line_is_the_first_that_says_something(text: str, line: str) -> None:
    assert one_line(text) == line


@given(ANY_TEXT)
def test_one_line_is_one_line_and_encodable(text: str) -> None:
    line = one_line(text, 20)
    line.encode("utf-8")
    assert len(line.splitlines()) <= 1
    assert len(line) <= 20 + len("… [9999999 characters cut]")


@given(ANY_TEXT)
def test_any_text_has_a_hash(text: str) -> None:
    assert len(sha256_of(text)) == 64


def test_the_hash_is_that_of_the_utf_8_text() -> None:
    assert sha256_of("größe") == hashlib.sha256("größe".encode()).hexdigest()


def test_every_outcome_has_a_letter_of_its_own() -> None:
    assert tuple(OUTCOME_LETTERS) == OUTCOMES
    assert "".join(OUTCOME_LETTERS.values()) == "PFES"


@pytest.mark.parametrize("kind", ERROR_KINDS)
def test_a_trial_is_known_by_case_and_repetition(kind: str) -> None:
    raw = {"case": "a", "repetition": 2, "outcome": "error", "error_kind": kind}
    trial = msgspec.convert(raw, Trial)
    assert trial.key == ("a", 2)
    assert (trial.duration, trial.cost, trial.score, trial.tool_calls) == (None, None, None, None)
