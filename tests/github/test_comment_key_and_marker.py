"""Telling comments apart, and finding ours again."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repeat_eval.github.key import MAX_KEY, comment_key, matrix_values
from repeat_eval.github.marker import Marker, find_marker, is_newer

NOW, BEFORE = "a" * 40, "b" * 40
ANY_TEXT = st.text(st.characters(), max_size=60)
MARKERS = st.builds(
    Marker,
    key=ANY_TEXT,
    head=st.sampled_from([NOW, BEFORE, "1234567"]),
    run=st.integers(0, 10**18 - 1),
    attempt=st.integers(0, 999),
)


def test_the_marker_is_readable() -> None:
    assert str(Marker("refunds", "a1b2c3d", 123, 1)) == (
        "<!-- repeat-eval v1 key=refunds head=a1b2c3d run=123 attempt=1 -->"
    )


@given(MARKERS, st.text(max_size=200))
def test_what_is_written_at_the_end_is_found_again(marker: Marker, text: str) -> None:
    assert find_marker(f"{text}\n{marker}") == marker
    assert find_marker(f"{text}\r\n{marker}\r\n \n") == marker


@given(MARKERS)
def test_no_key_ends_the_hidden_line_early(marker: Marker) -> None:
    line = str(marker)
    assert line.isascii()
    assert len(line.splitlines()) == 1
    assert "--" not in line[4:-3]
    assert "<" not in line[1:]
    assert ">" not in line[:-1]


@given(MARKERS, st.text(min_size=1, max_size=50).filter(str.strip))
def test_a_marker_that_is_not_at_the_end_is_quoted_text(marker: Marker, text: str) -> None:
    assert find_marker(f"{marker}\n{text}") is None
    assert find_marker(f"> {marker}") is None
    assert find_marker(f"{marker}{marker}") is None


@given(st.text(max_size=300))
def test_any_body_can_be_searched(body: str) -> None:
    assert find_marker(body) is None or "repeat-eval" in body


@pytest.mark.parametrize(
    "line",
    [
        "<!-- repeat-eval v2 key=refunds head=a1b2c3d run=123 attempt=1 -->",
        "<!-- repeat-eval v1 key=%FF head=a1b2c3d run=123 attempt=1 -->",
        "<!-- repeat-eval v1 key=a b head=a1b2c3d run=123 attempt=1 -->",
        "<!-- repeat-eval v1 key=a head=main run=123 attempt=1 -->",
        f"<!-- repeat-eval v1 key=a head=a1b2c3d run={'9' * 5000} attempt=1 -->",
        "<!-- repeat-eval v1 key=a head=a1b2c3d run=1 attempt=1 --> -->",
    ],
)
def test_what_only_looks_like_a_marker_is_none(line: str) -> None:
    assert find_marker(line) is None


def test_a_later_version_may_add_to_the_marker() -> None:
    line = "<!-- repeat-eval v1 key=a head=a1b2c3d run=1 attempt=2 look=2 -->"
    assert find_marker(line) == Marker("a", "a1b2c3d", 1, 2)


def test_the_current_head_comes_before_run_and_run_before_attempt() -> None:
    order = [Marker("k", BEFORE, 9, 9), Marker("k", NOW, 1, 5), Marker("k", NOW, 2, 1), Marker("k", NOW, 2, 2)]
    for place, older in enumerate(order):
        for newer in order[place + 1 :]:
            assert is_newer(newer, older, NOW)
            assert not is_newer(older, newer, NOW)


@given(MARKERS, MARKERS)
def test_of_two_markers_at_most_one_is_newer(one: Marker, other: Marker) -> None:
    assert not (is_newer(one, other, NOW) and is_newer(other, one, NOW))


@pytest.mark.parametrize("head", ["", "main", "A" * 40, "a" * 65])
def test_a_marker_needs_a_commit(head: str) -> None:
    with pytest.raises(ValueError, match="needs a commit"):
        Marker("k", head, 1, 1)


def test_the_key_is_the_suites_name_and_the_matrix() -> None:
    matrix = matrix_values('{"python": 3.13, "model": "small", "os": {"b": 1, "a": null}}').items()
    assert comment_key(["refunds"]) == "refunds"
    assert comment_key(["refunds"], matrix) == 'refunds [model=small, os={"a":null,"b":1}, python=3.13]'
    assert comment_key(["b", "a", "b"]) == comment_key(["a", "b"]) == "a + b"
    assert comment_key(["refunds"], matrix, "  nightly ") == "nightly"


@pytest.mark.parametrize("text", [None, "", " \n", "null", "{}"])
def test_a_job_without_a_matrix_has_no_values(text: str | None) -> None:
    assert matrix_values(text) == {}


@pytest.mark.parametrize("text", ["[1]", "small", "3", "{"])
def test_a_matrix_that_is_no_object_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="must be the job's matrix"):
        matrix_values(text)


@given(st.dictionaries(st.text(max_size=5), st.text(max_size=300), max_size=4))
def test_keys_are_bounded_and_stay_different(matrix: dict[str, str]) -> None:
    key = comment_key(["refunds"], matrix_values(json.dumps(matrix)).items())
    assert len(key) <= MAX_KEY
    longer = {**matrix, "added": "x" * 300}
    assert comment_key(["refunds"], matrix_values(json.dumps(longer)).items()) != key or longer == matrix


def test_a_long_key_ends_in_a_hash_of_the_whole() -> None:
    one, other = comment_key(["x" * 300 + "1"]), comment_key(["x" * 300 + "2"])
    assert one != other
    assert re.fullmatch(r"x+-[0-9a-f]{16}", one)
