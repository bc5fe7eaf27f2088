"""The store on a branch of its own: nothing that one writer wrote is lost to another, and only merged code writes."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from github_events import context
from server import faults
from server.web import GitHubServer

from repeat_eval.errors import UserError
from repeat_eval.github.client import GitHub
from repeat_eval.github.errors import GitHubError
from repeat_eval.github.event import Context
from repeat_eval.github.store import BRANCH, folder_of, load, nearest, save
from repeat_eval.records.run import Selection
from repeat_eval.records.stored import StoredCase, StoredRun

PUSH = context("push")


def stored(run: int = 1, **more: Any) -> StoredRun:
    values: dict[str, Any] = {
        "suite": "shop",
        "commit": f"{run:040x}",
        "started": f"2026-03-{run:02d}T10:00:00Z",
        "attempt": 1,
        "verdict": "pass",
        "pass_rate": 0.9,
        "cases": (StoredCase(id="greets", asked=10, passed=9, failed=1),),
    }
    return StoredRun(run=run, **{**values, **more})


def connect(server: GitHubServer) -> GitHub:
    return GitHub(server.state.repository, server.state.token, api_url=server.url, sleep=lambda seconds: None)


@pytest.fixture
def client(github_server: GitHubServer) -> Iterator[GitHub]:
    made = connect(github_server)
    yield made
    made.close()


def add(client: GitHub, run: StoredRun, key: str = "shop", **more: Any) -> str:
    return save(client, PUSH, run, key, sleep=lambda seconds: None, **more)


def line_of_commits(server: GitHubServer, count: int) -> list[str]:
    """Commits of main, each upon the one before."""
    commits = [server.state.refs["refs/heads/main"]]
    for number in range(count):
        commits.append(server.state.commit_files({"a": b"%d" % number}, parents=[commits[-1]], branch="main"))
    return commits


def test_a_store_that_is_not_there_yet_is_empty(client: GitHub) -> None:
    assert load(client, "shop").runs == ()


def test_the_first_run_makes_a_branch_that_has_nothing_in_common_with_the_code(
    client: GitHub, github_server: GitHubServer
) -> None:
    commit = add(client, stored())
    state = github_server.state
    assert state.refs[f"refs/heads/{BRANCH}"] == commit
    assert state.ancestors(commit) == [commit]
    assert load(client, "shop").runs == (stored(),)


def test_each_update_is_one_commit_upon_the_last_in_at_most_six_requests(
    client: GitHub, github_server: GitHubServer
) -> None:
    first = add(client, stored(1))
    before = len(github_server.requests())
    second = add(client, stored(2), files={"badge.svg": "<svg/>", "badge.json": "{}", "stability.svg": "<svg/>"})
    assert len(github_server.requests()) - before <= 6
    assert github_server.state.ancestors(second) == [second, first]
    assert [run.run for run in load(client, "shop").runs] == [1, 2]
    assert client.read_file(BRANCH, "shop/badge.svg") == b"<svg/>"


def test_suites_have_folders_of_their_own(client: GitHub) -> None:
    add(client, stored(1), "shop")
    add(client, stored(2), "shop [model=large]")
    assert [run.run for run in load(client, "shop").runs] == [1]
    assert [run.run for run in load(client, "shop [model=large]").runs] == [2]


@pytest.mark.parametrize("key", ["../x", "a/b", ".", "", "..", "退款", "x" * 300, "a b", ".git"])
def test_every_key_is_the_name_of_one_folder(key: str) -> None:
    folder = folder_of(key)
    assert folder.strip(".-")
    assert not set(folder) - set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")
    assert len(folder) < 100
    assert folder != folder_of(key + "!")


def test_ten_writers_at_once_lose_nothing_and_history_is_linear(github_server: GitHubServer) -> None:
    clients = [connect(github_server) for _ in range(10)]
    with ThreadPoolExecutor(10) as pool:
        list(pool.map(lambda pair: add(pair[1], stored(pair[0])), enumerate(clients, start=1)))
    assert {run.run for run in load(clients[0], "shop").runs} == set(range(1, 11))
    state = github_server.state
    commits = state.ancestors(state.refs[f"refs/heads/{BRANCH}"])
    assert len(commits) == 10
    assert all(len(state.commits[commit].parents) <= 1 for commit in commits)
    for each in clients:
        each.close()


def test_a_lost_answer_makes_no_second_entry(client: GitHub, github_server: GitHubServer) -> None:
    add(client, stored(1))
    github_server.faults.append(faults.cut("PATCH", "/git/refs", act=True))
    add(client, stored(2))
    assert [run.run for run in load(client, "shop").runs] == [1, 2]


def test_somebody_who_is_always_faster_ends_it_with_409(client: GitHub, github_server: GitHubServer) -> None:
    add(client, stored(1))
    pauses: list[float] = []
    message = "Update is not a fast forward"
    github_server.faults.append(
        faults.answered("PATCH", "/git/refs", 422, message, times=1000, more={"documentation_url": "https://docs"})
    )
    with pytest.raises(GitHubError) as caught:
        save(client, PUSH, stored(2), "shop", sleep=pauses.append)
    assert caught.value.status == 409
    assert sum(pauses) < 60


@pytest.mark.parametrize(
    "where",
    [
        context("pull_request"),
        context("pull_request_from_fork"),
        context("push_new_branch"),
        context("merge_group"),
        context("workflow_run"),
        context("issue_comment"),
        replace(PUSH, on_default_branch=False),
        replace(PUSH, event="release"),
    ],
    ids=lambda where: where.event,
)
def test_nothing_but_runs_of_the_default_branch_is_written(
    client: GitHub, github_server: GitHubServer, where: Context
) -> None:
    with pytest.raises(UserError, match="default branch"):
        save(client, where, stored(), "shop")
    assert github_server.requests() == []


def test_the_default_branch_itself_is_never_the_store(client: GitHub, github_server: GitHubServer) -> None:
    with pytest.raises(UserError, match="branch of its own"):
        add(client, stored(), branch="main")
    assert github_server.requests() == []


@pytest.mark.parametrize("content", [b"broken", b'{"schema": "repeat-eval/store/2", "runs": []}'])
def test_a_store_that_cannot_be_read_is_not_written_over(
    client: GitHub, github_server: GitHubServer, content: bytes
) -> None:
    there = github_server.state.commit_files({"shop/runs.json": content}, branch=BRANCH)
    with pytest.raises(UserError):
        load(client, "shop")
    with pytest.raises(UserError):
        add(client, stored())
    assert github_server.state.refs[f"refs/heads/{BRANCH}"] == there


def test_a_token_that_may_not_write_is_told_which_permission_helps(client: GitHub, github_server: GitHubServer) -> None:
    github_server.faults.append(faults.forbidden("POST", "/git/trees"))
    with pytest.raises(GitHubError) as caught:
        add(client, stored())
    assert caught.value.permission == "contents: write"


# Base


def test_the_run_of_the_commit_itself_costs_no_request(client: GitHub, github_server: GitHubServer) -> None:
    runs = [stored(1), stored(2, commit="c" * 40, pass_rate=0.1), stored(3, commit="c" * 40), stored(4)]
    found = nearest(client, runs, "c" * 40)
    assert found is not None
    assert (found.run.run, found.behind) == (3, 0)
    assert github_server.requests() == []


def test_else_the_newest_run_that_lies_before_it_counts(client: GitHub, github_server: GitHubServer) -> None:
    commits = line_of_commits(github_server, 9)
    runs = [stored(number, commit=commits[number]) for number in (1, 2, 4)]
    found = nearest(client, runs, commits[7])
    assert found is not None
    assert (found.run.run, found.behind) == (4, 3)
    assert len(github_server.requests()) == 1


def test_runs_of_later_commits_are_passed_over_with_two_requests(client: GitHub, github_server: GitHubServer) -> None:
    commits = line_of_commits(github_server, 9)
    runs = [stored(number, commit=commits[number]) for number in (1, 2, 4, 5, 6, 7, 8, 9)]
    found = nearest(client, runs, commits[3])
    assert found is not None
    assert found.run.run == 2
    assert len(github_server.requests()) == 2


def test_a_run_that_is_not_reachable_from_base_is_none(client: GitHub, github_server: GitHubServer) -> None:
    head = github_server.state.pulls[1]["head"]["sha"]
    base = github_server.state.refs["refs/heads/main"]
    assert nearest(client, [stored(1, commit=head)], base) is None
    assert nearest(client, [stored(1, commit="d" * 40)], base) is None


def test_what_gave_no_verdict_or_ran_only_in_part_is_no_base(client: GitHub) -> None:
    part = stored(2, commit="c" * 40, selection=Selection(cases=("greets",)))
    runs = [stored(1, commit="c" * 40, verdict="incomplete"), part]
    assert nearest(client, runs, "c" * 40) is None
    found = nearest(client, runs, "c" * 40, selection=True)
    assert found is not None
    assert found.run.run == 2
