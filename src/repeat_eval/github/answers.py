"""What GitHub tells, cut to what is used. Text in it comes from outside."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class IssueComment:
    """A comment on a pull request; `user_login` is None for a deleted account, `created_at` is RFC 3339 (UTC)."""

    id: int
    body: str
    user_login: str | None
    created_at: str
    url: str


@dataclass(frozen=True, slots=True)
class PullRequest:
    """A pull request; `head_repository` is None when the fork is gone, `state` is `open` or `closed`."""

    number: int
    state: str
    head_sha: str
    head_ref: str
    head_repository: str | None
    base_sha: str
    base_ref: str
    merge_commit_sha: str | None
    url: str


@dataclass(frozen=True, slots=True)
class CheckRun:
    """A check run; `app` is the slug of the app that made it, `conclusion` is None until it is completed."""

    id: int
    name: str
    status: str
    conclusion: str | None
    external_id: str | None
    details_url: str | None
    app: str | None


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit: its parents (first parent first) and its tree."""

    sha: str
    parents: tuple[str, ...]
    tree: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two commits: their merge base, how many commits each has alone, and the files that differ.

    `files` holds both names of a renamed file; GitHub lists at most 300 files, so `files_complete` may be False.
    """

    merge_base: str
    ahead: int
    behind: int
    files: tuple[str, ...]
    files_complete: bool


@dataclass(frozen=True, slots=True)
class WorkflowRun:
    """A workflow run; `attempt` counts from 1, `head_repository` is None when the fork is gone."""

    id: int
    name: str | None
    path: str
    event: str
    status: str | None
    conclusion: str | None
    attempt: int
    head_sha: str
    head_branch: str | None
    head_repository: str | None
    url: str


@dataclass(frozen=True, slots=True)
class Artifact:
    """An uploaded artifact; `size` in bytes."""

    id: int
    name: str
    size: int
    expired: bool
