"""YAML with positions: what was written and where, and the refusal of everything that could exhaust the process."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from repeat_eval.errors import Problem, UserError
from repeat_eval.suite.yaml_source import (
    MAX_BYTES,
    MAX_DEPTH,
    Position,
    Source,
    WrittenFloat,
    WrittenInt,
    parse_yaml,
    plain,
    read_yaml,
)


def parsed(text: str) -> Any:
    return plain(parse_yaml(text, "s.yaml").value)


def problem_of(text: str) -> Problem:
    with pytest.raises(UserError) as caught:
        parse_yaml(text, "s.yaml")
    (problem,) = caught.value.problems
    assert problem.file == "s.yaml"
    return problem


def place(problem: Problem) -> tuple[int | None, int | None]:
    return problem.line, problem.column


# ---- places ----

DOCUMENT = """\
# first line
name: größe   # a comment
cases:
  - id: a
    tags: [x, "y"]
  - {id: b, input: {deep: [1, {er: 2}]}}
"""


@pytest.mark.parametrize(
    ("path", "key", "value"),
    [
        (("name",), (2, 1), (2, 7)),
        (("cases",), (3, 1), (4, 3)),
        (("cases", 0), (4, 5), (4, 5)),
        (("cases", 0, "id"), (4, 5), (4, 9)),
        (("cases", 0, "tags", 1), (5, 15), (5, 15)),
        (("cases", 1), (6, 5), (6, 5)),
        (("cases", 1, "input"), (6, 13), (6, 20)),
        (("cases", 1, "input", "deep", 1, "er"), (6, 32), (6, 36)),
    ],
)
def test_every_key_and_value_knows_its_place(
    path: tuple[str | int, ...], key: tuple[int, int], value: tuple[int, int]
) -> None:
    source = parse_yaml(DOCUMENT, "s.yaml")
    assert source.place(path, of_key=True) == Position(*key)
    assert source.place(path) == Position(*value)


@pytest.mark.parametrize("path", [("cases", 0, "input"), ("cases", 0, "id", "below"), ("cases", 0, 7)])
def test_a_path_that_leads_nowhere_has_the_place_of_what_is_around_it(path: tuple[str | int, ...]) -> None:
    source = parse_yaml(DOCUMENT, "s.yaml")
    assert source.place(path).line == 4


def test_columns_count_characters_and_not_bytes() -> None:
    assert parse_yaml("{größe: ü, b: 1}", "s.yaml").place(("b",), of_key=True) == Position(1, 12)


# ---- scalars ----


@pytest.mark.parametrize("text", ["0.80", "1.", ".5", "8e-1", "+0.8", "0.8000000000000000001"])
def test_a_number_keeps_the_text_in_which_it_was_written(text: str) -> None:
    value = parse_yaml(f"t: {text}", "s.yaml").value["t"]
    assert isinstance(value, WrittenFloat)
    assert value.text == text
    assert value == float(text)


@pytest.mark.parametrize("text", ["80", "-3", "+7", "007"])
def test_a_whole_number_keeps_its_text_too(text: str) -> None:
    value = parse_yaml(f"t: {text}", "s.yaml").value["t"]
    assert isinstance(value, WrittenInt)
    assert value.text == text
    assert value == int(text)


@pytest.mark.parametrize(
    "word", ["yes", "no", "on", "off", "y", "n", "Yes", "NO", "2024-01-01", "1_000", "0x10", "1:30"]
)
def test_what_yaml_1_2_calls_text_is_text(word: str) -> None:
    assert parsed(f"t: {word}") == {"t": word}


@pytest.mark.parametrize(
    ("written", "value"),
    [("true", True), ("False", False), ("null", None), ("~", None), ("", None), ("'true'", "true"), ('"1"', "1")],
)
def test_words_and_quotes_mean_what_they_mean(written: str, value: Any) -> None:
    assert parsed(f"t: {written}") == {"t": value}


def test_a_number_of_forty_digits_and_more_is_text() -> None:
    assert parsed("t: " + "9" * 41) == {"t": "9" * 41}


@pytest.mark.parametrize("word", [".nan", ".inf", "-.INF"])
def test_infinity_and_not_a_number_are_refused(word: str) -> None:
    problem = problem_of(f"a: 1\nt: {word}")
    assert place(problem) == (2, 4)
    assert word in problem.message


def test_a_number_too_large_for_a_float_is_refused() -> None:
    assert "too large" in problem_of("t: 1e999").message


def test_keys_are_text_whatever_they_look_like() -> None:
    assert parsed("{1: a, 0.50: b, true: c, ~: d}") == {"1": "a", "0.50": "b", "true": "c", "null": "d"}


# ---- structure ----


def test_a_key_that_is_there_twice_is_refused_where_it_stands_again() -> None:
    problem = problem_of("a: 1\nb: 2\na: 3\n")
    assert place(problem) == (3, 1)
    assert problem.message == "the key 'a' is there twice (first in line 1)"


def test_a_list_or_mapping_as_a_key_is_refused() -> None:
    assert place(problem_of("? [a]\n: b\n")) == (1, 3)
    assert place(problem_of("? {a: 1}\n: b\n")) == (1, 3)


def test_a_second_document_is_refused() -> None:
    assert place(problem_of("a: 1\n---\nb: 2\n")) == (2, 1)


@pytest.mark.parametrize(
    "tagged", ["!!python/name:os.system ''", "!!binary aGk=", "!own x", "!!set {a}", "!!omap [a: 1]"]
)
def test_tags_are_refused_on_whatever_they_stand(tagged: str) -> None:
    problem = problem_of(f"a: {tagged}")
    assert place(problem) == (1, 4)
    assert "tags are not allowed" in problem.message


def test_the_tag_for_text_is_harmless() -> None:
    assert parsed("a: !!str 80") == {"a": "80"}


def test_nesting_is_bounded() -> None:
    assert parsed("[" * MAX_DEPTH + "]" * MAX_DEPTH)
    assert f"deeper than {MAX_DEPTH}" in problem_of("[" * (MAX_DEPTH + 1)).message
    assert "nest" in problem_of("[" * 100_000).message


# ---- anchors ----


def test_an_alias_stands_for_the_value_of_its_anchor() -> None:
    assert parsed("a: &x [1, 2]\nb: *x\nc: *x\n") == {"a": [1, 2], "b": [1, 2], "c": [1, 2]}


def test_a_merge_fills_in_what_the_mapping_does_not_say() -> None:
    text = "base: &b {x: 1, y: 2}\nmore: &m {y: 3, z: 4}\nown: {y: 9, <<: [*b, *m]}\n"
    assert parsed(text)["own"] == {"y": 9, "x": 1, "z": 4}


def test_what_was_merged_has_the_place_of_where_it_was_written() -> None:
    source = parse_yaml("base: &b {x: 1}\nown:\n  <<: *b\n", "s.yaml")
    assert source.place(("own", "x")) == Position(1, 14)


def test_a_quoted_merge_sign_is_an_ordinary_key() -> None:
    assert parsed("'<<': 3") == {"<<": 3}


@pytest.mark.parametrize("merged", ["3", "text", "[1]", "[[]]"])
def test_only_mappings_can_be_merged(merged: str) -> None:
    assert "takes a mapping" in problem_of(f"<<: {merged}").message


def test_an_alias_without_an_anchor_is_refused() -> None:
    assert problem_of("a: 1\nb: *nowhere\n").message.startswith("uses the alias *nowhere")


@pytest.mark.parametrize("text", ["a: &x {b: *x}", "a: &x [*x]", "&x [[[*x]]]", "a: &x\n  <<: *x\n"])
def test_an_alias_inside_its_own_anchor_is_refused(text: str) -> None:
    assert "inside its own anchor" in problem_of(text).message


@pytest.mark.parametrize("open_close", ["[]", "{}"])
def test_aliases_nested_in_aliases_do_not_exhaust_the_memory(open_close: str) -> None:
    item = ", ".join(["*a{0}"] * 10) if open_close == "[]" else ", ".join(f"k{n}: *a{{0}}" for n in range(10))
    lines = ["a0: &a0 [lol, lol, lol]"]
    lines += [f"a{n + 1}: &a{n + 1} {open_close[0]}{item.format(n)}{open_close[1]}" for n in range(30)]
    problem = problem_of("\n".join(lines))
    assert "aliases nested in aliases" in problem.message
    assert problem.line == 7


# ---- files ----


def refused(path: Path) -> Problem:
    with pytest.raises(UserError) as caught:
        read_yaml(path)
    (problem,) = caught.value.problems
    assert problem.file == str(path)
    return problem


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_bytes(b"\xef\xbb\xbfname: x\n")
    source = read_yaml(path)
    assert plain(source.value) == {"name": "x"}
    assert source.place(("name",), of_key=True) == Position(1, 1)


def test_windows_line_ends_are_line_ends(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_bytes(b"a: 1\r\nb: 2\r\n")
    assert read_yaml(path).place(("b",)) == Position(2, 4)


@pytest.mark.parametrize("content", [b"", b"\n\n", b"# nothing but a comment\n"])
def test_a_file_with_nothing_in_it_is_empty(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "s.yaml"
    path.write_bytes(content)
    assert refused(path).message == "is empty"


def test_bytes_that_are_no_text_are_refused_with_their_line(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_bytes(b"name: x\nrest: \xff\xfe\x00")
    problem = refused(path)
    assert "not UTF-8" in problem.message
    assert problem.line == 2


@pytest.mark.parametrize("character", ["\0", "\x1b", "\x7f", "\ufffe"])
def test_control_characters_are_refused_at_their_place(tmp_path: Path, character: str) -> None:
    path = tmp_path / "s.yaml"
    path.write_text(f"größe: ü\nname: é{character}b\n", encoding="utf-8")
    problem = refused(path)
    assert f"code {ord(character):#04x}" in problem.message
    assert place(problem) == (2, 8)


def test_a_tab_as_indentation_is_called_a_tab(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_text("cases:\n\t- id: a\n", encoding="utf-8")
    problem = refused(path)
    assert problem.message == "is not valid YAML: a tab; YAML is indented with blanks"
    assert place(problem) == (2, 1)


def test_a_file_too_large_is_refused_without_being_read(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    with path.open("wb") as file:
        file.truncate(50_000_000)
    assert "50 MB, allowed are 16" in refused(path).message
    assert MAX_BYTES < 50_000_000


def make_folder(path: Path) -> None:
    path.mkdir()


def make_nothing(path: Path) -> None:
    """Leave the path as it is."""


def make_link_to_itself(path: Path) -> None:
    path.symlink_to(path)


def make_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        here = Path.cwd()
        os.chdir(path.parent)  # the name of a socket must be short
        try:
            server.bind(path.name)
        finally:
            os.chdir(here)


@pytest.mark.parametrize("make", [make_folder, make_nothing, make_link_to_itself, make_socket])
def test_what_is_no_file_is_refused_in_a_sentence(tmp_path: Path, make: Callable[[Path], None]) -> None:
    path = tmp_path / "s.yaml"
    make(path)
    assert refused(path).message


def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    os.mkfifo(path)
    assert "is not a file" in refused(path).message


# ---- properties ----

# Texts like 0E0 or 0o7 are numbers in YAML 1.2, and the writer of these tests, which knows 1.1, does not quote them.
NUMBER_LIKE = re.compile(r"[-+]?(?:0[xo])?[0-9a-fA-F._]+(?:[eE][-+]?[0-9]+)?")
NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\x85\u2028\u2029\ufeff"), max_size=20).filter(
    lambda text: NUMBER_LIKE.fullmatch(text) is None
)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | NAMES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=20,
)


@given(JSON)
@example({"<<": "kept in quotes"})
@example({"=": 1})
@example(["1.5", "0x1f", "12"])
def test_any_json_value_that_yaml_can_hold_comes_back_the_same(value: Any) -> None:
    text = yaml.safe_dump(value, allow_unicode=True)
    assert parsed(text) == value


@given(st.text(max_size=200))
@example("a: 'b\n")
@example("\t\n")
@example("%YAML 1.1\n---\n[")
@example("&a *a")
@example("? ? ?")
def test_arbitrary_text_is_parsed_or_refused_in_a_sentence(text: str) -> None:
    try:
        source = parse_yaml(text, "s.yaml")
    except UserError as error:
        for problem in error.problems:
            assert problem.file == "s.yaml"
            assert "\n" not in problem.message
    else:
        assert isinstance(source, Source)


@given(st.text(alphabet="ab:&*<>[]{},-?|'\"#%!~ \n0.", max_size=120))
def test_text_that_looks_like_yaml_is_parsed_or_refused_in_a_sentence(text: str) -> None:
    try:
        source = parse_yaml(text, "s.yaml")
    except UserError as error:
        assert error.problems
    else:
        plain(source.value)


@given(st.binary(max_size=100))
def test_arbitrary_bytes_are_read_or_refused(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "bytes.yaml"
    path.write_bytes(data)
    try:
        read_yaml(path)
    except UserError as error:
        assert len(error.problems) == 1
