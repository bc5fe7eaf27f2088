"""HTTP-level recordings of code that calls an API by itself, against a real server on loopback."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest
from whole_program import program

from repeat_eval.recording import RecordingMissing, recording

pytest.importorskip("vcr")
KEY = "planted-" + "value-0123456789"


class Api:
    """Counts requests, gives each a number, and remembers the keys it was shown."""

    def __init__(self) -> None:
        self.count = 0
        self.keys: list[str | None] = []
        self.status = 200
        api = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                api.count += 1
                api.keys.append(self.headers.get("Authorization"))
                asked = self.rfile.read(int(self.headers["Content-Length"])).decode()
                body = json.dumps({"number": api.count, "asked": asked, "key": api.keys[-1]}).encode()
                self.send_response(api.status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Set-Cookie", f"session={KEY}")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *words: Any) -> None:
                """Says nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/ask"


@pytest.fixture
def api() -> Iterator[Api]:
    made = Api()
    thread = threading.Thread(target=made.server.serve_forever, daemon=True)
    thread.start()
    yield made
    made.server.shutdown()
    made.server.server_close()


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("REPEAT_EVAL_RECORDING_FOLDER", str(tmp_path))
    monkeypatch.setenv("REPEAT_EVAL_RECORDING_MODE", "auto")
    monkeypatch.setenv("SHOP_API_KEY", KEY)
    return tmp_path


def ask(api: Api, text: str = "hello") -> int:
    answer = httpx.post(api.url, content=text, headers={"Authorization": f"Bearer {KEY}"}, params={"api_key": KEY})
    return int(answer.json()["number"])


