"""The loop around a model with tools: it is asked, its tools are called, it reads what they gave, until it answers."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from typing import Any

from repeat_eval.models.call import AskModel, CallSlot, ModelReply, ModelRequest
from repeat_eval.models.mocked_tools import MockedTools, Unmocked
from repeat_eval.records.trial import Tokens, ToolCall
from repeat_eval.suite.checks.base import Answer
from repeat_eval.targets.base import Call

PART = "target"
"""Who asks, in the slot of a call."""


async def converse(
    ask: AskModel,
    request: ModelRequest,
    call: Call,
    tools: MockedTools,
    *,
    max_turns: int,
) -> Answer:
    """Hold the conversation of one trial.

    A turn is one call of the model. The conversation ends with the first turn that calls no tool, or with the last
    turn that is allowed; tools that this one calls are part of the trajectory, but they are not run, because nobody
    would read what they give. The answer then has a note, and its output is what the model said last.

    Args:
        ask: answers calls of the model. request: the first one. call: the trial. tools: the mocked ones.
        max_turns: how many turns there may be.

    Raises:
        TargetError: the model gave no answer, or a tool broke.
    """
    begin = time.perf_counter()
    messages: list[Mapping[str, Any]] = list(request.messages)
    replies: list[ModelReply] = []
    made: list[ToolCall] = []
    note = failure = None
    for turn in range(1, max_turns + 1):
        asked = ModelRequest(
            model=request.model,
            url=request.url,
            messages=tuple(dict(message) for message in messages),
            settings=request.settings,
            tools=request.tools,
        )
        reply = await ask(asked, CallSlot(call.case, call.repetition, PART, turn))
        replies.append(reply)
        calls = [ToolCall(one.name, one.arguments) for one in reply.tool_calls]
        if not calls:
            break
        if turn == max_turns:
            made += calls
            turns = "1 turn" if max_turns == 1 else f"{max_turns} turns"
            note = f"the conversation was stopped after {turns} (max_turns) while the model was calling tools"
            break
        messages.append(_said(reply))
        try:
            for asked_tool, tool_call in zip(reply.tool_calls, calls, strict=True):
                made.append(tool_call)
                returned = await tools.call(tool_call, call)
                messages.append(
                    {
                        "role": "tool",
                        "tool_call_id": asked_tool.id,
                        "name": tool_call.name,
                        "content": returned.text,
                    }
                )
        except Unmocked as error:
            failure = str(error)
            break
    return Answer(
        output=replies[-1].text or "",
        tool_calls=tuple(made),
        turns=len(replies),
        tokens=_tokens(replies),
        cost=_sum([reply.cost for reply in replies]),
        duration=_duration(replies, time.perf_counter() - begin),
        cached=True if all(reply.replayed for reply in replies) else None,
        note=note,
        failure=failure,
    )


def _duration(replies: Sequence[ModelReply], measured: float) -> float | None:
    """Seconds of a conversation with replayed calls, which count as they took once; None where none was replayed."""
    if not any(reply.replayed for reply in replies):
        return None
    return measured + math.fsum(reply.seconds or 0.0 for reply in replies if reply.replayed)


def _said(reply: ModelReply) -> dict[str, Any]:
    calls = [{"id": one.id, "name": one.name, "arguments": one.arguments} for one in reply.tool_calls]
    return {"role": "assistant", "content": reply.text, "tool_calls": calls}


def _tokens(replies: Sequence[ModelReply]) -> Tokens | None:
    known = [reply.tokens for reply in replies if reply.tokens is not None]
    if len(known) < len(replies):
        return None
    read, written = _sum([one.input for one in known]), _sum([one.output for one in known])
    if read is None and written is None:
        return None
    return Tokens(input=None if read is None else int(read), output=None if written is None else int(written))


def _sum(values: Sequence[float | None]) -> float | None:
    """The sum; None if any part is unknown."""
    known = [value for value in values if value is not None]
    return math.fsum(known) if len(known) == len(values) else None
