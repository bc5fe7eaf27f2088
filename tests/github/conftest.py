from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from server.web import GitHubServer, running


@pytest.fixture
def github_server() -> Iterator[GitHubServer]:
    """GitHub on loopback with one commit on main and pull request 1; breaking GitHub's description fails the test."""
    with running() as server:
        base = server.state.commit_files({"README.md": b"refunds\n"}, branch="main")
        head = server.state.commit_files({"README.md": b"refunds, again\n"}, parents=[base])
        server.state.add_pull(1, head=head, base=base)
        yield server
    assert server.violations == []
