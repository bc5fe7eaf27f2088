"""Our requests and replies in the words of the client library, and back."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from repeat_eval.models.call import ModelReply, ModelRequest, RequestedTool
from repeat_eval.models.prices import cost_of
from repeat_eval.records.trial import Tokens, clean

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage, ModelResponse
    from pydantic_ai.models import ModelRequestParameters

NOT_JSON = "not_json"
"""The only argument of a tool call whose arguments are no JSON object: the text that the model wrote instead."""
ANSWER_TOOL = "give_answer"
"""The tool through which a model answers in a structure when its endpoint has no other way."""


def history_of(request: ModelRequest, known: dict[str, ModelResponse]) -> list[ModelMessage]:
    """The conversation in the library's messages.

    Args:
        request: what is asked.
        known: replies of this conversation as they came, by the id of their first tool call. They are sent back as
            they are: they hold what our own messages do not, such as signatures of a model's thoughts.
    """
    from pydantic_ai import messages as theirs

    history: list[ModelMessage] = []
    parts: list[Any] = []

    def flush() -> None:
        if parts:
            history.append(theirs.ModelRequest(parts=list(parts)))
            parts.clear()

    for message in request.messages:
        content = message.get("content")
        text = content if isinstance(content, str) else ""
        match message["role"]:
            case "system":
                parts.append(theirs.SystemPromptPart(content=text))
            case "user":
                parts.append(theirs.UserPromptPart(content=text))
            case "tool":
                call_id, name = str(message.get("tool_call_id", "")), str(message.get("name", ""))
                parts.append(theirs.ToolReturnPart(tool_name=name, content=text, tool_call_id=call_id))
            case _:
                flush()
                history.append(_assistant(message, text, known))
    flush()
    return history


def _assistant(message: dict[str, Any], text: str, known: dict[str, ModelResponse]) -> ModelMessage:
    from pydantic_ai import messages as theirs

    calls = message.get("tool_calls") or ()
    if calls and (original := known.get(str(calls[0].get("id")))) is not None:
        return original
    parts: list[Any] = [theirs.TextPart(content=text)] if text else []
    for call in calls:
        arguments = call.get("arguments") or {}
        parts.append(theirs.ToolCallPart(tool_name=call["name"], args=arguments, tool_call_id=str(call["id"])))
    return theirs.ModelResponse(parts=parts or [theirs.TextPart(content="")])


def parameters_of(request: ModelRequest, *, native_schema: bool) -> ModelRequestParameters:
    """Tools and the form of the answer.

    Args:
        request: what is asked. native_schema: whether the endpoint itself takes a schema for the answer.
    """
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.output import OutputObjectDefinition
    from pydantic_ai.tools import ToolDefinition

    tools = [
        ToolDefinition(
            name=tool["name"],
            description=tool.get("description"),
            parameters_json_schema=tool.get("parameters") or {"type": "object", "properties": {}},
            strict=False,
        )
        for tool in request.tools
    ]
    schema = request.output_schema
    if schema is None:
        return ModelRequestParameters(function_tools=tools)
    if native_schema:
        wanted = OutputObjectDefinition(json_schema=schema, name="answer")  # Anthropic refuses `strict=False`
        return ModelRequestParameters(function_tools=tools, output_mode="native", output_object=wanted)
    answer = ToolDefinition(name=ANSWER_TOOL, description="Give the answer.", parameters_json_schema=schema)
    answer.kind = "output"
    return ModelRequestParameters(
        function_tools=tools, output_mode="tool", output_tools=[answer], allow_text_output=False
    )


def reply_of(response: ModelResponse, model: str, *, usage_known: bool = True) -> ModelReply:
    """What the model answered.

    Args:
        response: the library's reply. model: the model's name as it was asked for, without provider.
        usage_known: whether the endpoint said what it used; without, tokens and cost are unknown.
    """
    from pydantic_ai import messages as theirs

    texts = [part.content for part in response.parts if isinstance(part, theirs.TextPart)]
    calls = [part for part in response.parts if isinstance(part, theirs.ToolCallPart)]
    answers = [call for call in calls if call.tool_name == ANSWER_TOOL]
    if answers:
        texts = [json.dumps(_arguments(answers[0].args), ensure_ascii=False)]
        calls = []
    text = clean("".join(texts))
    usage = response.usage
    known = usage_known and not usage.unmeasured_requests and bool(usage.input_tokens or usage.output_tokens)
    return ModelReply(
        text=text if text or not calls else None,
        tool_calls=tuple(RequestedTool(call.tool_call_id, call.tool_name, _arguments(call.args)) for call in calls),
        tokens=Tokens(input=usage.input_tokens, output=usage.output_tokens) if known else None,
        cost=cost_of(response, model) if known else None,
        model=response.model_name,
        finish_reason=response.finish_reason,
    )


def _arguments(written: Any) -> dict[str, Any]:
    if not written:
        return {}
    if isinstance(written, dict):
        return dict(written)
    try:
        found = json.loads(written, parse_constant=lambda _: None)
    except (ValueError, RecursionError):
        return {NOT_JSON: clean(written)}
    return found if isinstance(found, dict) else {NOT_JSON: clean(written)}
