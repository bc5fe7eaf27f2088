"""The provider on loopback holds against the real client libraries; what it breaks, they see broken."""

from __future__ import annotations

import time

import anthropic
import httpx
import httpx2
import openai
import pytest
from model_server import ModelServer, agent, call, cut, in_turn, malformed, refuse, running, say, sometimes
from model_server.behaviours import Bucket

TOOL = {
    "type": "object",
    "properties": {"amount": {"type": "number"}},
    "required": ["amount"],
    "additionalProperties": False,
}
CHAT_TOOLS = [{"type": "function", "function": {"name": "refund", "description": "Pays back", "parameters": TOOL}}]
RESPONSE_TOOLS = [
    {"type": "function", "name": "refund", "description": "Pays back", "parameters": TOOL, "strict": True}
]
MESSAGE_TOOLS = [{"name": "refund", "description": "Pays back", "input_schema": TOOL}]
ASK = [{"role": "user", "content": "Refund me, please"}]


def openai_client(server: ModelServer) -> openai.OpenAI:
    return openai.OpenAI(
        base_url=server.url, api_key="sk-test", max_retries=0, timeout=5, _strict_response_validation=True
    )


def anthropic_client(server: ModelServer) -> anthropic.Anthropic:
    return anthropic.Anthropic(
        base_url=server.origin, api_key="sk-ant-test", max_retries=0, timeout=5, _strict_response_validation=True
    )


@pytest.fixture
def client(model_server: ModelServer) -> openai.OpenAI:
    return openai_client(model_server)


@pytest.fixture
def claude(model_server: ModelServer) -> anthropic.Anthropic:
    return anthropic_client(model_server)


def test_chat_says_a_text_with_usage(model_server: ModelServer, client: openai.OpenAI) -> None:
    model_server.answer = lambda asked: say(f"You said: {asked.question}")
    answer = client.chat.completions.create(model="gpt-x", messages=ASK)
    assert answer.choices[0].message.content == "You said: Refund me, please"
    assert answer.choices[0].finish_reason == "stop"
    assert answer.usage is not None
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens) == (3, 5)


def test_chat_calls_tools_over_two_turns(model_server: ModelServer, client: openai.OpenAI) -> None:
    model_server.answer = agent("refund", amount=12.5, done="Paid.")
    first = client.chat.completions.create(model="gpt-x", messages=ASK, tools=CHAT_TOOLS)
    (made,) = first.choices[0].message.tool_calls
    assert (made.function.name, made.function.arguments) == ("refund", '{"amount": 12.5}')
    assert first.choices[0].finish_reason == "tool_calls"
    more = [first.choices[0].message, {"role": "tool", "tool_call_id": made.id, "content": "ok"}]
    second = client.chat.completions.create(model="gpt-x", messages=[*ASK, *more], tools=CHAT_TOOLS)
    assert second.choices[0].message.content == "Paid."
    assert model_server.log[1].tool_results == ["ok"]
    assert [asked.turn for asked in model_server.log] == [1, 2]


def test_chat_streams_text_tool_calls_and_usage(model_server: ModelServer, client: openai.OpenAI) -> None:
    model_server.answer = lambda asked: say("I will pay it back now.").then_call("refund", amount=3)
    text, arguments, usage, finish = "", "", None, None
    options = {"include_usage": True}
    stream = client.chat.completions.create(
        model="gpt-x", messages=ASK, tools=CHAT_TOOLS, stream=True, stream_options=options
    )
    for chunk in stream:
        usage = chunk.usage or usage
        for choice in chunk.choices:
            text += choice.delta.content or ""
            finish = choice.finish_reason or finish
            arguments += "".join(each.function.arguments for each in choice.delta.tool_calls or ())
    assert (text, arguments, finish) == ("I will pay it back now.", '{"amount": 3}', "tool_calls")
    assert usage is not None
    assert usage.completion_tokens == 11


def test_responses_call_tools_over_two_turns(model_server: ModelServer, client: openai.OpenAI) -> None:
    model_server.answer = agent("refund", amount=12.5, done="Paid.")
    first = client.responses.create(model="gpt-x", instructions="Be kind.", input=ASK, tools=RESPONSE_TOOLS)
    (made,) = first.output
    assert (made.type, made.name, made.arguments) == ("function_call", "refund", '{"amount": 12.5}')
    given = [*ASK, made, {"type": "function_call_output", "call_id": made.call_id, "output": "ok"}]
    second = client.responses.create(model="gpt-x", instructions="Be kind.", input=given, tools=RESPONSE_TOOLS)
    assert second.output_text == "Paid."
    assert second.usage is not None
    assert second.usage.output_tokens == 1
    assert [asked.system for asked in model_server.log] == ["Be kind."] * 2


