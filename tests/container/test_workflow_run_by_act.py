"""A whole workflow: act runs it, builds the action's image, and the step speaks to GitHub's API on loopback."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from boxes import ROOT, NoContainers
from workflows import act_program, build_job_image, engine_socket, make_repository, run_workflow

sys.path.insert(0, str(ROOT / "tests" / "github"))

from server.web import GitHubServer, running

WORKFLOW = """name: evals
on: pull_request
permissions: {contents: read, pull-requests: write}
jobs:
  evals:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
        with: {persist-credentials: false}
      - uses: ./
        id: evals
        with: {suite: refund_desk/suite.yaml, seed: 7, base: none}
      - if: always()
        run: echo "the verdict is '${{ steps.evals.outputs.verdict }}'"
"""


@pytest.fixture
def github() -> Iterator[GitHubServer]:
    with running() as server:
        base = server.state.commit_files({"README.md": b"refunds\n"}, branch="main")
        head = server.state.commit_files({"README.md": b"refunds, again\n"}, parents=[base])
        server.state.add_pull(1, head=head, base=base)
        yield server
    assert server.violations == []


@pytest.fixture
def socket(image: str, tmp_path: Path) -> Iterator[str]:
    try:
        act_program()
    except NoContainers as error:
        pytest.skip(f"NOT TESTED: workflows: {error}")
    build_job_image()
    with engine_socket(tmp_path) as address:
        yield address


def test_a_pull_request_whose_cases_fail_is_red_and_has_one_comment(
    github: GitHubServer, socket: str, tmp_path: Path
) -> None:
    make_repository(tmp_path / "hello", WORKFLOW)
    token = github.state.token
    pull = github.state.pulls[1]
    repository = {"full_name": github.state.repository}
    payload = {
        "action": "synchronize",
        "number": 1,
        "repository": repository,
        "pull_request": {
            "number": 1,
            "state": "open",
            "head": {"sha": pull["head"]["sha"], "ref": "change", "repo": repository},
            "base": {"sha": pull["base"]["sha"], "ref": "main", "repo": repository},
        },
    }
    done = run_workflow(
        "pull_request", payload, folder=tmp_path / "hello", api_url=github.url, token=token, socket=socket
    )
    assert not done.green, done.log
    assert "the verdict is 'fail'" in done.log, done.log
    assert token not in done.log
    (posted,) = github.requests("POST", "/issues/1/comments")
    assert posted.status == 201
    assert "refund-desk" in posted.body["body"]
