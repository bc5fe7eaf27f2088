"""The commit status."""

from __future__ import annotations

import pytest
from server import faults
from server.web import GitHubServer

from repeat_eval.github.client import GitHub
from repeat_eval.github.status import STATES, publish_status


@pytest.fixture
def client(github_server: GitHubServer) -> GitHub:
    state = github_server.state
    return GitHub(state.repository, state.token, api_url=github_server.url, sleep=lambda seconds: None)


def head(server: GitHubServer) -> str:
    return str(server.state.pulls[1]["head"]["sha"])


def test_a_status_is_set_with_one_request(github_server: GitHubServer, client: GitHub) -> None:
    told = publish_status(
        client,
        head(github_server),
        "failure",
        context="repeat-eval / refunds",
        description="2 of 24 cases broke",
        target_url="https://github.com/octo/refunds/actions/runs/1",
    )
    assert told is None
    (status,) = github_server.state.statuses
    assert (status["sha"], status["state"]) == (head(github_server), "failure")
    assert (status["context"], status["description"]) == ("repeat-eval / refunds", "2 of 24 cases broke")
    assert status["target_url"] == "https://github.com/octo/refunds/actions/runs/1"
    assert len(github_server.requests()) == 1


def test_only_a_pass_is_a_success() -> None:
    assert STATES == {"pass": "success", "fail": "failure", "incomplete": "error"}


@pytest.mark.parametrize("description", ["x" * 500, "🟡" * 139, "a\n::error::b\x1b[31m\0", ""])
def test_a_description_is_one_line_that_github_takes(
    github_server: GitHubServer, client: GitHub, description: str
) -> None:
    assert publish_status(client, head(github_server), "success", context="a", description=description) is None
    sent = github_server.state.statuses[0]["description"] or ""
    assert sent.isprintable()
    assert len(sent.encode("utf-16-le")) <= 280


def test_a_link_that_is_no_web_address_is_left_out(github_server: GitHubServer, client: GitHub) -> None:
    sha = head(github_server)
    assert publish_status(client, sha, "success", context="a", description="b", target_url="javascript:1") is None
    assert github_server.state.statuses[0]["target_url"] is None


def test_a_read_only_token_gives_one_sentence_with_the_permission(github_server: GitHubServer, client: GitHub) -> None:
    github_server.faults.append(faults.forbidden("POST", "/statuses/", times=99))
    told = publish_status(client, head(github_server), "success", context="a", description="b")
    assert told is not None
    assert told.startswith("the commit status was not set")
    assert "statuses: write" in told
    assert github_server.state.token not in told


def test_a_commit_that_github_does_not_know_is_said(github_server: GitHubServer, client: GitHub) -> None:
    told = publish_status(client, "1" * 40, "success", context="a", description="b")
    assert told is not None
    assert "422" in told
