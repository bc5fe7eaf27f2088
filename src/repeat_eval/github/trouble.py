"""What is said when GitHub refuses something: one sentence that names the permission to add. The gate never turns."""

from __future__ import annotations

from repeat_eval.github.errors import GitHubError
from repeat_eval.reports.escape import terminal

_LIMIT = 300


def trouble(what: str, error: GitHubError) -> str:
    """One line without a final stop: what was not done, and what helps.

    Args:
        what: the surface with its verb, such as `the comment was not written`.
        error: what GitHub answered.
    """
    if error.permission:
        return f"{what}: the token may not do this; add `{terminal(error.permission, 60)}` to the job's permissions"
    status = f" ({error.status})" if error.status else ""
    return f"{what}: {terminal(error.message, _LIMIT)}{status}"
