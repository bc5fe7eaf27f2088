"""matches and json_schema: assertions on the output as JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repeat_eval.suite.checks import Answer, NoVerdict, Observation, Score, find_check
from repeat_eval.suite.checks._values import difference
from repeat_eval.suite.checks.arguments import problems, validate_argument

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
KEYS = st.text(max_size=3).filter(lambda key: key != "regex")
JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=12
)


def judged(kind: str, argument: Any, output: Any) -> Score:
    cls = find_check(kind)
    assert cls is not None
    assert problems(cls, argument) == []
    observation = Observation(case="c", repetition=1, input=None, answer=Answer(output=output), duration=0.1)
    return cls(validate_argument(cls, argument)).evaluate(observation)


def faults(kind: str, argument: Any) -> list[str]:
    cls = find_check(kind)
    assert cls is not None
    return problems(cls, argument)


@st.composite
def value_and_subset(draw: st.DrawFn, value: Any = None, depth: int = 0) -> tuple[Any, Any]:
    """A value, and the same with some keys of its mappings left out, at any depth."""
    whole = draw(JSON) if depth == 0 else value
    if isinstance(whole, dict):
        kept = {key: item for key, item in whole.items() if draw(st.booleans())}
        return whole, {key: draw(value_and_subset(item, depth + 1))[1] for key, item in kept.items()}
    if isinstance(whole, list):
        return whole, [draw(value_and_subset(item, depth + 1))[1] for item in whole]
    return whole, whole


@given(JSON)
def test_every_value_matches_itself(value: Any) -> None:
    assert difference(value, value) is None
    assert difference(value, value, exact=True) is None
    assert difference(value, json.loads(json.dumps(value)), exact=True) is None


@given(value_and_subset())
def test_leaving_out_expected_keys_keeps_a_match(pair: tuple[Any, Any]) -> None:
    whole, part = pair
    assert difference(part, whole) is None


@given(st.data())
def test_the_deep_subset_is_transitive(data: st.DataObject) -> None:
    whole, part = data.draw(value_and_subset())
    _, smaller = data.draw(value_and_subset(part, 1))
    assert difference(smaller, part) is None
    assert difference(smaller, whole) is None


@given(JSON, JSON)
def test_two_values_that_are_parts_of_each_other_are_equal(left: Any, right: Any) -> None:
    both = difference(left, right) is None and difference(right, left) is None
    assert both == (difference(left, right, exact=True) is None)


def test_matches_looks_at_the_expected_keys_only() -> None:
    output = '{"decision": "refund", "amount": 40.0, "lines": [{"sku": "A", "count": 1}]}'
    assert judged("matches", {"amount": 40, "lines": [{"sku": "A"}]}, output).passed


@pytest.mark.parametrize(
    ("expected", "output", "message"),
    [
        ({"a": 1}, {"b": 2}, "at $: `a` is missing; there is `b`"),
        ({"a": 1}, {}, "at $: `a` is missing; there is no key"),
        ({"a": {"b": True}}, {"a": {"b": 1}}, "at $.a.b: expected true, got 1"),
        ({"a": [1, 2]}, {"a": [1]}, "at $.a: expected a list of 2, got one of 1"),
        ({"a": [{"b": 1}]}, {"a": [{"b": "x"}]}, 'at $.a[0].b: expected 1, got "x"'),
        ({"a": 1}, [1], "at $: expected a mapping, got [1]"),
        ([1], {"a": 1}, "at $: expected a list, got {a: 1}"),
        ({"a": {"regex": "^x"}}, {"a": "yx"}, 'at $.a: "yx" does not have the pattern `^x`'),
        ({"a": {"regex": "1"}}, {"a": 1}, "at $.a: expected a text with the pattern `1`, got 1"),
    ],
)
def test_matches_says_where_the_first_difference_is(expected: Any, output: Any, message: str) -> None:
    assert judged("matches", expected, output) == Score(False, 0.0, message)


def test_matches_reads_a_pattern_only_where_it_is_written_as_one() -> None:
    assert judged("matches", {"id": {"regex": r"^RF-\d+$"}}, {"id": "RF-12"}).passed
    assert not judged("matches", {"id": r"^RF-\d+$"}, {"id": "RF-12"}).passed
    assert judged("matches", {"id": {"regex": {"regex": "a"}}}, {"id": {"regex": "cat"}}).passed


def test_an_output_that_is_not_json_fails_and_is_shown() -> None:
    for kind, argument in (("matches", {"a": 1}), ("json_schema", {"type": "object"})):
        score = judged(kind, argument, "Sorry!")
        assert not score.passed
        assert score.message is not None
        assert score.message.startswith("output is not JSON (")
        assert score.message.endswith('"Sorry!"')


@pytest.mark.parametrize("text", ["[" * 100_000, "9" * 100_000, '{"a":' * 100_000, "\ud800", "", "{", "NaN"])
def test_hostile_outputs_fail_quietly(text: str) -> None:
    for kind, argument in (("matches", {"a": 1}), ("json_schema", {"type": "object"}), ("equals", {"a": 1})):
        score = judged(kind, argument, text)
        assert not score.passed
        assert score.message is not None
        assert len(score.message) < 500


@pytest.mark.parametrize(
    ("argument", "fault"),
    [
        ("text", "takes a mapping or a list; found the text `text`"),
        (3, "found the number 3"),
        ({}, "is empty, which every output matches"),
        ({1: 2}, "keys must be texts, found the number 1"),
        ({"a": {2: 2}}, "keys must be texts, found the number 2"),
        ({"a": float("inf")}, "inf is not a number that JSON has"),
        ({"a": {"regex": "("}}, "the pattern `(` is not a regular expression"),
        ([{1}], "a set is not a JSON value"),
    ],
)
def test_matches_refuses_what_no_output_can_match(argument: Any, fault: str) -> None:
    (found,) = faults("matches", argument)
    assert fault in found


def test_expected_values_that_are_too_deep_or_endless_are_refused_at_once() -> None:
    deep: Any = {}
    for _ in range(101):
        deep = {"a": deep}
    laughs: Any = ["ha"]
    for _ in range(60):
        laughs = [laughs] * 10
    endless: dict[str, Any] = {}
    endless["a"] = endless
    assert "nested deeper than 100 levels" in faults("matches", deep)[0]
    assert faults("equals", laughs) == []
    for kind in ("equals", "json_schema"):
        assert "nested deeper than 100 levels" in faults(kind, endless)[0]


SCHEMA = {
    "type": "object",
    "required": ["decision", "amount"],
    "properties": {"decision": {"enum": ["refund", "escalate"]}, "amount": {"$ref": "#/$defs/money"}},
    "$defs": {"money": {"type": "number", "minimum": 0}},
}


def test_json_schema_holds_for_a_valid_output_as_text_or_value() -> None:
    assert judged("json_schema", SCHEMA, '{"decision": "refund", "amount": 12.5}').passed
    assert judged("json_schema", SCHEMA, {"decision": "escalate", "amount": 0}).passed
    assert judged("json_schema", {"type": "null"}, None).passed


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ({"decision": "refund"}, "at $: 'amount' is a required property"),
        ({"decision": "refund", "amount": -1}, "at $.amount: -1 is less than the minimum of 0"),
        ({"decision": "maybe", "amount": 1}, "at $.decision: 'maybe' is not one of ['refund', 'escalate']"),
    ],
)
def test_json_schema_says_where_and_why(output: Any, message: str) -> None:
    assert judged("json_schema", SCHEMA, output) == Score(False, 0.0, message)


def test_json_schema_does_not_repeat_a_huge_output() -> None:
    message = judged("json_schema", {"properties": {"a": {"type": "number"}}}, {"a": "x" * 1_000_000}).message
    assert message is not None
    assert len(message) < 400


@pytest.mark.parametrize(
    ("argument", "fault"),
    [
        ("object", "takes a JSON Schema, as a mapping; found the text `object`"),
        ({}, "is an empty schema"),
        ({"type": "objekt"}, "is not a JSON Schema: at $.type"),
        ({"properties": []}, "is not a JSON Schema: at $.properties"),
        ({"$schema": "https://example.org/mine"}, "names the unknown draft"),
        ({"$schema": ["draft"]}, "is not a JSON Schema: at $['$schema']"),
        ({"$ref": "https://example.org/money.json"}, "refers to `https://example.org/money.json`"),
        ({"items": {"$ref": "#/$defs/nothing"}}, "refers to `#/$defs/nothing`"),
        ({"patternProperties": {"(": {}}}, "the pattern `(` is not a regular expression"),
        ({"properties": {"a": {"pattern": "("}}}, "the pattern `(` is not a regular expression"),
    ],
)
def test_a_schema_that_is_none_is_found_when_the_suite_is_loaded(argument: Any, fault: str) -> None:
    (found,) = faults("json_schema", argument)
    assert fault in found


def test_json_schema_knows_older_drafts_by_name() -> None:
    tuple_of_two = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "items": [{"type": "string"}, {"type": "number"}],
    }
    assert judged("json_schema", tuple_of_two, ["a", 1]).passed
    assert not judged("json_schema", tuple_of_two, ["a", "b"]).passed


def test_keywords_inside_data_are_no_references() -> None:
    schema = {"const": {"$ref": "https://example.org/a"}, "properties": {"$ref": {"type": "string"}}}
    assert judged("json_schema", schema, {"$ref": "https://example.org/a"}).passed


def test_a_schema_that_refers_to_itself_without_end_gives_no_verdict() -> None:
    with pytest.raises(NoVerdict, match="refers to itself without end"):
        judged("json_schema", {"$ref": "#"}, 1)


def test_a_runaway_pattern_in_a_schema_gives_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("repeat_eval.suite.checks._patterns.TIMEOUT", 0.2)
    with pytest.raises(NoVerdict, match="took longer"):
        judged("json_schema", {"properties": {"a": {"pattern": "(a+)+$"}}}, {"a": "a" * 5000 + "b"})


def test_patterns_in_a_schema_know_unicode_classes() -> None:
    assert judged("json_schema", {"items": {"pattern": r"^\p{Lu}"}}, ["Émile"]).passed
