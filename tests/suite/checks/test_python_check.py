"""python: the reference to a user's function, and what its return value means."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repeat_eval.suite.checks import Answer, NoVerdict, Observation, Score
from repeat_eval.suite.checks.arguments import problems
from repeat_eval.suite.checks.python import Python

CHECK = Python("checks:polite")


def test_the_reference_is_parsed_into_module_and_function() -> None:
    check = Python("my.checks:Tone.polite")
    assert (check.module, check.function) == ("my.checks", "Tone.polite")


@pytest.mark.parametrize(
    "reference", ["checks", "checks:", ":polite", "a b:c", "../x:y", "a:b:c", "a:b()", "1a:b", "a:b\n"]
)
def test_a_reference_of_another_form_is_refused(reference: str) -> None:
    (found,) = problems(Python, reference)
    assert "must name a function as `module:function`" in found


def test_only_a_text_can_be_a_reference() -> None:
    assert problems(Python, 3) == ["`python` takes a function as `module:function`; found the number 3"]


def test_it_is_not_evaluated_in_this_process() -> None:
    with pytest.raises(NoVerdict, match="has to be called in a worker"):
        CHECK.evaluate(Observation(case="c", repetition=1, input=None, answer=Answer(), duration=0.0))


@pytest.mark.parametrize(
    ("value", "score"),
    [
        (True, Score(True, 1.0)),
        (False, Score(False, 0.0)),
        (1, Score(True, 1.0)),
        (0, Score(False, 0.0)),
        (0.75, Score(False, 0.75)),
        ((True, "fine"), Score(True, 1.0, "fine")),
        ([False, "rude"], Score(False, 0.0, "rude")),
        ([False, None], Score(False, 0.0)),
        ((0.5, "so so"), Score(False, 0.5, "so so")),
        ((True, 0.6, "good enough"), Score(True, 0.6, "good enough")),
        ({"passed": True}, Score(True, 1.0)),
        ({"score": 0.25}, Score(False, 0.25)),
        ({"passed": False, "score": 0.9, "message": "a\nb"}, Score(False, 0.9, "a")),
    ],
)
def test_every_documented_shape_is_understood(value: Any, score: Score) -> None:
    assert CHECK.interpret(value) == score


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (None, "nothing (null)"),
        ("yes", "the text `yes`"),
        (1.01, "the score 1.01"),
        (-0.1, "the score -0.1"),
        (float("nan"), "the score nan"),
        (10**400, "the score the number"),
        ([], "an empty sequence"),
        ([True], "a sequence of 1 (bool)"),
        (["rude", False], "a sequence of 2 (str, bool)"),
        ([True, 0.5, 3], "a sequence of 3 (bool, float, int)"),
        ({}, "a mapping without `passed` and `score`"),
        ({"pased": True}, "a mapping with the unknown key `pased`"),
        ({"passed": 1}, "the number 1 as `passed`"),
        ({"passed": True, "score": "high"}, "the text `high` as score"),
        ({"passed": True, "score": True}, "the value true as score"),
        ({"passed": True, "message": 3}, "the number 3 as message"),
        (object(), "a object"),
    ],
)
def test_anything_else_is_no_verdict_that_names_what_was_returned(value: Any, found: str) -> None:
    with pytest.raises(NoVerdict) as caught:
        CHECK.interpret(value)
    assert str(caught.value).startswith(f"`checks:polite` returned {found}")
    assert "\n" not in str(caught.value)


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
        lambda i: st.lists(i) | st.dictionaries(st.sampled_from(["passed", "score", "message", "x"]), i),
        max_leaves=6,
    )
)
def test_whatever_is_returned_gives_a_score_in_range_or_no_verdict(value: Any) -> None:
    try:
        score = CHECK.interpret(value)
    except NoVerdict as reason:
        assert len(str(reason)) < 500
    else:
        assert 0 <= score.score <= 1
