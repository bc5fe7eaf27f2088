"""A judge behind a provider on loopback: recorded, replayed offline, and missed when what it is asked has changed."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import threading
from pathlib import Path

import pytest
from model_server import Asked, ModelServer, Reply, call, running, say
from whole_program import Ended, program, report_in, suite, trials_in
from whole_program import running as in_background

KEY = {"DESK_KEY": "sk-desk-0123456789abcdef"}
LOOK_UP = {
    "name": "look_up",
    "parameters": {"type": "object", "properties": {"what": {"type": "string"}, "at": {"type": "string"}}},
    "mock": {"returns": "lost"},
}
RUBRIC = "The answer apologises."


def answer(asked: Asked) -> Reply:
    """A desk that looks things up and apologises, and its judge, who likes that: 0.75."""
    if asked.model == "judge":
        return say(json.dumps({"score": 0.75, "passed": True, "reason": "It says sorry."}))
    # No order of the alphabet: the judge is shown the arguments as the model wrote them.
    return say("I am sorry to hear that.") if asked.tool_results else call("look_up", what="order", at="shop")


def run(folder: Path, mode: str, *more: str, env: dict[str, str] | None = None) -> Ended:
    options = ("--out", mode, "--cassettes", "cassettes", "--cassette-mode", mode)
    return program("run", "suite.yaml", *options, *more, cwd=folder, env=env)


@pytest.fixture(scope="module")
def once_recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("judged")
    with running(ModelServer(answer)) as server:
        endpoint = {"url": server.url, "api_key_env": "DESK_KEY"}
        suite(
            folder,
            {"sorry": {"input": "It broke.", "expect": [{"judge": {"rubric": RUBRIC, "pass_score": 0.6}}]}},
            target={"model": {"name": "openai-chat:desk", **endpoint, "tools": [LOOK_UP]}},
            judge={"model": "openai-chat:judge", **endpoint, "votes": 3},
            repeats=4,
        )
        ended = run(folder, "record", env=KEY)
    assert ended.code == 0, ended.text
    assert (server.calls, server.violations) == (4 * 2 + 4 * 3, [])
    return folder


@pytest.fixture
def recorded(once_recorded: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(once_recorded, tmp_path / "copy"))


def changed(folder: Path, old: str, new: str) -> None:
    path = folder / "suite.yaml"
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), "utf-8")


def test_verdicts_are_replayed_offline_without_a_key(recorded: Path) -> None:
    ended = run(recorded, "replay")
    assert ended.code == 0, ended.text
    one, other = (
        [[each["checks"], each["output"], each["judge_tokens"]] for each in trials_in(recorded / mode / "run.jsonl")]
        for mode in ("record", "replay")
    )
    assert one == other
    assert len(one) == 4


@pytest.mark.parametrize(
    ("old", "new"), [(RUBRIC, "The answer apologises and offers help."), ("openai-chat:judge", "openai-chat:judge-2")]
)
def test_a_changed_rubric_or_judge_misses(recorded: Path, old: str, new: str) -> None:
    changed(recorded, old, new)
    ended = run(recorded, "replay")
    assert ended.code == 3, ended.text
    trials = trials_in(recorded / "replay/run.jsonl")
    assert {(each["outcome"], each["error_kind"]) for each in trials} == {("error", "recording")}
    assert report_in(recorded / "replay")["verdict"] == "incomplete"


def test_changed_settings_of_the_judge_miss(recorded: Path) -> None:
    ended = run(recorded, "replay", "--set", "judge.temperature=0.1")
    assert ended.code == 3, ended.text


@pytest.mark.parametrize(("score", "code"), [("0.7", 0), ("0.9", 1)])
def test_a_changed_pass_score_judges_the_recorded_verdicts(recorded: Path, score: str, code: int) -> None:
    changed(recorded, '"pass_score": 0.6', f'"pass_score": {score}')
    ended = run(recorded, "replay")
    assert ended.code == code, ended.text
    assert {each["outcome"] for each in trials_in(recorded / "replay/run.jsonl")} == {"failed" if code else "passed"}


def git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *identity, *arguments], cwd=folder, capture_output=True, check=True)


def two_sides(folder: Path, mode: str, *more: str) -> Ended:
    options = ("--out", mode, "--cassette-mode", mode, "--base-ref", "HEAD~1", "--fresh")
    return program("run", "suite.yaml", *options, *more, cwd=folder, env=KEY if mode != "replay" else None)


def test_judges_of_both_sides_are_recorded_apart_and_replayed_offline(tmp_path: Path) -> None:
    """Base is a checkout that is gone when the run is over; its recordings stay beside head's."""
    git(tmp_path, "init", "-q")
    with running(ModelServer(answer)) as server:
        endpoint = {"url": server.url, "api_key_env": "DESK_KEY"}
        for prompt in ("Be kind.", "Be very kind."):
            suite(
                tmp_path,
                {"sorry": {"input": "It broke.", "expect": [{"judge": RUBRIC}]}},
                target={"model": {"name": "openai-chat:desk", **endpoint, "system": prompt, "tools": [LOOK_UP]}},
                judge={"model": "openai-chat:judge", **endpoint},
                repeats=5,
                cassettes="tapes",
            )
            git(tmp_path, "add", "suite.yaml")
            git(tmp_path, "commit", "-qm", prompt)
        recorded = two_sides(tmp_path, "record")
        assert recorded.code == 0, recorded.text
        assert (server.calls, server.violations) == (2 * 5 * 3, [])
    assert len(list((tmp_path / "tapes").glob("*.json"))) == len(list((tmp_path / "tapes/base").glob("*.json"))) == 1
    replayed = two_sides(tmp_path, "replay")
    assert replayed.code == 0, replayed.text
    for name in ("run.jsonl", "base.jsonl"):
        one, other = (
            [[each["repetition"], each["checks"], each["output"]] for each in trials_in(tmp_path / mode / name)]
            for mode in ("record", "replay")
        )
        assert sorted(one, key=str) == sorted(other, key=str)
        assert len(one) == 5
    assert report_in(tmp_path / "replay")["comparison"]["verdict"] == "no detectable change"
    shutil.rmtree(tmp_path / "tapes/base")
    lacking = two_sides(tmp_path, "replay")
    assert lacking.code == 3, lacking.text
    assert {each["error_kind"] for each in trials_in(tmp_path / "replay/base.jsonl")} == {"recording"}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_what_was_recorded_before_a_signal_is_on_disk(tmp_path: Path, number: signal.Signals) -> None:
    let_go = threading.Event()

    def slow(asked: Asked) -> Reply:
        if "late" in asked.question:
            let_go.wait(30)
        return say("Hello.")

    with running(ModelServer(slow)) as server:
        cases = {name: {"input": name, "expect": [{"contains": "Hello"}]} for name in ("soon", "late")}
        target = {"model": {"name": "openai-chat:desk", "url": server.url}}
        # Three trials wait and only two run at once: one can never have started when the signal comes.
        suite(tmp_path, cases, target=target, repeats=3, workers=2, cassettes="tapes")
        with in_background("run", "suite.yaml", "--out", "out", cwd=tmp_path) as ours:
            ours.until(
                lambda: (tmp_path / "out/run.jsonl").is_file() and len(trials_in(tmp_path / "out/run.jsonl")) >= 1
            )
            ours.signal(number)
            ours.until(lambda: "no further trial starts" in ours.said())
            let_go.set()
            ended = ours.end()
    assert ended.code == 3, ended.text
    done = {(each["case"], each["repetition"]) for each in trials_in(tmp_path / "out/run.jsonl")}
    kept = {
        (file["case"], int(call["key"].partition("#")[2] or 1))
        for file in map(json.loads, (path.read_text("utf-8") for path in (tmp_path / "tapes").glob("*.json")))
        for call in file["calls"]
    }
    assert done
    assert done <= kept
