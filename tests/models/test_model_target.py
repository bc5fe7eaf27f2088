"""A model target holds a conversation with mocked tools; everything that it did is in the answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from repeat_eval.models.call import CallSlot, ModelReply, ModelRequest, RequestedTool
from repeat_eval.models.model_target import ModelTarget, Plain
from repeat_eval.models.provider_messages import NOT_JSON
from repeat_eval.models.script import ScriptedModel
from repeat_eval.records.trial import Tokens, ToolCall
from repeat_eval.suite.checks.base import Answer
from repeat_eval.suite.model_target import model_target
from repeat_eval.targets.base import Call, TargetError

LOOKUP = {"name": "lookup", "mock": {"returns": {"total": 20}}}


def a_call(**changes: Any) -> Call:
    return Call(**{"case": "pays", "input": "refund order 7", "repetition": 1, "repeats": 5, "seed": 3, **changes})


def answers(*turns: str | tuple[tuple[str, dict[str, Any]], ...], **more: Any) -> tuple[Answer, list[ModelRequest]]:
    """What comes of these turns of a model: texts, or tool calls."""
    asked: list[ModelRequest] = []

    async def ask(request: ModelRequest, slot: CallSlot) -> ModelReply:
        asked.append(request)
        turn = turns[min(slot.index, len(turns)) - 1]
        calls = () if isinstance(turn, str) else turn
        made = tuple(RequestedTool(f"c{slot.index}{place}", *one) for place, one in enumerate(calls))
        spent: dict[str, Any] = more.get("spent", {})
        return ModelReply(text=turn if isinstance(turn, str) else None, tool_calls=made, **spent)

    target = ModelTarget(model_target({"name": "x:y", **more.get("target", {})}), Plain(ask), folder=Path())
    answer, attempts = asyncio.run(target.answer(more.get("call", a_call())))
    assert attempts == 1
    return answer, asked


def test_a_text_ends_the_conversation() -> None:
    answer, asked = answers("Hello.", target={"system": "Be kind.", "settings": {"temperature": 0}})
    assert answer == Answer(output="Hello.", tool_calls=(), turns=1)
    assert asked[0].messages == (
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "refund order 7"},
    )
    assert asked[0].settings == {"temperature": 0}


def test_tools_are_called_in_order_and_the_model_reads_what_they_gave() -> None:
    answer, asked = answers((("lookup", {"id": 7}), ("lookup", {"id": 8})), "Paid.", target={"tools": [LOOKUP]})
    assert answer.tool_calls == (ToolCall("lookup", {"id": 7}), ToolCall("lookup", {"id": 8}))
    assert (answer.output, answer.turns, answer.note) == ("Paid.", 2, None)
    said, first, second = asked[1].messages[1:]
    assert [one["id"] for one in said["tool_calls"]] == ["c10", "c11"]
    assert first == {"role": "tool", "tool_call_id": "c10", "name": "lookup", "content": '{"total": 20}'}
    assert second["tool_call_id"] == "c11"
    assert asked[0].tools == ({"name": "lookup", "parameters": {"type": "object", "properties": {}}},)


def test_tokens_and_cost_are_summed_over_all_turns() -> None:
    spent = {"tokens": Tokens(input=10, output=2), "cost": 0.25}
    answer, _ = answers((("lookup", {}),), "Paid.", target={"tools": [LOOKUP]}, spent=spent)
    assert (answer.tokens, answer.cost) == (Tokens(input=20, output=4), 0.5)


def test_tokens_that_one_turn_does_not_tell_are_unknown() -> None:
    answer, _ = answers((("lookup", {}),), "Paid.", target={"tools": [LOOKUP]})
    assert (answer.tokens, answer.cost) == (None, None)


def test_after_max_turns_the_conversation_is_stopped_and_that_is_noted() -> None:
    answer, asked = answers((("lookup", {"id": 7}),), target={"tools": [{"name": "lookup"}], "max_turns": 1})
    assert (answer.turns, answer.tool_calls, answer.output) == (1, (ToolCall("lookup", {"id": 7}),), "")
    assert answer.note == "the conversation was stopped after 1 turn (max_turns) while the model was calling tools"
    assert len(asked) == 1


def told(tools: list[dict[str, Any]], *calls: tuple[str, dict[str, Any]], **more: Any) -> list[str]:
    """What the model is told by tools that it calls one after another."""
    _, asked = answers(*((one,) for one in calls), "Done.", target={"tools": tools, **more})
    return [message["content"] for message in asked[-1].messages if message["role"] == "tool"]


def test_the_first_mock_whose_arguments_are_in_the_call_answers() -> None:
    mocks = [
        {"when": {"order": {"id": 7}}, "returns": "seven"},
        {"when": {"order": {}}, "returns": "another"},
        {"returns": None},
    ]
    calls = [("t", {"order": {"id": 7, "x": 1}}), ("t", {"order": {"id": 8}}), ("t", {})]
    assert told([{"name": "t", "mock": mocks}], *calls) == ["seven", "another", "null"]


def test_a_sequence_goes_on_within_a_trial_and_its_last_step_stays() -> None:
    tools = [{"name": "t", "mock": {"then": [{"error": "busy"}, {"returns": [1]}]}}]
    assert told(tools, ("t", {}), ("t", {}), ("t", {})) == ['{"error": "busy"}', "[1]", "[1]"]
    assert told(tools, ("t", {})) == ['{"error": "busy"}']


def test_what_only_the_model_does_wrong_is_told_to_it() -> None:
    (unknown,) = told([LOOKUP], ("look_up", {}))
    assert unknown == '{"error": "there is no tool \'look_up\'; there are: lookup"}'
    (unreadable,) = told([LOOKUP], ("lookup", {NOT_JSON: "{id: "}))
    assert "not a JSON object" in unreadable


def test_a_call_without_a_mock_is_an_error_that_names_tool_and_arguments() -> None:
    with pytest.raises(TargetError) as caught:
        answers(
            (("t", {"id": 7}),), "Done.", target={"tools": [{"name": "t", "mock": {"when": {"id": 8}, "returns": 1}}]}
        )
    assert (caught.value.kind, caught.value.retryable) == ("harness", False)
    assert caught.value.message.startswith("no mock is made for the call `t(id=7)`")


def test_a_call_without_a_mock_may_return_something_or_fail_the_trial() -> None:
    assert told([{"name": "t"}], ("t", {}), on_unmocked={"returns": {"ok": True}}) == ['{"ok": true}']
    answer, asked = answers((("t", {"id": 7}),), "Done.", target={"tools": [{"name": "t", "on_unmocked": "fail"}]})
    assert answer.failure == "no mock is made for the call `t(id=7)`"
    assert (answer.turns, answer.tool_calls, len(asked)) == (1, (ToolCall("t", {"id": 7}),), 1)


def test_an_input_may_be_a_history() -> None:
    history = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "a", "name": "lookup", "arguments": {"id": 7}}]},
        {"role": "tool", "tool_call_id": "a", "content": "20"},
    ]
    _, asked = answers("Hello.", call=a_call(input=history))
    assert [message["role"] for message in asked[0].messages] == ["user", "assistant", "tool"]
    assert asked[0].messages[2]["name"] == "lookup"
    _, asked = answers("Hello.", call=a_call(input={"messages": history[:1]}))
    assert asked[0].messages == ({"role": "user", "content": "Hi"},)


def test_a_prompt_is_filled_in_from_input_and_variables() -> None:
    _, asked = answers(
        "Hello.",
        target={"prompt": "{{input.city}} for {{vars.who}}"},
        call=a_call(input={"city": "Bonn"}, variables={"who": "me"}),
    )
    assert asked[0].messages == ({"role": "user", "content": "Bonn for me"},)


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (None, "the model would be asked nothing"),
        ([{"role": "robot", "content": "x"}], "has the role 'robot'; known are system, user, assistant, tool"),
        ([{"role": "user", "content": 3}], "message 1 of the input needs `content` that is text; it is 3"),
        ([{"role": "assistant", "content": "x"}], "the last message of the input must be the user's or a tool's"),
        ([{"role": "tool", "content": "x"}], "needs the `tool_call_id` of a tool call before it"),
    ],
)
def test_an_input_that_is_no_conversation_is_noticed_before_anything_is_asked(given: Any, problem: str) -> None:
    target = ModelTarget(model_target("x:y"), Plain(ScriptedModel((), 0)), folder=Path())
    found = target.check(a_call(input=given))
    assert found is not None
    assert problem in found


def test_the_system_prompt_may_stand_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "system.md").write_text("Be brief.")
    written = model_target({"name": "x:y", "system": {"file": "system.md"}})
    seen: list[ModelRequest] = []

    async def ask(request: ModelRequest, slot: CallSlot) -> ModelReply:
        seen.append(request)
        return ModelReply(text="ok")

    asyncio.run(ModelTarget(written, Plain(ask), folder=tmp_path).answer(a_call()))
    assert seen[0].messages[0] == {"role": "system", "content": "Be brief."}
    with pytest.raises(ValueError, match=r"system.md cannot be read: No such file"):
        ModelTarget(written, Plain(ask), folder=tmp_path / "elsewhere")


def played(script: list[Any], seed: int) -> Callable[[int], str]:
    model = ScriptedModel(model_target({"script": script}).script or (), seed)

    def say(repetition: int) -> str:
        request = ModelRequest(model="script", messages=({"role": "user", "content": "refund me $9000"},))
        reply = asyncio.run(model(request, CallSlot("a", repetition, "target", 1)))
        return reply.text or ""

    return say


def test_a_script_draws_by_weights_and_by_its_seed_alone() -> None:
    script = [{"one_of": [{"weight": 4, "say": "yes"}, {"weight": 1, "say": "no"}]}]
    drawn = [played(script, 7)(repetition) for repetition in range(1, 401)]
    assert 0.74 < drawn.count("yes") / 400 < 0.86
    assert drawn == [played(script, 7)(repetition) for repetition in range(1, 401)]
    assert drawn != [played(script, 8)(repetition) for repetition in range(1, 401)]


def test_a_script_chooses_its_scene_by_the_last_words_of_the_user() -> None:
    scenes = [{"when": "9000", "turns": [{"say": "too much"}]}, {"turns": [{"say": "fine"}]}]
    assert played(scenes, 0)(1) == "too much"
    with pytest.raises(TargetError, match="no scene for this input"):
        played([{"when": "hello", "turns": [{"say": "x"}]}], 0)(1)
