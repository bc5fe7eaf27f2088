"""equals, contains, not_contains and regex: assertions on the output as text."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repeat_eval.suite.checks import Answer, NoVerdict, Observation, Score, find_check
from repeat_eval.suite.checks.arguments import problems, validate_argument


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


@pytest.mark.parametrize(
    ("argument", "output"),
    [
        ("yes", "yes"),
        ("4", 4),
        (4, "4"),
        (4, 4.0),
        (None, "null"),
        ({"a": [1, {"b": None}]}, '{"a": [1, {"b": null}]}'),
        ({"a": 1}, {"a": 1}),
        ({"value": "YES", "ignore_case": True}, "yes"),
        ({"value": "STRASSE", "ignore_case": True}, "straße"),
        ({"value": "yes", "strip": True}, " yes\n"),
        ({"value": {"value": 3}}, {"value": 3}),
        ("", ""),
    ],
)
def test_equals_holds_for_the_same_text_or_json_value(argument: Any, output: Any) -> None:
    assert judged("equals", argument, output) == Score(True, 1.0)


@pytest.mark.parametrize(
    ("argument", "output", "message"),
    [
        ("yes", "yes\n", 'expected "yes", got "yes\\n"'),
        (True, 1, "at $: expected true, got 1"),
        (1, "true", "at $: expected 1, got true"),
        ({"a": 1}, {"a": 1, "b": 2}, "at $: `b` not expected"),
        ({"a": {"b": 1}}, {"a": {"b": 2}}, "at $.a.b: expected 1, got 2"),
        ([1, 2], [1], "at $: expected a list of 2, got one of 1"),
        ({"a": 1}, "sorry", 'expected {a: 1}, got text that is not JSON: "sorry"'),
        ({"regex": "a"}, "a", 'expected {regex: "a"}, got text that is not JSON: "a"'),
    ],
)
def test_equals_says_what_was_expected_and_what_came(argument: Any, output: Any, message: str) -> None:
    assert judged("equals", argument, output) == Score(False, 0.0, message)


@pytest.mark.parametrize(
    ("argument", "fault"),
    [
        ({"value": "a", "ignorecase": True}, "unknown option `ignorecase`"),
        ({"value": "a", "strip": "yes"}, "`strip` must be true or false, found the text `yes`"),
        ({"value": 3, "strip": True}, "need a text as `value`, found the number 3"),
        (float("nan"), "nan is not a number that JSON has"),
        ({1: 2}, "keys must be texts, found the number 1"),
        ({"a": {1, 2}}, "a set is not a JSON value"),
    ],
)
def test_equals_refuses_options_and_values_that_mean_nothing(argument: Any, fault: str) -> None:
    (found,) = faults("equals", argument)
    assert found.startswith("`equals` ")
    assert fault in found


def test_contains_wants_every_text_and_scores_the_share_found() -> None:
    assert judged("contains", "30 days", "within 30 days").passed
    assert judged("contains", ["a", "b", "c", "d"], "a b") == Score(False, 0.5, "output does not contain `c` or `d`")


def test_contains_takes_upper_and_lower_case_for_the_same_only_when_asked() -> None:
    assert not judged("contains", "Refund", "REFUND").passed
    assert judged("contains", {"text": ["Refund", "ÉTÉ"], "ignore_case": True}, "REFUND été").passed


def test_contains_looks_into_values_as_json_and_finds_nothing_in_no_output() -> None:
    assert judged("contains", '"é": 1', {"é": 1}).passed
    assert not judged("contains", "a", None).passed


def test_not_contains_names_what_is_there() -> None:
    assert judged("not_contains", ["a", "b"], "c").passed
    assert judged("not_contains", ["a", "b"], "bc") == Score(False, 0.5, "output contains `b`")


@pytest.mark.parametrize("kind", ["contains", "not_contains"])
@pytest.mark.parametrize(
    ("argument", "fault"),
    [
        (3, "takes a text, a list of texts, or a mapping with `text` and `ignore_case`; found the number 3"),
        (None, "found nothing (null)"),
        (True, "found the value true"),
        ([], "has an empty list"),
        ("", "has an empty text"),
        (["a", 3], "entry 2 must be a text, found the number 3"),
        ({"text": 3}, "`text` must be a text or a list of texts, found the number 3"),
        ({"text": "a", "ignor_case": True}, "unknown option `ignor_case`; did you mean `ignore_case`?"),
        ({"text": "a", "ignore_case": "yes"}, "`ignore_case` must be true or false, found the text `yes`"),
        ({"ignore_case": True}, "the option `text` is missing"),
    ],
)
def test_a_wrong_argument_is_one_sentence_that_says_what_is_taken(kind: str, argument: Any, fault: str) -> None:
    (found,) = faults(kind, argument)
    assert found.startswith(f"`{kind}`")
    assert fault in found
    assert "\n" not in found


def test_regex_finds_patterns_anywhere_unless_the_whole_output_is_asked_for() -> None:
    assert judged("regex", r"\bRF-\d{4}\b", "your number: RF-1234.").passed
    assert judged("regex", {"pattern": "yes|no", "full": True, "ignore_case": True}, "NO").passed
    assert not judged("regex", {"pattern": "yes|no", "full": True}, "no way").passed
    assert judged("regex", {"pattern": "^b.c$", "multiline": True, "dotall": True}, "a\nb\nc").passed
    assert judged("regex", [r"\p{Lu}", "x"], "Éa") == Score(False, 0.5, 'output does not have the pattern `x`: "Éa"')


@pytest.mark.parametrize("pattern", ["(", "[a", "a{2,1}", "(?P<n>a)(?P=m)", "*"])
def test_a_pattern_that_does_not_compile_is_found_when_the_suite_is_loaded(pattern: str) -> None:
    (found,) = faults("regex", pattern)
    assert "is not a regular expression" in found


@pytest.mark.parametrize("pattern", ["((a{1000}){1000}){1000}", "(" * 5000 + ")" * 5000, "a" * 10_001])
def test_a_pattern_that_would_eat_all_memory_is_refused_unread(pattern: str) -> None:
    assert len(faults("regex", pattern)) == 1


def test_a_runaway_pattern_gives_no_verdict_instead_of_a_hang(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("repeat_eval.suite.checks._patterns.TIMEOUT", 0.2)
    before = time.monotonic()
    with pytest.raises(NoVerdict, match=r"took longer than 0\.2 s on an output of 5,001 characters"):
        judged("regex", r"(a+)+$", "a" * 5000 + "b")
    assert time.monotonic() - before < 10


def test_messages_stay_short_and_on_one_line_whatever_the_output_is() -> None:
    for output in ("x\n" * 1_000_000, "\ud800" * 500, "\x1b[31m" * 300, {"k" * 10_000: ["v" * 10_000] * 10_000}):
        for kind, argument in (("equals", "a"), ("regex", "zz"), ("equals", {"a": "b"})):
            message = judged(kind, argument, output).message
            assert message is not None
            assert len(message) < 500
            assert message.isprintable()


def test_an_output_that_json_cannot_write_gives_no_verdict() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    for output in (object(), deep):
        with pytest.raises(NoVerdict, match="cannot be written as JSON"):
            judged("contains", "a", output)
    while deep:
        deep = deep[0]


@given(st.text(min_size=1), st.text(), st.text())
def test_contains_and_not_contains_are_opposites(needle: str, before: str, after: str) -> None:
    for output in (before + needle + after, before + after):
        assert judged("contains", needle, output).passed != judged("not_contains", needle, output).passed
    assert judged("contains", needle, before + needle + after).passed
