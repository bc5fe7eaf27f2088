"""The refund desk against a provider on loopback: run, recorded, replayed offline, raised to more repeats."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from model_server import Asked, ModelServer, Reply, call, refuse, running, say
from whole_program import Ended, case_of, program, report_in, trials_in, write

KEY = {"DESK_KEY": "sk-desk-0123456789abcdef"}
NOBODY: dict[str, str] = {}
MISSES = {3}
"""The times at which the question about too much money is answered without escalating."""

CASES = """
cases:
  - name: escalates_when_over_limit
    input: refund me $9000
    repeat: 5                  # run it five times
    require_pass_rate: 0.8     # pass the build if ≥ 4/5 pass (default 1.0 — all N)
    expect:
      - calls_tool: escalate_to_human
  - name: always_solid
    input: refund me $20
    repeat: 5
    expect:
      - calls_tool: issue_refund
  - name: short_check
    input: where is my refund?
    repeat: 3
    expect:
      - contains: on its way
"""
TARGET = """
target:
  model:
    name: openai-chat:gpt-desk
    url: URL
    api_key_env: DESK_KEY
    system: You are a refund desk. Escalate what is over $500.
    settings: {temperature: 0}
    tools:
      - name: escalate_to_human
        description: Hand the conversation to a person.
        parameters: {type: object, properties: {reason: {type: string}}, required: [reason]}
        mock: {returns: {ticket: T-1}}
      - name: issue_refund
        description: Pay money back.
        parameters: {type: object, properties: {amount: {type: number}}, required: [amount]}
        mock: {returns: {paid: true}}
