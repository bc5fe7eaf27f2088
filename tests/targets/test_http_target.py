from __future__ import annotations

import asyncio
import gzip
import importlib.util
import sys
import time
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from repeat_eval.suite.checks.base import Answer
from repeat_eval.targets.base import Call, TargetError
from repeat_eval.targets.http_target import HttpSettings, HttpSettingsError, HttpTarget, retry_after_seconds
from repeat_eval.targets.json_pointer import PointerFindsNothing, find
from repeat_eval.targets.retrying import Retrying


def _load_flaky_server() -> Any:
    spec = importlib.util.spec_from_file_location("flaky_server", Path(__file__).with_name("flaky_server.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


flaky = _load_flaky_server()
Reply, ok, flaky_server = flaky.Reply, flaky.ok, flaky.flaky_server

SECRET = "sk-0123456789/abcdef"  # noqa: S105 - nobody's
ENVIRON = {"API_KEY": SECRET, "EMPTY": ""}
CALL = Call(
    case="refund",
    input={"question": "Where is my parcel?", "items": [{"id": 7}]},
    repetition=2,
    repeats=5,
    seed=99,
    timeout=30,
    variables={"tone": "kind", "limit": 3, "note": "a {{case}} ${API_KEY}"},
)
CHAT = {
    "choices": [{"message": {"content": "Hello", "tool_calls": None}}],
    "usage": {"prompt_tokens": 12, "completion_tokens": 3},
    "cost": 0.002,
}


async def exchange(*replies: Any, call: Call = CALL, max_answer: int = 100_000, **settings: Any) -> tuple[Any, Any]:
    """The answer or error of one trial, and the server."""
    async with flaky_server(*replies) as server:
        path = settings.pop("path", "/chat")
        mapping = {"url": server.url + path, **settings}
        target = HttpTarget(HttpSettings.from_mapping(mapping, ENVIRON), workers=2, max_answer=max_answer)
        await target.start()
        try:
            answer, attempts = await target.answer(call)
            assert attempts == 1
            return answer, server
        except TargetError as error:
            return error, server
        finally:
            await target.close()


def answer_of(*replies: Any, **settings: Any) -> Answer:
    result = asyncio.run(exchange(*replies, **settings))[0]
    assert isinstance(result, Answer), result
    return result


def error_of(*replies: Any, **settings: Any) -> TargetError:
    result = asyncio.run(exchange(*replies, **settings))[0]
    assert isinstance(result, TargetError), result
    assert SECRET not in str(result)
    assert "\n" not in str(result)
    assert len(str(result)) < 500
    return result


def request_of(**settings: Any) -> Any:
    result, server = asyncio.run(exchange(ok({}), **settings))
    assert isinstance(result, Answer), result
    return server.requests[0]


def problems_of(value: object) -> dict[str, str]:
    with pytest.raises(HttpSettingsError) as caught:
        HttpSettings.from_mapping(value, ENVIRON)
    return {".".join(path): message for path, message in caught.value.problems}


# ---- the request ----


def test_without_a_template_the_request_is_what_a_command_would_read() -> None:
    request = request_of()
    assert (request.method, request.path, request.headers["content-type"]) == ("POST", "/chat", "application/json")
    assert request.json == {
        "case": "refund",
        "input": CALL.input,
        "repetition": 2,
        "repeats": 5,
        "seed": 99,
        "vars": CALL.variables,
    }


def test_a_lone_placeholder_keeps_the_type_and_others_are_text() -> None:
    template = {
        "messages": [{"role": "user", "content": "{{ input.question }}"}],
        "item": "{{input.items.0.id}}",
        "all": "{{input}}",
        "limit": "{{vars.limit}}",
        "label": "{{case}}#{{repetition}}/{{repeats}} {{vars.limit}} {{input.items}}",
        "fixed": [1, None, True, 0.5, "text"],
        "seed": "{{seed}}",
    }
    assert request_of(json=template).json == {
        "messages": [{"role": "user", "content": "Where is my parcel?"}],
        "item": 7,
        "all": CALL.input,
        "limit": 3,
        "label": 'refund#2/5 3 [{"id": 7}]',
        "fixed": [1, None, True, 0.5, "text"],
        "seed": 99,
    }


def test_what_is_put_in_is_not_looked_at_again() -> None:
    request = request_of(json={"note": "{{vars.note}}"}, headers={"X-Note": "{{vars.note}}"})
    assert request.json == {"note": "a {{case}} ${API_KEY}"}
    assert request.headers["x-note"] == "a {{case}} ${API_KEY}"


def test_values_in_the_url_are_percent_encoded() -> None:
    call = Call(case="a/b?c&d=é", input="x", repetition=1, repeats=1, seed=0, timeout=30)
    request = request_of(path="/cases/{{case}}?n={{repetition}}", method="get", call=call)
    assert (request.method, request.path, request.body) == ("GET", "/cases/a%2Fb%3Fc%26d%3D%C3%A9?n=1", b"")


def test_a_body_can_be_text() -> None:
    request = request_of(body="Q: {{input.question}} ${API_KEY}", headers={"Content-Type": "text/markdown"})
    assert request.body == b"Q: Where is my parcel? ${API_KEY}"
    assert request.headers["content-type"] == "text/markdown"


def test_headers_take_secrets_from_the_environment() -> None:
    request = request_of(
        headers={"Authorization": "Bearer ${API_KEY}", "X-Version": 2, "Idempotency-Key": "k-{{seed}}"}
    )
    assert request.headers["authorization"] == f"Bearer {SECRET}"
    assert (request.headers["x-version"], request.headers["idempotency-key"]) == ("2", "k-99")


def test_a_secret_that_ends_in_a_line_break_is_used_without_it() -> None:
    settings = HttpSettings.from_mapping({"url": "http://h", "headers": {"Authorization": "${K}"}}, {"K": "value\r\n"})
    assert settings.headers[0][1].text(CALL) == "value"


def test_a_case_that_lacks_what_the_template_wants_sends_nothing() -> None:
    error, server = asyncio.run(exchange(ok({}), json={"city": "{{input.city}}"}))
    assert (error.kind, error.retryable, server.requests) == ("harness", False, [])
    assert error.message == "no request for this case: {{input.city}}: input is an object with the keys question, items"


def test_a_value_cannot_bring_a_header_of_its_own() -> None:
    call = Call(case="x\r\nX-Evil: 1", input="", repetition=1, repeats=1, seed=0, timeout=30)
    error, server = asyncio.run(exchange(ok({}), headers={"X-Case": "{{case}}"}, call=call))
    assert (error.kind, server.requests) == ("harness", [])
    assert "X-Case would hold control characters" in error.message


def test_connections_are_shared_and_cookies_are_not() -> None:
    async def scenario() -> None:
        reply = Reply(200, b"{}", (("Set-Cookie", "session=1; Path=/"),))
        async with flaky_server(reply) as server:
            target = HttpTarget(HttpSettings.from_mapping(server.url, {}), workers=1)
            await target.start()
            for _ in range(3):
                await target.answer(CALL)
            await target.close()
        assert server.connections == 1
        assert not any("cookie" in request.headers for request in server.requests)

    asyncio.run(scenario())


# ---- the answer ----


def test_without_a_pointer_the_whole_body_is_the_output() -> None:
    answer = answer_of(Reply(200, "Grüße".encode()))
    assert answer.output == "Grüße"
    assert answer.duration is not None
    assert answer.duration > 0


def test_the_charset_that_the_endpoint_names_holds() -> None:
    reply = Reply(200, "Grüße".encode("latin-1"), (("Content-Type", "text/plain; charset=iso-8859-1"),))
    assert answer_of(reply).output == "Grüße"


def test_pointers_find_output_tokens_cost_and_tool_calls() -> None:
    answer = answer_of(
        ok(CHAT),
        output="/choices/0/message/content",
        tokens_input="/usage/prompt_tokens",
        tokens_output="/usage/completion_tokens",
        cost="/cost",
        tool_calls="/choices/0/message/tool_calls",
    )
    assert (answer.output, answer.cost, answer.tool_calls) == ("Hello", 0.002, ())
    assert answer.tokens is not None
    assert (answer.tokens.input, answer.tokens.output) == (12, 3)


def test_what_the_endpoint_does_not_tell_is_unknown() -> None:
    answer = answer_of(ok({"text": "x", "usage": None}), output="/text", tokens_input="/usage/in", cost="/cost")
    assert (answer.tokens, answer.cost, answer.tool_calls) == (None, None, None)


def test_an_output_can_be_any_json_value() -> None:
    assert answer_of(ok({"a": [1, {"b": None}]}), output="/a").output == [1, {"b": None}]
    assert answer_of(ok([1, 2]), output="").output == [1, 2]


@pytest.mark.parametrize(
    "call",
    [
        {"name": "refund", "arguments": {"id": 1}},
        {"name": "refund", "args": {"id": 1}},
        {"type": "tool_use", "name": "refund", "input": {"id": 1}},
        {"type": "function", "function": {"name": "refund", "arguments": '{"id": 1}'}},
    ],
)
def test_tool_calls_are_read_in_the_usual_shapes(call: dict[str, Any]) -> None:
    answer = answer_of(ok({"text": "x", "calls": [call]}), output="/text", tool_calls="/calls")
    assert answer.tool_calls is not None
    assert [(one.name, one.arguments) for one in answer.tool_calls] == [("refund", {"id": 1})]


def test_arguments_that_are_not_json_stay_text() -> None:
    answer = answer_of(ok({"calls": [{"name": "f", "arguments": "{oops"}]}), tool_calls="/calls")
    assert answer.tool_calls is not None
    assert answer.tool_calls[0].arguments == "{oops"


def test_a_missing_list_of_tool_calls_means_none_but_a_wrong_path_is_an_error() -> None:
    assert answer_of(ok({"message": {}}), tool_calls="/message/tool_calls").tool_calls == ()
    error = error_of(ok({"message": {}}), tool_calls="/choices/0/tool_calls")
    assert error.message == (
        "tool_calls /choices/0/tool_calls finds nothing: the whole is an object with the keys message"
    )


def test_compressed_answers_are_read_and_their_size_is_bounded() -> None:
    encoding = (("Content-Encoding", "gzip"),)
    assert answer_of(Reply(200, gzip.compress(b"hello"), encoding)).output == "hello"
    bomb = gzip.compress(b"0" * 3_000_000)
    assert len(bomb) < 10_000
    assert error_of(Reply(200, bomb, encoding)).message == "answered more than 100,000 bytes"
    assert "damaged" in error_of(Reply(200, b"not gzip", encoding)).message
    assert "damaged" in error_of(Reply(200, gzip.compress(b"hello" * 99)[:-9], encoding)).message
    assert "compressed with br" in error_of(Reply(200, b"x", (("Content-Encoding", "br"),))).message


# ---- what goes wrong ----


def test_too_many_requests_is_the_providers_error_and_says_when_to_come_back() -> None:
    error = error_of(Reply(429, b"slow down", (("Retry-After", "7"),)))
    assert (error.kind, error.message) == ("provider", "the endpoint answered 429 Too Many Requests")
    assert (error.retry_after, error.retryable) == (7.0, True)


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504, 529, 599])
def test_statuses_that_pass_are_the_providers_errors(status: int) -> None:
    error = error_of(Reply(status, b"x" * 100_000))
    assert (error.kind, error.retryable, error.retry_after) == ("provider", True, None)
    assert error.message.startswith(f"the endpoint answered {status}")


