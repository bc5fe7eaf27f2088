"""Models and judges from the Python API: the function under test is of this process, whoever grades is not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from model_server import Asked, ModelServer, Reply, say

from repeat_eval import Case, Suite, UserError, load_suite

KEY = "sk-planted-5f2c9a71e0"


def grade(asked: Asked) -> Reply:
    return say(json.dumps({"reason": "seen", "score": 0.9 if "hello" in asked.question else 0.1}))


def greetings(**settings: Any) -> Suite:
    return Suite("greetings", [Case(id="greets", input="hi", expect=[{"judge": "Greets."}])], settings=settings)


@pytest.fixture
def judge(model_server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.setenv("JUDGE_KEY", KEY)
    model_server.answer, model_server.key = grade, KEY
    return {"model": "openai:judge", "url": model_server.url, "api_key_env": "JUDGE_KEY"}


def test_a_judge_is_named_for_the_suite_or_for_one_run(judge: dict[str, Any], model_server: ModelServer) -> None:
    for report in (
        greetings(judge=judge).run(lambda text: "hello", repeats=5),
        greetings().run(lambda text: "hello", repeats=5, judge={**judge, "votes": 3, "settings": {"temperature": 0.5}}),
    ):
        assert report.verdict == "pass"
        assert report.cases["greets"].checks[0].score == pytest.approx(0.9)
    assert model_server.calls == 5 + 5 * 3
    assert {request.body.get("temperature") for request in model_server.log} == {None, 0.5}


def test_a_judge_that_says_no_fails_the_trial(judge: dict[str, Any]) -> None:
    report = greetings().run(lambda text: "go away", repeats=5, judge=judge)
    assert (report.verdict, report.totals.failed, report.totals.errors) == ("fail", 5, 0)


def test_without_a_model_that_is_said_and_nothing_runs() -> None:
    called: list[str] = []
    with pytest.raises(UserError, match="names no model"):
        greetings().run(called.append, repeats=5)
    assert called == []


def test_a_judge_that_is_too_late_gave_no_verdict(judge: dict[str, Any], model_server: ModelServer) -> None:
    model_server.answer = lambda asked: grade(asked).but(delay=20)
    report = greetings().run(lambda text: "hello", repeats=5, workers=5, judge={**judge, "timeout": "100ms"})
    assert (report.verdict, report.totals.errors) == ("incomplete", 5)
    assert "no answer of openai:judge within 0.1 s" in str(report.cases["greets"].examples)


def test_verdicts_are_recorded_and_replayed_while_the_function_runs(
    judge: dict[str, Any], model_server: ModelServer, tmp_path: Path
) -> None:
    called: list[str] = []

    def answer(text: str) -> str:
        called.append(text)
        return "hello"

    tapes = {"cassettes": str(tmp_path / "tapes"), "judge": judge}
    assert greetings(**tapes).run(answer, repeats=5).verdict == "pass"
    assert greetings(**tapes, cassette_mode="replay").run(answer, repeats=5).verdict == "pass"
    assert (model_server.calls, len(called)) == (5, 10)
    more = greetings(**tapes, cassette_mode="replay").run(answer, repeats=7)
    assert (more.verdict, more.totals.errors) == ("incomplete", 2)
    assert model_server.calls == 5


def test_a_model_of_a_suite_file_is_asked(model_server: ModelServer, tmp_path: Path) -> None:
    path = tmp_path / "suite.yaml"
    model = json.dumps({"name": "openai:desk", "url": model_server.url})
    path.write_text(f"target: {{model: {model}}}\ncases:\n  - {{id: a, input: hello, expect: [contains: hello]}}\n")
    model_server.answer = lambda asked: say(asked.question)
    report = load_suite(path).run(repeats=5)
    assert (report.verdict, model_server.calls) == ("pass", 5)
