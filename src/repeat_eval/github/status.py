"""The commit status: one line beside the commit, for rules and tools that know statuses only."""

from __future__ import annotations

from typing import Literal, Protocol

from repeat_eval.analysis.report import SuiteVerdict
from repeat_eval.github.errors import GitHubError
from repeat_eval.github.trouble import trouble
from repeat_eval.reports.escape import terminal

State = Literal["pending", "success", "failure", "error"]

DESCRIPTION_LIMIT = 140
"""Characters that GitHub takes."""
CONTEXT_LIMIT = 100
STATES: dict[SuiteVerdict, State] = {"pass": "success", "fail": "failure", "incomplete": "error"}
"""State by verdict. No verdict is `error`, which blocks like `failure` where the status is required."""


class StatusClient(Protocol):
    """What is needed of the client."""

    def create_status(self, sha: str, state: str, context: str, description: str, target_url: str | None) -> object:
        """Add a status to a commit."""


def publish_status(
    client: StatusClient, sha: str, state: State, *, context: str, description: str, target_url: str | None = None
) -> str | None:
    """Set a status of a commit. The newest one of a context is the one that counts, so there is nothing to clean up.

    Args:
        client: speaks to GitHub.
        sha: the pull request's head, or the commit that was pushed.
        state: see `STATES`; `pending` while the run goes on.
        context: the status's name, which must differ from the job's and from the check's.
        description: one line; cut to 140 characters.
        target_url: where the status leads to, such as the run's page; left out unless it is a web address.

    Returns:
        None, or one sentence that says why the status was not set. Nothing is raised for GitHub's refusal.
    """
    link = target_url if target_url and target_url.startswith(("https://", "http://")) else None
    name = terminal(context, CONTEXT_LIMIT) or "repeat-eval"
    try:
        client.create_status(sha, state, name, _description(description), link)
    except GitHubError as error:
        return trouble("the commit status was not set", error)
    return None


def _description(text: str) -> str:
    """At most 140 characters as UTF-16 counts them, which is never fewer than Unicode's."""
    text = terminal(text, DESCRIPTION_LIMIT)
    while len(text.encode("utf-16-le")) // 2 > DESCRIPTION_LIMIT:
        text = f"{text[:-2]}…"
    return text
