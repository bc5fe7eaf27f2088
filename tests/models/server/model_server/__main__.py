"""Serve until standard input ends: `python -m model_server [RATE]` from tests/models/server; the URL is the first line.

It repeats the user's text, or calls the first tool that it is offered; RATE lets so many requests a second through.
"""

from __future__ import annotations

import sys

from .asked import Asked
from .behaviours import Bucket
from .replies import Reply, call, say
from .web import ModelServer, running


def answer(asked: Asked) -> Reply:
    if asked.tools and not asked.tool_results:
        return call(next(iter(asked.tools)))
    return say(asked.question)


def main() -> None:
    limit = Bucket(float(sys.argv[1])) if len(sys.argv) > 1 else None
    with running(ModelServer(answer, limit=limit)) as server:
        print(server.url, flush=True)  # noqa: T201
        sys.stdin.read()


if __name__ == "__main__":
    main()
