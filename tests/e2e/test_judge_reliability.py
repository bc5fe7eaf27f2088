"""`judge-reliability` as people use it: real workers, a judge behind a real server, and every source of outputs."""

from __future__ import annotations

import itertools
import json
import threading
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from model_server import Asked, ModelServer, Reply, refuse, say
from whole_program import Ended, program, write

from repeat_eval.steps.schemas import schema_of

KEY = "sk-planted-secret-key"
CHECKS = """
import asyncio
import random

async def polite(output, context):
    await asyncio.sleep(0)
    return 1.0 if "please" in output else 0.2

def moody(output, context):
    return random.Random(context.seed).random() < 0.5, f"mood of {context.case}"

def broken(output):
    raise RuntimeError("no connection")

def told(output, context):
    known = [context.input, context.expected, context.duration, context.tool_calls]
    return known == ["ours", "x", None, [{"name": "look", "arguments": {"id": 1}}]], repr(known)
"""
PYTHON_SUITE = """
name: desk
target: agent:missing
cases:
  - id: window
    input: refund?
    expect:
      - {python: "checks:polite", pass_score: 0.5, name: polite}
      - {python: "checks:moody", name: moody}
      - contains: please
"""
JUDGE_SUITE = """
name: desk
target: agent:answer
repeats: 3
judge: {{model: "openai:judge-model", url: "{url}", api_key_env: JUDGE_KEY}}
cases:
  - id: window
    input: refund?
    expect:
      - judge: Names the refund window.
"""


def traces(folder: Path, *rows: dict[str, Any]) -> Path:
    return write(folder / "traces.jsonl", "".join(json.dumps(row) + "\n" for row in rows))


def judge(folder: Path, *arguments: str, code: int = 0, source: str = "traces.jsonl") -> Ended:
    ended = program(
        "judge-reliability", "suite.yaml", "--traces", source, *arguments, cwd=folder, env={"JUDGE_KEY": KEY}
    )
    assert ended.code == code, ended.text
    return ended


def found(folder: Path, *arguments: str, code: int = 0, source: str = "traces.jsonl") -> Any:
    report = json.loads(judge(folder, *arguments, "--json", "-q", code=code, source=source).out)
    jsonschema.validate(report, schema_of("judge-reliability"))
    return report


def by_trace(report: Any, check: str) -> dict[str, Any]:
    return {one["trace"]: one for one in report["traces"] if one["check"] == check}


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    write(tmp_path / "checks.py", CHECKS)
    write(tmp_path / "suite.yaml", PYTHON_SUITE)
    traces(
        tmp_path,
        {"id": "kind", "output": "Yes, please."},
        {"id": "curt", "output": "No."},
        {"id": "long", "case": "window", "output": "Wait please."},
    )
    return tmp_path


@pytest.fixture
def graded(tmp_path: Path, model_server: ModelServer) -> Path:
    """A judge that scores what names 30 days at 0.9, and of what says "maybe" every third one low."""
    count, lock = itertools.count(), threading.Lock()

    def grader(asked: Asked) -> Reply:
        score = 0.9 if "30 days" in asked.question else 0.1
        if "maybe" in asked.question:
            with lock:
                score = 0.1 if next(count) % 3 == 0 else 0.9
        return say(json.dumps({"reason": "seen", "score": score}))

    model_server.answer = grader
    model_server.key = KEY
    write(tmp_path / "suite.yaml", JUDGE_SUITE.format(url=model_server.url))
    write(tmp_path / "agent.py", "def answer(question, context):\n    return f'{context.repetition}0 days, maybe.'\n")
    traces(tmp_path, {"id": "good", "output": "You have 30 days."}, {"id": "vague", "output": "30 days, maybe."})
    return tmp_path


