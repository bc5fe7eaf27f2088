"""Whole steps against a server that speaks GitHub's API, judged by GitHub's own description of it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import repeat_eval
from repeat_eval.github.marker import Marker, find_marker

sys.path.insert(0, str(Path(__file__).parents[1] / "github"))

from server.faults import forbidden
from server.web import GitHubServer


@pytest.fixture
def pull_request(on_github: Any, server: GitHubServer) -> Any:
    """The step of a pull request that breaks a case, with a comment always."""
    server.state.refs["heads/main"] = on_github.base
    on_github.environ["INPUT_COMMENT"] = "always"
    return on_github


def changed_file(name: str) -> dict[str, Any]:
    """A file that a pull request changes, as GitHub lists it."""
    numbers = {"additions": 1, "deletions": 1, "changes": 2}
    links = {f"{kind}_url": f"http://127.0.0.1/{kind}" for kind in ("blob", "raw", "contents")}
    return {"sha": "a" * 40, "filename": name, "status": "modified", **numbers, **links}


def bodies(server: GitHubServer) -> list[str]:
    return [comment["body"] for comment in server.state.comments.values()]


def test_the_comment_says_what_broke_and_its_address_is_an_output(pull_request, server) -> None:
    assert pull_request.run() == 1
    (body,) = bodies(server)
    assert body.startswith("### ❌ Worse than `main`: 1 of 3 cases broke")
    assert find_marker(body) == Marker("shop", pull_request.head, 123, 2)
    assert f"/blob/{pull_request.head}/evals/suite.yaml#L" in body
    assert "attempt 2" in body
    assert pull_request.outputs["comment-url"].startswith("http")


def test_after_the_fix_the_same_comment_is_edited_to_green(pull_request, server) -> None:
    pull_request.environ["GITHUB_RUN_ATTEMPT"] = "1"
    pull_request.run()
    (pull_request.workspace / "evals/agent.py").write_text("def answer(input):\n    return input\n")
    pull_request.environ["GITHUB_RUN_ID"] = "124"
    assert pull_request.run() == 0
    (body,) = bodies(server)
    assert body.startswith("### ✅ No detectable change")


def test_links_and_annotations_start_at_the_root_of_the_repository(pull_request, server) -> None:
    pull_request.run(working_directory="evals", suite="suite.yaml", check="true")
    assert f"/blob/{pull_request.head}/evals/suite.yaml#L" in bodies(server)[0]
    (annotations,) = server.state.annotations.values()
    assert annotations[0]["path"] == "evals/suite.yaml"


def test_matrix_legs_have_comments_of_their_own(pull_request, server) -> None:
    pull_request.run(matrix='{"model": "small"}')
    pull_request.run(matrix='{"model": "large"}')
    assert len(bodies(server)) == 2


def test_check_and_status_stand_at_the_pull_requests_own_commit(pull_request, server) -> None:
    pull_request.run(check="true", status="true")
    (check,) = server.state.checks.values()
    assert (check["head_sha"], check["status"], check["conclusion"]) == (pull_request.head, "completed", "failure")
    (annotations,) = server.state.annotations.values()
    assert annotations[0]["path"] == "evals/suite.yaml"
    status = server.state.statuses[-1]
    assert (status["sha"], status["state"]) == (pull_request.head, "failure")
    assert status["context"] != check["name"]


@pytest.mark.parametrize("action", ["opened", "synchronize"])
def test_a_first_comment_and_a_check_take_six_requests(pull_request, server, action: str) -> None:
    pull_request.environ["GITHUB_RUN_ATTEMPT"] = "1"
    payload = json.loads(Path(pull_request.environ["GITHUB_EVENT_PATH"]).read_text())
    pull_request.event("pull_request", payload | {"action": action})
    pull_request.run(check="true")
    place = "/repos/octo/shop/"
    assert [f"{each.method} {each.path.removeprefix(place)}" for each in server.requests()] == [
        "POST check-runs",
        "GET pulls/7",
        "GET issues/7/comments",
        "POST issues/7/comments",
        "GET issues/7/comments",
        f"PATCH check-runs/{next(iter(server.state.checks))}",
    ]


def test_comment_check_and_status_of_later_runs_take_six_requests(pull_request, server) -> None:
    pull_request.environ["GITHUB_RUN_ATTEMPT"] = "1"
    pull_request.run()
    before = len(server.requests())
    pull_request.environ["GITHUB_RUN_ID"] = "124"
    pull_request.run(check="true", status="true")
    assert len(server.requests()) - before == 6


def test_a_further_attempt_looks_for_checks_that_were_left_open(pull_request, server) -> None:
    pull_request.run(check="true")
    assert server.requests("GET", "/check-runs")


@pytest.mark.parametrize("attempt", ["1", "2"])
@pytest.mark.parametrize("code", [0, 1])
def test_one_line_is_all_that_a_step_prints_beyond_its_groups(pull_request, server, code: int, attempt: str) -> None:
    if code == 0:
        (pull_request.workspace / "evals/agent.py").write_text("def answer(input):\n    return input\n")
    pull_request.environ["GITHUB_RUN_ATTEMPT"] = attempt  # of the second one, no earlier report can be read
    server.state.pull_files[7] = [changed_file("evals/agent.py")]
    assert pull_request.run(check="true", status="true", only_when_changed="evals/") == code
    outside, depth = [], 0
    for line in pull_request.log.splitlines():
        if line.startswith("::group::"):
            depth += 1
        elif line == "::endgroup::":
            depth -= 1
        elif depth == 0:
            outside.append(line)
    (line,) = outside
    first = bodies(server)[0].splitlines()[0].removeprefix("### ").replace("`", "")
    assert line == (f"::error title=repeat-eval::{first}" if code else f"repeat-eval: {first}")


@pytest.mark.parametrize(("asked", "code"), [("false", 0), ("true", 4)])
def test_a_token_that_may_not_comment_turns_the_gate_only_where_asked(pull_request, server, asked, code) -> None:
    (pull_request.workspace / "evals/agent.py").write_text("def answer(input):\n    return input\n")
    server.faults.append(forbidden("POST", "/comments", times=100))
    assert pull_request.run(fail_on_publish_error=asked) == code
    warnings = [line for line in pull_request.log.splitlines() if line.startswith("::warning")]
    assert len(warnings) == 1
    assert "pull-requests: write" in warnings[0]
    assert pull_request.summary.startswith("### ✅")


def test_a_head_that_is_checked_out_is_compared_with_the_merge_base(pull_request) -> None:
    pull_request.check_out(pull_request.head)
    assert pull_request.run() == 1
    assert pull_request.outputs["base-commit"] == pull_request.base


@pytest.mark.parametrize(("patterns", "code"), [("prompts/", 0), ("evals/", 1), ("evals/\n!agent.py", 0)])
def test_only_when_changed_asks_github_which_files_did(pull_request, server, patterns: str, code: int) -> None:
    server.state.pull_files[7] = [changed_file("evals/agent.py")]
    assert pull_request.run(only_when_changed=patterns) == code
    if code == 0:
        assert pull_request.outputs["verdict"] == "not evaluated"
        assert bodies(server)[0].startswith("### ⚪ Not evaluated: nothing ")


def test_the_token_is_in_nothing_that_is_left(pull_request, server) -> None:
    """The target tries to give it away."""
    agent = pull_request.workspace / "evals/agent.py"
    agent.write_text("import os\ndef answer(input):\n    return input + str(dict(os.environ))\n")
    pull_request.run()
    token = server.state.token
    assert token not in pull_request.log
    for path in (*pull_request.workspace.rglob("*"), *(pull_request.root / "runner").rglob("*")):
        assert not path.is_file() or token.encode() not in path.read_bytes()


@pytest.mark.e2e
@pytest.mark.parametrize("isolated", [["-I"], []])
def test_the_entry_itself_works_as_a_program(pull_request, server, isolated: list[str]) -> None:
    """Base is not to be had from an address that nobody serves; thresholds decide, and everything else is as ever."""
    environ = pull_request.environ | {
        "INPUT_SUITE": "evals/suite.yaml",
        "INPUT_TOKEN": server.state.token,
        "GITHUB_SERVER_URL": "http://127.0.0.1:9",
    }
    done = subprocess.run(
        [sys.executable, *isolated, "-m", "repeat_eval.action"],
        env=environ,
        cwd=pull_request.root,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert done.stderr == ""
    assert pull_request.outputs["verdict"] == "fail"
    assert len(bodies(server)) == 1
    assert server.state.token not in done.stdout


@pytest.mark.e2e
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_cancelled_step_is_incomplete_and_its_check_is_not_left_open(pull_request, server, number: int) -> None:
    started = pull_request.root / "started"
    agent = pull_request.workspace / "evals/agent.py"
    agent.write_text(f"import time\ndef answer(input):\n    open({str(started)!r}, 'w').close()\n    time.sleep(60)\n")
    os.mkfifo(started)
    environ = pull_request.environ | {
        "INPUT_SUITE": "evals/suite.yaml",
        "INPUT_TOKEN": server.state.token,
        "INPUT_BASE": "none",
        "INPUT_CHECK": "true",
    }
    words = [sys.executable, "-I", "-m", "repeat_eval.action"]
    with subprocess.Popen(words, env=environ, stdout=subprocess.PIPE, text=True) as process:
        started.read_text()  # until the first trial has begun
        process.send_signal(number)
        log, _ = process.communicate(timeout=60)
    assert process.returncode == 3, log
    (check,) = server.state.checks.values()
    assert check["status"] == "completed"
    assert check["conclusion"] == "failure"
    assert bodies(server)[0].startswith("### ⚠️ Incomplete")
    assert pull_request.outputs["exit-code"] == "3"


@pytest.mark.e2e
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can run children as somebody else")
def test_in_a_container_files_belong_to_the_workspaces_owner_and_code_runs_as_them(pull_request) -> None:
    for path in (pull_request.root, *pull_request.root.parents):
        if path == Path("/tmp"):  # noqa: S108 - pytest's folders are closed to others
            break
        path.chmod(0o711)
    agent = pull_request.workspace / "evals/agent.py"
    agent.write_text("import os\ndef answer(input):\n    return f'{input} {os.getuid()}'\n")
    suite = pull_request.workspace / "evals/suite.yaml"
    suite.write_text(suite.read_text().replace("contains: hello", "contains: ' 4321'"))
    for path in (pull_request.workspace, *pull_request.workspace.rglob("*")):
        os.chown(path, 4321, 4321, follow_symlinks=False)
    python = shutil.which("python3", path="/usr/local/bin:/usr/bin")
    if python is None:
        pytest.skip("no Python that every user may start")
    if not all(folder.stat().st_mode & 0o001 for folder in Path(repeat_eval.__file__).resolve().parents):
        pytest.skip("our own files lie in a folder that is closed to other users")
    pull_request.run(base="none", python=python)
    assert pull_request.outputs["failing"] == "0", pull_request.log
    written = list((pull_request.workspace / "repeat-eval-report").rglob("*"))
    assert written
    assert {path.lstat().st_uid for path in written} == {4321}
