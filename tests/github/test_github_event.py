"""What an event asks for, and what is known from it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from github_events import BASE, EVENTS, HEAD, MERGE, PUSHED, QUEUED, context, payload, variables
from hypothesis import given
from hypothesis import strategies as st

from repeat_eval.errors import UserError
from repeat_eval.github.event import activity_of, load_event, read_context


@pytest.mark.parametrize(
    ("name", "activity"),
    [
        ("pull_request", "pull-request"),
        ("pull_request_from_fork", "pull-request"),
        ("pull_request_from_deleted_fork", "pull-request"),
        ("pull_request_from_dependabot", "pull-request"),
        ("push", "branch"),
        ("push_new_branch", "branch"),
        ("push_forced", "branch"),
        ("push_deleted", "nothing"),
        ("merge_group", "merge-queue"),
        ("workflow_run", "publish"),
        ("schedule", "branch"),
        ("workflow_dispatch", "branch"),
        ("issue_comment", "command"),
    ],
)
def test_the_event_decides_the_activity(name: str, activity: str) -> None:
    assert context(name).activity == activity


def test_every_payload_of_this_folder_is_read_in_a_test() -> None:
    assert {path.stem for path in EVENTS.glob("*.json")} == {
        *("pull_request", "pull_request_from_fork", "pull_request_from_deleted_fork", "pull_request_from_dependabot"),
        *("push", "push_new_branch", "push_forced", "push_deleted", "merge_group", "workflow_run", "schedule"),
        *("workflow_dispatch", "issue_comment"),
    }


@pytest.mark.parametrize(
    ("name", "event", "reason"),
    [
        ("issue_comment", {"action": "edited", "issue": {"pull_request": {}}}, "not a new one"),
        ("issue_comment", {"action": "created", "issue": {}}, "not on a pull request"),
        ("workflow_run", {"action": "requested"}, "not ended"),
        ("merge_group", {"action": "destroyed"}, "destroyed"),
        ("push", {"deleted": True}, "deleted"),
    ],
)
def test_an_event_that_asks_for_nothing_says_why(name: str, event: dict[str, Any], reason: str) -> None:
    activity, why = activity_of(name, event)
    assert activity == "nothing"
    assert why is not None
    assert reason in why


def test_pull_request_target_is_refused_with_what_to_use_instead() -> None:
    with pytest.raises(UserError, match=r"pull_request_target is not supported.* use pull_request"):
        context("pull_request", GITHUB_EVENT_NAME="pull_request_target")


def test_a_pull_request_is_published_at_its_head_and_tested_as_a_merge() -> None:
    read = context("pull_request")
    assert read.sha == MERGE
    assert read.head_sha == HEAD
    assert read.number == 7
    assert read.pull_request is not None
    assert read.pull_request.base_ref == "main"
    assert read.pull_request.base_sha == BASE
    assert read.pull_request.head_repository == "octocat/hello"
    assert read.action == "synchronize"
    assert read.restricted is None
    assert not read.on_default_branch


@pytest.mark.parametrize(
    ("name", "restricted"),
    [
        ("pull_request", None),
        ("pull_request_from_fork", "fork"),
        ("pull_request_from_deleted_fork", "fork"),
        ("pull_request_from_dependabot", "dependabot"),
        ("push", None),
        ("workflow_run", None),
    ],
)
def test_forks_and_dependabot_get_no_secrets(name: str, restricted: str | None) -> None:
    assert context(name).restricted == restricted


def test_a_repository_whose_name_differs_in_case_only_is_no_fork() -> None:
    assert context("pull_request", GITHUB_REPOSITORY="Octocat/Hello").restricted is None


def test_a_run_that_dependabot_started_stays_restricted_when_somebody_else_runs_it_again() -> None:
    read = context("pull_request_from_dependabot", GITHUB_TRIGGERING_ACTOR="octocat", GITHUB_RUN_ATTEMPT="2")
    assert read.restricted == "dependabot"
    assert read.run_attempt == 2


@pytest.mark.parametrize(
    ("name", "allowed"),
    [
        ("push", True),
        ("schedule", True),
        ("workflow_dispatch", True),
        ("push_new_branch", False),
        ("push_deleted", False),
        ("pull_request", False),
        ("merge_group", False),
        ("workflow_run", False),
        ("issue_comment", False),
    ],
)
def test_only_runs_of_the_default_branch_may_write_the_store(name: str, allowed: bool) -> None:
    assert context(name).may_write_store is allowed


@pytest.mark.parametrize("event", ["repository_dispatch", "release", "workflow_call"])
def test_other_events_never_write_the_store(event: str) -> None:
    read = context("workflow_dispatch", GITHUB_EVENT_NAME=event)
    assert read.activity == "branch"
    assert not read.may_write_store


def test_a_dispatch_of_another_branch_may_not_write_the_store() -> None:
    assert not context("workflow_dispatch", GITHUB_REF="refs/heads/feature").may_write_store
    assert not context("push", GITHUB_REF="refs/tags/main").may_write_store


def test_a_push_knows_what_was_there_before() -> None:
    assert context("push").before == BASE
    assert context("push").head_sha == PUSHED
    assert context("push_new_branch").before is None
    assert context("push_forced").forced


def test_a_merge_group_knows_what_it_is_put_on() -> None:
    read = context("merge_group")
    assert read.queue_base == BASE
    assert read.head_sha == QUEUED
    assert read.number is None


def test_a_finished_run_of_a_fork_is_identified_by_github_alone() -> None:
    read = context("workflow_run")
    assert read.finished_run is not None
    assert (read.finished_run.id, read.finished_run.attempt) == (30433642, 2)
    assert read.finished_run.head_repository == "hubot/hello"
    assert read.finished_run.pull_requests == ()
    assert read.head_sha == HEAD
    assert read.number is None


def test_a_comment_brings_its_number_author_and_text() -> None:
    read = context("issue_comment")
    assert read.comment is not None
    assert (read.comment.author, read.comment.body) == ("hubot", "/repeat-eval rerun x20")
    assert read.number == 7


def test_addresses_follow_the_server() -> None:
    read = context(
        "pull_request", GITHUB_SERVER_URL="https://git.example/", GITHUB_API_URL="https://git.example/api/v3"
    )
    assert read.api_url == "https://git.example/api/v3"
    assert read.run_url == "https://git.example/octocat/hello/actions/runs/30433700/attempts/1"
    assert read.blob_url == f"https://git.example/octocat/hello/blob/{HEAD}"


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        ("GITHUB_EVENT_NAME", "", "runs in a GitHub workflow only"),
        ("GITHUB_REPOSITORY", "hello", "not owner/name"),
        ("GITHUB_REPOSITORY", "octocat/hello\n::error::", "not owner/name"),
        ("GITHUB_SHA", "main", "not a commit"),
        ("GITHUB_RUN_ID", "-1", "not a number"),
        ("GITHUB_RUN_ID", "\u0661", "not a number"),
        ("GITHUB_API_URL", "file:///etc", "not an address"),
    ],
)
def test_a_variable_that_cannot_be_is_named(variable: str, value: str, message: str) -> None:
    with pytest.raises(UserError, match=message) as caught:
        context("pull_request", **{variable: value})
    assert variable in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_payload_that_lacks_the_head_is_refused() -> None:
    event = payload("pull_request")
    del event["pull_request"]["head"]
    with pytest.raises(UserError, match=r"no commit at pull_request\.head\.sha"):
        context("pull_request", event)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(
    name=st.sampled_from(["pull_request", "push", "merge_group", "workflow_run", "schedule", "issue_comment"]),
    key=st.sampled_from(["action", "pull_request", "repository", "sender", "before", "merge_group", "workflow_run"]),
    value=_JSON,
)
def test_no_payload_leads_to_anything_but_a_context_or_a_sentence(name: str, key: str, value: Any) -> None:
    event = payload(name)
    event[key] = value
    try:
        assert context(name, event).repository == "octocat/hello"
    except UserError as error:
        assert str(error)


def test_the_payload_is_read_from_its_file() -> None:
    environ = variables("push")
    assert read_context(environ, load_event(environ)).before == BASE


@pytest.mark.parametrize("text", ["", "[]", "{", "[" * 100_000, "\udcff"])
def test_an_event_file_that_is_no_object_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "event.json"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(UserError, match="event file is not"):
        load_event({"GITHUB_EVENT_PATH": str(path)})


def test_an_event_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be read"):
        load_event({"GITHUB_EVENT_PATH": str(tmp_path / "none.json")})
