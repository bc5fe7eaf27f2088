"""Real client libraries ask a provider on loopback: what they answer, and what becomes of all that goes wrong."""

from __future__ import annotations

import asyncio
import warnings
from typing import Any

import pytest
from model_server import ModelServer, agent, call, cut, in_turn, malformed, refuse, say

from repeat_eval.errors import UserError
from repeat_eval.models.call import CallSlot, ModelReply, ModelRequest
from repeat_eval.models.provider import HowToAsk, make_ask
from repeat_eval.models.provider_messages import NOT_JSON
from repeat_eval.records.trial import Tokens
from repeat_eval.targets.base import TargetError

KEY = "sk-planted-5f2c9a71e0"
WIRES = ["openai:gpt-x", "openai-responses:gpt-x", "anthropic:claude-x"]
REFUND = {"type": "object", "properties": {"amount": {"type": "number"}}, "required": ["amount"]}
TOOLS: tuple[dict[str, Any], ...] = ({"name": "refund", "description": "Pays back", "parameters": REFUND},)
ASK: tuple[dict[str, Any], ...] = (
    {"role": "system", "content": "You are an agent."},
    {"role": "user", "content": "Refund me"},
)
SLOT = CallSlot("a case", 1, "target", 1)


def url_of(server: ModelServer, name: str) -> str:
    return server.origin if name.startswith("anthropic") else server.url


