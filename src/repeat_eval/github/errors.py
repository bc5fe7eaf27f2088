"""What goes wrong between us and GitHub."""

from __future__ import annotations

from repeat_eval.errors import ExitCode, RepeatEvalError


class GitHubError(RepeatEvalError):
    """GitHub refused or could not be reached. Its text never holds the token.

    Attributes:
        status: the HTTP status; 0 when no answer came.
        message: what GitHub said, one line.
        permission: what the job's token lacks, such as `pull-requests: write`; None where that is not the reason.
    """

    exit_code = ExitCode.PUBLISHING_FAILED

    def __init__(self, status: int, message: str, permission: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.permission = permission
