"""The store in whole steps: runs of main are kept, shown as history, and stand in for a base that cannot run."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "github"))

from server.faults import forbidden
from server.web import GitHubServer

from repeat_eval.cli.main import run

BRANCH = "refs/heads/repeat-eval-store"


@pytest.fixture
def step(on_github: Any, server: GitHubServer) -> Any:
    """A step whose repository is on the server, with base at main; the pull request breaks a case."""
    server.state.refs["refs/heads/main"] = on_github.base
    return on_github


def on_main(step: Any, commit: str, run: str = "50") -> None:
    """Make it a push to main of that commit."""
    step.check_out(commit)
    step.event("push", {"forced": False}, GITHUB_REF="refs/heads/main", GITHUB_SHA=commit, GITHUB_RUN_ID=run)


def on_pull_request(step: Any) -> None:
    step.check_out(step.merge)
    pull_request = {
        "number": 7,
        "head": {"sha": step.head, "ref": "feature", "repo": {"full_name": "octo/shop"}},
        "base": {"sha": step.base, "ref": "main"},
    }
    payload = {"action": "synchronize", "pull_request": pull_request}
    step.event("pull_request", payload, GITHUB_REF="refs/pull/7/merge", GITHUB_SHA=step.merge, GITHUB_RUN_ID="60")


def files(server: GitHubServer) -> dict[str, bytes]:
    """The files on the store branch."""
    tree = server.state.trees[server.state.commits[server.state.refs[BRANCH]].tree]
    return {path: server.state.blobs[sha] for path, sha in tree.items()}


def test_a_push_to_main_is_kept_with_its_badges(step: Any, server: GitHubServer) -> None:
    on_main(step, step.base)
    assert step.run(store="write", badge="true") == 0
    kept = files(server)
    (run,) = json.loads(kept["shop/runs.json"])["runs"]
    assert (run["commit"], run["run"], run["attempt"], run["verdict"]) == (step.base, 50, 2, "pass")
    assert [(case["id"], case["passed"]) for case in run["cases"]] == [("greets", 10), ("thanks", 10), ("refunds", 10)]
    assert all(case["fingerprint"] for case in run["cases"])
    assert json.loads(kept["shop/badge.json"])["message"] == "100% · pass"
    assert b"100%" in kept["shop/badge.svg"]


def test_badges_go_into_the_report_folder_too(step: Any, server: GitHubServer) -> None:
    step.run(badge="true")
    folder = step.workspace / "repeat-eval-report"
    assert json.loads((folder / "badge.json").read_text())["label"] == "shop"
    assert (folder / "badge.svg").read_text().startswith("<svg")
    assert BRANCH not in server.state.refs


def test_the_badge_changes_with_the_next_run(step: Any, server: GitHubServer) -> None:
    on_main(step, step.base)
    step.run(store="write", badge="true")
    on_main(step, step.merge, "51")
    assert step.run(store="write", badge="true") == 1
    kept = files(server)
    assert json.loads(kept["shop/badge.json"])["message"] == "66.7% · fail"
    assert len(json.loads(kept["shop/runs.json"])["runs"]) == 2
    assert "Last run of the default branch" in step.summary


def test_a_pull_request_writes_nothing(step: Any, server: GitHubServer) -> None:
    assert step.run(store="write") == 1
    assert BRANCH not in server.state.refs
    assert "store: not written" in step.log


def test_a_checkout_of_something_else_is_not_kept_as_main(step: Any, server: GitHubServer) -> None:
    on_main(step, step.base)
    step.check_out(step.merge)
    step.run(store="write")
    assert BRANCH not in server.state.refs
    assert "not the commit of this run" in step.log


def test_a_stored_base_is_named_with_commit_and_day_and_does_not_block(step: Any, server: GitHubServer) -> None:
    on_main(step, step.base)
    step.run(store="write")
    on_pull_request(step)
    before = len(server.requests())
    step.run(store="read", base="stored", gate="none", comment="always")
    assert len(server.requests()) - before <= 4 + 6
    assert step.outputs["comparison"] == "regressed"
    assert step.outputs["base-commit"] == step.base
    assert step.outputs["verdict"] == "pass"
    (comment,) = server.state.comments.values()
    assert "main from the store, run on " in comment["body"]
    assert "Last run of the default branch" in comment["body"]


def test_a_stored_base_blocks_where_that_is_said(step: Any, server: GitHubServer) -> None:
    on_main(step, step.base)
    step.run(store="write")
    on_pull_request(step)
    assert step.run(store="read", base="stored", gate="none", gate_stored="true") == 1
    assert step.outputs["verdict"] == "fail"
    assert "Worse than main" in step.errors[0]


def test_the_store_s_file_can_be_base_on_the_command_line(
    step: Any, server: GitHubServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    on_main(step, step.base)
    step.run(store="write")
    file = tmp_path / "runs.json"
    file.write_bytes(files(server)["shop/runs.json"])
    step.check_out(step.merge)
    words = ["run", f"{step.workspace}/evals/suite.yaml", "--base", str(file), "--gate", "none", "-q"]
    assert run([*words, "-o", str(tmp_path / "shown")]) == 0
    report = json.loads((tmp_path / "shown/report.json").read_text())
    assert report["comparison"]["base"]["source"] == "stored"
    assert report["comparison"]["verdict"] == "regressed"
    assert run([*words, "--gate-stored", "-o", str(tmp_path / "blocked")]) == 1
    file.write_bytes(file.read_bytes().replace(b'"suite":"shop"', b'"suite":"other"'))
    assert run([*words, "-o", str(tmp_path / "other")]) == 2
    assert "holds no run of the suite 'shop' with a verdict" in capsys.readouterr().err


def test_an_old_base_is_warned_of(step: Any, server: GitHubServer) -> None:
    on_main(step, step.base)
    step.run(store="write")
    for sha, content in server.state.blobs.items():
        server.state.blobs[sha] = content.replace(b'"started":"20', b'"started":"19')
    on_pull_request(step)
    step.run(store="read", base="stored")
    assert "days old: what the provider changed" in step.summary


def test_command_mode_has_a_stored_base_too(command_step: Any, server: GitHubServer) -> None:
    command_step.token = server.state.token
    command_step.environ["GITHUB_API_URL"] = server.url
    inputs = {"command": f"{sys.executable} evals/check.py {{results}}", "repeats": "8", "setup": "none"}
    on_main(command_step, command_step.base)
    assert command_step.run(store="write", **inputs) == 0
    assert "command/runs.json" in files(server)
    on_pull_request(command_step)
    command_step.run(store="read", base="stored", gate="none", **inputs)
    assert (command_step.outputs["comparison"], command_step.outputs["regressions"]) == ("regressed", "1")


def test_with_a_store_a_base_that_cannot_run_is_found_there(step: Any, server: GitHubServer) -> None:
    on_main(step, step.base)
    step.run(store="write")
    on_pull_request(step)
    (step.root / "server/octo/shop").rename(step.root / "gone")
    step.run(store="read")
    assert step.outputs["comparison"] == "regressed"
    assert f"base is the stored run of {step.base}" in step.log


def test_a_base_beside_head_comes_before_the_store(step: Any, server: GitHubServer) -> None:
    on_main(step, step.base)
    step.run(store="write")
    on_pull_request(step)
    step.run(store="read")
    assert "stored run" not in step.log


def test_without_a_run_in_the_store_there_is_no_base_and_it_is_said(step: Any) -> None:
    step.run(store="read", base="stored")
    assert step.outputs["comparison"] == "not comparable"
    assert "the store has no run of this suite yet" in step.summary


@pytest.mark.parametrize(("asked", "code"), [("false", 0), ("true", 4)])
def test_a_store_that_may_not_be_written_turns_the_gate_only_where_asked(
    step: Any, server: GitHubServer, asked: str, code: int
) -> None:
    on_main(step, step.base)
    server.faults.append(forbidden("POST", "/git/trees", times=100))
    assert step.run(store="write", fail_on_publish_error=asked) == code
    warnings = [line for line in step.log.splitlines() if line.startswith("::warning")]
    assert len(warnings) == 1
    assert "contents: write" in warnings[0]


@pytest.mark.parametrize("inputs", [{"base": "stored"}, {"store": "write", "store_branch": "a b"}, {"store": "yes"}])
def test_inputs_that_do_not_go_together_are_refused(step: Any, inputs: dict[str, str]) -> None:
    assert step.run(**inputs) == 2
    assert len(step.errors) == 1