def calling(call_id: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """The assistant's message that asks for a refund."""
    made = {"id": call_id, "name": "refund", "arguments": arguments}
    return {"role": "assistant", "content": None, "tool_calls": [made]}


async def asked(server: ModelServer, name: str, *requests: ModelRequest, **options: Any) -> list[ModelReply]:
    environ = {"MY_KEY": KEY}
    how = HowToAsk(environ=environ, **options)
    ask = make_ask(name, how, url=url_of(server, name), api_key_env="MY_KEY")
    await ask.start()
    try:
        return [
            await ask(request, CallSlot("a case", 1, "target", index))
            for index, request in enumerate(requests, start=1)
        ]
    finally:
        await ask.close()


def reply_of(server: ModelServer, name: str, **more: Any) -> ModelReply:
    options = more.pop("options", {})
    request = ModelRequest(model=name, messages=more.pop("messages", ASK), **more)
    (reply,) = asyncio.run(asked(server, name, request, **options))
    return reply


def error_of(server: ModelServer, name: str, **more: Any) -> TargetError:
    with pytest.raises(TargetError) as caught:
        reply_of(server, name, **more)
    assert KEY not in caught.value.message
    return caught.value


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("name", WIRES)
def test_a_model_says_a_text_with_its_tokens(model_server: ModelServer, name: str, stream: bool) -> None:
    model_server.answer = lambda one: say(f"You said: {one.question}")
    reply = reply_of(model_server, name, settings={"stream": stream, "temperature": 0.5, "max_tokens": 100})
    assert (reply.text, reply.tool_calls, reply.finish_reason) == ("You said: Refund me", (), "stop")
    assert reply.tokens is not None
    assert reply.tokens.output == 4
    (request,) = model_server.log
    assert (request.system, request.streams, request.key) == ("You are an agent.", stream, KEY)
    assert request.body["temperature"] == 0.5


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("name", WIRES)
def test_a_model_calls_a_tool_and_reads_what_it_gave(model_server: ModelServer, name: str, stream: bool) -> None:
    model_server.answer = agent("refund", amount=12.5, done="Paid.")
    settings = {"stream": stream}
    first = ModelRequest(model=name, messages=ASK, tools=TOOLS, settings=settings)

    async def both() -> tuple[ModelReply, ModelReply]:
        ask = make_ask(name, HowToAsk(environ={}), url=url_of(model_server, name))
        await ask.start()
        one = await ask(first, SLOT)
        (made,) = one.tool_calls
        history = (
            *ASK,
            calling(made.id, made.arguments),
            {"role": "tool", "tool_call_id": made.id, "name": "refund", "content": "ok"},
        )
        other = await ask(
            ModelRequest(model=name, messages=history, tools=TOOLS, settings=settings),
            CallSlot("a case", 1, "target", 2),
        )
        await ask.close()
        return one, other

    one, other = asyncio.run(both())
    assert [(tool.name, tool.arguments) for tool in one.tool_calls] == [("refund", {"amount": 12.5})]
    assert one.text is None
    assert other.text == "Paid."
    assert model_server.log[1].tool_results == ["ok"]
    assert model_server.log[0].tools["refund"] == REFUND


@pytest.mark.parametrize("name", WIRES)
def test_a_history_whose_replies_came_from_elsewhere_is_understood(model_server: ModelServer, name: str) -> None:
    history = (
        *ASK,
        calling("c1", {"amount": 1}) | {"content": "One moment."},
        {"role": "tool", "tool_call_id": "c1", "name": "refund", "content": '{"error": "busy"}'},
    )
    reply_of(model_server, name, messages=history, tools=TOOLS)
    (request,) = model_server.log
    assert request.tool_results == ['{"error": "busy"}']


@pytest.mark.parametrize("name", WIRES)
def test_an_answer_can_be_asked_for_in_a_structure(model_server: ModelServer, name: str) -> None:
    schema = {"type": "object", "properties": {"score": {"type": "number"}}, "required": ["score"]}
    model_server.answer = lambda one: (
        call("give_answer", score=0.5) if "give_answer" in one.tools else say('{"score": 0.5}')
    )
    reply = reply_of(model_server, name, output_schema=schema)
    assert reply.text is not None
    assert reply.text.replace(" ", "") == '{"score":0.5}'
    assert reply.tool_calls == ()


@pytest.mark.parametrize("name", WIRES[:2])  # Anthropic's format cannot leave it out
def test_usage_that_is_not_told_is_unknown_and_so_is_the_cost(model_server: ModelServer, name: str) -> None:
    model_server.answer = lambda one: say("Hello.", usage=())
    reply = reply_of(model_server, name)
    assert (reply.tokens, reply.cost) == (None, None)


def test_an_endpoint_of_ones_own_has_no_price_whatever_its_model_is_called(model_server: ModelServer) -> None:
    model_server.answer = lambda one: say("Hello.", usage=(1000, 1000))
    reply = reply_of(model_server, "openai:gpt-4o-mini")
    assert reply.tokens == Tokens(input=1000, output=1000)
    assert reply.cost is None


def test_arguments_that_are_no_json_are_handed_on_as_they_are(model_server: ModelServer) -> None:
    body = (
        b'{"id":"x","object":"chat.completion","created":1,"model":"gpt-x","choices":[{"index":0,"finish_reason":'
        b'"tool_calls","message":{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function",'
        b'"function":{"name":"refund","arguments":"{amount: "}}]}}],'
        b'"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}'
    )
    model_server.answer = lambda one: malformed(body)
    (made,) = reply_of(model_server, "openai:gpt-x", tools=TOOLS).tool_calls
    assert made.arguments == {NOT_JSON: "{amount: "}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("name", WIRES)
class TestErrors:
    def test_too_many_calls_may_be_repeated_when_the_provider_says(
        self, model_server: ModelServer, name: str, stream: bool
    ) -> None:
        model_server.answer = lambda one: refuse(429, f"slow down, {KEY}", retry_after=7)
        error = error_of(model_server, name, settings={"stream": stream}, options={"retry_on": frozenset()})
        assert (error.kind, error.retryable, error.retry_after) == ("provider", True, 7.0)
        assert "429" in error.message
        assert model_server.calls == 1  # the library itself does not try again

    def test_errors_of_the_server_may_be_repeated(self, model_server: ModelServer, name: str, stream: bool) -> None:
        model_server.answer = lambda one: refuse(500, "out of order")
        error = error_of(model_server, name, settings={"stream": stream})
        assert (error.kind, error.retryable) == ("provider", True)
        assert error.message == f"{name} answered 500: out of order"
        assert model_server.calls == 1

    def test_a_refused_key_is_not_tried_again_and_not_quoted(
        self, model_server: ModelServer, name: str, stream: bool
    ) -> None:
        model_server.answer = lambda one: refuse(401, f"Incorrect API key provided: {KEY}")
        error = error_of(model_server, name, settings={"stream": stream}, options={"retries": 3})
        assert (error.kind, error.retryable) == ("provider", False)
        assert error.message == f"{name} answered 401: the key was not accepted: Incorrect API key provided: ***"
        assert model_server.calls == 1

    def test_an_unknown_model_is_not_tried_again(self, model_server: ModelServer, name: str, stream: bool) -> None:
        model_server.answer = lambda one: refuse(404, "no such model")
        error = error_of(model_server, name, settings={"stream": stream}, options={"retries": 3})
        assert (error.kind, error.retryable) == ("provider", False)
        assert "404: there is no such model or endpoint" in error.message

    @pytest.mark.parametrize("where", ["before", "middle"])
    def test_a_dropped_connection_may_be_repeated(
        self, model_server: ModelServer, name: str, stream: bool, where: str
    ) -> None:
        model_server.answer = lambda one: cut(where=where)
        error = error_of(model_server, name, settings={"stream": stream})
        assert (error.kind, error.retryable) == ("provider", True)
        assert model_server.calls == 1

    def test_an_answer_that_is_no_json_may_be_repeated(
        self, model_server: ModelServer, name: str, stream: bool
    ) -> None:
        model_server.answer = lambda one: malformed()
        error = error_of(model_server, name, settings={"stream": stream})
        assert (error.kind, error.retryable) == ("provider", True)

    def test_a_slow_answer_is_a_timeout(self, model_server: ModelServer, name: str, stream: bool) -> None:
        model_server.answer = lambda one: say("late", delay=5)
        error = error_of(model_server, name, settings={"stream": stream}, options={"timeout": 0.2})
        assert error.kind == "timeout"
        assert error.message == f"no answer of {name} within 0.2 s"


@pytest.mark.parametrize("name", WIRES)
def test_an_error_is_followed_by_another_try_and_counted(model_server: ModelServer, name: str) -> None:
    model_server.answer = in_turn(refuse(503), say("Hello."))

    async def scenario() -> tuple[ModelReply, int]:
        ask = make_ask(name, HowToAsk(environ={}, retries=2), url=url_of(model_server, name))
        await ask.start()
        reply = await ask(ModelRequest(model=name, messages=ASK), SLOT)
        await ask.close()
        return reply, ask.take_retries(SLOT)

    reply, again = asyncio.run(scenario())
    assert (reply.text, again, model_server.statuses) == ("Hello.", 1, [503, 200])


def test_a_missing_key_is_said_before_anything_is_asked() -> None:
    with pytest.raises(UserError, match="OPENAI_API_KEY is not set"):
        make_ask("openai:gpt-x", HowToAsk(environ={}))
    with pytest.raises(UserError, match="MY_KEY is not set"):
        make_ask(
            "openai:gpt-x",
            HowToAsk(environ={"OPENAI_API_KEY": KEY}),
            url="http://127.0.0.1:9/v1",
            api_key_env="MY_KEY",
        )
    with pytest.raises(UserError, match="GOOGLE_API_KEY or GEMINI_API_KEY is not set"):
        make_ask("google:gemini-x", HowToAsk(environ={"GOOGLE_API_KEY": " \n"}))


@pytest.mark.parametrize("name", WIRES)
def test_the_usual_key_is_not_sent_to_an_endpoint_of_ones_own(model_server: ModelServer, name: str) -> None:
    async def scenario() -> None:
        environ = {"OPENAI_API_KEY": KEY, "ANTHROPIC_API_KEY": KEY}
        ask = make_ask(name, HowToAsk(environ=environ), url=url_of(model_server, name))
        await ask.start()
        await ask(ModelRequest(model=name, messages=ASK), SLOT)
        await ask.close()

    asyncio.run(scenario())
    (request,) = model_server.log
    assert KEY not in str(request.headers)


def test_the_usual_variable_of_the_endpoint_is_followed_with_the_usual_key(model_server: ModelServer) -> None:
    async def scenario() -> None:
        ask = make_ask(
            "openai:gpt-x", HowToAsk(environ={"OPENAI_API_KEY": f"{KEY}\n", "OPENAI_BASE_URL": model_server.url})
        )
        await ask.start()
        await ask(ModelRequest(model="openai:gpt-x", messages=ASK), SLOT)
        await ask.close()

    asyncio.run(scenario())
    (request,) = model_server.log
    assert (request.key, request.wire) == (KEY, "chat")


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("opnai:gpt-x", "unknown provider 'opnai'; did you mean 'openai'?"),
        ("bedrock:x", "the provider 'bedrock' needs a package that is not installed"),
    ],
)
def test_a_provider_that_cannot_be_asked_is_said(name: str, sentence: str) -> None:
    with pytest.raises(UserError) as caught:
        make_ask(name, HowToAsk(environ={}))
    assert str(caught.value).startswith(sentence)


