"""Serve until standard input ends: `python -m server [HOST [PORT]]` from tests/github; the address is the first line.

The state starts with one commit on `main` and pull request 1; everything seen is printed as JSON at the end.
"""

from __future__ import annotations

import json
import sys

from server.state import State
from server.web import GitHubServer, running


def main() -> None:
    """Run the server; exit code 1 if anything broke GitHub's description."""
    host, port = [*sys.argv[1:], "127.0.0.1", "0"][:2] if len(sys.argv) != 2 else [sys.argv[1], "0"]
    state = State()
    base = state.commit_files({"README.md": b"refunds\n"}, branch="main")
    head = state.commit_files({"README.md": b"refunds, again\n"}, parents=[base])
    state.add_pull(1, head=head, base=base)
    with running(GitHubServer(state), host=host, port=int(port)) as server:
        print(server.url, state.token, base, head, flush=True)  # noqa: T201
        sys.stdin.read()
    seen = [[each.method, each.path, each.status] for each in server.log]
    comments = list(state.comments.values())
    json.dump({"requests": seen, "violations": server.violations, "comments": comments}, sys.stdout)
    raise SystemExit(1 if server.violations else 0)


if __name__ == "__main__":
    main()
