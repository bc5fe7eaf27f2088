"""Suites whose target is a model, from the file to the report."""

from __future__ import annotations

import contextlib
import io
import json
import math
from pathlib import Path
from typing import Any

import pytest
from model_server import ModelServer, call, say, sometimes
from model_server.behaviours import Bucket

from repeat_eval.cli import main as cli
from repeat_eval.errors import UserError
from repeat_eval.suite.load import load_suite

KEY = "sk-planted-5f2c9a71e0"
SCRIPTED = """
name: refunds
target:
  model:
    max_turns: 4
    script:
      - call: {lookup_order: {id: 7}}
      - call: {issue_refund: {id: 7, amount: 20}}
      - say: Paid.
    tools:
      - {name: lookup_order, mock: {python: "tools:lookup"}}
      - {name: issue_refund, mock: {when: {id: 7}, returns: ok, delay: 1ms}}
cases:
  - {id: pays, input: refund order 7, repeats: 5, expect: [{call_order: [lookup_order, issue_refund]}]}
"""


def program(*arguments: str) -> tuple[int, str]:
    """The exit code, and all that was printed."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        code = cli.run(list(arguments))
    return code, printed.getvalue()


def run(folder: Path, suite: str, *options: str, exit_code: int = 0) -> tuple[list[dict[str, Any]], str]:
    """The trials of a run, and what it printed."""
    (folder / "suite.yaml").write_text(suite)
    out = folder / "out"
    code, printed = program("run", str(folder / "suite.yaml"), "-o", str(out), "--fresh", *options)
    assert code == exit_code, printed
    lines = [json.loads(line) for line in (out / "run.jsonl").read_text().splitlines()]
    return [line for line in lines if "outcome" in line], printed


def test_a_scripted_model_calls_functions_of_the_user(tmp_path: Path) -> None:
    (tmp_path / "tools.py").write_text(
        "def lookup(arguments, context):\n    return {'id': arguments['id'], 'n': context.repetition}\n"
    )
    trials, _ = run(tmp_path, SCRIPTED)
    assert [trial["outcome"] for trial in trials] == ["passed"] * 5
    assert trials[0]["tool_calls"] == [
        {"name": "lookup_order", "arguments": {"id": 7}},
        {"name": "issue_refund", "arguments": {"id": 7, "amount": 20}},
    ]
    assert (trials[0]["turns"], trials[0]["cost"], trials[0]["tokens"]) == (3, None, None)


def test_a_function_that_raises_is_a_crash_that_names_the_tool(tmp_path: Path) -> None:
    (tmp_path / "tools.py").write_text("def lookup(arguments):\n    raise KeyError('x')\n")
    trials, _ = run(tmp_path, SCRIPTED, exit_code=3)
    assert {trial["error_kind"] for trial in trials} == {"crash"}
    assert trials[0]["message"].startswith("the tool lookup_order broke: KeyError: 'x'")


def test_a_conversation_that_was_stopped_says_so_where_the_trial_fails(tmp_path: Path) -> None:
    (tmp_path / "tools.py").write_text("def lookup(arguments):\n    return 1\n")
    suite = SCRIPTED.replace("max_turns: 4", "max_turns: 1")
    trials, _ = run(tmp_path, suite, exit_code=1)
    assert "stopped after 1 turn (max_turns)" in trials[0]["message"]
    assert trials[0]["turns"] == 1


def a_suite(server: ModelServer, cases: str, **target: Any) -> str:
    model = {"name": "openai:gpt-x", "url": server.url, **target}
    return f"name: refunds\ntarget: {json.dumps({'model': model})}\ncases:\n{cases}"


TOOLS = [{"name": "escalate_to_human", "mock": {"returns": "ok"}}]


def test_a_flaky_agent_behind_a_real_client_gets_its_rate(tmp_path: Path, model_server: ModelServer) -> None:
    escalate = sometimes(0.8, lambda asked: call("escalate_to_human", reason="over limit"), lambda asked: say("Sure."))
    model_server.answer = lambda asked: say("A colleague will call.") if asked.tool_results else escalate(asked)
    cases = (
        "  - {name: escalates, input: refund me $9000, repeat: 10, require_pass_rate: 0.5,"
        " expect: [{calls_tool: escalate_to_human}]}\n"
    )
    trials, _ = run(tmp_path, a_suite(model_server, cases, tools=TOOLS, system="You are an agent."))
    outcomes = [trial["outcome"] for trial in trials]
    assert 5 <= outcomes.count("passed") <= 10
    assert {trial["turns"] for trial in trials if trial["outcome"] == "passed"} == {2}
    assert all(trial["tokens"]["input"] > 0 and trial["cost"] is None for trial in trials)
    assert all(asked.system == "You are an agent." for asked in model_server.log)


def test_too_many_calls_cost_time_but_no_trial(tmp_path: Path, model_server: ModelServer) -> None:
    model_server.limit = Bucket(rate=40, burst=40)
    cases = "".join(f"  - {{id: c{n}, input: hi {n}, repeats: 10, expect: [{{contains: Hello}}]}}\n" for n in range(20))
    trials, _ = run(tmp_path, a_suite(model_server, cases), "--workers", "50")
    assert [trial["outcome"] for trial in trials] == ["passed"] * 200
    assert 429 in model_server.statuses
    assert max(trial["attempts"] for trial in trials) > 1
    assert math.isclose(model_server.statuses.count(200), 200)


def test_a_key_is_in_no_file_and_no_message_even_where_the_provider_quotes_it(
    tmp_path: Path, model_server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    from model_server import refuse

    monkeypatch.setenv("ANY_NAME", KEY)
    model_server.answer = lambda asked: refuse(401, f"wrong key {asked.key}")
    cases = "  - {id: a, input: hi, repeats: 2, expect: [{contains: x}]}\n"
    trials, printed = run(tmp_path, a_suite(model_server, cases, api_key_env="ANY_NAME"), exit_code=3)
    assert trials[0]["message"] == "openai:gpt-x answered 401: the key was not accepted: wrong key ***"
    assert model_server.log[0].key == KEY
    assert KEY not in printed
    assert all(KEY not in file.read_text("utf-8") for file in (tmp_path / "out").iterdir() if file.is_file())


def test_a_missing_key_ends_the_run_before_any_trial_at_its_place(
    tmp_path: Path, model_server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    suite = tmp_path / "suite.yaml"
    suite.write_text(a_suite(model_server, "  - {id: a, input: hi}\n", api_key_env="NO_SUCH_KEY"))
    code, printed = program("run", str(suite), "-o", str(tmp_path / "out"))
    assert code == 2
    assert f"{suite}:2:" in printed
    assert "NO_SUCH_KEY is not set" in printed
    assert model_server.calls == 0


def test_all_faults_of_a_model_target_are_said_at_once_each_at_its_place(tmp_path: Path) -> None:
    suite = tmp_path / "suite.yaml"
    suite.write_text(
        "target:\n  model:\n    name: gpt\n    max_turn: 3\n    settings:\n      temprature: 1\n      timeout: 3\n"
        "    tools:\n      - {name: a, mock: {returns: 1, error: x}}\n      - {name: a}\n"
        "cases:\n  - {id: a, input: hi, target: 'model:gpt'}\n"
    )
    with pytest.raises(UserError) as caught:
        load_suite(suite)
    found = {(problem.line, problem.message.split(";")[0].split(" or ")[0]) for problem in caught.value.problems}
    assert {line for line, _ in found} == {3, 4, 6, 7, 9, 10, 12}
    texts = str(caught.value)
    assert "unknown key 'max_turn'; did you mean 'max_turns'?" in texts
    assert "unknown key 'temprature'; did you mean 'temperature'?" in texts
    assert "two tools have the name 'a'" in texts


@pytest.mark.parametrize("written", ["model:openai:gpt-5-mini", {"model": "openai:gpt-5-mini"}])
def test_a_model_may_be_written_short(tmp_path: Path, written: Any) -> None:
    suite = tmp_path / "suite.yaml"
    suite.write_text(f"target: {json.dumps(written)}\ncases: [{{id: a, input: hi, expect: [{{contains: x}}]}}]\n")
    target = load_suite(suite).target
    assert target is not None
    assert (target.kind, target.value) == ("model", "openai:gpt-5-mini")


def header(folder: Path, suite: str) -> dict[str, Any]:
    run(folder, suite)
    read: dict[str, Any] = json.loads((folder / "out" / "run.jsonl").read_text().splitlines()[0])
    return read


def test_whatever_decides_the_answers_changes_the_targets_fingerprint(tmp_path: Path) -> None:
    (tmp_path / "prompt.md").write_text("Be kind.")
    model: dict[str, Any] = {"script": [{"say": "x"}], "system": {"file": "prompt.md"}, "tools": [{"name": "a"}]}

    def fingerprint(**changes: Any) -> str:
        target = json.dumps({"model": {**model, **changes}})
        suite = f"target: {target}\ncases: [{{id: a, input: hi, repeats: 1, expect: [{{contains: x}}]}}]\n"
        found: str = header(tmp_path, suite)["target_fingerprint"]
        return found

    seen = [
        fingerprint(),
        fingerprint(settings={"temperature": 0}),
        fingerprint(tools=[{"name": "a", "description": "b"}]),
        fingerprint(system="Be brief."),
    ]
    (tmp_path / "prompt.md").write_text("Be brief.")
    assert len({*seen, fingerprint()}) == 5


def test_base_is_asked_with_its_own_prompt_and_tools(tmp_path: Path) -> None:
    head, base = tmp_path / "head", tmp_path / "base"
    for folder, word in ((head, "no"), (base, "yes")):
        folder.mkdir()
        (folder / "suite.yaml").write_text(
            f"target: {{model: {{script: [{{say: '{word}'}}]}}}}\n"
            "cases: [{id: a, input: hi, repeats: 10, expect: [{contains: 'yes'}]}]\n"
        )
    suite = (head / "suite.yaml").read_text()
    trials, _ = run(head, suite, "--base-dir", str(base), exit_code=1)
    assert {trial["outcome"] for trial in trials} == {"failed"}
    lines = [json.loads(line) for line in (head / "out" / "base.jsonl").read_text().splitlines()]
    assert {line["outcome"] for line in lines if "outcome" in line} == {"passed"}


def test_base_without_a_suite_has_no_model_target(tmp_path: Path) -> None:
    (tmp_path / "base").mkdir()
    suite = "target: {model: {script: [{say: x}]}}\ncases: [{id: a, input: hi, expect: [{contains: x}]}]\n"
    (tmp_path / "suite.yaml").write_text(suite)
    out, base = str(tmp_path / "out"), str(tmp_path / "base")
    code, printed = program("run", str(tmp_path / "suite.yaml"), "-o", out, "--base-dir", base)
    assert code == 2
    assert "base: there is no suite of this name" in printed


def refused(folder: Path, suite: str) -> str:
    """What is said of a suite that cannot be run."""
    (folder / "suite.yaml").write_text(suite)
    code, printed = program("run", str(folder / "suite.yaml"), "-o", str(folder / "out"))
    assert code == 2, printed
    return printed


def test_a_setting_that_is_ignored_stops_the_run_at_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    suite = """\
name: refunds
target:
  model:
    name: openai:gpt-5-mini
    settings: {temperature: 0}