def test_steady_and_moody_functions_are_told_apart_and_the_target_never_runs(desk: Path) -> None:
    report = found(desk, "--runs", "20")
    polite, moody = by_trace(report, "polite"), by_trace(report, "moody")
    assert [(one["passed"], one["failed"]) for one in polite.values()] == [(20, 0), (0, 20), (20, 0)]
    assert polite["kind"]["rating"] == "high"
    assert all(0 < one["passed"] < 20 for one in moody.values())
    assert {one["rating"] for one in moody.values()} == {"unreliable"}
    assert {one["check"] for one in report["traces"]} == {"polite", "moody"}
    assert [one["check"] for one in report["checks"]] == ["polite", "moody"]
    assert report["checks"][1]["recommendation"] == "Consider majority voting for 3 unstable traces."
    assert found(desk, "--runs", "20") == report


def test_the_gate_must_be_exceeded_and_names_the_check(desk: Path) -> None:
    traces(desk, {"id": "kind", "output": "Yes, please."})
    assert judge(desk, "--check", "polite", "--min-pass-to", "3=0.9", "-q").out == "PASS\n"
    ended = judge(desk, "--min-pass-to", "3=0.9", code=1)
    assert "holds: pass-to-3 of 'polite' is 1.000" in ended.out
    assert "does not hold: pass-to-3 of 'moody'" in ended.out
    assert ended.out.rstrip().endswith("FAIL")
    assert "nothing is greater than 1" in judge(desk, "--min-pass-to", "3=1.0", code=2).err
    assert "takes K=RATE" in judge(desk, "--min-pass-to", "0.9", code=2).err


def test_a_check_that_breaks_is_an_error_and_never_a_failure(desk: Path) -> None:
    write(
        desk / "suite.yaml",
        PYTHON_SUITE.replace("checks:moody", "checks:broken").replace("name: moody", "name: broken"),
    )
    report = found(desk, code=3)
    broken = by_trace(report, "broken")
    assert {(one["passed"], one["failed"], one["errors"]) for one in broken.values()} == {(0, 0, 10)}
    assert "no connection" in broken["kind"]["error"]
    assert (report["verdict"], report["summary"]["unknown"]) == ("incomplete", 3)
    assert any("30 of 60 runs gave no verdict" in warning for warning in report["warnings"])
    assert "no run gave a verdict: broken: " in judge(desk, "--check", "broken", code=3).err


def test_a_check_is_told_what_the_trace_holds_and_the_case_by_its_own_name(desk: Path) -> None:
    write(desk / "suite.yaml", PYTHON_SUITE.replace("checks:moody", "checks:told"))
    call = {"name": "look", "arguments": {"id": 1}}
    traces(desk, {"id": "one", "output": "a", "input": "ours", "expected": "x", "tool_calls": [call], "more": 1})
    assert by_trace(found(desk), "moody")["one"]["passed"] == 10


def test_a_sample_depends_on_the_seed_alone(desk: Path) -> None:
    traces(desk, *({"id": f"t{number}", "output": "please"} for number in range(40)))
    one = found(desk, "--sample-size", "5", "--seed", "3", "--check", "polite", "--runs", "1")
    assert (one["available"], one["sampled"]) == (40, 5)
    chosen = {trace["trace"] for trace in one["traces"]}
    again = found(desk, "--sample-size", "5", "--seed", "3", "--check", "polite", "--runs", "1")
    assert {trace["trace"] for trace in again["traces"]} == chosen
    other = found(desk, "--sample-size", "5", "--seed", "4", "--check", "polite", "--runs", "1")
    assert {trace["trace"] for trace in other["traces"]} != chosen


def test_a_judge_is_asked_again_and_again_with_what_is_set(graded: Path, model_server: ModelServer) -> None:
    report = found(graded, "--set", "judge.temperature=0.1", "--runs", "9")
    assert model_server.calls == 18
    assert {asked.body["temperature"] for asked in model_server.log} == {0.1}
    assert report["settings"]["temperature"] == 0.1
    good, vague = by_trace(report, "judge").values()
    assert (good["passed"], good["mean"], good["std"]) == (9, 0.9, 0.0)
    assert (vague["passed"], vague["majority"]) == (6, {"verdict": "pass", "confidence": pytest.approx(2 / 3)})
    assert vague["distribution"]["bimodal"] is True
    assert vague["rating"] == "unreliable"