def test_without_the_client_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "pydantic_ai", None)
    with pytest.raises(UserError, match=r"pip install 'repeat-eval\[models\]'"):
        make_ask("openai:gpt-x", HowToAsk(environ={"OPENAI_API_KEY": KEY}))


def test_offline_needs_no_key_and_asks_nobody() -> None:
    ask = make_ask("openai:gpt-x", HowToAsk(environ={}, offline=True))
    with pytest.raises(TargetError) as caught:
        asyncio.run(ask(ModelRequest(model="openai:gpt-x", messages=ASK), SLOT))
    assert (caught.value.kind, caught.value.retryable) == ("recording", False)


IGNORED = [
    ("openai:gpt-5-mini", {"temperature": 0}, "takes no `temperature` while it reasons: leave it out"),
    ("openai-chat:o3-mini", {"top_p": 0.5, "temperature": 0}, "takes no `top_p` and no `temperature` while it reasons"),
    ("openai:gpt-5.1", {"temperature": 0, "thinking": "high"}, "or turn its reasoning off (`thinking: false`)"),
    ("openai:gpt-4.1-mini", {"seed": 3}, "takes no `seed`: leave it out, or ask openai-chat:gpt-4.1-mini"),
    ("openai:gpt-4.1-mini", {"thinking": "high"}, "takes no `thinking`"),
    ("anthropic:claude-haiku-4-5", {"seed": 3, "temperature": 0}, "takes no `seed`: leave it out"),
    ("anthropic:claude-opus-4-7", {"temperature": 0}, "takes no `temperature`"),
    ("google:gemini-2.5-pro", {"parallel_tool_calls": False}, "takes no `parallel_tool_calls`"),
]
KEYS = {"OPENAI_API_KEY": KEY, "ANTHROPIC_API_KEY": KEY, "GOOGLE_API_KEY": KEY}