def test_other_refusals_are_crashes_that_quote_the_body_in_one_bounded_line() -> None:
    body = f"bad\r\n key {SECRET} {SECRET.replace('/', '%2F')}\x1b[31m ".encode() + b"x" * 100_000
    error = error_of(Reply(401, body), headers={"Authorization": "Bearer ${API_KEY}"})
    assert (error.kind, error.retryable) == ("crash", False)
    assert error.message.startswith("the endpoint answered 401 Unauthorized: bad key *** *** [31m xxx")
    assert len(error.message) < 300


def test_a_secret_is_not_shown_when_the_quotation_ends_in_the_middle_of_it() -> None:
    error = error_of(Reply(400, b"x" * 190 + SECRET.encode()), headers={"X-Api-Key": "${API_KEY}"})
    assert SECRET[:5] not in error.message


def test_redirects_are_not_followed() -> None:
    error = error_of(Reply(302, b"", (("Location", f"/login?key={SECRET}"),)), headers={"X-Api-Key": "${API_KEY}"})
    assert (error.kind, error.retryable) == ("crash", False)
    assert error.message == ("the endpoint answered 302 Found: redirects are not followed; it points to /login?key=***")


def test_a_slow_endpoint_is_a_timeout() -> None:
    call = Call(case="slow", input="", repetition=1, repeats=1, seed=0, timeout=0.1)
    error = error_of(Reply(hang=True), call=call)
    assert (error.kind, error.message) == ("timeout", "no answer within 0.1 s")