def test_a_judge_that_is_down_makes_errors(graded: Path, model_server: ModelServer) -> None:
    model_server.answer = lambda asked: refuse(503, f"overloaded, {KEY}")
    ended = judge(graded, "--retries", "0", code=3)
    assert "no run gave a verdict" in ended.err
    assert KEY not in ended.text


def test_outputs_of_a_run_file_are_judged_once_each(graded: Path, model_server: ModelServer) -> None:
    assert program("run", "suite.yaml", "--gate", "none", cwd=graded, env={"JUDGE_KEY": KEY}).code == 0
    model_server.forget()
    report = found(graded, "--runs", "5", source="repeat-eval-report/run.jsonl")
    assert [one["trace"] for one in report["traces"]] == ["window#1", "window#2", "window#3"]
    assert model_server.calls == 15
    write(graded / "agent.py", "def answer(question):\n    return 'always the same'\n")
    program("run", "suite.yaml", "--gate", "none", "--out", "same", cwd=graded, env={"JUDGE_KEY": KEY})
    report = found(graded, source="same/run.jsonl")
    assert [one["trace"] for one in report["traces"]] == ["window#1"]
    assert "outputs equal to another of their case are judged once: 2" in report["warnings"]


def test_recorded_outputs_are_judged_without_running_the_target(graded: Path, model_server: ModelServer) -> None:
    recorded = ["--cassettes", "tapes", "--cassette-mode", "record", "--gate", "none"]
    assert program("run", "suite.yaml", *recorded, cwd=graded, env={"JUDGE_KEY": KEY}).code == 0
    write(graded / "agent.py", "def answer(question, context):\n    raise SystemExit('called')\n")
    model_server.forget()
    report = found(graded, "--runs", "2", source="tapes")
    assert [one["trace"] for one in report["traces"]] == ["window#1", "window#2", "window#3"]
    assert model_server.calls == 6


def test_models_are_compared_with_each_other_and_with_humans(graded: Path, model_server: ModelServer) -> None:
    def grader(asked: Asked) -> Reply:
        good = "30 days" in asked.question and not (asked.model == "harsh" and "maybe" in asked.question)
        return say(json.dumps({"reason": "seen", "score": 1 if good else 0}))

    model_server.answer = grader
    traces(
        graded,
        {"id": "good", "output": "You have 30 days."},
        {"id": "vague", "output": "30 days, maybe."},
        {"id": "bad", "output": "No."},
    )
    write(graded / "labels.csv", "trace,check,label\ngood,judge,pass\nvague,,fail\nbad,,fail\nelsewhere,,pass\n")
    models = ["--model", "openai:mild", "--model", "openai:harsh", "--labels", "labels.csv", "--runs", "1"]
    report = found(graded, *models)
    (group,) = report["agreement"]
    assert group["raters"] == ["judge [openai:mild]", "judge [openai:harsh]"]
    (pair,) = group["pairs"]
    assert (pair["units"], pair["both_pass"], pair["pass_fail"], pair["both_fail"]) == (3, 1, 1, 1)
    assert pair["kappa"] == pytest.approx(0.4)
    mild, harsh = report["labels"]
    assert (mild["share"], harsh["share"], harsh["kappa"]) == (pytest.approx(2 / 3), 1.0, 1.0)
    assert "labels of traces that are not here: 1" in report["warnings"]
    shown = judge(graded, *models, "--out", "out").out
    assert "Agreement between judges" in shown
    assert "Judges against labels" in (graded / "out" / "judge-reliability.md").read_text()
    both = judge(graded, "--model", "openai:mild", "--set", "judge.model=openai:x", code=2)
    assert "give one of them" in both.err


