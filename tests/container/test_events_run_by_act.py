"""Whole workflows of docs/workflows, word for word, run by act through the image for every event that they listen to.

act stands for GitHub's runner. What it lacks is put there by the test, and said where it is: artifacts do not work in
it, tokens have no permissions, and it knows the event's commit and ref only when told.
"""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import pytest
from boxes import OWNER
from hub import NAME, NO_COMMIT, PULL, Ended, Event, Hub, add_documented_workflows
from server.faults import forbidden

from repeat_eval.github.marker import Marker

SUITE = """name: refunds
target: {python: "agent:answer"}
seed: 7
cases:
  - {id: greets, input: hello, expect: [{contains: hello}]}
  - {id: thanks, input: thanks, expect: [{contains: thanks}]}
  - {id: refunds, input: refund, expect: [{contains: refund}]}
"""
AGENT = "import phrases\n\n\ndef answer(text):\n    return phrases.PHRASES.get(text, text)\n"
OFFLINE = """name: evals
on: pull_request
permissions: {contents: read}
jobs:
  evals:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v7
        with: {persist-credentials: false}
      - uses: org/repeat-eval@v1
        with: {suite: evals/refunds.yaml}
"""
SUITE_INPUT = "{suite: evals/refunds.yaml}"
STORED_INPUT = "{suite: evals/refunds.yaml, base: stored, store: read}"
MAIN = "refs/heads/main"
KEY = {"OPENAI_API_KEY": "sk-" + "test0only" * 4}


def wheel(place: Path, version: str, phrases: dict[str, str]) -> None:
    """A dependency of the agent: a wheel in the repository, so that installing it needs no index."""
    name = f"phrases-{version}"
    place.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(place / f"{name}-py3-none-any.whl", "w") as file:
        file.writestr("phrases.py", f"PHRASES = {phrases!r}\n")
        file.writestr(f"{name}.dist-info/METADATA", f"Metadata-Version: 2.1\nName: phrases\nVersion: {version}\n")
        tag = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        file.writestr(f"{name}.dist-info/WHEEL", tag)
        file.writestr(f"{name}.dist-info/RECORD", "")
    (place.parent / "requirements.txt").write_text(f"./wheels/{name}-py3-none-any.whl\n")


@pytest.fixture
def desk(github: Hub) -> Hub:
    """A repository with a suite whose agent needs a package from its lock file, and the documented workflows."""
    evals = github.work / "evals"
    evals.mkdir()
    (evals / "refunds.yaml").write_text(SUITE)
    (evals / "agent.py").write_text(AGENT)
    wheel(github.work / "wheels", "1.0", {})
    add_documented_workflows(github.work)
    github.commit("the desk", branch="main")
    github.publish()
    return github


def break_refunds(desk: Hub) -> None:
    """On a branch: nothing but the lock file changes, to a package that breaks a case."""
    wheel(desk.work / "wheels", "2.0", {"refund": "no"})
    desk.commit("newer phrases", branch="change")


def test_the_twelve_lines_find_fetch_set_up_and_run_base_beside_head_and_comment(desk: Hub) -> None:
    break_refunds(desk)
    event = desk.open_pull("change")
    base = desk.run_git("rev-parse", "main")
    done = desk.run(event, "pull-request.yml", secrets=KEY)
    assert not done.workflow.green, done.log
    (fetch,) = desk.git.fetches
    assert (fetch.wants, fetch.depth) == ((base,), 1)
    assert desk.git.refused == [], "the token goes with the first request"
    for side in ("head", "base"):
        assert f"{side}: an environment from requirements.txt" in done.log, done.log
    (comment,) = desk.state.comments.values()
    assert comment["body"].startswith("### ❌ Worse than `main`: 1 of 3 cases broke"), comment["body"]
    assert "**0/10**" in comment["body"]
    head = desk.run_git("rev-parse", "change")
    assert f"`{head[:7]}` merged into main `{base[:7]}`" in comment["body"]
    assert KEY["OPENAI_API_KEY"] not in done.log
    assert done.within_bounds(), done.asked()
    assert {path.lstat().st_uid for path in (done.workspace / "repeat-eval-report").rglob("*")} == {OWNER}


def test_a_push_to_main_is_compared_with_what_was_there_kept_and_gets_its_badge(desk: Hub) -> None:
    before = desk.run_git("rev-parse", "main")
    (desk.work / "README.md").write_text("the desk\n")
    event = desk.push_main(desk.commit("words", branch="next"))
    done = desk.run(event, "history.yml", secrets=KEY)
    assert done.workflow.green, done.log
    assert [fetch.wants for fetch in desk.git.fetches] == [(before,)]
    kept = desk.stored()
    (run,) = json.loads(kept["refunds/runs.json"])["runs"]
    assert (run["commit"], run["verdict"]) == (event.sha, "pass")
    assert json.loads(kept["refunds/badge.json"])["message"] == "100% · pass"
    assert b"<svg" in kept["refunds/badge.svg"]
    assert done.within_bounds(), done.asked()
    assert desk.state.comments == {}


def test_a_stored_base_is_looked_up_with_few_requests_and_only_warns(desk: Hub) -> None:
    main = desk.run_git("rev-parse", "main")
    desk.run(Event("push", {"before": NO_COMMIT, "after": main}, main, MAIN), "history.yml", secrets=KEY)
    break_refunds(desk)
    (desk.work / ".github/workflows/offline.yml").write_text(OFFLINE.replace(SUITE_INPUT, STORED_INPUT))
    desk.commit("against the store", branch="change")
    done = desk.run(desk.open_pull("change"), "offline.yml")
    (comment,) = desk.state.comments.values()
    assert "stored" in comment["body"] and main[:7] in comment["body"], comment["body"]
    assert desk.git.fetches == [], "base was not run"
    assert done.within_bounds(), done.asked()


