"""The entries of `expect:`: one check each, with its options, and every fault of an entry."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repeat_eval.suite.expect import make_checks


def only_fault(entry: Any) -> tuple[tuple[str | int, ...], bool, str]:
    checks, faults = make_checks([entry])
    assert checks == []
    (fault,) = faults
    return fault


def test_an_entry_is_one_check_with_its_options() -> None:
    ((check,), faults) = make_checks(
        [{"contains": "30 days", "name": "names the window", "weight": 2, "pass_score": 0}]
    )
    assert faults == []
    assert (check.name, check.weight, check.pass_score) == ("names the window", 2.0, 0.0)
    assert check.check.kind == "contains"


def test_without_options_a_check_is_called_by_its_kind_and_weighs_one() -> None:
    ((check,), _) = make_checks([{"max_turns": 3}])
    assert (check.name, check.weight, check.pass_score) == ("max_turns", 1.0, None)


def test_an_option_without_a_value_is_as_good_as_absent() -> None:
    ((check,), faults) = make_checks([{"max_turns": 3, "name": None, "weight": None, "pass_score": None}])
    assert faults == []
    assert (check.name, check.weight, check.pass_score) == ("max_turns", 1.0, None)


def test_checks_of_one_name_are_counted() -> None:
    checks, _ = make_checks([{"contains": "a"}, {"contains": "b"}, {"regex": "c", "name": "contains"}])
    assert [check.name for check in checks] == ["contains", "contains #2", "contains #3"]


def test_an_unknown_check_names_the_nearest_one_and_all() -> None:
    path, of_key, text = only_fault({"contians": "x"})
    assert (path, of_key) == ((0, "contians"), True)
    assert text.startswith("unknown check 'contians'; did you mean 'contains'? Known checks: equals, contains, ")


def test_two_checks_in_one_entry_are_refused_at_the_second() -> None:
    path, of_key, text = only_fault({"contains": "x", "regex": "y"})
    assert (path, of_key) == ((0, "regex"), True)
    assert text == "one check an entry; found contains and regex: write each as an item of its own"


@pytest.mark.parametrize(
    ("entry", "found"), [("contains", "'contains'"), (3, "3"), (None, "nothing"), ([{"contains": "x"}], "a list")]
)
def test_an_entry_that_is_no_mapping_is_refused(entry: Any, found: str) -> None:
    assert only_fault(entry) == ((0,), False, f"a check is a mapping such as `contains: text`; found {found}")


@pytest.mark.parametrize("entry", [{}, {"name": "x"}, {"weight": 2, "pass_score": 1}])
def test_an_entry_without_a_check_is_refused(entry: Any) -> None:
    assert only_fault(entry)[2].startswith("names no check; known checks: equals, ")


@pytest.mark.parametrize("weight", [0, -1, "2", True, float("nan"), float("inf"), [1], 1e7])
def test_a_weight_is_a_number_above_zero(weight: Any) -> None:
    path, _, text = only_fault({"contains": "x", "weight": weight})
    assert path == (0, "weight")
    assert text.startswith("`weight` must be a number above 0; found ")


@pytest.mark.parametrize("pass_score", [-0.1, 1.1, "half", True, float("nan")])
def test_a_pass_score_is_a_number_from_zero_to_one(pass_score: Any) -> None:
    path, _, text = only_fault({"contains": "x", "pass_score": pass_score})
    assert path == (0, "pass_score")
    assert text.startswith("`pass_score` must be a number from 0 to 1; found ")


@pytest.mark.parametrize("name", ["", 3, "x" * 201, ["a"]])
def test_a_name_is_a_short_text(name: Any) -> None:
    path, _, text = only_fault({"contains": "x", "name": name})
    assert path == (0, "name")
    assert text.startswith("`name` must be a text of 1 to 200 characters; found ")


def test_every_fault_of_every_entry_is_found() -> None:
    _, faults = make_checks([{"contians": "x", "weight": 0}, {"regex": "(", "name": 3}, {"contains": "fine"}, "text"])
    assert [path for path, _, _ in faults] == [(0, "weight"), (0, "contians"), (1, "name"), (1, "regex"), (3,)]


@given(
    st.lists(
        st.dictionaries(
            st.sampled_from(["contains", "regex", "equals", "matches", "json_schema", "name", "weight", "other"])
            | st.text(max_size=5),
            st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.lists(st.integers()),
            max_size=3,
        )
        | st.text(),
        max_size=4,
    )
)
def test_any_entries_give_checks_or_faults_and_nothing_is_lost(expect: list[Any]) -> None:
    checks, faults = make_checks(expect)
    entries_at_fault = {path[0] for path, _, _ in faults}
    assert len(checks) + len(entries_at_fault) == len(expect)
    for _, _, text in faults:
        assert text