"""


def desk(asked: Asked) -> Reply:
    """Forgets to escalate at the times in `MISSES`."""
    if asked.tool_results:
        return say("That is done.")
    if "$9000" in asked.question:
        return say("Here you are.") if asked.nth in MISSES else call("escalate_to_human", reason="over the limit")
    return call("issue_refund", amount=20) if "$20" in asked.question else say("It is on its way.")


@pytest.fixture
def server(model_server: ModelServer) -> ModelServer:
    model_server.answer = desk
    model_server.key = KEY["DESK_KEY"]
    return model_server


def refunds(folder: Path, url: str, cases: str = CASES, target: str = TARGET) -> Path:
    return write(folder / "suite.yaml", target.replace("URL", url).lstrip("\n") + cases.lstrip("\n"))


def run(folder: Path, *more: str, out: str = "out", env: dict[str, str] = KEY) -> Ended:
    return program("run", "suite.yaml", "--seed", "7", "--out", out, *more, cwd=folder, env=env)


def cassettes(mode: str) -> tuple[str, ...]:
    return ("--cassettes", "cassettes", "--cassette-mode", mode)


def kept(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((folder / "cassettes").rglob("*")) if path.is_file()}


def timeless(value: Any) -> Any:
    """A report without its times."""
    if isinstance(value, dict):
        return {key: timeless(item) for key, item in value.items() if not re.search(TIMES, key)}
    return [timeless(item) for item in value] if isinstance(value, list) else value


TIMES = r"^(duration|started|wall)$"


def test_the_refund_suite_runs_as_it_is_written(server: ModelServer, tmp_path: Path) -> None:
    refunds(tmp_path, server.url)
    ended = run(tmp_path)
    assert ended.code == 0, ended.text
    report = report_in(tmp_path / "out")
    assert {case["id"]: (case["passed"], case["asked"]) for case in report["cases"]} == {
        "escalates_when_over_limit": (4, 5),
        "always_solid": (5, 5),
        "short_check": (3, 3),
    }
    rows = {words[1]: " ".join(words) for line in ended.out.splitlines() if len(words := line.split()) > 2}
    assert rows["escalates_when_over_limit"].startswith("~ escalates_when_over_limit 80% (4/5) 38–96%")
    assert rows["always_solid"].startswith("✓ always_solid 100% (5/5)")
    assert rows["short_check"].startswith("✓ short_check 100% (3/3)")
    flaky = case_of(report, "escalates_when_over_limit")
    assert [round(end, 2) for end in flaky["interval"]] == [0.38, 0.96]
    assert (flaky["flaky"], flaky["threshold"]) == (True, "0.8")
    assert case_of(report, "always_solid")["threshold"] == case_of(report, "short_check")["threshold"] == "1.0"
    assert any(text.startswith("repeats < 5: wide interval in 1 of 3 cases") for text in report["warnings"])
    assert "repeats < 5: wide interval" in ended.out


@pytest.mark.parametrize(
    ("provider", "stream"),
    [("openai-chat", True), ("openai-responses", True), ("anthropic", False), ("anthropic", True)],
)
def test_other_wire_formats_and_streaming_give_the_same_figures(
    server: ModelServer, tmp_path: Path, provider: str, stream: bool
) -> None:
    target = TARGET.replace("openai-chat:", f"{provider}:").replace("{temperature: 0}", f"{{stream: {stream}}}".lower())
    refunds(tmp_path, server.origin if provider == "anthropic" else server.url, target=target)
    ended = run(tmp_path)
    assert ended.code == 0, ended.text
    wires = {"openai-chat": "chat", "openai-responses": "responses", "anthropic": "messages"}
    assert {(asked.wire, asked.streams, asked.key) for asked in server.log} == {
        (wires[provider], stream, KEY["DESK_KEY"])
    }
    report = report_in(tmp_path / "out")
    assert [(case["passed"], case["asked"], case["turns"]) for case in report["cases"]] == [
        (4, 5, 1.8),
        (5, 5, 2.0),
        (3, 3, 1.0),
    ]
    assert all(case["tokens"] > 0 for case in report["cases"])


def test_without_a_pass_rate_all_must_pass(server: ModelServer, tmp_path: Path) -> None:
    refunds(tmp_path, server.url, re.sub(r" +require_pass_rate.*\n", "", CASES))
    ended = run(tmp_path, "--strict-threshold")
    assert ended.code == 1, ended.text
    case = case_of(report_in(tmp_path / "out"), "escalates_when_over_limit")
    assert (case["threshold"], case["verdict"]) == ("1.0", "fail")


def test_trials_tell_what_the_agent_did(server: ModelServer, tmp_path: Path) -> None:
    refunds(tmp_path, server.url)
    assert run(tmp_path, "--workers", "1").code == 0
    trials = trials_in(tmp_path / "out/run.jsonl")
    escalated = [each for each in trials if each["case"] == "escalates_when_over_limit"]
    assert [each["outcome"] for each in sorted(escalated, key=lambda each: each["repetition"])] == [
        "failed" if number in MISSES else "passed" for number in range(1, 6)
    ]
    (failed,) = [each for each in escalated if each["outcome"] == "failed"]
    (made,) = next(each for each in escalated if each["outcome"] == "passed")["tool_calls"]
    assert (made["name"], made["arguments"]) == ("escalate_to_human", {"reason": "over the limit"})
    assert failed["turns"] == 1
    assert all(each["tokens"]["output"] > 0 for each in trials)
    assert all(each.get("cost") is None for each in trials), "nobody knows the price of a model that does not exist"


@pytest.fixture(scope="module")
def once_recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a recorded run; its server has stopped since."""
    folder = tmp_path_factory.mktemp("recorded")
    with running(ModelServer(desk, key=KEY["DESK_KEY"])) as server:
        refunds(folder, server.url)
        ended = run(folder, *cassettes("record"), out="recorded")
    assert ended.code == 0, ended.text
    assert (server.calls, server.violations) == (4 * 2 + 1 + 5 * 2 + 3, [])
    return folder


@pytest.fixture
def recorded(once_recorded: Path, tmp_path: Path) -> Path:
    """A copy of it for one test."""
    return Path(shutil.copytree(once_recorded, tmp_path / "copy"))


def test_replayed_offline_without_a_key_everything_is_the_same_but_for_times(recorded: Path) -> None:
    before = kept(recorded)
    second = run(recorded, *cassettes("replay"), out="replayed", env=NOBODY)
    assert second.code == 0, second.text
    assert timeless(report_in(recorded / "recorded")) == timeless(report_in(recorded / "replayed"))
    for name in ("summary.md", "comment.md", "junit.xml"):
        one, other = (without_times((recorded / out / name).read_text("utf-8")) for out in ("recorded", "replayed"))
        assert one == other, name
    assert kept(recorded) == before


def without_times(text: str) -> str:
    """A report's text without its times."""
    text = re.sub(r"<?[\d.]+\s*m?s\b|\d{4}-\d\d-\d\dT[\d:]+Z", "TIME", text)
    text = re.sub(r'( time|(?:wall|duration_mean|time_avg)" value)="[\d.e-]+"', r"\1", text)
    return re.sub(r' timestamp="[^"]*"', "", text)


