"""calls_tool, not_calls_tool, tool_args and call_order: assertions on the tools that the target called."""

from __future__ import annotations

from typing import Any

import pytest

from repeat_eval.records.trial import ToolCall
from repeat_eval.suite.checks import Answer, NoVerdict, Observation, Score, find_check
from repeat_eval.suite.checks.arguments import problems, validate_argument

REFUND = ToolCall("issue_refund", {"order": "A1", "amount": 9000})
LOOKUP = ToolCall("lookup_order", {"order": "A1"})
POLICY = ToolCall("check_policy", {"sku": {"id": 7, "kind": "shoe"}})


def judged(kind: str, argument: Any, *calls: ToolCall, known: bool = True) -> Score:
    cls = find_check(kind)
    assert cls is not None
    assert problems(cls, argument) == []
    answer = Answer(output="", tool_calls=calls if known else None)
    observation = Observation(case="c", repetition=1, input=None, answer=answer, duration=0.1)
    return cls(validate_argument(cls, argument)).evaluate(observation)


def faults(kind: str, argument: Any) -> list[str]:
    cls = find_check(kind)
    assert cls is not None
    return problems(cls, argument)


@pytest.mark.parametrize(
    ("kind", "argument"),
    [
        ("calls_tool", "a"),
        ("not_calls_tool", "a"),
        ("tool_args", {"a": {"b": 1}}),
        ("call_order", ["a", "b"]),
    ],
)
def test_unknown_tool_calls_give_no_verdict(kind: str, argument: Any) -> None:
    with pytest.raises(NoVerdict, match="the target does not report tool calls"):
        judged(kind, argument, known=False)


@pytest.mark.parametrize(
    "argument",
    [
        "issue_refund",
        ["issue_refund", "lookup_order"],
        {"issue_refund": {"amount": 9000}},
        {"issue_refund": None, "check_policy": {"sku": {"kind": {"regex": "^sh"}}}},
    ],
)
def test_calls_tool_holds_when_every_named_tool_was_called(argument: Any) -> None:
    assert judged("calls_tool", argument, LOOKUP, POLICY, REFUND) == Score(True, 1.0)


@pytest.mark.parametrize(
    ("argument", "calls", "message"),
    [
        (
            "escalate_to_human",
            (ToolCall("issue_refund", {"amount": 9000}),),
            "expected a call to `escalate_to_human`, got `issue_refund(amount=9000)`",
        ),
        ("a", (), "expected a call to `a`, got no tool call"),
        (
            {"issue_refund": {"amount": 40}},
            (REFUND,),
            'arguments of `issue_refund(order="A1", amount=9000)` at issue_refund.amount: expected 40, got 9000',
        ),
        (
            {"a": {"n": 3}},
            (ToolCall("a", {"n": 1}), ToolCall("a", {"n": 2})),
            "none of the 2 calls to `a` has the arguments {n: 3}; the last at a.n: expected 3, got 2",
        ),
    ],
)
def test_calls_tool_says_what_was_expected_and_what_was_called(
    argument: Any, calls: tuple[ToolCall, ...], message: str
) -> None:
    assert judged("calls_tool", argument, *calls) == Score(False, 0.0, message)


def test_calls_tool_scores_the_share_of_tools_called() -> None:
    assert judged("calls_tool", ["lookup_order", "b"], LOOKUP).score == 0.5


def test_arguments_handed_over_as_json_text_are_read() -> None:
    assert judged("tool_args", {"a": {"n": 1}}, ToolCall("a", '{"n": 1}')).passed
    assert not judged("tool_args", {"a": {"n": 1}}, ToolCall("a", "[" * 100_000)).passed


def test_not_calls_tool_shows_the_call_that_should_not_be() -> None:
    assert judged("not_calls_tool", ["a", "b"]).passed
    assert judged("not_calls_tool", {"issue_refund": {"amount": 1}}, REFUND).passed
    assert judged("not_calls_tool", ["issue_refund", "b"], LOOKUP, REFUND) == Score(
        False, 0.5, 'unexpected call `issue_refund(order="A1", amount=9000)`'
    )


def test_tool_args_wants_one_call_with_all_of_the_arguments() -> None:
    half, other = ToolCall("a", {"x": 1, "y": 0}), ToolCall("a", {"x": 0, "y": 1})
    assert not judged("tool_args", {"a": {"x": 1, "y": 1}}, half, other).passed
    assert judged("tool_args", {"a": {"x": 1, "y": 1}}, half, other, ToolCall("a", {"x": 1, "y": 1})).passed


def test_call_order_allows_other_calls_in_between() -> None:
    order = ["lookup_order", "issue_refund"]
    assert judged("call_order", order, LOOKUP, POLICY, REFUND).passed
    assert judged("call_order", order, REFUND, LOOKUP) == Score(
        False,
        0.5,
        "expected the order `lookup_order, issue_refund`, got `issue_refund, lookup_order` (no call to `issue_refund`"
        " after `lookup_order`)",
    )
    assert judged("call_order", order).message == (
        "expected the order `lookup_order, issue_refund`, got no tool call (no call to `lookup_order`)"
    )
    assert not judged("call_order", ["a", "a"], ToolCall("a")).passed


@pytest.mark.parametrize(
    ("kind", "argument", "fault"),
    [
        (
            "calls_tool",
            3,
            "takes a tool's name, a list of names, or a mapping from name to arguments; found the number 3",
        ),
        ("calls_tool", [], "names no tool"),
        ("calls_tool", {}, "names no tool"),
        ("calls_tool", " ", "has an empty tool name"),
        ("calls_tool", ["a", 1], "entry 2 must be a text, found the number 1"),
        ("calls_tool", {"a": {"b": {"regex": "["}}}, "arguments of `a`: the pattern `[` is not a regular expression"),
        ("not_calls_tool", {"a": float("nan")}, "arguments of `a`: nan is not a number that JSON has"),
        ("tool_args", {"a": {}}, "gives no arguments for `a`; use `calls_tool`"),
        ("tool_args", {}, "names no tool"),
        ("tool_args", "a", "takes a mapping from tool name to arguments; found the text `a`"),
        ("call_order", ["a"], "needs at least two tool names"),
        ("call_order", ["a", ""], "has an empty tool name"),
        ("call_order", "a", "takes a list of tool names; found the text `a`"),
    ],
)
def test_a_wrong_argument_is_told_in_one_sentence(kind: str, argument: Any, fault: str) -> None:
    (found,) = faults(kind, argument)
    assert found.startswith(f"`{kind}`")
    assert fault in found


def test_messages_stay_short_whatever_was_called() -> None:
    calls = [ToolCall("t\n" * 10_000, {"a" * 10_000: "b\n" * 10_000, "n": 10**10_000})] * 1_000
    for kind, argument in (("calls_tool", ["x", "y", "z"]), ("call_order", ["x", "y"])):
        message = judged(kind, argument, *calls).message
        assert message is not None
        assert len(message) < 3_000
        assert message.isprintable()
