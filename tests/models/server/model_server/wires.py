"""Answers in the wire formats: a body for each, and the server-sent events for each."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import struct
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from .asked import Asked
from .replies import Reply

CREATED = 1_767_225_600
"""The moment of every answer: answers to the same question are the same, byte for byte."""

Event = tuple[str | None, Any]
"""Name of a server-sent event (None: it has none) and its data."""


def usage_of(asked: Asked, reply: Reply) -> tuple[int, int] | None:
    """Tokens read and written; None if the reply leaves them out."""
    if reply.usage is not None:
        return reply.usage or None
    read = sum(len(line.text.split()) for line in asked.lines)
    return read, len((reply.text or "").split()) + 5 * len(reply.calls)


def body_of(asked: Asked, reply: Reply) -> dict[str, Any]:
    """The whole answer as one JSON object."""
    if reply.status >= 400:
        return _error(asked, reply)
    return {"chat": _chat, "responses": _response, "messages": _message}[asked.wire](asked, reply)


def events_of(asked: Asked, reply: Reply) -> Iterator[Event]:
    """The answer in pieces, as streamed."""
    return {"chat": _chat_events, "responses": _response_events, "messages": _message_events}[asked.wire](asked, reply)


def embeddings_of(asked: Asked, vectors: Iterable[Sequence[float]]) -> dict[str, Any]:
    """Vectors as OpenAI writes them: lists of numbers, or base64 of little-endian 32-bit floats if asked so."""
    encoded = asked.body.get("encoding_format") == "base64"
    data = [
        {"object": "embedding", "index": index, "embedding": _packed(vector) if encoded else list(vector)}
        for index, vector in enumerate(vectors)
    ]
    words = sum(len(text.split()) for text in asked.texts)
    usage = {"prompt_tokens": words, "total_tokens": words}
    return {"object": "list", "model": asked.model, "data": data, "usage": usage}


def bag_of_words(text: str, size: int = 64) -> list[float]:
    """A vector of length 1 that is near for texts that share words."""
    vector = [0.0] * size
    for word in text.lower().split():
        vector[hashlib.sha256(word.strip(".,;:!?").encode()).digest()[0] % size] += 1.0
    length = math.sqrt(sum(value * value for value in vector)) or 1.0
    return [value / length for value in vector]


def _packed(vector: Sequence[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()


def _error(asked: Asked, reply: Reply) -> dict[str, Any]:
    kinds = {400: "invalid_request_error", 401: "authentication_error", 404: "not_found_error", 429: "rate_limit_error"}
    kind = kinds.get(reply.status, "server_error" if asked.wire != "messages" else "api_error")
    if asked.wire == "messages":
        return {"type": "error", "error": {"type": kind, "message": reply.text}, "request_id": f"req_{asked.digest}"}
    return {"error": {"message": reply.text, "type": kind, "param": None, "code": None}}


def _pieces(text: str) -> Iterator[str]:
    for start in range(0, len(text), 12):
        yield text[start : start + 12]


def _calls(asked: Asked, reply: Reply, prefix: str) -> list[tuple[str, str, dict[str, Any]]]:
    """(id, name, arguments); ids depend on the question alone."""
    return [(f"{prefix}_{asked.digest}{index}", name, arguments) for index, (name, arguments) in enumerate(reply.calls)]


# OpenAI, chat completions


def _chat(asked: Asked, reply: Reply) -> dict[str, Any]:
    calls = [
        {"id": call_id, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        for call_id, name, arguments in _calls(asked, reply, "call")
    ]
    message = {"role": "assistant", "content": reply.text, "refusal": None, **({"tool_calls": calls} if calls else {})}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _chat_finish(reply)}
    return {**_chat_frame(asked, "chat.completion"), "choices": [choice], **_chat_usage(asked, reply)}


def _chat_events(asked: Asked, reply: Reply) -> Iterator[Event]:
    frame = _chat_frame(asked, "chat.completion.chunk")

    def chunk(delta: dict[str, Any], finish: str | None = None) -> Event:
        return None, {**frame, "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}]}

    yield chunk({"role": "assistant", "content": "" if reply.text is not None else None})
    for piece in _pieces(reply.text or ""):
        yield chunk({"content": piece})
    for index, (call_id, name, arguments) in enumerate(_calls(asked, reply, "call")):
        function = {"name": name, "arguments": ""}
        yield chunk({"tool_calls": [{"index": index, "id": call_id, "type": "function", "function": function}]})
        for piece in _pieces(json.dumps(arguments)):
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    yield chunk({}, _chat_finish(reply))
    usage = _chat_usage(asked, reply)
    if usage and (asked.body.get("stream_options") or {}).get("include_usage"):
        yield None, {**frame, "choices": [], **usage}
    yield None, "[DONE]"


def _chat_frame(asked: Asked, kind: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{asked.digest}", "object": kind, "created": CREATED, "model": asked.model}


def _chat_finish(reply: Reply) -> str:
    return reply.finish or ("tool_calls" if reply.calls else "stop")


def _chat_usage(asked: Asked, reply: Reply) -> dict[str, Any]:
    usage = usage_of(asked, reply)
    if usage is None:
        return {}
    return {"usage": {"prompt_tokens": usage[0], "completion_tokens": usage[1], "total_tokens": sum(usage)}}


# OpenAI, responses


def _response(asked: Asked, reply: Reply) -> dict[str, Any]:
    usage = usage_of(asked, reply)
    counted = usage and {
        "input_tokens": usage[0],
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": usage[1],
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": sum(usage),
    }
    cut_short = reply.finish == "length"
    return {
        **_response_frame(asked),
        "status": "incomplete" if cut_short else "completed",
        "incomplete_details": {"reason": "max_output_tokens"} if cut_short else None,
        "output": _response_items(asked, reply),
        "usage": counted,
    }


def _response_frame(asked: Asked) -> dict[str, Any]:
    return {
        "id": f"resp_{asked.digest}",
        "object": "response",
        "created_at": CREATED,
        "model": asked.model,
        "error": None,
        "incomplete_details": None,
        "instructions": asked.body.get("instructions"),
        "metadata": {},
        "parallel_tool_calls": True,
        "temperature": asked.body.get("temperature", 1.0),
        "tool_choice": asked.body.get("tool_choice", "auto"),
        "tools": asked.body.get("tools") or [],
        "top_p": 1.0,
        "status": "in_progress",
        "output": [],
        "usage": None,
    }


def _response_items(asked: Asked, reply: Reply) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    if reply.text is not None:
        part = {"type": "output_text", "text": reply.text, "annotations": [], "logprobs": []}
        frame = {"id": f"msg_{asked.digest}", "type": "message", "role": "assistant", "status": "completed"}
        items.append({**frame, "content": [part]})
    for call_id, name, arguments in _calls(asked, reply, "call"):
        frame = {"id": f"fc_{call_id}", "type": "function_call", "call_id": call_id, "status": "completed"}
        items.append({**frame, "name": name, "arguments": json.dumps(arguments)})
    return items


def _response_events(asked: Asked, reply: Reply) -> Iterator[Event]:
    number = -1

    def event(kind: str, **data: Any) -> Event:
        nonlocal number
        number += 1
        return kind, {"type": kind, "sequence_number": number, **data}

    yield event("response.created", response=_response_frame(asked))
    yield event("response.in_progress", response=_response_frame(asked))
    for index, item in enumerate(_response_items(asked, reply)):
        place = {"output_index": index, "item_id": item["id"]}
        emptied = {"arguments": ""} if item["type"] == "function_call" else {"content": []}
        yield event("response.output_item.added", output_index=index, item={**item, "status": "in_progress", **emptied})
        if item["type"] == "function_call":
            for piece in _pieces(item["arguments"]):
                yield event("response.function_call_arguments.delta", **place, delta=piece)
            said = {"name": item["name"], "arguments": item["arguments"]}
            yield event("response.function_call_arguments.done", **place, **said)
        else:
            (part,) = item["content"]
            place["content_index"] = 0
            yield event("response.content_part.added", **place, part={**part, "text": ""})
            for piece in _pieces(part["text"]):
                yield event("response.output_text.delta", **place, delta=piece, logprobs=[])
            yield event("response.output_text.done", **place, text=part["text"], logprobs=[])
            yield event("response.content_part.done", **place, part=part)
        yield event("response.output_item.done", output_index=index, item=item)
    whole = _response(asked, reply)
    yield event(f"response.{whole['status']}", response=whole)


# Anthropic, messages


def _message(asked: Asked, reply: Reply) -> dict[str, Any]:
    usage = usage_of(asked, reply)
    counted = {"usage": {"input_tokens": usage[0], "output_tokens": usage[1]}} if usage else {}
    return {
        **_message_frame(asked),
        "content": _blocks(asked, reply),
        "stop_reason": _stop_reason(reply),
        **counted,
    }


def _message_frame(asked: Asked) -> dict[str, Any]:
    frame = {"id": f"msg_{asked.digest}", "type": "message", "role": "assistant", "model": asked.model}
    return {**frame, "content": [], "stop_reason": None, "stop_sequence": None}


def _stop_reason(reply: Reply) -> str:
    names = {"length": "max_tokens", "stop": "end_turn", "tool_calls": "tool_use"}
    return names.get(reply.finish or "", reply.finish or ("tool_use" if reply.calls else "end_turn"))


def _blocks(asked: Asked, reply: Reply) -> list[dict[str, Any]]:
    texts = [] if reply.text is None else [{"type": "text", "text": reply.text}]
    calls = [
        {"type": "tool_use", "id": call_id, "name": name, "input": arguments}
        for call_id, name, arguments in _calls(asked, reply, "toolu")
    ]
    return [*texts, *calls]


def _message_events(asked: Asked, reply: Reply) -> Iterator[Event]:
    def event(kind: str, **data: Any) -> Event:
        return kind, {"type": kind, **data}

    usage = usage_of(asked, reply)
    start = {"usage": {"input_tokens": usage[0], "output_tokens": 1}} if usage else {}
    yield event("message_start", message={**_message_frame(asked), **start})
    yield event("ping")
    for index, block in enumerate(_blocks(asked, reply)):
        text = block["type"] == "text"
        emptied = {**block, "text": ""} if text else {**block, "input": {}}
        yield event("content_block_start", index=index, content_block=emptied)
        for piece in _pieces(block["text"] if text else json.dumps(block["input"])):
            delta = (
                {"type": "text_delta", "text": piece} if text else {"type": "input_json_delta", "partial_json": piece}
            )
            yield event("content_block_delta", index=index, delta=delta)
        yield event("content_block_stop", index=index)
    counted = {"usage": {"output_tokens": usage[1]}} if usage else {}
    yield event("message_delta", delta={"stop_reason": _stop_reason(reply), "stop_sequence": None}, **counted)
    yield event("message_stop")
