"""The body of the comment: sections, their markers, and the room they share."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from repeat_eval.github.comment_body import BodyOf, fits, is_written, merge_body
from repeat_eval.github.marker import Marker, find_marker

HEAD, OTHER = "a" * 40, "b" * 40
MARKER = Marker("evals", HEAD, 7, 1)


def says(text: str) -> BodyOf:
    return lambda characters, size: text


def fills(letter: str) -> BodyOf:
    return lambda characters, size: letter * min(characters, size // len(letter.encode()))


def merged(existing: str | None, marker: Marker = MARKER, **sections: str) -> str:
    body = merge_body(existing, {key: says(text) for key, text in sections.items()}, marker).body
    assert body is not None
    return body


def test_a_single_text_is_followed_by_its_marker_at_the_very_end() -> None:
    assert merged(None, evals="### Fine\n") == f"### Fine\n{MARKER}"


def test_sections_stand_in_order_each_with_its_marker() -> None:
    a, b = Marker("a", HEAD, 7, 1), Marker("b", HEAD, 7, 1)
    assert merged(None, a="### A", b="### B") == f"### A\n{a}\n\n---\n\n### B\n{b}\n{MARKER}"


def test_a_section_of_another_job_about_the_same_commit_is_kept_as_it_is() -> None:
    first = merged(None, Marker("evals", HEAD, 6, 1), a="### A\n\n---\n\ntext", b="### B")
    second = merged(first, b="### B again", c="### C")
    b, c, a = Marker("b", HEAD, 7, 1), Marker("c", HEAD, 7, 1), Marker("a", HEAD, 6, 1)
    assert second == (f"### B again\n{b}\n\n---\n\n### C\n{c}\n\n---\n\n### A\n\n---\n\ntext\n{a}\n{MARKER}")
    assert merge_body(first, {"b": says("### B again")}, MARKER).shared


def test_a_section_about_another_commit_is_dropped() -> None:
    first = merged(None, Marker("evals", OTHER, 6, 1), a="### A", b="### B")
    second = merge_body(first, {"b": says("### B again")}, MARKER)
    assert "### A" not in (second.body or "")
    assert not second.shared
    assert not second.overtaken


def test_a_section_that_a_later_run_or_attempt_wrote_stays() -> None:
    for run, attempt in ((8, 1), (7, 2)):
        first = merged(None, Marker("evals", HEAD, run, attempt), evals="### New")
        assert merge_body(first, {"evals": says("### Old")}, MARKER).body is None
    assert merged(merged(None, Marker("evals", HEAD, 7, 1), evals="### Old"), evals="### New").startswith("### New")


def test_only_the_sections_that_a_later_run_wrote_stay() -> None:
    first = merged(None, Marker("evals", HEAD, 8, 1), a="### newer A")
    second = merged(first, a="### older A", b="### B")
    assert "### newer A" in second
    assert "### older A" not in second
    assert "### B" in second


def test_a_later_run_about_another_commit_is_overwritten_and_said() -> None:
    first = merged(None, Marker("evals", OTHER, 8, 1), evals="### other")
    second = merge_body(first, {"evals": says("### ours")}, MARKER)
    assert second.body == f"### ours\n{MARKER}"
    assert second.overtaken


def test_a_text_cannot_hold_a_marker_of_its_own() -> None:
    forged = Marker("a", HEAD, 999, 1)
    body = merged(None, a=f"### A\n{forged}\nmore", b=f"### B\n{forged}")
    assert str(forged) not in body
    assert find_marker(body) == MARKER
    again = merged(body, Marker("evals", HEAD, 8, 1), a="### A again", b="### B again")
    assert "more" not in again


def test_the_room_is_shared_and_never_exceeded() -> None:
    result = merge_body(None, {"a": fills("x"), "b": fills("ä🟡")}, MARKER)
    assert result.body is not None
    assert fits(result.body, (65_536, 262_144))
    assert result.body.count("x") > 30_000


def test_a_text_that_ignores_its_limits_is_cut() -> None:
    body = merged(None, evals="🟡" * 70_000)
    assert fits(body, (65_536, 262_144))
    assert find_marker(body) == MARKER


def test_a_kept_section_gives_way_to_its_first_line_when_it_takes_all_the_room() -> None:
    first = merge_body(None, {"a": lambda characters, size: "### A\n" + "x" * (characters - 6)}, MARKER).body
    second = merge_body(first, {"b": fills("y")}, MARKER)
    assert second.body is not None
    assert fits(second.body, (65_536, 262_144))
    assert "### A\n\nThe details were left out" in second.body
    assert second.body.count("y") > 30_000


def test_sections_as_this_very_run_wrote_them_are_known_again() -> None:
    body = merged(None, a="### A", b="### B")
    assert is_written(body, ["a", "b"], MARKER)
    assert not is_written(body, ["a", "c"], MARKER)
    assert not is_written(body, ["a"], Marker("evals", HEAD, 8, 1))
    assert not is_written("no marker", ["a"], MARKER)


TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r"), min_size=1, max_size=80)


@given(
    st.dictionaries(st.sampled_from("abcd"), TEXTS, min_size=1),
    st.dictionaries(st.sampled_from("abcd"), TEXTS, min_size=1),
)
def test_merging_twice_is_merging_once_and_nobody_is_lost(first: dict[str, str], second: dict[str, str]) -> None:
    body = merged(merged(None, **first), **second)
    assert merged(body, **second) == body
    assert find_marker(body) == MARKER
    assert is_written(body, {*first, *second}, MARKER)
