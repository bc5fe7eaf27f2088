"""What happened on GitHub, read from the runner's variables and the event file; pure, so that all of it is testable."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from repeat_eval.errors import UserError
from repeat_eval.reports.escape import terminal

Activity = Literal["pull-request", "merge-queue", "branch", "publish", "command", "nothing"]
"""What an event asks for: evaluate a pull request, a merge group or a branch; publish the report of another run; answer
a command in a comment; or nothing at all."""
Restriction = Literal["fork", "dependabot"]
"""Why GitHub gives a run no secrets and a read-only token."""

NO_COMMIT = "0" * 40
"""What GitHub writes where there is no commit."""
MAX_EVENT_BYTES = 50_000_000
"""GitHub's own limit for a payload is 25 MB."""

_SHA = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_REPOSITORY = re.compile(r"[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+")
_WRITES_STORE = frozenset({"push", "schedule", "workflow_dispatch"})
_ACTIVITIES: Mapping[str, Activity] = {
    "pull_request": "pull-request",
    "merge_group": "merge-queue",
    "workflow_run": "publish",
    "issue_comment": "command",
}
"""Every other event evaluates the commit it names, as on a branch."""
_DEPENDABOT = "dependabot[bot]"


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRequestEvent:
    """The pull request of an event, as it was when the event happened.

    Attributes:
        number: its number. head_sha: its own newest commit. head_ref: its branch.
        head_repository: `owner/name` of its branch; None when that repository was deleted.
        base_ref: the branch it goes into. base_sha: a commit of that branch, not always its newest.
        fork: whether its branch is in another repository.
    """

    number: int
    head_sha: str
    head_ref: str
    head_repository: str | None
    base_ref: str
    base_sha: str
    fork: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedRun:
    """The run whose end started a `workflow_run` job.

    `head_repository` is None when it was deleted. `event` is what started that run. `pull_requests` are numbers, and
    there are none for forks: the pull request is found by head repository, branch and SHA.
    """

    id: int
    attempt: int
    event: str
    conclusion: str | None
    head_sha: str
    head_branch: str
    head_repository: str | None
    pull_requests: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenComment:
    """The comment of an `issue_comment` event. What its author may do is for GitHub to say, not for the payload."""

    id: int
    number: int
    body: str
    author: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """Where and why this runs.

    Attributes:
        event: name of the event. action: its activity type, such as `synchronize`; None where there is none.
        activity: what the event asks for. reason: why it asks for nothing; None otherwise.
        repository: `owner/name`. sha: the commit GitHub says is tested, on pull requests usually their merge into base.
        ref: the full ref. default_branch: the repository's; None when the event does not say.
        on_default_branch: whether the default branch itself is evaluated.
        actor: login of who started it. restricted: why there are no secrets and no write access; None if there are.
        run_id, run_attempt: of this run. workflow: its name. job: id of the job.
        server_url, api_url: without a slash at the end.
        pull_request, finished_run, comment: what the event is about, where it is about that.
        before: the commit that a push replaced; None when there was none. forced: whether a push rewrote history.
        queue_base: the commit that a merge group is put on.
    """

    event: str
    action: str | None
    activity: Activity
    reason: str | None
    repository: str
    sha: str
    ref: str
    default_branch: str | None
    on_default_branch: bool
    actor: str | None
    restricted: Restriction | None
    run_id: int
    run_attempt: int
    workflow: str
    job: str
    server_url: str
    api_url: str
    pull_request: PullRequestEvent | None = None
    finished_run: FinishedRun | None = None
    comment: WrittenComment | None = None
    before: str | None = None
    forced: bool = False
    queue_base: str | None = None

    @property
    def head_sha(self) -> str:
        """The commit that comment, check and status belong to: a pull request's own, never its merge."""
        if self.pull_request is not None:
            return self.pull_request.head_sha
        return self.finished_run.head_sha if self.finished_run is not None else self.sha

    @property
    def number(self) -> int | None:
        """The pull request's number; None where the event is about none, or does not name it (`workflow_run`)."""
        if self.pull_request is not None:
            return self.pull_request.number
        return self.comment.number if self.comment is not None else None

    @property
    def first_at_commit(self) -> bool:
        """Whether no run of this pull request can have been at this commit before.

        A head of before may be pushed once more. Then what an earlier run left at it is long past; to ask for it at
        every push would cost everybody a request.
        """
        return self.activity == "pull-request" and self.run_attempt == 1 and self.action in ("opened", "synchronize")

    @property
    def may_write_store(self) -> bool:
        """Whether this is a run of merged code: a push to, schedule or dispatch of the default branch."""
        return self.on_default_branch and self.event in _WRITES_STORE

    @property
    def run_url(self) -> str:
        """Address of this attempt's page."""
        return f"{self.server_url}/{self.repository}/actions/runs/{self.run_id}/attempts/{self.run_attempt}"

    @property
    def blob_url(self) -> str:
        """Address that a path in the repository is put after, at the head commit."""
        return f"{self.server_url}/{self.repository}/blob/{self.head_sha}"


