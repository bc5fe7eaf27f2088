"""Keys and tokens planted in headers, URLs, bodies and error texts are in no cassette, report, journal or log."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from model_server import Asked, ModelServer, Reply, call, refuse, say
from whole_program import Ended, program, suite, trials_in

KEY = "sk-planted-0123456789abcdefKEY"
TOKEN = "-".join(["shop-planted", "0123456789"])
FAMOUS = "ghp_planted0123456789planted0123456789"
ENVIRONMENT = {"DESK_KEY": KEY, "SHOP_TOKEN": TOKEN}
PLANTED = (KEY, TOKEN)


def leaky(asked: Asked) -> Reply:
    """Tells everything that it knows: the key it was sent, and what it finds elsewhere."""
    if asked.model == "judge":
        return say(json.dumps({"score": 1, "passed": True, "reason": f"I was called with {asked.key}"}))
    if not asked.tool_results:
        return call("look_up", key=asked.key, url=f"https://user:{TOKEN}@shop.example/?token={TOKEN}", **{TOKEN: 1})
    return say(f"My key is {asked.key}, Authorization: Bearer {TOKEN}, and theirs is {FAMOUS}.")


def leaks(folder: Path, ended: Ended, planted: tuple[str, ...]) -> list[str]:
    """Where a planted secret is found again: files of any kind below the folder, and what the program said."""
    texts = {str(path): path.read_text("utf-8") for path in folder.rglob("*") if path.is_file()}
    assert len(texts) > 5
    texts |= {"stdout": ended.out, "stderr": ended.err}
    return [f"{secret[:12]}… in {name}" for name, text in texts.items() for secret in planted if secret in text]


def desk(folder: Path, server: ModelServer, *, judged: bool = False, **model: object) -> None:
    """A suite that asks the desk, and a judge as well if that is wanted."""
    endpoint = {"url": server.url, "api_key_env": "DESK_KEY"}
    tool = {"name": "look_up", "mock": {"returns": "fine"}}
    judge = {"judge": {"rubric": "Is it polite?", "model": "openai-chat:judge", **endpoint}}
    checks = [{"contains": "My key"}, {"calls_tool": "look_up"}]
    suite(
        folder,
        {"a": {"input": "Tell me all.", "expect": [judge] if judged else checks}},
        target={"model": {"name": "openai-chat:desk", **endpoint, "tools": [tool], **model}},
        repeats=3,
        retries=0,
    )


@pytest.mark.parametrize("stream", [False, True])
def test_answers_that_tell_secrets_are_recorded_and_replayed_without_them(
    model_server: ModelServer, tmp_path: Path, stream: bool
) -> None:
    model_server.answer, model_server.key = leaky, KEY
    desk(tmp_path, model_server, settings={"stream": stream})
    recorded = ("run", "suite.yaml", "--out", "out", "--cassettes", "cassettes")
    ended = program(*recorded, "--cassette-mode", "record", cwd=tmp_path, env=ENVIRONMENT)
    assert ended.code == 0, ended.text
    assert {asked.key for asked in model_server.log} == {KEY}
    assert len(model_server.log) == 3 * 2
    assert leaks(tmp_path, ended, PLANTED) == []
    assert not [path for path in (tmp_path / "cassettes").iterdir() if FAMOUS in path.read_text("utf-8")]
    replayed = program(*recorded, "--cassette-mode", "replay", cwd=tmp_path)
    assert replayed.code == 0, replayed.text
    assert len(model_server.log) == 3 * 2
    assert leaks(tmp_path, replayed, PLANTED) == []


def test_judges_that_tell_secrets_are_recorded_and_replayed_without_them(
    model_server: ModelServer, tmp_path: Path
) -> None:
    model_server.answer = lambda asked: leaky(asked) if asked.model == "judge" else say("Good day.")
    desk(tmp_path, model_server, judged=True)
    recorded = ("run", "suite.yaml", "--out", "out", "--cassettes", "cassettes")
    for mode, environment in (("record", ENVIRONMENT), ("replay", {})):
        ended = program(*recorded, "--cassette-mode", mode, cwd=tmp_path, env=environment)
        assert ended.code == 0, ended.text
        assert leaks(tmp_path, ended, PLANTED) == []
        reasons = {check["message"] for each in trials_in(tmp_path / "out/run.jsonl") for check in each["checks"]}
        assert reasons == {"scored 1: I was called with ***"}


@pytest.mark.parametrize("status", [400, 401, 404, 429, 500])
def test_errors_that_tell_secrets_are_shown_without_them(
    model_server: ModelServer, tmp_path: Path, status: int
) -> None:
    model_server.answer = lambda asked: refuse(status, f"{asked.key} is no key, {TOKEN} is no token")
    desk(tmp_path, model_server)
    ended = program("run", "suite.yaml", "--out", "out", "--cassettes", "cassettes", cwd=tmp_path, env=ENVIRONMENT)
    assert ended.code == 3, ended.text
    trials = trials_in(tmp_path / "out/run.jsonl")
    assert {each["error_kind"] for each in trials} == {"provider"}
    assert all(str(status) in each["message"] for each in trials)
    assert leaks(tmp_path, ended, PLANTED) == []
    assert not (tmp_path / "cassettes").exists() or not list((tmp_path / "cassettes").iterdir())


def test_a_url_with_a_password_is_refused_without_showing_it(model_server: ModelServer, tmp_path: Path) -> None:
    desk(tmp_path, model_server, url=model_server.url.replace("http://", f"http://desk:{TOKEN}@"))
    ended = program("run", "suite.yaml", "--out", "out", cwd=tmp_path, env=ENVIRONMENT)
    assert ended.code == 2
    assert TOKEN not in ended.text and "url" in ended.err


def test_a_missing_key_is_noticed_before_any_call(model_server: ModelServer, tmp_path: Path) -> None:
    desk(tmp_path, model_server)
    ended = program("run", "suite.yaml", "--out", "out", cwd=tmp_path)
    assert ended.code == 2
    assert "DESK_KEY" in ended.err
    assert model_server.log == []