@pytest.mark.parametrize(
    "reply",
    [
        Reply(raw=b""),
        Reply(raw=b"HTTP/1.1 200 OK\r\nContent-Le"),
        Reply(raw=b"\x00\xff garbage\r\n\r\n"),
        Reply(200, b"half", announced=1000),
    ],
)
def test_a_connection_that_is_cut_is_the_providers_error(reply: Any) -> None:
    error = error_of(reply)
    assert (error.kind, error.retryable) == ("provider", True)
    assert error.message.startswith("the connection to the endpoint failed: ")


def test_nobody_listening_is_the_providers_error() -> None:
    async def scenario() -> TargetError:
        async with flaky_server(ok({})) as server:
            url = server.url
        target = HttpTarget(HttpSettings.from_mapping(url, {}))
        await target.start()
        try:
            await target.answer(CALL)
        except TargetError as error:
            return error
        finally:
            await target.close()
        raise AssertionError("answered")

    assert asyncio.run(scenario()).kind == "provider"


def test_an_answer_that_is_too_large_is_a_crash() -> None:
    error = error_of(Reply(200, b"x" * 5_000_000))
    assert (error.kind, error.message, error.retryable) == ("crash", "answered more than 100,000 bytes", False)


def test_bytes_that_are_no_text_are_a_crash() -> None:
    error = error_of(Reply(200, b"abc\xff"))
    assert (error.kind, error.message) == ("crash", "answered bytes that are not utf-8 at offset 3")


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "the answer is empty, not JSON"),
        (b"<html>oops", "the answer is not JSON; it begins with '<html>oops'"),
        (b"[" * 50_000, "the answer is not JSON"),
        (b'{"choices": []}', "output /choices/0/text finds nothing: /choices is a list of 0"),
        (b'{"error": "x"}', "output /choices/0/text finds nothing: the whole is an object with the keys error"),
        (b'{"choices": "x"}', "output /choices/0/text finds nothing: /choices is a text of 1 characters"),
        (b"null", "output /choices/0/text finds nothing: the whole is null"),
    ],
)
def test_an_answer_of_another_shape_is_a_crash_that_says_what_was_found(body: bytes, words: str) -> None:
    error = error_of(Reply(200, body), output="/choices/0/text")
    assert error.kind == "crash"
    assert error.message.startswith(words)