def test_drift_against_a_saved_baseline(graded: Path, model_server: ModelServer) -> None:
    judge(graded, "--save-baseline", "base.json")
    assert "days" not in (graded / "base.json").read_text()
    same = found(graded, "--baseline", "base.json", "--fail-on-drift")
    assert [(one["check"], one["drifted"], one["common"]) for one in same["drift"]] == [("judge", False, 2)]
    model_server.answer = lambda asked: say(json.dumps({"reason": "stern", "score": 0.2}))
    ended = judge(graded, "--baseline", "base.json", "--fail-on-drift", code=1)
    assert "It has become stricter" in ended.out
    assert judge(graded, "--baseline", "base.json").code == 0
    traces(graded, {"id": "good", "output": "Something else."})
    assert found(graded, "--baseline", "base.json", "--fail-on-drift", code=3)["drift"][0]["changed"] == 1
    assert "--fail-on-drift needs --baseline" in judge(graded, "--fail-on-drift", code=2).err


def test_a_baseline_of_something_else_is_refused(desk: Path) -> None:
    write(desk / "base.json", '{"schema": "repeat-eval/judge-baseline/1", "suite": "other", "traces": []}')
    assert "is a baseline of the suite 'other'" in judge(desk, "--baseline", "base.json", code=2).err
    write(desk / "base.json", '{"schema": "repeat-eval/judge-baseline/2", "suite": "desk", "traces": []}')
    assert "known is repeat-eval/judge-baseline/1" in judge(desk, "--baseline", "base.json", code=2).err
    write(desk / "base.json", "[1")
    assert "is no baseline of an evaluator" in judge(desk, "--baseline", "base.json", code=2).err


def test_everything_that_is_wrong_with_traces_is_said_at_once(desk: Path) -> None:
    write(
        desk / "traces.jsonl",
        """
        {"id": "a", "output": "x"}
        {"id": "a", "output": "y"}
        {"id": 7, "output": "y"}
        {"id": "b"}
        {"id": "c", "case": "nobody", "output": "y"}
        {"id": "d", "output": "y", "tool_calls": 5}
        """,
    )
    text = judge(desk, code=2).err
    for line, words in [
        (2, "stands here a second time"),
        (3, "`id` must be a text"),
        (4, "has no `output`"),
        (5, "is of no case of the suite"),
        (6, "`tool_calls` must be a list"),
    ]:
        assert f"traces.jsonl:{line}: " in text
        assert words in text
    write(desk / "traces.jsonl", "{nonsense\n[]\n")
    text = judge(desk, code=2).err
    assert "traces.jsonl:1: is not JSON" in text
    assert "traces.jsonl:2: must be a mapping" in text
    write(desk / "traces.jsonl", "")
    assert "holds no output that can be judged" in judge(desk, code=2).err


def test_everything_that_is_wrong_with_labels_is_said_at_once(desk: Path) -> None:
    write(desk / "labels.csv", "trace,label\nkind,perhaps\nkind,pass\nkind,fail\n,pass\n")
    text = judge(desk, "--labels", "labels.csv", code=2).err
    assert "labels.csv:2: `label` must be pass or fail" in text
    assert "labels.csv:4: says both pass and fail" in text
    assert "labels.csv:5: `trace` must be" in text
    write(desk / "labels.csv", "id,label\nkind,pass\n")
    assert "has no column trace" in judge(desk, "--labels", "labels.csv", code=2).err
    write(desk / "labels.jsonl", '{"trace": "kind", "check": "politely", "label": true}\n')
    assert "labels name checks that are not tested: politely" in judge(desk, "--labels", "labels.jsonl", code=2).err


def test_what_is_wrong_with_all_files_is_said_at_once_and_before_anything_is_judged(desk: Path) -> None:
    write(desk / "traces.jsonl", '{"id": 7}\n')
    write(desk / "labels.csv", "trace,label\nkind,perhaps\n")
    write(desk / "base.json", "[]")
    files = ["--labels", "labels.csv", "--baseline", "base.json", "--save-baseline", "nowhere/new.json"]
    text = judge(desk, *files, code=2).err
    for words in (
        "base.json: is no baseline",
        "labels.csv:2: `label` must be",
        "traces.jsonl:1: `id` must be",
        "nowhere/new.json: cannot be written: its folder does not exist",
    ):
        assert words in text
    assert "running" not in text


