"""Responses of targets whose code is not ours: recorded and replayed by the real program, and said so."""

from __future__ import annotations

import json
import textwrap
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from whole_program import program

pytestmark = pytest.mark.e2e

SUITE = """\
name: shop
target: agent:answer
repeats: 5
threshold: 0.5
cases:
  - id: greets
    input: hello
    expect:
      - contains: hello
  - id: counts
    input: count
    expect:
      - contains: count
"""
AGENT = """\
from pathlib import Path

def answer(text, context):
    with Path("calls.txt").open("a") as file:
        file.write(f"{context.case} {context.repetition}\\n")
    return f"{text} {context.repetition}"
"""


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    (tmp_path / "shop.yaml").write_text(SUITE)
    (tmp_path / "agent.py").write_text(textwrap.dedent(AGENT))
    return tmp_path


def run(shop: Path, *more: str, env: dict[str, str] | None = None) -> tuple[int, str, dict[str, Any]]:
    ended = program("run", "shop.yaml", "-o", "out", "--fresh", *more, cwd=shop, env=env)
    report = shop / "out" / "report.json"
    return ended.code, ended.text, json.loads(report.read_text()) if report.is_file() else {}


def calls(shop: Path) -> int:
    file = shop / "calls.txt"
    return len(file.read_text().splitlines()) if file.is_file() else 0


def test_a_folder_alone_records_nothing_of_a_target_whose_code_would_not_run(shop: Path) -> None:
    run(shop, "--cassettes", "tapes")
    run(shop, "--cassettes", "tapes")
    assert calls(shop) == 20
    assert not (shop / "tapes").exists()


def test_a_mode_in_the_suite_file_is_not_asking_for_it(shop: Path) -> None:
    (shop / "shop.yaml").write_text(SUITE + "cassettes: tapes\ncassette_mode: replay\n")
    code, text, report = run(shop)
    assert code == 0
    assert calls(shop) == 10
    assert "give --cassette-mode" in text
    assert report["replayed"] is False


def test_replaying_runs_no_code_and_every_surface_says_so(shop: Path) -> None:
    code, text, recorded = run(shop, "--cassettes", "tapes", "--cassette-mode", "record")
    assert code == 0
    assert "0 recorded earlier and replayed, 10 recorded now" in text
    assert recorded["replayed"] is False
    code, text, report = run(shop, "--cassettes", "tapes", "--cassette-mode", "replay")
    assert code == 0
    assert calls(shop) == 10
    assert report["replayed"] is True
    assert [case["outcomes"] for case in report["cases"]] == [case["outcomes"] for case in recorded["cases"]]
    said = "the code under test did not run"
    assert said in text
    assert said in (shop / "out" / "summary.md").read_text()
    assert 'name="repeat-eval.replayed" value="true"' in (shop / "out" / "junit.xml").read_text()
    assert '"replayed":true' in (shop / "out" / "run.jsonl").read_text().splitlines()[0]


def test_n_trials_need_n_recordings(shop: Path) -> None:
    run(shop, "--cassettes", "tapes", "--cassette-mode", "record")
    code, _, report = run(shop, "--cassettes", "tapes", "--cassette-mode", "replay", "--repeats", "8")
    assert code == 3
    assert calls(shop) == 10
    missed = [reason["text"] for reason in report["reasons"] if reason["text"].startswith("cassette miss")]
    assert len(missed) == 6
    assert "case greets, repetition 6, response: there is no recording" in " ".join(missed)
    assert "--cassette-mode auto --case greets" in missed[0] + missed[3]
    assert {case["error_kinds"]["recording"] for case in report["cases"]} == {3}
    code, text, _ = run(shop, "--cassettes", "tapes", "--cassette-mode", "auto", "--repeats", "8")
    assert code == 0
    assert calls(shop) == 16
    assert "10 recorded earlier and replayed, 6 recorded now" in text


def test_a_single_miss_is_incomplete_although_the_bounds_would_stand_it(shop: Path) -> None:
    run(shop, "--cassettes", "tapes", "--cassette-mode", "record")
    code, _, report = run(
        shop, "--cassettes", "tapes", "--cassette-mode", "replay", "--repeats", "6", "--max-error-rate", "1"
    )
    assert code == 3
    assert [case["verdict"] for case in report["cases"]] == ["pass", "pass"]


def test_changed_checks_and_thresholds_judge_the_same_recordings(shop: Path) -> None:
    run(shop, "--cassettes", "tapes", "--cassette-mode", "record")
    (shop / "shop.yaml").write_text(SUITE.replace("contains: hello", "contains: nowhere"))
    code, _, report = run(shop, "--cassettes", "tapes", "--cassette-mode", "replay", "--threshold", "0.9")
    assert code == 1
    assert [case["passed"] for case in report["cases"]] == [0, 5]