@pytest.mark.parametrize("number", ['"many"', "-1", "1.5", "true", "1e999", "[]"])
def test_tokens_that_are_no_count_are_a_crash(number: str) -> None:
    error = error_of(Reply(200, f'{{"n": {number}}}'.encode()), tokens_input="/n")
    assert (error.kind, error.message.startswith("tokens_input /n is ")) == ("crash", True)


def test_a_retry_gets_the_answer_after_429_and_503() -> None:
    async def scenario() -> None:
        slept: list[float] = []

        async def sleep(seconds: float) -> None:
            slept.append(seconds)

        async with flaky_server(Reply(429, b"", (("Retry-After", "3"),)), Reply(503), ok({"text": "yes"})) as server:
            settings = HttpSettings.from_mapping({"url": server.url, "output": "/text"}, {})
            target = Retrying(HttpTarget(settings), 2, frozenset({"provider"}), seed=1, sleep=sleep)
            await target.start()
            answer, attempts = await target.answer(CALL)
            await target.close()
        assert (answer.output, attempts) == ("yes", 3)
        assert 3 <= slept[0] <= 3.5
        assert 0.5 <= slept[1] <= 1.5

    asyncio.run(scenario())


def test_cancelling_leaves_nothing_open() -> None:
    async def scenario() -> None:
        async with flaky_server(Reply(hang=True)) as server:
            target = HttpTarget(HttpSettings.from_mapping(server.url, {}))
            await target.start()
            task = asyncio.create_task(target.answer(CALL))
            while not server.requests:  # noqa: ASYNC110
                await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await target.close()

    asyncio.run(scenario())


