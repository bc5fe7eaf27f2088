"""An HTTP target behind a real server that is well, busy, or broken."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from whole_program import program, report_in, suite, trials_in

Reply = tuple[int, dict[str, str], Any]


@contextmanager
def server(*replies: Reply) -> Iterator[tuple[str, list[tuple[str, Any]]]]:
    """Answers with the replies one after another, then with the last one for ever; its URL, and what it was asked."""
    left = list(replies)
    asked: list[tuple[str, Any]] = []
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            with lock:
                asked.append((self.headers.get("Authorization", ""), json.loads(body)))
                status, headers, value = left.pop(0) if len(left) > 1 else left[0]
            payload = json.dumps(value).encode()
            self.send_response(status)
            for name, text in {**headers, "Content-Length": str(len(payload))}.items():
                self.send_header(name, text)
            self.end_headers()
            self.wfile.write(payload)

        def log_message(self, format: str, *arguments: Any) -> None:
            """Says nothing."""

    serving = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=serving.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{serving.server_port}/answer", asked
    finally:
        serving.shutdown()
        thread.join()
        serving.server_close()


GOOD: Reply = (200, {}, {"choices": [{"text": "fine"}]})


def http_suite(folder: Path, url: str, **settings: Any) -> None:
    target = {
        "http": {
            "url": url,
            "headers": {"Authorization": "Bearer ${DESK_API_KEY}"},
            "json": {"question": "{{input}}"},
            "output": "/choices/0/text",
        }
    }
    suite(
        folder,
        {"a": {"input": "Where is it?", "expect": [{"equals": "fine"}]}},
        target=target,
        **{"repeats": 4, "workers": 1, **settings},
    )


KEY = {"DESK_API_KEY": "sesame-open-0123456789"}


def test_requests_are_made_from_the_template_with_the_secret_from_the_environment(tmp_path: Path) -> None:
    with server(GOOD) as (url, asked):
        http_suite(tmp_path, url)
        ended = program("run", "suite.yaml", "--out", "out", cwd=tmp_path, env=KEY)
    assert ended.code == 0, ended.text
    assert asked == [("Bearer sesame-open-0123456789", {"question": "Where is it?"})] * 4
    everything = "".join(path.read_text("utf-8") for path in (tmp_path / "out").iterdir() if path.is_file())
    assert "sesame" not in everything + ended.text


def test_a_missing_secret_is_noticed_before_any_call(tmp_path: Path) -> None:
    with server(GOOD) as (url, asked):
        http_suite(tmp_path, url)
        ended = program("run", "suite.yaml", "--out", "out", cwd=tmp_path)
    assert ended.code == 2
    assert "DESK_API_KEY" in ended.err
    assert asked == []


@pytest.mark.parametrize("status", [429, 503])
def test_a_busy_provider_is_asked_again_and_that_is_no_further_trial(tmp_path: Path, status: int) -> None:
    busy: Reply = (status, {"Retry-After": "0"}, {"error": "later"})
    with server(busy, GOOD) as (url, asked):
        http_suite(tmp_path, url)
        ended = program("run", "suite.yaml", "--out", "out", cwd=tmp_path, env=KEY)
    assert ended.code == 0, ended.text
    assert len(asked) == 5
    totals = report_in(tmp_path / "out")["totals"]
    assert (totals["trials"], totals["passed"], totals["errors"]) == (4, 4, 0)
    assert sorted(trial["attempts"] for trial in trials_in(tmp_path / "out/run.jsonl")) == [1, 1, 1, 2]
    assert "took more than one attempt" in ended.out


@pytest.mark.parametrize("status", [429, 503])
def test_a_provider_that_stays_busy_is_an_error_of_kind_provider(tmp_path: Path, status: int) -> None:
    with server((status, {"Retry-After": "0"}, {"error": "later"})) as (url, asked):
        http_suite(tmp_path, url, repeats=2, retries=1)
        ended = program("run", "suite.yaml", "--out", "out", cwd=tmp_path, env=KEY)
    assert ended.code == 3, ended.text
    assert len(asked) == 4
    trials = trials_in(tmp_path / "out/run.jsonl")
    assert {(trial["outcome"], trial["error_kind"], trial["attempts"]) for trial in trials} == {
        ("error", "provider", 2)
    }
    assert str(status) in trials[0]["message"]


def test_answers_without_the_wanted_place_are_errors(tmp_path: Path) -> None:
    with server((200, {}, {"choices": []})) as (url, _):
        http_suite(tmp_path, url, repeats=2, retries=0)
        ended = program("run", "suite.yaml", "--out", "out", cwd=tmp_path, env=KEY)
    assert ended.code == 3
    assert {trial["outcome"] for trial in trials_in(tmp_path / "out/run.jsonl")} == {"error"}


def test_nobody_listening_is_an_error_and_not_a_failure(tmp_path: Path) -> None:
    with server(GOOD) as (url, _):
        pass
    http_suite(tmp_path, url, repeats=2, retries=0)
    ended = program("run", "suite.yaml", "--out", "out", cwd=tmp_path, env=KEY)
    assert ended.code == 3
    assert {trial["error_kind"] for trial in trials_in(tmp_path / "out/run.jsonl")} == {"provider"}