def test_a_merge_group_is_compared_with_what_it_is_put_on(desk: Hub) -> None:
    break_refunds(desk)
    queued, base = desk.merge("change"), desk.run_git("rev-parse", "main")
    desk.publish()
    ref = f"refs/heads/gh-readonly-queue/main/pr-{PULL}-{base}"
    group = {"head_sha": queued, "head_ref": ref, "base_sha": base, "base_ref": "refs/heads/main"}
    event = Event("merge_group", {"action": "checks_requested", "merge_group": group}, queued, ref)
    done = desk.run(event, "merge-queue.yml", secrets=KEY)
    assert not done.workflow.green, done.log
    assert [fetch.wants for fetch in desk.git.fetches] == [(base,)]
    assert "1 of 3 cases broke" in done.log
    assert desk.state.comments == {}, "a merge group has no pull request to comment on"


def test_a_fork_without_the_key_is_told_so_in_one_sentence_and_nothing_is_run(desk: Hub) -> None:
    """GitHub gives such a run no secrets and a token that only reads; the test server refuses what is written."""
    break_refunds(desk)
    event = desk.open_pull("change", repository="eve/desk")
    desk.api.faults += [forbidden(method, times=9) for method in ("POST", "PATCH", "DELETE")]
    done = desk.run(event, "pull-request.yml")
    assert not done.workflow.green, done.log
    said = [line for line in done.log.splitlines() if "Not evaluated" in line and "OPENAI_API_KEY" in line]
    assert len(said) == 1, done.log
    assert "fork" in said[0]
    assert desk.git.fetches == [], "nothing was fetched"
    assert not (done.workspace / "repeat-eval-report" / "report.json").exists()


def test_a_forks_run_is_gated_without_a_comment_which_a_second_workflow_publishes(desk: Hub) -> None:
    """The suite needs no key. The report is carried over by the test: act's artifact server takes no uploads of
    actions/upload-artifact."""
    break_refunds(desk)
    (desk.work / ".github/workflows/offline.yml").write_text(OFFLINE)
    desk.commit("an offline suite", branch="change")
    event = desk.open_pull("change", repository="eve/desk")
    desk.api.faults += [forbidden(method, times=9) for method in ("POST", "PATCH", "DELETE")]
    done = desk.run(event, "offline.yml")
    assert not done.workflow.green, done.log
    assert "1 of 3 cases broke" in done.log
    assert "pull-requests: write" in done.log, "the permission to add is named"
    assert desk.state.comments == {}
    desk.api.faults.clear()

    head, report = desk.run_git("rev-parse", "change"), done.workspace / "repeat-eval-report" / "report.json"
    source = {"head_sha": head, "head_branch": "change", "head_repository": {"full_name": "eve/desk"}}
    run = desk.state.add_run(**source)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.write(report, "report.json")
    desk.state.add_artifact(run, f"repeat-eval-report-{run}-1", buffer.getvalue())
    ended = {
        "id": run,
        "run_attempt": 1,
        "event": "pull_request",
        "conclusion": "failure",
        "pull_requests": [],
        **source,
    }
    payload = {"action": "completed", "workflow_run": ended}
    published = desk.run(
        Event("workflow_run", payload, desk.run_git("rev-parse", "main"), MAIN), "hardened-publish.yml"
    )
    assert published.workflow.green, published.log
    (comment,) = desk.state.comments.values()
    assert "Reported by the pull request's own workflow" in comment["body"]
    assert "1 of 3 cases broke" in comment["body"]
    assert desk.git.fetches == [], "nothing of the pull request was fetched"
    assert not [each for each in published.asked() if "check" in each or "status" in each]
    assert published.within_bounds(), published.asked()


def test_the_slash_command_has_the_run_run_again_for_a_writer_and_does_nothing_for_a_stranger(desk: Hub) -> None:
    break_refunds(desk)
    desk.open_pull("change")
    head, main = desk.run_git("rev-parse", "change"), desk.run_git("rev-parse", "main")
    run = desk.state.add_run(head, head_repository={"full_name": NAME})
    result = desk.state.add_comment(PULL, f"### ❌ Worse\n{Marker('refunds', head, run, 1)}")
    desk.state.permissions |= {"ann": "write", "bob": "read"}

    def said_by(author: str) -> Ended:
        comment = {"id": 5, "body": "/repeat-eval rerun", "user": {"login": author}}
        issue = {"number": PULL, "pull_request": {"url": "https://example.invalid"}}
        payload = {"action": "created", "issue": issue, "comment": comment}
        return desk.run(Event("issue_comment", payload, main, MAIN, actor=author), "slash-command.yml")

    stranger = said_by("bob")
    assert stranger.workflow.green, stranger.log
    assert [each for each in stranger.asked() if not each.startswith("GET ")] == []
    writer = said_by("ann")
    assert writer.workflow.green, writer.log
    assert desk.state.runs[run]["run_attempt"] == 2
    assert f"POST actions/runs/{run}/rerun" in writer.asked()
    assert "ann" in desk.state.comments[result]["body"]
    assert desk.git.fetches == [], "nothing was checked out"