# ---- Retry-After ----


@pytest.mark.parametrize(
    ("value", "seconds"),
    [(None, None), ("7", 7.0), ("1.5", 1.5), ("0", 0.0), ("-3", None), ("soon", None), ("", None), ("٣", None)],
)
def test_retry_after_is_a_number_of_seconds(value: str | None, seconds: float | None) -> None:
    assert retry_after_seconds(value, 0.0) == seconds


def test_retry_after_is_a_date() -> None:
    now = 1_700_000_000.0
    assert retry_after_seconds(formatdate(now + 42, usegmt=True), now) == 42.0
    assert retry_after_seconds(formatdate(now - 42, usegmt=True), now) == 0.0


@settings(deadline=None)
@given(st.text(max_size=40))
def test_no_retry_after_breaks_the_reading(value: str) -> None:
    seconds = retry_after_seconds(value, time.time())
    assert seconds is None or seconds >= 0


# ---- settings, when the suite is loaded ----


def test_a_url_alone_is_enough() -> None:
    assert HttpSettings.from_mapping("https://example.com/chat", {}).method == "POST"


def test_all_faults_are_told_at_once() -> None:
    found = problems_of(
        {
            "url": "ftp://example.com",
            "method": "FETCH",
            "headers": {"Bad Name": "x", "X-List": [1]},
            "json": {"a": "{{inputs}}"},
            "output": "choices[0].message.content",
            "tokens_input": 3,
            "heders": {},
        }
    )
    assert set(found) == {"url", "method", "headers", "headers.X-List", "json", "output", "tokens_input", "heders"}
    assert found["output"].endswith("did you mean /choices/0/message/content?")
    assert found["heders"] == "unknown key; did you mean headers?"
    assert "allowed are {{input}}, {{case}}" in found["json"]


@pytest.mark.parametrize(
    "url",
    ["", "   ", None, 3, "example.com", "http://", "https:///path", "http://[::1", "http://h/a b", "http://h:99999/"],
)
def test_a_url_must_be_one(url: object) -> None:
    assert "url" in problems_of({"url": url})


def test_a_case_cannot_choose_the_host() -> None:
    found = problems_of({"url": "https://{{input}}.example.com/"})
    assert found["url"] == "placeholders may stand after the host only"


@pytest.mark.parametrize(
    "name",
    ["Authorization", "api-key", "X-API-Key", "x-goog-api-key", "Ocp-Apim-Subscription-Key", "X-Auth-Token", "Cookie"],
)
def test_a_secret_written_into_the_file_is_refused_with_advice(name: str) -> None:
    found = problems_of({"url": "http://h", "headers": {name: "Bearer hunter2"}})
    message = found[f"headers.{name}"]
    assert f"write ${{{name.upper().replace('-', '_')}}}" in message
    assert "hunter2" not in message


