"""What GitHub refuses or does not answer."""

from __future__ import annotations

from repeat_eval.errors import ExitCode, RepeatEvalError


class GitHubError(RepeatEvalError):
    """A request to GitHub that failed for good; its text never holds the token.

    Attributes:
        status: the HTTP status; None when there was no answer or none that can be understood.
        message: GitHub's own words on one line, bounded. Text from outside: escape it before it is shown.
        permission: the permission that the job's token lacks, such as `checks: write`; None for every other trouble.
    """

    exit_code = ExitCode.PUBLISHING_FAILED

    def __init__(self, status: int | None, message: str, permission: str | None = None) -> None:
        self.status = status
        self.message = message
        self.permission = permission
        text = f"GitHub answered {status}: {message}" if status is not None else f"GitHub did not answer: {message}"
        super().__init__(text + (f"; the token needs `{permission}`" if permission else ""))