def test_a_baseline_may_be_saved_into_the_folder_of_reports(desk: Path) -> None:
    judge(desk, "--out", "new", "--save-baseline", "new/base.json")
    assert (desk / "new" / "base.json").is_file()


def test_text_that_no_file_can_hold_is_judged_with_replacements(desk: Path) -> None:
    call = {"name": "\ud800", "arguments": {"\udfff": ["\ud800"]}}
    traces(desk, {"id": "a\ud800", "case": "window", "output": "please \udc00 \U0001f600", "tool_calls": [call]})
    write(desk / "labels.jsonl", json.dumps({"trace": "a\ud800", "label": True}))
    report = found(
        desk, "--check", "polite", "--labels", "labels.jsonl", "--save-baseline", "base.json", "--out", "out"
    )
    assert [(one["trace"], one["passed"]) for one in report["traces"]] == [("a?", 10)]
    assert report["labels"][0]["units"] == 1


def test_raters_that_choose_fewer_than_two_checks_are_refused(desk: Path) -> None:
    text = judge(desk, "--raters", "nobody*", code=2).err
    assert "--raters nobody* chooses no check, and agreement needs two; tested are: polite, moody" in text
    assert "chooses only 'moody'" in judge(desk, "--raters", "mood*", code=2).err
    assert len(found(desk, "--raters", "*")["agreement"]) == 1


def test_one_run_agrees_with_itself_which_is_no_gate(desk: Path) -> None:
    assert "needs K from 2 on" in judge(desk, "--min-agree-to", "1=0.9", code=2).err


def test_a_sample_is_drawn_from_the_traces_that_can_be_judged(desk: Path) -> None:
    plain = "\n  - id: plain\n    input: hello\n    expect: [contains: please]\n"
    write(desk / "suite.yaml", PYTHON_SUITE.rstrip() + plain)
    rows = [{"id": f"p{number}", "case": "plain", "output": "please"} for number in range(20)]
    traces(desk, *rows, {"id": "kind", "case": "window", "output": "Yes, please."})
    report = found(desk, "--sample-size", "1", "--check", "polite")
    assert (report["available"], report["sampled"]) == (1, 1)
    assert [one["trace"] for one in report["traces"]] == ["kind"]
    assert "traces of cases without a check that can vary are left out: 20" in report["warnings"]


def test_a_check_of_the_baseline_of_which_nothing_was_compared_leaves_drift_open(desk: Path) -> None:
    judge(desk, "--save-baseline", "base.json")
    baseline = json.loads((desk / "base.json").read_text())
    for one in baseline["traces"]:
        if one["check"] == "moody":
            one["fingerprint"] = "0" * 16
    write(desk / "base.json", json.dumps(baseline))
    report = found(desk, "--baseline", "base.json", "--fail-on-drift", code=3)
    assert [(one["check"], one["drifted"]) for one in report["drift"]] == [("polite", False), ("moody", None)]
    baseline["traces"] = [one for one in baseline["traces"] if one["check"] == "polite"]
    write(desk / "base.json", json.dumps(baseline))
    assert found(desk, "--baseline", "base.json", "--fail-on-drift")["verdict"] == "pass"


def test_a_suite_without_anything_that_can_vary_is_refused(desk: Path) -> None:
    write(desk / "suite.yaml", "cases:\n- id: window\n  expect: [contains: please]\n")
    assert "no check of the suite can vary" in judge(desk, code=2).err
    write(desk / "suite.yaml", PYTHON_SUITE)
    assert "no check that can vary has a name like contains" in judge(desk, "--check", "contains", code=2).err


def test_a_budget_stops_the_runs_and_the_evidence_is_incomplete(desk: Path) -> None:
    report = found(desk, "--time-budget", "0.000001", "--runs", "1000", "--workers", "1", code=3)
    assert report["stopped"] == "time-budget"
    assert any("were asked for and not made" in warning for warning in report["warnings"])