def test_secrets_in_the_url_are_refused_too() -> None:
    assert "${API_KEY}" in problems_of({"url": "http://h/?api_key=hunter2"})["url"]
    assert "${PASSWORD}" in problems_of({"url": "http://me:hunter2@h/"})["url"]
    HttpSettings.from_mapping({"url": "http://h/?api_key=${API_KEY}&q={{input}}"}, ENVIRON)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("Bearer ${MISSING}", "the environment variable MISSING is not set or empty"),
        ("${EMPTY}", "the environment variable EMPTY is not set or empty"),
        ("${API-KEY}", "${API-KEY} is not the name of an environment variable; write ${NAME}"),
        ("${API_KEY:-x}", "${API_KEY:-x} is not the name of an environment variable; write ${NAME}"),
    ],
)
def test_a_missing_variable_is_told_with_its_header(value: str, message: str) -> None:
    assert problems_of({"url": "http://h", "headers": {"Authorization": value}}) == {"headers.Authorization": message}


@pytest.mark.parametrize(
    "text", ["{{}}", "{{ }}", "{{nope}}", "{{case.x}}", "{{input..x}}", "{{input.}}", "{{seed.0}}"]
)
def test_a_placeholder_must_be_known(text: str) -> None:
    assert "json" in problems_of({"url": "http://h", "json": [text]})


def test_other_things_that_cannot_be_sent_are_told() -> None:
    deep: Any = []
    for _ in range(5000):
        deep = [deep]
    assert "nested too deeply" in problems_of({"url": "http://h", "json": deep})["json"]
    assert "the key" in problems_of({"url": "http://h", "json": {"{{case}}": 1}})["json"]
    assert "not both" in problems_of({"url": "http://h", "json": {}, "body": ""})["body"]
    assert "must be text" in problems_of({"url": "http://h", "body": {"a": 1}})["body"]
    assert "mapping" in problems_of({"url": "http://h", "headers": ["a"]})["headers"]
    assert "" in problems_of(["http://h"])


def test_settings_do_not_show_secrets() -> None:
    settings = HttpSettings.from_mapping(
        {"url": "http://h/${API_KEY}", "headers": {"Authorization": "Bearer ${API_KEY}"}}, ENVIRON
    )
    assert SECRET not in repr(settings)
    assert SECRET not in repr(settings.url)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=12), inner, max_size=3),
    max_leaves=12,
)


@settings(deadline=None)
@given(
    st.dictionaries(st.sampled_from(["url", "method", "headers", "json", "body", "output", "cost"]) | st.text(), JSON)
)
def test_any_mapping_gives_settings_or_problems(mapping: dict[str, Any]) -> None:
    try:
        HttpSettings.from_mapping(mapping, ENVIRON)
    except HttpSettingsError as error:
        assert error.problems


# ---- JSON pointers ----


@pytest.mark.parametrize(
    ("pointer", "value"),
    [
        ("/foo", ["bar", "baz"]),
        ("/foo/0", "bar"),
        ("/", 0),
        ("/a~1b", 1),
        ("/m~0n", 8),
        ("/c%d", 2),
        ("/~01", 9),
    ],
)
def test_pointers_are_read_as_rfc_6901_says(pointer: str, value: Any) -> None:
    assert find({"foo": ["bar", "baz"], "": 0, "a/b": 1, "c%d": 2, "m~n": 8, "~1": 9}, pointer) == value


@pytest.mark.parametrize("pointer", ["/foo/00", "/foo/-", "/foo/2", "/foo/-1", "/foo/ 0", "/foo/0/x", "/fo"])
def test_pointers_find_no_more_than_is_there(pointer: str) -> None:
    with pytest.raises(PointerFindsNothing, match="finds nothing"):
        find({"foo": ["bar", "baz"]}, pointer)


@settings(deadline=None)
@given(JSON)
def test_a_pointer_to_every_leaf_finds_it(value: Any) -> None:
    def walk(part: Any, pointer: str) -> None:
        assert find(value, pointer) is part
        if isinstance(part, dict):
            for key, item in part.items():
                walk(item, f"{pointer}/{key.replace('~', '~0').replace('/', '~1')}")
        elif isinstance(part, list):
            for index, item in enumerate(part):
                walk(item, f"{pointer}/{index}")

    walk(value, "")