def activity_of(name: str, event: Mapping[str, Any]) -> tuple[Activity, str | None]:
    """What an event asks for, and why if it asks for nothing.

    Raises:
        UserError: the event is `pull_request_target`, which runs with secrets and tests base instead of head.
    """
    if name == "pull_request_target":
        raise UserError(
            "pull_request_target is not supported: it tests the base branch and hands secrets to the pull "
            "request; use pull_request, and workflow_run to comment on pull requests from forks"
        )
    reason = _nothing_to_do(name, event)
    return ("nothing", reason) if reason else (_ACTIVITIES.get(name, "branch"), None)


def read_context(environ: Mapping[str, str], event: Mapping[str, Any]) -> Context:
    """The context of this run.

    Args:
        environ: the runner's `GITHUB_*` variables. event: the payload, see `load_event`.

    Raises:
        UserError: this is no workflow run, a variable or the payload lacks what it must have, or the event is not
            supported.
    """
    name = _variable(environ, "GITHUB_EVENT_NAME")
    activity, reason = activity_of(name, event)
    repository = _variable(environ, "GITHUB_REPOSITORY")
    if not _REPOSITORY.fullmatch(repository):
        raise UserError(f"GITHUB_REPOSITORY is {terminal(repository, 80)!r}, which is not owner/name")
    sha = _variable(environ, "GITHUB_SHA")
    if not _SHA.fullmatch(sha):
        raise UserError(f"GITHUB_SHA is {terminal(sha, 80)!r}, which is not a commit")
    ref = environ.get("GITHUB_REF", "")
    default_branch = _text(_at(event, "repository", "default_branch")) or None
    pull_request = _pull_request(event, repository) if activity == "pull-request" else None
    actor = environ.get("GITHUB_ACTOR") or _text(_at(event, "sender", "login")) or None
    action = event.get("action")
    return Context(
        event=name,
        action=action if isinstance(action, str) else None,
        activity=activity,
        reason=reason,
        repository=repository,
        sha=sha,
        ref=ref,
        default_branch=default_branch,
        on_default_branch=activity == "branch" and _is_default(name, ref, default_branch),
        actor=actor,
        restricted=_restriction(activity, pull_request, actor),
        run_id=_positive(environ, "GITHUB_RUN_ID"),
        run_attempt=_positive(environ, "GITHUB_RUN_ATTEMPT", 1),
        workflow=environ.get("GITHUB_WORKFLOW", ""),
        job=environ.get("GITHUB_JOB", ""),
        server_url=_address(environ, "GITHUB_SERVER_URL", "https://github.com"),
        api_url=_address(environ, "GITHUB_API_URL", "https://api.github.com"),
        pull_request=pull_request,
        finished_run=_finished_run(event) if activity == "publish" else None,
        comment=_comment(event) if activity == "command" else None,
        before=_before(event) if name == "push" else None,
        forced=name == "push" and event.get("forced") is True,
        queue_base=_sha(event, "merge_group", "base_sha") if activity == "merge-queue" else None,
    )