def test_responses_stream_what_they_say_at_once(model_server: ModelServer, client: openai.OpenAI) -> None:
    model_server.answer = lambda asked: say("I will pay it back now.").then_call("refund", amount=3)
    whole = client.responses.create(model="gpt-x", input="Refund me", tools=RESPONSE_TOOLS)
    with client.responses.stream(model="gpt-x", input="Refund me", tools=RESPONSE_TOOLS) as stream:
        kinds = [event.type for event in stream]
        streamed = stream.get_final_response()
    assert "response.output_text.delta" in kinds
    assert "response.function_call_arguments.delta" in kinds
    assert streamed.output_text == whole.output_text == "I will pay it back now."
    assert streamed.usage == whole.usage
    assert [item.type for item in streamed.output] == ["message", "function_call"]


def test_messages_call_tools_over_two_turns(model_server: ModelServer, claude: anthropic.Anthropic) -> None:
    model_server.answer = agent("refund", amount=12.5, done="Paid.")
    settings = {"model": "claude-x", "max_tokens": 99, "system": "Be kind.", "tools": MESSAGE_TOOLS}
    first = claude.messages.create(messages=ASK, **settings)
    (made,) = first.content
    assert (made.type, made.name, made.input, first.stop_reason) == ("tool_use", "refund", {"amount": 12.5}, "tool_use")
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": made.id, "content": "ok"}]}
    second = claude.messages.create(
        messages=[*ASK, {"role": "assistant", "content": first.content}, result], **settings
    )
    assert (second.content[0].text, second.stop_reason, second.usage.output_tokens) == ("Paid.", "end_turn", 1)
    assert model_server.log[1].tool_results == ["ok"]
    assert model_server.log[1].key == "sk-ant-test"


def test_messages_stream_what_they_say_at_once(model_server: ModelServer, claude: anthropic.Anthropic) -> None:
    model_server.answer = lambda asked: say("I will pay it back now.").then_call("refund", amount=3)
    settings = {"model": "claude-x", "max_tokens": 99, "messages": ASK, "tools": MESSAGE_TOOLS}
    whole = claude.messages.create(**settings)
    with claude.messages.stream(**settings) as stream:
        streamed = stream.get_final_message()
    assert [block.type for block in streamed.content] == ["text", "tool_use"]
    assert streamed.content[0].text == whole.content[0].text
    assert streamed.content[1].input == whole.content[1].input == {"amount": 3}
    assert streamed.usage.output_tokens == whole.usage.output_tokens
    assert streamed.stop_reason == "tool_use"


def test_embeddings_are_near_for_texts_that_share_words(model_server: ModelServer, client: openai.OpenAI) -> None:
    texts = ["Your refund is on its way", "your refund is on its way!", "Cats sleep all day"]
    client = openai.OpenAI(base_url=model_server.url, api_key="sk-test", max_retries=0)
    vectors = [each.embedding for each in client.embeddings.create(model="embed-x", input=texts).data]
    plain = client.embeddings.create(model="embed-x", input=texts[0], encoding_format="float").data[0].embedding
    assert plain == pytest.approx(vectors[0], abs=1e-6)

    def cosine(a: list[float], b: list[float]) -> float:
        return sum(x * y for x, y in zip(a, b, strict=True))

    assert cosine(vectors[0], vectors[1]) == pytest.approx(1, abs=1e-6)
    assert cosine(vectors[0], vectors[2]) < 0.5


def test_refusals_are_the_clients_own_errors(model_server: ModelServer, client: openai.OpenAI) -> None:
    model_server.answer = in_turn(refuse(429, "Slow down", retry_after=2), refuse(500, "Oh no"), say("fine"))
    with pytest.raises(openai.RateLimitError, match="Slow down") as busy:
        client.responses.create(model="gpt-x", input="a")
    assert busy.value.response.headers["Retry-After"] == "2"
    with pytest.raises(openai.InternalServerError, match="Oh no"):
        client.responses.create(model="gpt-x", input="a")
    assert client.responses.create(model="gpt-x", input="a").output_text == "fine"
    assert model_server.statuses == [429, 500, 200]


def test_anthropics_refusals_are_the_clients_own_errors(model_server: ModelServer, claude: anthropic.Anthropic) -> None:
    model_server.answer = in_turn(refuse(429, "Slow down", retry_after=2), refuse(529, "Overloaded"))
    with pytest.raises(anthropic.RateLimitError, match="Slow down"):
        claude.messages.create(model="claude-x", max_tokens=9, messages=ASK)
    with pytest.raises(anthropic.APIStatusError, match="Overloaded"):
        claude.messages.create(model="claude-x", max_tokens=9, messages=ASK)


def test_a_wrong_key_is_refused(model_server: ModelServer, client: openai.OpenAI) -> None:
    model_server.key = "sk-right"
    with pytest.raises(openai.AuthenticationError):
        client.chat.completions.create(model="gpt-x", messages=ASK)
    assert model_server.log[0].key == "sk-test"


