"""Settings: what each accepts, how it refuses, and who wins when several places say something."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repeat_eval.suite.fields import found
from repeat_eval.suite.settings import DEFAULTS, Settings, resolve, setting_problems
from repeat_eval.targets.rate_limit import parse_rate

KINDS = ["crash", "timeout", "provider", "judge", "recording", "harness"]

ACCEPTED: list[tuple[str, Any, Any]] = [
    ("repeats", 10, 10),
    ("repeats", "20", 20),
    ("repeats", 10_000, 10_000),
    ("threshold", "0.80", "0.80"),
    ("threshold", 0.8, "0.8"),
    ("threshold", 1, "1"),
    ("threshold", " 0 ", "0"),
    ("gate", "strict", "strict"),
    ("suite_threshold", "8e-1", "8e-1"),
    ("min_stability", ".5", ".5"),
    ("min_reliability", "1.0", "1.0"),
    ("max_error_rate", 0, "0"),
    ("max_failing_cases", "0", 0),
    ("count_as_failed", "crash, timeout", ["crash", "timeout"]),
    ("count_as_failed", KINDS, KINDS),
    ("count_as_failed", [], []),
    ("workers", 1000, 1000),
    ("seed", 0, 0),
    ("seed", 2**53, 2**53),
    ("timeout", 30, 30.0),
    ("timeout", "1.5", 1.5),
    ("timeout", "250ms", 0.25),
    ("timeout", "2 min", 120.0),
    ("time_budget", "1h", 3600.0),
    ("time_budget", "5m", 300.0),
    ("retries", 0, 0),
    ("retry_on", "provider crash", ["provider", "crash"]),
    ("rate", "60/min", "60/min"),
    ("rate", " 5 / s ", "5 / s"),
    ("rate", "1000/hour", "1000/hour"),
    ("max_cost", "2.50", 2.5),
    ("max_cost", 3, 3.0),
    ("repeat_order", "sequential", "sequential"),
    ("isolation", "process", "process"),
    ("workdir", "copy", "copy"),
    ("interpreter", "../venv/bin/python", "../venv/bin/python"),
]


@pytest.mark.parametrize(("name", "given_value", "expected"), ACCEPTED, ids=lambda value: repr(value)[:30])
def test_a_setting_takes(name: str, given_value: Any, expected: Any) -> None:
    value = getattr(Settings.model_validate({name: given_value}), name)
    assert value == expected
    assert type(value) is type(expected)


REFUSED: list[tuple[str, Any, str]] = [
    ("repeats", 0, "must be a whole number from 1 to 10,000, for instance 10; found 0"),
    ("repeats", 1.5, "found 1.5"),
    ("repeats", "ten", "found 'ten'"),
    ("repeats", True, "found true"),
    ("repeats", "1_0", "found '1_0'"),
    ("repeats", "١٠", "found '١٠'"),
    ("repeats", 10_001, "found 10001"),
    ("threshold", 1.2, "1.2 is above 1, which no result can reach"),
    ("threshold", "80", "did you mean 0.8?"),
    ("threshold", "80%", "write the rate as a decimal, 0.8"),
    ("threshold", "nan", "is not a rate"),
    ("threshold", -0.1, "is not a rate"),
    ("threshold", True, "must be a rate from 0 to 1, for instance 0.8; found true"),
    ("threshold", [0.8], "found a list"),
    ("gate", "wilsen", "must be wilson, strict or none; found 'wilsen'; did you mean wilson?"),
    ("gate", 3, "found 3"),
    ("max_failing_cases", -1, "must be a whole number from 0"),
    ("count_as_failed", "crash, tmeout", f"must be among {', '.join(KINDS)}; found 'tmeout'"),
    ("count_as_failed", 3, "must be a list; found 3"),
    ("count_as_failed", [["crash"]], "found a list"),
    ("workers", 0, "must be a whole number from 1 to 1,000"),
    ("seed", -1, "found -1"),
    ("timeout", 0, "must be a duration above 0 such as 30, 30s, 5m or 1h; found 0"),
    ("timeout", -5, "found -5"),
    ("timeout", "5 days", "found '5 days'"),
    ("timeout", "8000h", "must be a duration"),
    ("timeout", {}, "found a mapping"),
    ("timeout", "1e3", "found '1e3'"),
    ("retries", 11, "from 0 to 10"),
    ("rate", 60, "must be a rate such as 60/min, 5/s or 1000/h; found 60"),
    ("rate", "0/min", "found '0/min'"),
    ("rate", "60/m", "found '60/m'"),
    ("rate", "60/day", "found '60/day'"),
    ("max_cost", 0, "must be an amount of US dollars above 0, for instance 2.50; found 0"),
    ("max_cost", "inf", "found 'inf'"),
    ("max_cost", "$5", "found '$5'"),
    ("repeat_order", "random", "must be spread or sequential; found 'random'"),
    ("isolation", "docker", "must be none or process"),
    ("workdir", None.__class__, "must be shared or copy"),
    ("interpreter", 3, "must be text; found 3"),
]


@pytest.mark.parametrize(("name", "given_value", "sentence"), REFUSED, ids=lambda value: repr(value)[:30])
def test_a_setting_refuses_with_a_sentence_that_says_what_was_found(name: str, given_value: Any, sentence: str) -> None:
    ((setting, text),) = setting_problems({name: given_value})
    assert setting == name
    assert text.startswith(f"`{name}` ")
    assert sentence in text
    assert "\n" not in text


def test_all_wrong_settings_are_said_at_once() -> None:
    wrong = {"repeats": 0, "gate": "x", "threshold": "80"}
    assert [name for name, _ in setting_problems(wrong)] == ["repeats", "threshold", "gate"]


def test_an_unknown_setting_names_the_nearest_one() -> None:
    ((_, text),) = setting_problems({"treshold": 1})
    assert text.startswith("unknown key 'treshold'; did you mean 'threshold'? Known keys: repeats, threshold, ")


def test_nothing_said_is_none_and_no_problem() -> None:
    assert setting_problems(dict.fromkeys(Settings.model_fields)) == []
    assert Settings().model_dump(exclude_none=True) == {}


@given(
    st.sampled_from(sorted(Settings.model_fields)),
    st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), st.lists, max_leaves=5),
)
def test_any_value_is_taken_or_refused_in_one_line(name: str, value: Any) -> None:
    for _, text in setting_problems({name: value}):
        assert len(text.splitlines()) == 1


@given(st.from_regex(r"[0-9]{1,3}(\.[0-9]{1,8})? ?/ ?[a-z]{1,6}", fullmatch=True) | st.sampled_from(["60/m", "5/h"]))
def test_a_rate_that_is_taken_is_one_that_the_limiter_can_read(text: str) -> None:
    if not setting_problems({"rate": text}):
        assert parse_rate(Settings.model_validate({"rate": text}).rate or "").interval > 0


@given(st.text(), st.text())
def test_found_shows_any_text_short_and_on_one_line(head: str, tail: str) -> None:
    shown = found(head + "\n" + tail)
    assert len(shown) <= 60
    assert "\n" not in shown


# ---- precedence ----


def test_option_beats_variable_beats_suite_file_beats_default() -> None:
    resolved = resolve(
        ("option", Settings.model_validate({"repeats": 1})),
        ("variable", Settings.model_validate({"repeats": 2, "seed": 2})),
        ("suite", Settings.model_validate({"repeats": 3, "seed": 3, "workers": 3})),
    )
    assert [(resolved[name], resolved.source(name)) for name in ("repeats", "seed", "workers", "retries")] == [
        (1, "option"),
        (2, "variable"),
        (3, "suite"),
        (2, "default"),
    ]


def test_zero_and_an_empty_list_are_something_said() -> None:
    resolved = resolve(
        ("option", Settings.model_validate({"retries": 0, "retry_on": []})),
        ("suite", Settings.model_validate({"retries": 5, "retry_on": ["crash"]})),
    )
    assert (resolved["retries"], resolved["retry_on"]) == (0, [])


def test_without_any_layer_everything_is_the_default() -> None:
    resolved = resolve()
    assert {name: resolved[name] for name in Settings.model_fields if resolved[name] is not None} == dict(DEFAULTS)
    assert (resolved["repeats"], resolved["gate"], resolved["threshold"]) == (10, "wilson", "0.8")


def test_every_default_is_a_value_that_its_setting_accepts() -> None:
    assert setting_problems(DEFAULTS) == []