def load_event(environ: Mapping[str, str]) -> dict[str, Any]:
    """The payload that `GITHUB_EVENT_PATH` names.

    Raises:
        UserError: there is none, it is too large, or it is no JSON object.
    """
    path = Path(_variable(environ, "GITHUB_EVENT_PATH"))
    try:
        if path.stat().st_size > MAX_EVENT_BYTES:
            raise UserError(f"the event file is larger than {MAX_EVENT_BYTES // 1_000_000} MB")
        event = json.loads(path.read_bytes())
    except OSError as error:
        raise UserError(f"the event file cannot be read: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise UserError("the event file is not JSON") from error
    if not isinstance(event, dict):
        raise UserError("the event file is not a JSON object")
    return event


def _nothing_to_do(name: str, event: Mapping[str, Any]) -> str | None:
    action = event.get("action")
    match name:
        case "push" if event.get("deleted") is True:
            return "the branch was deleted"
        case "merge_group" if action == "destroyed":
            return "the merge group was destroyed"
        case "workflow_run" if action != "completed":
            return "the other run has not ended"
        case "issue_comment" if not isinstance(_at(event, "issue", "pull_request"), Mapping):
            return "the comment is not on a pull request"
        case "issue_comment" if action != "created":
            return "the comment is not a new one"
    return None


def _pull_request(event: Mapping[str, Any], repository: str) -> PullRequestEvent:
    head_repository = _repository(event, "pull_request", "head", "repo", "full_name")
    return PullRequestEvent(
        number=_number(event, "pull_request", "number"),
        head_sha=_sha(event, "pull_request", "head", "sha"),
        head_ref=_text(_at(event, "pull_request", "head", "ref")),
        head_repository=head_repository,
        base_ref=_text(_at(event, "pull_request", "base", "ref")),
        base_sha=_sha(event, "pull_request", "base", "sha"),
        # GitHub's names differ in case only by spelling; a repository that is gone was a fork.
        fork=head_repository is None or head_repository.lower() != repository.lower(),
    )


def _finished_run(event: Mapping[str, Any]) -> FinishedRun:
    listed = _at(event, "workflow_run", "pull_requests")
    numbers = [_at(item, "number") for item in listed if isinstance(item, Mapping)] if isinstance(listed, list) else []
    return FinishedRun(
        id=_number(event, "workflow_run", "id"),
        attempt=_number(event, "workflow_run", "run_attempt"),
        event=_text(_at(event, "workflow_run", "event")),
        conclusion=_text(_at(event, "workflow_run", "conclusion")) or None,
        head_sha=_sha(event, "workflow_run", "head_sha"),
        head_branch=_text(_at(event, "workflow_run", "head_branch")),
        head_repository=_repository(event, "workflow_run", "head_repository", "full_name"),
        pull_requests=tuple(number for number in numbers if type(number) is int and number > 0),
    )


def _comment(event: Mapping[str, Any]) -> WrittenComment:
    return WrittenComment(
        id=_number(event, "comment", "id"),
        number=_number(event, "issue", "number"),
        body=_text(_at(event, "comment", "body")),
        author=_text(_at(event, "comment", "user", "login")),
    )


def _before(event: Mapping[str, Any]) -> str | None:
    before = _at(event, "before")
    return before if isinstance(before, str) and _SHA.fullmatch(before) and before.strip("0") else None


def _is_default(name: str, ref: str, default_branch: str | None) -> bool:
    # Schedules run on the default branch only, whether or not the payload names it.
    return ref == f"refs/heads/{default_branch}" if default_branch is not None else name == "schedule"


def _restriction(activity: Activity, pull_request: PullRequestEvent | None, actor: str | None) -> Restriction | None:
    if pull_request is not None and pull_request.fork:
        return "fork"
    # workflow_run and issue_comment have the rights of the default branch, whoever caused them.
    return "dependabot" if actor == _DEPENDABOT and activity in ("pull-request", "branch") else None


def _at(value: Any, *path: str) -> Any:
    for part in path:
        if not isinstance(value, Mapping):
            return None
        value = value.get(part)
    return value


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _sha(event: Mapping[str, Any], *path: str) -> str:
    value = _at(event, *path)
    if not isinstance(value, str) or not _SHA.fullmatch(value):
        raise UserError(f"the event has no commit at {'.'.join(path)}")
    return value


def _number(event: Mapping[str, Any], *path: str) -> int:
    value = _at(event, *path)
    if type(value) is not int or value < 1:
        raise UserError(f"the event has no number at {'.'.join(path)}")
    return value


def _repository(event: Mapping[str, Any], *path: str) -> str | None:
    value = _at(event, *path)
    return value if isinstance(value, str) and _REPOSITORY.fullmatch(value) else None


def _variable(environ: Mapping[str, str], name: str) -> str:
    value = environ.get(name, "")
    if not value:
        raise UserError(f"{name} is not set: this part of repeat-eval runs in a GitHub workflow only")
    return value


def _positive(environ: Mapping[str, str], name: str, default: int | None = None) -> int:
    text = environ.get(name, "")
    if not text and default is not None:
        return default
    if not (text.isascii() and text.isdigit() and len(text) < 19 and int(text) > 0):
        raise UserError(f"{name} is {terminal(text, 40)!r}, which is not a number above 0")
    return int(text)


def _address(environ: Mapping[str, str], name: str, default: str) -> str:
    value = environ.get(name) or default
    if not value.startswith(("https://", "http://")) or re.search(r"[\s\x00-\x1f\x7f]", value):
        raise UserError(f"{name} is {terminal(value, 80)!r}, which is not an address")
    return value.rstrip("/")