def test_a_changed_input_misses(shop: Path) -> None:
    run(shop, "--cassettes", "tapes", "--cassette-mode", "record")
    (shop / "shop.yaml").write_text(SUITE.replace("input: hello", "input: hello you"))
    code, text, _ = run(shop, "--cassettes", "tapes", "--cassette-mode", "replay")
    assert code == 3
    assert "the input, the variables or the target changed since it was recorded" in text


def test_recording_the_same_again_changes_no_byte(shop: Path) -> None:
    run(shop, "--cassettes", "tapes", "--cassette-mode", "record", "--workers", "50")
    before = {path.name: path.read_bytes() for path in (shop / "tapes").iterdir()}
    run(shop, "--cassettes", "tapes", "--cassette-mode", "record")
    assert {path.name: path.read_bytes() for path in (shop / "tapes").iterdir()} == before


def test_two_replayed_sides_are_not_comparable(shop: Path) -> None:
    both = ("--base-target", "agent:answer", "--cassettes", "tapes", "--cassette-mode")
    run(shop, *both, "record")
    assert (shop / "tapes" / "base").is_dir()
    _, text, report = run(shop, *both, "replay")
    assert calls(shop) == 20
    assert report["comparison"]["verdict"] == "not comparable"
    assert "both sides are recordings of old responses" in report["comparison"]["text"]
    assert "both sides are recordings" in text


def test_a_mode_without_a_folder_is_an_error(shop: Path) -> None:
    code, text, _ = run(shop, "--cassette-mode", "replay")
    assert code == 2
    assert "--cassettes" in text
    assert calls(shop) == 0


def test_a_broken_cassette_is_an_error_before_anything_runs(shop: Path) -> None:
    run(shop, "--cassettes", "tapes", "--cassette-mode", "record")
    path = min((shop / "tapes").iterdir())
    path.write_text("{\n")
    code, text, _ = run(shop, "--cassettes", "tapes", "--cassette-mode", "replay")
    assert code == 2
    assert f"{path.name}:" in text
    assert "broken cassette" in text


def test_planted_keys_reach_neither_cassette_nor_report_nor_log(shop: Path) -> None:
    secret = "planted-" + "value-0123456789"
    (shop / "agent.py").write_text(
        "import os\n"
        "def answer(text, context):\n"
        "    print('log', os.environ['SHOP_API_KEY'])\n"
        "    if context.repetition == 2:\n"
        "        raise RuntimeError('bad key ' + os.environ['SHOP_API_KEY'])\n"
        "    return text + os.environ['SHOP_API_KEY'] + ' Bearer ' + 'abcdef0123456789abcdef'\n"
    )
    _, text, _ = run(shop, "--cassettes", "tapes", "--cassette-mode", "record", env={"SHOP_API_KEY": secret})
    files = [path for path in shop.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    assert (shop / "out" / "target.log") in files
    assert secret not in text
    for path in files:
        assert secret not in path.read_text(), path
    assert not any("abcdef0123456789abcdef" in path.read_text() for path in (shop / "tapes").iterdir())


class _Desk(BaseHTTPRequestHandler):
    """Says hello to whoever has the key."""

    def do_GET(self) -> None:
        told = self.headers.get("x-key") == "planted-value-0123456789"
        body = b"hello" if told else b"who are you?"
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:
        """Nothing is printed."""


def test_responses_of_an_endpoint_are_replayed_without_its_key(tmp_path: Path) -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Desk)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    http = (
        f"{{http: {{url: 'http://127.0.0.1:{server.server_port}/', method: GET, headers: {{x-key: '${{DESK_KEY}}'}}}}}}"
    )
    suite = (
        f"name: shop\ntarget: {http}\nrepeats: 5\ncases:\n  - {{id: greets, input: hi, expect: [contains: hello]}}\n"
    )
    (tmp_path / "shop.yaml").write_text(suite)
    taped = ("--cassettes", "tapes", "--cassette-mode")
    try:
        code, text, _ = run(tmp_path, *taped, "record", env={"DESK_KEY": "planted-value-0123456789"})
        assert code == 0, text
    finally:
        server.shutdown()
        server.server_close()
    code, text, _ = run(tmp_path, *taped, "replay")
    assert code == 0, text
    code, text, _ = run(tmp_path, *taped, "auto")
    assert code == 2, text
    assert "DESK_KEY is not set" in text
