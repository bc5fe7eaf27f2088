"""`init --template agent`: a suite without a key, which takes a real provider where it says so."""

from __future__ import annotations

from pathlib import Path

import pytest
from model_server import Asked, ModelServer, Reply, call, say
from whole_program import case_of, program, report_in, trials_in


@pytest.fixture
def begun(tmp_path: Path) -> Path:
    ended = program("init", "evals", "--template", "agent", cwd=tmp_path)
    assert ended.code == 0, ended.text
    assert "put your model in the script's place" in ended.out
    return tmp_path


def test_it_shows_trajectories_a_tool_that_fails_once_and_a_flaky_case(begun: Path) -> None:
    ended = program("run", "evals/suite.yaml", "--out", "out", cwd=begun)
    assert ended.code == 0, ended.text
    report = report_in(begun / "out")
    assert (report["verdict"], report["warnings"], report["totals"]["errors"]) == ("pass", [], 0)
    assert {case["id"]: case["flaky"] for case in report["cases"]} == {
        "refunds_a_small_order": False,
        "tries_again_when_the_payment_service_is_busy": False,
        "escalates_when_over_limit": True,
        "answers_a_question_without_tools": False,
    }
    assert case_of(report, "escalates_when_over_limit")["passed"] == 9
    busy = next(each for each in trials_in(begun / "out/run.jsonl") if each["case"].startswith("tries_again"))
    assert [made["name"] for made in busy["tool_calls"]] == ["lookup_order", "issue_refund", "issue_refund"]
    assert busy["turns"] == 4


def agent(asked: Asked) -> Reply:
    """What the script plays, by a provider."""
    order = "A1002" if "A1002" in asked.question else "A1001"
    if "How long" in asked.question:
        return say("Within five days.")
    if not asked.tool_results:
        return call("lookup_order", order=order)
    if order == "A1002":
        return say("A colleague comes.") if asked.turn == 3 else call("escalate_to_human", reason="over $500")
    done = "refunded" in asked.tool_results[-1]
    return say("You got $40 back.") if done else call("issue_refund", order=order, amount=40)


def test_a_provider_takes_the_place_of_the_script_where_the_suite_says(begun: Path, model_server: ModelServer) -> None:
    model_server.answer, model_server.key = agent, "sk-test-0123456789abcdef"
    path = begun / "evals/suite.yaml"
    before, _, after = path.read_text("utf-8").partition("    script:")
    cases = after[after.index("\ncases:") :]
    for line in ("name: openai:gpt-5-mini", "api_key_env: OPENAI_API_KEY", "settings: {max_tokens: 2000}"):
        assert f"    # {line}\n" in before
        before = before.replace(f"    # {line}\n", f"    {line}\n")
    path.write_text(f"{before}    url: {model_server.url}\n{cases}", "utf-8")
    key = {"OPENAI_API_KEY": model_server.key}
    recorded = ("run", "suite.yaml", "--out", "out", "--cassettes", "cassettes")
    ended = program(*recorded, cwd=path.parent, env=key)
    assert ended.code == 0, ended.text
    assert report_in(path.parent / "out")["totals"]["passed"] == 40
    assert {(asked.key, asked.body["max_completion_tokens"]) for asked in model_server.log} == {
        (model_server.key, 2000)
    }
    made = model_server.calls
    replayed = program(*recorded, "--cassette-mode", "replay", cwd=path.parent)
    assert replayed.code == 0, replayed.text
    assert model_server.calls == made