@pytest.mark.parametrize("stream", [False, True])
def test_connections_break_in_the_middle_of_an_answer(
    model_server: ModelServer, client: openai.OpenAI, claude: anthropic.Anthropic, stream: bool
) -> None:
    model_server.answer = lambda asked: cut()
    broken = (openai.APIError, anthropic.APIError, httpx2.TransportError)
    with pytest.raises(broken):
        list(client.chat.completions.create(model="gpt-x", messages=ASK, stream=stream))
    with pytest.raises(broken):
        list(client.responses.create(model="gpt-x", input="a", stream=stream))
    with pytest.raises(broken):
        list(claude.messages.create(model="claude-x", max_tokens=9, messages=ASK, stream=stream))
    model_server.answer = lambda asked: cut(where="before")
    with pytest.raises(openai.APIConnectionError):
        client.chat.completions.create(model="gpt-x", messages=ASK, stream=stream)
    assert model_server.statuses == [0] * 4


def test_a_body_can_be_no_json(model_server: ModelServer) -> None:
    model_server.answer = lambda asked: malformed()
    answer = httpx.post(f"{model_server.url}/chat/completions", json={"model": "gpt-x", "messages": ASK})
    assert answer.status_code == 200
    with pytest.raises(ValueError, match="Unterminated"):
        answer.json()


def test_usage_can_be_left_out(model_server: ModelServer, client: openai.OpenAI, claude: anthropic.Anthropic) -> None:
    model_server.answer = lambda asked: say("fine", usage=())
    assert client.chat.completions.create(model="gpt-x", messages=ASK).usage is None
    assert client.responses.create(model="gpt-x", input="a").usage is None
    raw = claude.messages.with_raw_response.create(model="claude-x", max_tokens=9, messages=ASK)
    assert "usage" not in raw.http_response.json()


def test_slow_answers_run_into_the_clients_timeout(model_server: ModelServer, client: openai.OpenAI) -> None:
    model_server.answer = lambda asked: say("late", delay=30)
    with pytest.raises(openai.APITimeoutError):
        client.with_options(timeout=0.1).responses.create(model="gpt-x", input="a")


def test_the_server_stops_at_once_whatever_it_is_doing() -> None:
    with running(ModelServer(lambda asked: say("late", delay=30))) as server:
        with pytest.raises(openai.APITimeoutError):
            openai_client(server).with_options(timeout=0.1).responses.create(model="gpt-x", input="a")
        began = time.monotonic()
    assert time.monotonic() - began < 5
    with pytest.raises(openai.APIConnectionError):
        openai_client(server).responses.create(model="gpt-x", input="a")


def test_the_same_questions_get_the_same_draws_after_forgetting(
    model_server: ModelServer, client: openai.OpenAI
) -> None:
    model_server.answer = sometimes(0.5, lambda asked: say("yes"), lambda asked: say("no"), seed=3)

    def twenty() -> list[str]:
        return [client.responses.create(model="gpt-x", input="Well?").output_text for _ in range(20)]

    first = twenty()
    assert set(first) == {"yes", "no"}
    assert [asked.nth for asked in model_server.log] == list(range(1, 21))
    model_server.forget()
    assert twenty() == first


def test_a_bucket_lets_so_many_a_second_through() -> None:
    now = 100.0
    bucket = Bucket(5, clock=lambda: now)
    assert bucket.wait_for() == 0
    assert bucket.wait_for() == pytest.approx(0.2)
    assert bucket.headers(0.2) == {"Retry-After": "1", "retry-after-ms": "200"}
    now += 0.1
    assert bucket.wait_for() == pytest.approx(0.1)
    now += 0.1
    assert bucket.wait_for() == 0
    now += 60
    assert [bucket.wait_for() == 0 for _ in range(3)] == [True, False, False]


def test_a_limited_server_answers_429_and_does_not_count_it(model_server: ModelServer, client: openai.OpenAI) -> None:
    model_server.limit = Bucket(0.001)
    assert client.responses.create(model="gpt-x", input="a").output_text == "Hello."
    with pytest.raises(openai.RateLimitError) as busy:
        client.responses.create(model="gpt-x", input="a")
    assert int(busy.value.response.headers["Retry-After"]) > 900
    assert (model_server.calls, model_server.statuses) == (2, [200, 429])


def test_conversations_that_a_provider_would_refuse_are_violations() -> None:
    with running() as server, pytest.raises(openai.BadRequestError, match="was not called"):
        answer = [*ASK, {"role": "tool", "tool_call_id": "call_1", "content": "ok"}]
        openai_client(server).chat.completions.create(model="gpt-x", messages=answer)
    assert server.violations == ["a tool's message answers 'call_1', which was not called"]


def test_an_unknown_path_is_not_found(model_server: ModelServer) -> None:
    assert httpx.post(f"{model_server.url}/unknown", json={}).status_code == 404


def test_parallel_calls_of_tools_have_ids_of_their_own(model_server: ModelServer, client: openai.OpenAI) -> None:
    model_server.answer = lambda asked: call("refund", amount=1).then_call("refund", amount=2)
    answer = client.chat.completions.create(model="gpt-x", messages=ASK, tools=CHAT_TOOLS)
    ids = [made.id for made in answer.choices[0].message.tool_calls]
    assert len(set(ids)) == 2