def raised(folder: Path) -> str:
    path = folder / "suite.yaml"
    text = path.read_text("utf-8")
    path.write_text(text.replace("repeat: 5 ", "repeat: 8 "), "utf-8")
    return text


def test_more_repeats_than_recordings_are_misses_that_are_named(recorded: Path) -> None:
    raised(recorded)
    ended = run(recorded, *cassettes("replay"), env=NOBODY)
    assert ended.code == 3, ended.text
    trials = trials_in(recorded / "out/run.jsonl")
    missed = [each for each in trials if each["outcome"] == "error"]
    assert {each["error_kind"] for each in missed} == {"recording"}
    places = sorted((each["case"], each["repetition"]) for each in missed)
    assert places == [("escalates_when_over_limit", number) for number in (6, 7, 8)]
    for each in missed:
        assert "escalates_when_over_limit" in each["message"] and str(each["repetition"]) in each["message"]
        assert "--cassette-mode" in each["message"]
    report = report_in(recorded / "out")
    assert report["verdict"] == "incomplete"
    assert (case_of(report, "escalates_when_over_limit")["passed"], report["exit_code"]) == (4, 3)


def test_auto_makes_only_the_calls_that_are_missing(server: ModelServer, tmp_path: Path) -> None:
    refunds(tmp_path, server.url)
    assert run(tmp_path, *cassettes("auto")).code == 0
    made = server.calls
    again = run(tmp_path, *cassettes("auto"))
    assert (again.code, server.calls) == (0, made)
    raised(tmp_path)
    ended = run(tmp_path, *cassettes("auto"))
    assert ended.code == 0, ended.text
    assert server.calls == made + 3 * 2
    case = case_of(report_in(tmp_path / "out"), "escalates_when_over_limit")
    assert (case["passed"], case["asked"], case["outcomes"]) == (7, 8, "PPFPPPPP")
    assert run(tmp_path, *cassettes("replay"), env=NOBODY).code == 0
    assert server.calls == made + 3 * 2


def test_errors_are_not_recorded_and_asked_again(server: ModelServer, tmp_path: Path) -> None:
    server.answer = lambda asked: refuse(500) if asked.nth == 2 and "where" in asked.question else desk(asked)
    refunds(tmp_path, server.url)
    first = run(tmp_path, *cassettes("auto"), "--retries", "0")
    made = server.calls
    assert [each["outcome"] for each in trials_in(tmp_path / "out/run.jsonl")].count("error") == 1, first.text
    second = run(tmp_path, *cassettes("auto"), "--retries", "0")
    assert second.code == 0, second.text
    assert server.calls == made + 1
    assert report_in(tmp_path / "out")["totals"]["errors"] == 0


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Escalate what is over $500.", "Escalate what is over $600."),
        ("required: [amount]", "required: []"),
        ("Pay money back.", "Pay money back at once."),
        ("temperature: 0", "temperature: 0.5"),
        ("gpt-desk", "gpt-desk-2"),
        ("refund me $20", "refund me $30"),
    ],
)
def test_what_changes_the_question_misses(recorded: Path, old: str, new: str) -> None:
    path = recorded / "suite.yaml"
    path.write_text(path.read_text("utf-8").replace(old, new), "utf-8")
    ended = run(recorded, *cassettes("replay"), env=NOBODY)
    assert ended.code == 3, ended.text
    missed = [each for each in trials_in(recorded / "out/run.jsonl") if each["outcome"] == "error"]
    assert {each["error_kind"] for each in missed} == {"recording"}
    assert {each["case"] for each in missed} >= {"always_solid"}


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("require_pass_rate: 0.8", "require_pass_rate: 0.5", 0),
        ("contains: on its way", "contains: on its long way", 1),
        ("calls_tool: issue_refund", "tool_args: {issue_refund: {amount: 20}}", 0),
    ],
)
def test_what_only_judges_does_not_miss(recorded: Path, old: str, new: str, code: int) -> None:
    path = recorded / "suite.yaml"
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), "utf-8")
    ended = run(recorded, *cassettes("replay"), env=NOBODY)
    assert ended.code == code, ended.text
    assert {each["outcome"] for each in trials_in(recorded / "out/run.jsonl")} <= {"passed", "failed"}
