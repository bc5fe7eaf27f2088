"""Real shapes of what GitHub hands to a workflow, for tests of this folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from repeat_eval.github.event import Context, read_context

EVENTS = Path(__file__).with_name("events")
MERGE, HEAD, BASE, PUSHED, QUEUED = (letter * 40 for letter in "fabce")

_NAMED = {  # file: event, tested commit, ref
    "pull_request": ("pull_request", MERGE, "refs/pull/7/merge"),
    "pull_request_from_fork": ("pull_request", MERGE, "refs/pull/8/merge"),
    "pull_request_from_deleted_fork": ("pull_request", MERGE, "refs/pull/9/merge"),
    "pull_request_from_dependabot": ("pull_request", MERGE, "refs/pull/10/merge"),
    "push": ("push", PUSHED, "refs/heads/main"),
    "push_new_branch": ("push", PUSHED, "refs/heads/feature/x"),
    "push_forced": ("push", PUSHED, "refs/heads/feature/x"),
    "push_deleted": ("push", BASE, "refs/heads/main"),
    "merge_group": ("merge_group", QUEUED, f"refs/heads/gh-readonly-queue/main/pr-7-{BASE}"),
    "workflow_run": ("workflow_run", BASE, "refs/heads/main"),
    "schedule": ("schedule", BASE, "refs/heads/main"),
    "workflow_dispatch": ("workflow_dispatch", BASE, "refs/heads/main"),
    "issue_comment": ("issue_comment", BASE, "refs/heads/main"),
}


def payload(name: str) -> dict[str, Any]:
    """The payload of an event, fresh each time."""
    loaded: dict[str, Any] = json.loads((EVENTS / f"{name}.json").read_text("utf-8"))
    return loaded


def variables(name: str, **more: str) -> dict[str, str]:
    """The runner's variables for an event."""
    event, sha, ref = _NAMED[name]
    sender = payload(name).get("sender", {}).get("login", "octocat")
    return {
        "GITHUB_EVENT_NAME": event,
        "GITHUB_EVENT_PATH": str(EVENTS / f"{name}.json"),
        "GITHUB_REPOSITORY": "octocat/hello",
        "GITHUB_SHA": sha,
        "GITHUB_REF": ref,
        "GITHUB_ACTOR": sender,
        "GITHUB_RUN_ID": "30433700",
        "GITHUB_RUN_ATTEMPT": "1",
        "GITHUB_WORKFLOW": "evals",
        "GITHUB_JOB": "evals",
        "GITHUB_SERVER_URL": "https://github.com",
        "GITHUB_API_URL": "https://api.github.com",
        **more,
    }


def context(name: str, event: dict[str, Any] | None = None, **more: str) -> Context:
    """The context of an event, with other variables or another payload where given."""
    return read_context(variables(name, **more), payload(name) if event is None else event)
