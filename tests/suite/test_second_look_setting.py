"""The setting `second-look`: the words, the mapping, what is refused and how, and what could never work."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repeat_eval.suite.second_look import WORDS, SecondLookChoice, impossible, parse_second_look
from repeat_eval.suite.yaml_source import read_yaml

ACCEPTED: list[tuple[Any, SecondLookChoice]] = [
    ("off", SecondLookChoice(enabled=False)),
    ("3+10", SecondLookChoice(first=3, fresh=10)),
    (" 3+20 ", SecondLookChoice()),
    ("5+20", SecondLookChoice(first=5, fresh=20)),
    ("both", SecondLookChoice(both=True)),
    ({"first": 4}, SecondLookChoice(first=4)),
    ({"fresh": "15", "cap": 2}, SecondLookChoice(fresh=15, cap=2)),
    ({"cut": 0.12, "alarm": 0}, SecondLookChoice(cut=0.12, alarm=0.0)),
    ("{first: 4, fresh: 15}", SecondLookChoice(first=4, fresh=15)),
    ("first=4,cut=0.2", SecondLookChoice(first=4, cut=0.2)),
]


@pytest.mark.parametrize(("value", "choice"), ACCEPTED, ids=lambda value: repr(value)[:30])
def test_the_setting_takes(value: Any, choice: SecondLookChoice) -> None:
    assert parse_second_look(value) == choice


REFUSED: list[tuple[Any, str]] = [
    ("on", "must be off, 3+10, 3+20, 5+20, both, or a mapping with first, fresh, cut, alarm and cap; found 'on'"),
    ("3 + 20", "found '3 + 20'"),
    ("", "found ''"),
    (True, "found true"),
    (10, "found 10"),
    ([3, 20], "found a list"),
    (None, "found nothing"),
    ({}, "is empty; write for instance {first: 3, fresh: 20}"),
    ({"frist": 3}, "did you mean 'first'?"),
    ({"first": 0}, "`first` must be a whole number from 1 to 1,000, for instance 3; found 0"),
    ({"fresh": 2.5}, "`fresh` must be a whole number"),
    ({"fresh": True}, "found true"),
    ({"fresh": "٣"}, "found '٣'"),
    ({"cut": 0}, "`cut` must be a share from 0.001 to 0.5, for instance 0.30; found 0"),
    ({"cut": "nan"}, "found 'nan'"),
    ({"alarm": 0.51}, "0 switches the alarm off; found 0.51"),
    ({"cap": None}, "`cap` must be a whole number"),
    ("first=4,first=5", "must be off"),
    ("first=4,fresh", "must be off"),
]


@pytest.mark.parametrize(("value", "sentence"), REFUSED, ids=lambda value: repr(value)[:30])
def test_the_setting_refuses(value: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=r".") as raised:
        parse_second_look(value)
    assert sentence in str(raised.value)


def test_all_that_is_wrong_with_a_mapping_is_said_at_once() -> None:
    with pytest.raises(ValueError, match=r"`first` .*; unknown key 'speed'.*; `alarm` "):
        parse_second_look({"first": -1, "speed": 3, "alarm": "x"})


@pytest.mark.parametrize(
    ("line", "choice"),
    [
        ("off", WORDS["off"]),
        ("3+10", WORDS["3+10"]),
        ("{first: 3, fresh: 12, cut: 0.30, alarm: 0.10, cap: 4}", SecondLookChoice(fresh=12, cap=4)),
    ],
)
def test_it_is_read_from_a_suite_file_as_written_there(tmp_path: Path, line: str, choice: SecondLookChoice) -> None:
    path = tmp_path / "suite.yaml"
    path.write_text(f"second-look: {line}\n", encoding="utf-8")
    assert parse_second_look(read_yaml(path).value["second-look"]) == choice


@given(st.one_of(st.text(max_size=40), st.integers(), st.floats(), st.dictionaries(st.text(max_size=6), st.text())))
def test_whatever_is_written_gives_a_choice_or_a_sentence(value: Any) -> None:
    try:
        parse_second_look(value)
    except ValueError as error:
        assert "found" in str(error) or "unknown key" in str(error) or "is empty" in str(error)


def test_the_looks_have_the_gates_alpha() -> None:
    looks = WORDS["5+20"].looks("0.01", "screen")
    assert looks is not None
    assert (looks.alpha, looks.n1, looks.n2, looks.n3, looks.mode) == (0.01, 5, 20, 5, "screen")
    assert WORDS["off"].looks("0.05") is None


def test_what_could_never_find_anything_is_said_with_the_number_that_works() -> None:
    assert impossible(SecondLookChoice(fresh=2), "0.05") == (
        "with `fresh: 2` no case can be found regressed at alpha 0.05; from 3 on it can"
    )
    assert impossible(SecondLookChoice(first=1, cut=0.2), "0.05") == (
        "with `first: 1` and `cut: 0.2` no case can be suspected; a cut from 0.25 on lets through the cases that "
        "failed every trial"
    )
    assert impossible(SecondLookChoice(first=3, cut=0.025), "0.05") is None
    assert all(impossible(choice, alpha) is None for choice in WORDS.values() for alpha in ("0.05", "0.01"))
