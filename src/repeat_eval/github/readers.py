"""JSON of GitHub's answers -> what is used of it; KeyError, TypeError or ValueError when it is something else."""

from __future__ import annotations

import base64
from typing import Any

from repeat_eval.github.answers import (
    Artifact,
    CheckRun,
    Commit,
    Comparison,
    IssueComment,
    PullRequest,
    WorkflowRun,
)

FILES_LISTED = 300
"""Files that GitHub lists in a comparison."""


def nothing(data: Any) -> None:
    """Nothing is used."""


def number(data: Any) -> int:
    """The `id` of what was made."""
    return int(data["id"])


def sha(data: Any) -> str:
    """The SHA of what was made."""
    return str(data["sha"])


def comment(data: Any) -> IssueComment:
    """A comment."""
    user = data.get("user")
    return IssueComment(
        id=int(data["id"]),
        body=data.get("body") or "",
        user_login=user["login"] if user else None,
        created_at=str(data["created_at"]),
        url=str(data["html_url"]),
    )


def pull_request(data: Any) -> PullRequest:
    """A pull request."""
    head, base = data["head"], data["base"]
    return PullRequest(
        number=int(data["number"]),
        state=str(data["state"]),
        head_sha=str(head["sha"]),
        head_ref=str(head["ref"]),
        head_repository=_repository(head.get("repo")),
        base_sha=str(base["sha"]),
        base_ref=str(base["ref"]),
        merge_commit_sha=data.get("merge_commit_sha"),
        url=str(data["html_url"]),
    )


def file_names(data: Any) -> list[str]:
    """The name of a changed file, and its former one."""
    names = [str(data["filename"])]
    return [*names, str(data["previous_filename"])] if data.get("previous_filename") else names


def check(data: Any) -> CheckRun:
    """A check run."""
    app = data.get("app")
    return CheckRun(
        id=int(data["id"]),
        name=str(data["name"]),
        status=str(data["status"]),
        conclusion=data.get("conclusion"),
        external_id=data.get("external_id"),
        details_url=data.get("details_url"),
        app=app.get("slug") if app else None,
    )


def commit(data: Any) -> Commit:
    """A commit."""
    parents = tuple(str(parent["sha"]) for parent in data["parents"])
    return Commit(sha=str(data["sha"]), parents=parents, tree=str(data["commit"]["tree"]["sha"]))


def comparison(data: Any) -> Comparison:
    """Two commits compared."""
    files = data.get("files") or []
    return Comparison(
        merge_base=str(data["merge_base_commit"]["sha"]),
        ahead=int(data["ahead_by"]),
        behind=int(data["behind_by"]),
        files=tuple(name for each in files for name in file_names(each)),
        files_complete=len(files) < FILES_LISTED,
    )


def content(data: Any) -> tuple[bytes | None, str]:
    """A file's content, None when GitHub leaves it out for its size, and the SHA by which to ask for it."""
    text = base64.b64decode(data["content"]) if data["encoding"] == "base64" else None
    return text, str(data["sha"])


def workflow_run(data: Any) -> WorkflowRun:
    """A workflow run."""
    return WorkflowRun(
        id=int(data["id"]),
        name=data.get("name"),
        path=str(data["path"]),
        event=str(data["event"]),
        status=data.get("status"),
        conclusion=data.get("conclusion"),
        attempt=int(data.get("run_attempt") or 1),
        head_sha=str(data["head_sha"]),
        head_branch=data.get("head_branch"),
        head_repository=_repository(data.get("head_repository")),
        url=str(data["html_url"]),
    )


def artifact(data: Any) -> Artifact:
    """An artifact."""
    size, expired = int(data["size_in_bytes"]), bool(data["expired"])
    return Artifact(id=int(data["id"]), name=str(data["name"]), size=size, expired=expired)


def _repository(data: Any) -> str | None:
    return str(data["full_name"]) if data else None
