"""Looks in our comment: what goes in comes out, and what others put there is bounded."""

from __future__ import annotations

import base64
import hashlib
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repeat_eval.analysis.look_model import Look, LookCase
from repeat_eval.github.comment_body import merge_body, section_marker
from repeat_eval.github.look_data import LIMIT, pack_looks, unpack_looks
from repeat_eval.github.marker import Marker, find_marker

NAMES = st.text(min_size=1, max_size=40)


def look(number: int, *cases: str, text: str = "") -> Look:
    listed = tuple(LookCase(id=case, base=(3, 3), head=(1, 3), p=0.1, regressed=True) for case in cases)
    kind = "first" if number == 0 else "appeal"
    return Look(number=number, attempt=number + 1, kind=kind, verdict="regressed", cases=listed, text=text)


def written(data: bytes) -> str:
    return base64.b64encode(zlib.compress(data), b"_.").decode().rstrip("=")


@given(st.lists(st.lists(NAMES, max_size=5), min_size=1, max_size=3), st.text(max_size=100))
def test_what_goes_in_comes_out_of_a_comment_whatever_cases_are_called(cases: list[list[str]], text: str) -> None:
    looks = tuple(look(number, *names, text=text) for number, names in enumerate(cases))
    packed = pack_looks(looks)
    body = f"text\n{Marker('a --> b', 'a' * 40, 7, 1, packed)}"
    marker = find_marker(body)
    assert marker == Marker("a --> b", "a" * 40, 7, 1)
    assert marker is not None and unpack_looks(marker.looks) == looks
    assert body.count("-->") == 1


def test_sentences_are_given_up_before_the_looks_are() -> None:
    noise = "".join(chr(0x4E00 + (number * 7919) % 20_000) for number in range(300))
    many = [look(number, text=noise[number:] + noise[:number]) for number in range(15)]
    packed = pack_looks(many)
    assert 0 < len(packed) <= LIMIT
    assert [each.number for each in unpack_looks(packed)] == list(range(15))


def test_where_there_is_no_room_there_is_nothing() -> None:
    names = ["".join(hashlib.sha512(f"{at} {part}".encode()).hexdigest() for part in range(3)) for at in range(60)]
    assert pack_looks([look(0, *names)]) == ""
    assert pack_looks([]) == ""


@pytest.mark.parametrize(
    "packed",
    [
        "",
        "!!!",
        "AAAA",
        "A" * (LIMIT + 1),
        written(b"[]"),
        written(b"{}"),
        written(b"[" * 5000),
        written(b" " * 300_000),
        written(b'[{"number":0,"attempt":1,"kind":"first","verdict":"fine"}]'),
        written(b'[{"number":1,"attempt":2,"kind":"appeal","verdict":"cleared"},{"number":0,"attempt":1,"kind":"first",'
                b'"verdict":"cleared"}]'),
        written(b'[{"number":0,"attempt":1,"kind":"first","verdict":"cleared","cases":[{"id":"a","base":[4,3],'
                b'"head":[1,3]}]}]'),
    ],
)  # fmt: skip
def test_what_cannot_be_is_nothing(packed: str) -> None:
    assert unpack_looks(packed) == ()


@given(st.text(alphabet="AZaz09_.", max_size=200))
def test_any_word_is_read_or_is_nothing(packed: str) -> None:
    assert isinstance(unpack_looks(packed), tuple)


def test_sections_of_a_shared_comment_keep_their_own_looks() -> None:
    def text(characters: int, size: int) -> str:
        return "text"

    first = Marker("both", "a" * 40, 7, 1, pack_looks([look(0, "one")]))
    body = merge_body(None, {"one": text}, first).body or ""
    second = Marker("both", "a" * 40, 7, 1, pack_looks([look(0, "two")]))
    body = merge_body(body, {"two": text}, second).body or ""
    for key in ("one", "two"):
        marker = section_marker(body, key)
        assert marker is not None
        assert unpack_looks(marker.looks)[0].cases[0].id == key
    assert find_marker(body) == Marker("both", "a" * 40, 7, 1)