def test_each_repetition_has_a_recording_of_its_own(api: Api, told: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def both() -> list[int]:
        numbers = []
        for repetition in (1, 2):
            with recording(case="greets", repetition=repetition):
                numbers.append(ask(api))
        return numbers

    assert both() == [1, 2]
    monkeypatch.setenv("REPEAT_EVAL_RECORDING_MODE", "replay")
    assert both() == [1, 2]
    assert api.count == 2
    names = sorted(path.name for path in (told / "http").iterdir())
    assert len(names) == 2
    assert names[0].endswith(".2.yaml")


def test_no_key_reaches_a_recording(api: Api, told: Path) -> None:
    with recording(case="greets", repetition=1):
        ask(api, f"my key is {KEY}")
    assert api.keys == [f"Bearer {KEY}"]
    (path,) = (told / "http").iterdir()
    text = path.read_text()
    assert "my key is ***" in text
    for secret in (KEY, "Cookie", "Authorization"):
        assert secret not in text


def test_a_request_without_recording_is_an_error_even_where_the_code_swallows_it(
    api: Api, told: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REPEAT_EVAL_RECORDING_MODE", "replay")
    with pytest.raises(RecordingMissing, match="'greets', repetition 3"), recording(case="greets", repetition=3):
        try:
            ask(api)
        except Exception:
            api.status = 200  # as code does that goes on regardless
    assert api.count == 0


def test_errors_of_the_api_are_not_recorded(api: Api, told: Path) -> None:
    api.status = 503
    with recording(case="greets", repetition=1):
        ask(api)
    api.status = 200
    with recording(case="greets", repetition=1):
        assert ask(api) == 2
    with recording(case="greets", repetition=1):
        assert ask(api) == 2


def test_record_asks_again(api: Api, told: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with recording(case="greets", repetition=1):
        assert ask(api) == 1
    monkeypatch.setenv("REPEAT_EVAL_RECORDING_MODE", "record")
    with recording(case="greets", repetition=1):
        assert ask(api) == 2
    monkeypatch.setenv("REPEAT_EVAL_RECORDING_MODE", "replay")
    with recording(case="greets", repetition=1):
        assert ask(api) == 2


def test_nothing_happens_where_no_recordings_are_asked_for(api: Api, tmp_path: Path) -> None:
    with recording():
        assert ask(api) == 1
    assert list(tmp_path.iterdir()) == []


def test_trials_of_one_event_loop_take_turns(api: Api, told: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def trial(repetition: int) -> int:
        async with recording(case="greets", repetition=repetition), httpx.AsyncClient() as client:
            answer = await client.post(api.url, content="hello")
            return int(answer.json()["number"])

    async def all_of_them() -> list[int]:
        return await asyncio.gather(*[trial(number) for number in range(1, 7)])

    live = asyncio.run(all_of_them())
    assert sorted(live) == [1, 2, 3, 4, 5, 6]
    monkeypatch.setenv("REPEAT_EVAL_RECORDING_MODE", "replay")
    assert asyncio.run(all_of_them()) == live
    assert api.count == 6


def test_in_pytest_the_running_test_is_the_case(api: Api, told: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REPEAT_EVAL_TRIAL_REPETITION", "2")
    with recording():
        ask(api)
    (path,) = (told / "http").iterdir()
    assert "the_running_test_is_the_case" in path.name or "test_http_recording" in path.name


def test_without_a_trial_it_is_an_error(told: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REPEAT_EVAL_TRIAL_REPETITION", raising=False)
    with pytest.raises(ValueError, match="which trial"):
        recording(case="greets")


AGENT = """\
import urllib.request
import json
from repeat_eval.recording import recording

def answer(text, context):
    with recording(context):
        with urllib.request.urlopen("{url}", data=text.encode()) as answer:
            return "number " + str(json.load(answer)["number"])
"""
SUITE = """\
target: agent:answer
repeats: 4
cassettes: tapes
cases:
  - id: greets
    input: hello
    expect:
      - contains: number
"""


@pytest.mark.e2e
def test_a_python_target_in_a_worker_is_recorded_and_then_needs_no_server(tmp_path: Path) -> None:
    api = Api()
    thread = threading.Thread(target=api.server.serve_forever, daemon=True)
    thread.start()
    (tmp_path / "agent.py").write_text(AGENT.format(url=api.url))
    (tmp_path / "suite.yaml").write_text(SUITE)
    recorded = program("run", "suite.yaml", "-o", "out", cwd=tmp_path)
    assert recorded.code == 0, recorded.text
    assert api.count == 4
    api.server.shutdown()
    api.server.server_close()
    replay = {"REPEAT_EVAL_RECORDING_MODE": "replay"}
    replayed = program("run", "suite.yaml", "-o", "again", cwd=tmp_path, env=replay)
    assert replayed.code == 0, replayed.text

    def outputs(folder: str) -> list[str]:
        lines = (tmp_path / folder / "run.jsonl").read_text().splitlines()[1:-1]
        return [trial["output"] for trial in sorted(map(json.loads, lines), key=lambda one: one["repetition"])]

    assert outputs("again") == outputs("out")
    assert len(set(outputs("again"))) == 4

    more = program("run", "suite.yaml", "-o", "more", "--repeats", "6", cwd=tmp_path, env=replay)
    assert more.code == 3, more.text
    report = json.loads((tmp_path / "more" / "report.json").read_text())
    assert report["cases"][0]["error_kinds"] == {"recording": 2}
    missed = [one["text"] for one in report["reasons"] if one["text"].startswith("cassette miss")]
    assert len(missed) == 2
    assert "'greets', repetition 5" in missed[0]


@pytest.mark.e2e
def test_a_pytest_suite_is_recorded_and_a_miss_is_no_failure(tmp_path: Path, api: Api) -> None:
    (tmp_path / "test_evals.py").write_text(
        "import httpx\n"
        "from repeat_eval.recording import recording\n"
        "def test_greets():\n"
        "    with recording():\n"
        f"        assert httpx.post({api.url!r}, content='hello').json()['number']\n"
    )
    line = f"{sys.executable} -m pytest -p no:cacheprovider test_evals.py --junitxml {{results}}"
    words = ("run", "--command", line, "--cassettes", "tapes", "-o", "out", "--fresh")
    recorded = program(*words, "--repeats", "2", cwd=tmp_path)
    assert recorded.code == 0, recorded.text
    assert api.count == 2
    replayed = program(*words, "--repeats", "2", "--cassette-mode", "replay", cwd=tmp_path)
    assert replayed.code == 0, replayed.text
    missing = program(*words, "--repeats", "3", "--cassette-mode", "replay", cwd=tmp_path)
    assert missing.code == 3, missing.text
    assert "repetition 3" in missing.text
    assert api.count == 2
