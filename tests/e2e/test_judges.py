"""Judges in whole runs: what they decide, what is recorded of them, and what a change of judge means."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from model_server import Asked, ModelServer, Reply, refuse, say
from whole_program import program

KEY = "sk-planted-secret-key"
AGENT = """
import asyncio

def answer(question):
    return "You have 30 days." if "refund" in question else "No idea."

async def polite(output, context):
    await asyncio.sleep(0)
    return 1.0 if output.endswith(".") else 0.0, "checked on the loop"
"""
SUITE = """
target: agent:answer
repeats: 5
judge:
  model: openai:judge-model
  url: {url}
  api_key_env: JUDGE_KEY
  settings: {{temperature: 0.5}}
cases:
  - id: window
    input: refund?
    expect:
      - judge: Names the refund window.
  - id: voted
    input: refund?
    expect:
      - judge: {{rubric: Names the refund window., votes: 3, settings: {{seed: 4}}}}
        name: votes
"""


def grader(asked: Asked) -> Reply:
    """Grades by what stands in the output."""
    return say(json.dumps({"reason": "seen", "score": 0.9 if "30 days" in asked.question else 0.1}))


@pytest.fixture
def folder(tmp_path: Path, model_server: ModelServer) -> Path:
    model_server.answer = grader
    model_server.key = KEY
    (tmp_path / "agent.py").write_text(AGENT)
    (tmp_path / "suite.yaml").write_text(SUITE.format(url=model_server.url))
    return tmp_path


def run(folder: Path, *arguments: str, out: str = "out", code: int = 0, env: dict[str, str] | None = None) -> str:
    told = {"JUDGE_KEY": KEY, **(env or {})}
    ended = program("run", "suite.yaml", "--out", out, *arguments, cwd=folder, env=told)
    assert ended.code == code, ended.text
    return ended.text


def trials(folder: Path, out: str = "out") -> list[dict[str, Any]]:
    lines = (folder / out / "run.jsonl").read_text().splitlines()
    return [trial for trial in map(json.loads, lines) if "case" in trial]


def report(folder: Path, out: str = "out") -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / out / "report.json").read_text())
    return found


def test_a_judge_decides_and_the_trial_says_who_judged(folder: Path, model_server: ModelServer) -> None:
    run(folder)
    by_case = {trial["case"]: trial for trial in trials(folder)}
    (check,) = by_case["window"]["checks"]
    assert (check["passed"], check["score"], check["message"]) == (True, 0.9, "scored 0.9: seen")
    assert check["judge"]["model"] == "openai:judge-model"
    assert len(check["judge"]["rubric"]) == 16
    (check,) = by_case["voted"]["checks"]
    assert (check["name"], check["judge"]["votes"], check["judge"]["confidence"]) == ("votes", 3, 1.0)
    assert by_case["voted"]["tokens"] is None
    assert by_case["voted"]["judge_tokens"]["input"] > by_case["window"]["judge_tokens"]["input"] > 0
    assert by_case["voted"]["judge_cost"] is None
    assert model_server.calls == 5 + 15


def test_settings_reach_the_model_and_those_from_outside_win(folder: Path, model_server: ModelServer) -> None:
    text = run(folder, "--set", "judge.temperature=0.1", "--explain-settings")
    assert {(asked.body["temperature"], asked.body.get("seed")) for asked in model_server.log} == {
        (0.1, None),
        (0.1, 4),
    }
    (line,) = [line for line in text.splitlines() if line.startswith("judge.temperature")]
    assert line.split() == ["judge.temperature", "0.1", "option"]
    model_server.forget()
    run(folder, "--case", "window", env={"REPEAT_EVAL_SET": "judge.temperature=0.2 judge.seed=9"})
    assert {(asked.body["temperature"], asked.body["seed"]) for asked in model_server.log} == {(0.2, 9)}


def test_a_changed_judge_makes_cases_differently_configured(folder: Path) -> None:
    run(folder, out="before")
    run(folder, "--base", "before/run.jsonl", out="same")
    assert report(folder, "same")["comparison"]["changed"] == []
    run(folder, "--base", "before/run.jsonl", "--set", "judge.temperature=0.1", out="set")
    assert report(folder, "set")["comparison"]["changed"] == ["window", "voted"]
    suite = folder / "suite.yaml"
    suite.write_text(suite.read_text().replace("openai:judge-model", "openai:other-judge"))
    run(folder, "--base", "before/run.jsonl", out="model")
    assert report(folder, "model")["comparison"]["changed"] == ["window", "voted"]


def test_a_run_cannot_be_resumed_with_another_judge(folder: Path, model_server: ModelServer) -> None:
    run(folder, out="out")
    path = folder / "out" / "run.jsonl"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:4]))
    text = run(folder, "--resume", "--set", "judge.votes=5", code=2)
    assert "has another input or other checks" in text


def test_a_judge_that_is_down_is_an_error_and_never_a_failure(folder: Path, model_server: ModelServer) -> None:
    model_server.answer = lambda asked: refuse(503, "overloaded")
    run(folder, "--retries", "0", code=3)
    assert {(trial["outcome"], trial["error_kind"]) for trial in trials(folder)} == {("error", "judge")}


def test_a_judge_that_answers_in_prose_is_asked_once_more_and_is_then_an_error(
    folder: Path, model_server: ModelServer
) -> None:
    model_server.answer = lambda asked: say("A fine answer, full marks!")
    run(folder, "--case", "window", code=3)
    assert model_server.calls == 10
    assert all("gave no verdict in 2 replies" in trial["message"] for trial in trials(folder))


def test_a_missing_key_is_said_before_any_trial(folder: Path, model_server: ModelServer) -> None:
    text = run(folder, env={"JUDGE_KEY": ""}, code=2)
    assert "JUDGE_KEY is not set" in text
    assert text.count("JUDGE_KEY") == 1
    assert model_server.calls == 0


def test_a_judge_without_a_model_is_said_at_its_case(folder: Path, model_server: ModelServer) -> None:
    suite = folder / "suite.yaml"
    suite.write_text(suite.read_text().replace("  model: openai:judge-model\n", ""))
    assert "suite.yaml:9: a `judge` check names no model" in run(folder, code=2)
    run(folder, "--set", "judge.model=openai:any")
    assert {asked.model for asked in model_server.log} == {"any"}


def test_what_is_set_wrongly_or_without_effect_is_refused(folder: Path) -> None:
    assert "`temperature` must be a number from 0 to 2" in run(folder, "--set", "judge.temperature=hot", code=2)
    assert "--set takes judge.KEY=VALUE" in run(folder, "--set", "target.model=x", code=2)
    ended = program("run", "--command", "true {results}", "--set", "judge.votes=3", cwd=folder)
    assert ended.code == 2
    assert "--set does nothing with --command" in ended.text


def test_the_header_tells_who_graded_and_no_file_holds_the_key(folder: Path, model_server: ModelServer) -> None:
    model_server.answer = lambda asked: say(json.dumps({"reason": f"I was sent {asked.key}", "score": 1}))
    text = run(folder, "--set", "judge.votes=1")
    header = json.loads((folder / "out" / "run.jsonl").read_text().splitlines()[0])
    assert header["settings"]["judge"]["votes"] == 1
    assert header["settings"]["judge"]["temperature"] == 0.5
    assert report(folder)["settings"]["judge.votes"] == {"value": 1, "source": "option"}
    written = [path.read_bytes() for path in (folder / "out").rglob("*") if path.is_file()]
    assert not any(KEY.encode() in content for content in [*written, text.encode()])


def test_python_checks_may_be_async(folder: Path) -> None:
    suite = folder / "suite.yaml"
    suite.write_text(
        "target: agent:answer\nrepeats: 2\ncases:\n- id: a\n  input: hi\n  expect: [python: 'agent:polite']\n"
    )
    run(folder)
    assert [trial["checks"][0]["message"] for trial in trials(folder)] == ["checked on the loop"] * 2


def test_meanings_are_compared_with_what_the_case_expects(folder: Path, model_server: ModelServer) -> None:
    similar = f"similar: {{model: 'openai:embed', url: '{model_server.url}', api_key_env: JUDGE_KEY}}"
    (folder / "suite.yaml").write_text(
        f"target: agent:answer\nrepeats: 2\ncases:\n"
        f"- id: same\n  input: refund?\n  expected: You have 30 days.\n  expect: [{similar}]\n"
        f"- id: other\n  input: hello\n  threshold: 0\n  expected: You have 30 days.\n  expect: [{similar}]\n"
    )
    run(folder)
    scores = {trial["case"]: (trial["outcome"], trial["score"]) for trial in trials(folder)}
    assert scores["same"] == ("passed", 1.0)
    assert scores["other"][0] == "failed"


def test_a_judge_may_speak_anthropics_format(folder: Path, model_server: ModelServer) -> None:
    suite = folder / "suite.yaml"
    text = (
        suite.read_text()
        .replace("openai:judge-model", "anthropic:claude-haiku-4-5")
        .replace(", settings: {seed: 4}", "")
    )
    suite.write_text(text.replace(model_server.url, model_server.origin))
    run(folder)
    assert {asked.wire for asked in model_server.log} == {"messages"}
    assert report(folder)["totals"]["passed"] == 10
