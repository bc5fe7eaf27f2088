"""Comparing texts by meaning through an embedding endpoint."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from model_server import ModelServer
from model_server.behaviours import Bucket

from repeat_eval.errors import UserError
from repeat_eval.models.call import CallSlot, ModelReply, ModelRequest
from repeat_eval.models.embeddings import compare, cosine, endpoint_of, make_embedding_ask, vectors_of
from repeat_eval.models.provider import HowToAsk
from repeat_eval.suite.checks.base import Answer, NoVerdict, Observation, Score
from repeat_eval.suite.checks.similar import Similar
from repeat_eval.targets.base import TargetError

KEY = "sk-planted-secret-key"
NUMBERS = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=8)


def seen(output: Any) -> Observation:
    answer = Answer(output=output)
    return Observation(case="a", repetition=1, input="in", answer=answer, duration=0.1, expected="thirty days")


def compared(server: ModelServer, output: Any, retries: int = 0, timeout: float = 5.0, **argument: Any) -> Score:
    check = Similar({"model": "openai:embed", "url": server.url, "api_key_env": "MY_KEY", **argument})

    async def run() -> Score:
        how = HowToAsk(environ={"MY_KEY": KEY}, timeout=timeout, retries=retries)
        ask = make_embedding_ask(check.model, how, url=check.url, api_key_env=check.api_key_env)
        await ask.start()
        try:
            return await compare(ask, check, "similar", seen(output))
        finally:
            await ask.close()

    return asyncio.run(run())


def test_equal_texts_are_similar_by_one(model_server: ModelServer) -> None:
    score = compared(model_server, "thirty days", threshold=1)
    assert (score.passed, score.score) == (True, 1.0)
    assert score.judge is not None
    assert score.judge.model == "openai:embed"
    assert score.spent is not None
    assert score.spent.tokens is not None
    assert score.spent.cost is None


def test_other_texts_fail_with_the_similarity_that_they_have(model_server: ModelServer) -> None:
    model_server.embed = lambda text: [1.0, 0.0] if text == "thirty days" else [1.0, 1.0]
    score = compared(model_server, "no idea")
    assert score.score == pytest.approx(0.7071068)
    assert (score.passed, score.message) == (False, "similarity 0.707, wanted 0.8")


def test_an_opposite_meaning_scores_nothing(model_server: ModelServer) -> None:
    model_server.embed = lambda text: [1.0, 0.0] if text == "thirty days" else [-1.0, 0.0]
    assert compared(model_server, "never").score == 0.0


def test_both_texts_go_in_one_call_with_the_key(model_server: ModelServer) -> None:
    compared(model_server, "a month")
    (asked,) = model_server.log
    assert asked.texts == ["thirty days", "a month"]
    assert asked.key == KEY
    assert asked.model == "embed"


def test_an_empty_output_is_similar_to_nothing_and_costs_nothing(model_server: ModelServer) -> None:
    score = compared(model_server, "  ")
    assert (score.passed, score.score, score.message) == (False, 0.0, "the output is empty")
    assert model_server.calls == 0


def test_too_many_calls_wait_and_go_through(model_server: ModelServer) -> None:
    model_server.limit = Bucket(rate=20)
    for _ in range(2):
        assert compared(model_server, "thirty days", retries=1).passed


def test_a_refused_key_is_no_verdict_and_is_not_shown(model_server: ModelServer) -> None:
    model_server.key = "another"
    with pytest.raises(NoVerdict, match=r"openai:embed: .*status 401: the key is not accepted") as caught:
        compared(model_server, "thirty days", retries=2)
    assert KEY not in str(caught.value)
    assert model_server.calls == 1


@pytest.mark.parametrize("vector", [[], [0.0, 0.0], [float("nan"), 1.0]])
def test_vectors_without_a_direction_are_no_verdict(model_server: ModelServer, vector: list[float]) -> None:
    model_server.embed = lambda text: vector
    with pytest.raises(NoVerdict):
        compared(model_server, "thirty days")


def test_a_missing_recording_keeps_its_kind() -> None:
    async def miss(request: ModelRequest, slot: CallSlot) -> ModelReply:
        raise TargetError("recording", "cassette miss")

    with pytest.raises(NoVerdict) as caught:
        asyncio.run(compare(miss, Similar({"model": "openai:e"}), "similar", seen("x")))
    assert caught.value.kind == "recording"


def test_a_key_that_is_missing_is_said_before_anything_is_asked() -> None:
    with pytest.raises(UserError, match="OPENAI_API_KEY is not set"):
        endpoint_of("openai:e", url=None, api_key_env=None, environ={})
    with pytest.raises(UserError, match="MY_KEY is not set"):
        endpoint_of("openai:e", url="http://127.0.0.1:1/v1", api_key_env="MY_KEY", environ={"OPENAI_API_KEY": KEY})
    with pytest.raises(UserError, match="the endpoint of voyage is not known"):
        endpoint_of("voyage:e", url=None, api_key_env=None, environ={})


def test_an_endpoint_of_ones_own_is_not_sent_the_key_of_openai(model_server: ModelServer) -> None:
    async def run() -> None:
        ask = endpoint_of("openai:e", url=model_server.url, api_key_env=None, environ={"OPENAI_API_KEY": KEY})
        await ask(
            ModelRequest(model="openai:e", messages=({"role": "user", "content": "x"},)), CallSlot("a", 1, "s", 1)
        )
        await ask.close()

    asyncio.run(run())
    assert model_server.log[0].key is None


@pytest.mark.parametrize("text", ["", "[]", "[[1]]", "[[1], 2]", '[[1], ["a"]]', "[[1], [true]]", "[" * 99_999])
def test_replies_without_two_vectors_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="vector"):
        vectors_of(ModelReply(text=text), 2)


@settings(deadline=None)
@given(NUMBERS)
def test_a_vector_points_where_it_points(vector: list[float]) -> None:
    if any(abs(number) > 1e-100 for number in vector):
        assert cosine(vector, vector) == pytest.approx(1)
        assert cosine(vector, [-number for number in vector]) == pytest.approx(-1)


@settings(deadline=None)
@given(st.tuples(NUMBERS, NUMBERS))
def test_a_cosine_is_in_range_or_refused(pair: tuple[list[float], list[float]]) -> None:
    try:
        assert -1 <= cosine(*pair) <= 1
    except ValueError:
        assert len(pair[0]) != len(pair[1]) or not any(pair[0]) or not any(pair[1])


def test_vectors_survive_being_recorded() -> None:
    assert vectors_of(ModelReply(text=json.dumps([[0.5, 1], [1e-7, -2]])), 2) == [[0.5, 1.0], [1e-7, -2.0]]