cases:
  - {id: pays, input: refund order 7, repeats: 5, expect: [contains: Paid]}
"""
    printed = refused(tmp_path, suite)
    assert "suite.yaml:5:" in printed
    assert "openai:gpt-5-mini takes no `temperature` while it reasons: leave it out" in printed
    judged = suite.replace("    settings: {temperature: 0}\n", "").replace("contains: Paid", "judge: Is kind.")
    judged = judged.replace("cases:", "judge: {model: openai:gpt-5-mini, settings: {temperature: 0}}\ncases:")
    printed = refused(tmp_path, judged)
    assert "takes no `temperature`" in printed
    assert "Warning" not in printed


@pytest.mark.parametrize(
    ("mock", "line"),
    [
        ('{python: "tools:gone"}', 12),
        ('{when: {id: 7}, then: [{error: busy}, {python: "tools:gone"}]}', 12),
        ('\n        - {returns: {python: "tools:gone"}, when: {id: 1}}\n        - {python: "tools:gone"}', 14),
    ],
)
def test_a_function_behind_a_tool_that_is_not_there_is_named_at_its_place(tmp_path: Path, mock: str, line: int) -> None:
    (tmp_path / "tools.py").write_text("def lookup(arguments):\n    return 1\n")
    suite = SCRIPTED.replace(
        '{name: lookup_order, mock: {python: "tools:lookup"}}', f"name: lookup_order\n        mock: {mock}"
    )
    printed = refused(tmp_path, suite)
    assert f"suite.yaml:{line}:" in printed
    assert "tools:gone: " in printed