@pytest.mark.parametrize(("name", "settings", "said"), IGNORED)
def test_a_setting_that_the_model_would_never_be_told_is_refused(
    name: str, settings: dict[str, Any], said: str
) -> None:
    with warnings.catch_warnings(), pytest.raises(UserError) as caught:
        warnings.simplefilter("error")
        make_ask(name, HowToAsk(environ=KEYS)).check_settings(settings)
    assert str(caught.value).startswith(f"{name} takes no ")
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("openai:gpt-5-mini", {"max_tokens": 5, "stream": True, "thinking": "low", "temperature": None}),
        ("openai:gpt-5.1", {"temperature": 0}),
        ("openai:gpt-5.1", {"temperature": 0, "openai_reasoning_effort": "none"}),
        ("openai-chat:gpt-4.1-mini", {"temperature": 0, "seed": 3, "stop_sequences": ["."]}),
        ("anthropic:claude-haiku-4-5", {"temperature": 0, "top_k": 3, "anthropic_metadata": {"user_id": "a"}}),
        ("google:gemini-2.5-pro", {"temperature": 0, "seed": 3}),
    ],
)
def test_settings_that_reach_the_model_are_taken(name: str, settings: dict[str, Any]) -> None:
    make_ask(name, HowToAsk(environ=KEYS)).check_settings(settings)


def test_where_nothing_is_asked_live_no_setting_is_refused() -> None:
    make_ask("openai:gpt-5-mini", HowToAsk(environ={}, offline=True)).check_settings({"temperature": 0})
