"""GitHub's REST API for one repository: the few operations that are used, each one call.

Start-up time is a feature: import this module only where something is published.
"""

from __future__ import annotations

import base64
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from repeat_eval.errors import UserError
from repeat_eval.github import readers
from repeat_eval.github.answers import (
    Artifact,
    CheckRun,
    Commit,
    Comparison,
    IssueComment,
    PullRequest,
    WorkflowRun,
)
from repeat_eval.github.download import download
from repeat_eval.github.errors import GitHubError
from repeat_eval.github.retries import Patience
from repeat_eval.github.transport import Transport

COMMENT_LIMIT = 65_536
"""Characters that GitHub takes as a comment."""
ARCHIVE_LIMIT = 50_000_000
"""Bytes of an artifact that are downloaded at most."""

_COMMENTS = "pull-requests: write"
_CHECKS = "checks: write"
_STATUSES = "statuses: write"
_CONTENTS = "contents: write"
_ACTIONS = "actions: write"


class GitHub:
    """One repository on GitHub or a GitHub Enterprise server.

    Every method raises GitHubError when GitHub refuses or does not answer within the budget, and nothing else. Requests
    are tried again after 5xx, 429, limits and broken connections; one that creates something is repeated only after a
    look whether it has taken effect.

    Args:
        repository: `owner/name`.
        token: what requests are authorised with; None for none. It never appears in an error.
        api_url: the API's address; `https://HOST/api/v3` on an Enterprise server.
        ca_bundle: a file of certificates to trust instead of the usual ones.
        budget_seconds: how long all calls together may wait and fail.
        timeout: whole seconds until a request without an answer counts as failed, at least 1.
        sleep: waits so many seconds. clock: a moment in seconds.

    Raises:
        UserError: repository or address cannot be what they are called.
    """

    def __init__(
        self,
        repository: str,
        token: str | None,
        *,
        api_url: str = "https://api.github.com",
        ca_bundle: str | None = None,
        budget_seconds: float = 60.0,
        timeout: int = 15,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if not re.fullmatch(r"[\w-][\w.-]*/[\w.-]*[\w-][\w.-]*", repository, re.ASCII):
            raise UserError("the repository must be written as owner/name")
        self.repository = repository
        self._repo = f"/repos/{repository}"
        self._ca_bundle = ca_bundle
        self._timeout = timeout
        patience = Patience(budget_seconds, sleep=sleep, clock=clock)
        self._transport = Transport(token, api_url=api_url, ca_bundle=ca_bundle, timeout=timeout, patience=patience)
        self._call = self._transport.call

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()

    def viewer_login(self) -> str | None:
        """Who the token belongs to; None for an app's token (such as the job's own), which may not ask."""
        try:
            return self._call("GET", "/user", lambda data: str(data["login"]))
        except GitHubError as error:
            if error.status == 403 and "not accessible by" in error.message.lower():
                return None
            raise

    # Pull requests and their comments

    def pull_request(self, number: int) -> PullRequest:
        """A pull request as it is now."""
        path = f"{self._repo}/pulls/{int(number)}"
        return self._call("GET", path, readers.pull_request, permission="pull-requests: read")

    def open_pull_requests(self, owner: str, branch: str) -> list[PullRequest]:
        """The open pull requests whose head is that branch of one of that owner's repositories."""
        query: dict[str, str | int] = {"state": "open", "head": f"{owner}:{branch}"}
        listed = self._transport.pages(f"{self._repo}/pulls", query=query, permission="pull-requests: read")
        return [self._transport.read(readers.pull_request, each) for each in listed]

    def changed_files(self, number: int) -> list[str]:
        """The files that a pull request changes, both names of a renamed one; GitHub lists at most 3,000."""
        listed = self._transport.pages(f"{self._repo}/pulls/{int(number)}/files", permission="pull-requests: read")
        return [name for each in listed for name in self._transport.read(readers.file_names, each)]

    def comments(self, number: int) -> Iterator[IssueComment]:
        """All comments of a pull request, oldest first, read page by page."""
        path = f"{self._repo}/issues/{int(number)}/comments"
        for each in self._transport.pages(path, permission="pull-requests: read"):
            yield self._transport.read(readers.comment, each)

    def create_comment(self, number: int, body: str) -> int:
        """Write a comment; its number. After a lost answer an equal comment that is there counts as this one."""

        def written() -> int | None:
            wanted = _lines(body)
            return max((each.id for each in self.comments(number) if _lines(each.body) == wanted), default=None)

        path = f"{self._repo}/issues/{int(number)}/comments"
        return self._call("POST", path, readers.number, body={"body": body}, permission=_COMMENTS, recover=written)

    def edit_comment(self, comment_id: int, body: str) -> None:
        """Replace a comment's text; status 404 when it is gone."""
        path = f"{self._repo}/issues/comments/{int(comment_id)}"
        self._call("PATCH", path, readers.number, body={"body": body}, permission=_COMMENTS)

    def delete_comment(self, comment_id: int) -> None:
        """Delete a comment; one that is gone already is no error."""
        path = f"{self._repo}/issues/comments/{int(comment_id)}"
        try:
            self._call("DELETE", path, readers.nothing, permission=_COMMENTS)
        except GitHubError as error:
            if error.status != 404:
                raise

    # Checks and statuses

    def checks(self, sha: str, name: str) -> list[CheckRun]:
        """All check runs of a commit with that name, of every app and attempt."""
        path = f"{self._repo}/commits/{_part(sha)}/check-runs"
        query: dict[str, str | int] = {"check_name": name, "filter": "all"}
        listed = self._transport.pages(path, query=query, permission="checks: read", key="check_runs")
        return [self._transport.read(readers.check, each) for each in listed]

    def create_check(self, name: str, head_sha: str, **fields: Any) -> int:
        """Create a check run; its number.

        Args:
            name: its name. head_sha: the commit. fields: as in GitHub's description: `status`, `output`, …; give an
                `external_id` of your own, by which the check is found again after a lost answer.
        """

        def created() -> int | None:
            told = {key: fields[key] for key in ("status", "external_id", "details_url") if key in fields}
            for each in self.checks(head_sha, name):
                if all(getattr(each, key) == value for key, value in told.items()):
                    return each.id
            return None

        body = {"name": name, "head_sha": head_sha, **fields}
        path = f"{self._repo}/check-runs"
        return self._call("POST", path, readers.number, body=body, permission=_CHECKS, recover=created)

    def update_check(self, check_id: int, **fields: Any) -> None:
        """Change a check run; `fields` as in GitHub's description, at most 50 annotations, which are added."""
        path = f"{self._repo}/check-runs/{int(check_id)}"
        self._call("PATCH", path, readers.number, body=fields, permission=_CHECKS)

    def create_status(
        self, sha: str, state: str, context: str, description: str, target_url: str | None = None
    ) -> None:
        """Add a status to a commit; the newest of a context counts, so a repeated one does no harm."""
        body = {"state": state, "context": context, "description": description}
        if target_url is not None:
            body["target_url"] = target_url
        self._call("POST", f"{self._repo}/statuses/{_part(sha)}", readers.number, body=body, permission=_STATUSES)

    # Commits

    def commit(self, ref: str) -> Commit:
        """The commit that a SHA or branch names; status 404 or 422 when there is none."""
        path = f"{self._repo}/commits/{_path(ref)}"
        return self._call("GET", path, readers.commit, permission="contents: read")

    def compare(self, base: str, head: str) -> Comparison:
        """What lies between two commits; status 404 when one is missing or they have no commit in common."""
        path = f"{self._repo}/compare/{_path(f'{base}...{head}')}"
        return self._call("GET", path, readers.comparison, permission="contents: read")

    # Git objects, for the store

    def ref(self, name: str) -> str | None:
        """The commit that a ref (`heads/main`, with or without `refs/`) stands at; None when there is no such ref."""
        path = f"{self._repo}/git/ref/{_ref(name)}"
        try:
            return self._call("GET", path, lambda data: str(data["object"]["sha"]), permission="contents: read")
        except GitHubError as error:
            if error.status in {404, 409}:  # 409: a repository without any commit
                return None
            raise

    def create_ref(self, name: str, sha: str) -> None:
        """Create a ref; status 409 when it exists at another commit."""
        body = {"ref": f"refs/{name.removeprefix('refs/')}", "sha": sha}
        path = f"{self._repo}/git/refs"

        def created() -> bool | None:
            return True if self.ref(name) == sha else None

        try:
            self._call("POST", path, lambda _: True, body=body, permission=_CONTENTS, recover=created)
        except GitHubError as error:
            raise _moved(error, "already exists") from None

    def update_ref(self, name: str, sha: str, *, expected: str) -> None:
        """Move a ref from `expected` to `sha`, a commit whose parent is `expected`: compare and swap.

        GitHub itself refuses it when the ref stands elsewhere, because `sha` does not follow that commit.

        Raises:
            GitHubError: status 409 when the ref moved on or is gone.
        """
        if sha == expected:
            return
        path, body = f"{self._repo}/git/refs/{_ref(name)}", {"sha": sha, "force": False}
        try:
            self._call("PATCH", path, readers.nothing, body=body, permission=_CONTENTS)
        except GitHubError as error:
            raise _moved(error, "not a fast forward", "does not exist") from None

    def create_blob(self, content: bytes) -> str:
        """Keep a file's content; its SHA."""
        body = {"content": base64.b64encode(content).decode(), "encoding": "base64"}
        return self._call("POST", f"{self._repo}/git/blobs", readers.sha, body=body, permission=_CONTENTS)

    def create_tree(self, files: Mapping[str, str | bytes | None], *, base: str | None = None) -> str:
        """Keep a tree; its SHA. Text goes along in the same request, bytes cost one more each.

        Args:
            files: path -> content; None takes the file away from `base`.
            base: the tree that is changed; None for an empty one.
        """
        entries: list[dict[str, str | None]] = []
        for path, content in files.items():
            entry: dict[str, str | None] = {"path": path, "mode": "100644", "type": "blob"}
            if isinstance(content, str):
                entry["content"] = content
            else:
                entry["sha"] = None if content is None else self.create_blob(content)
            entries.append(entry)
        body: dict[str, Any] = {"tree": entries} if base is None else {"base_tree": base, "tree": entries}
        return self._call("POST", f"{self._repo}/git/trees", readers.sha, body=body, permission=_CONTENTS)

    def create_commit(self, message: str, tree: str, parents: Sequence[str] = ()) -> str:
        """Keep a commit, on no branch yet; its SHA. No parents: the first of an orphan branch."""
        body = {"message": message, "tree": tree, "parents": list(parents)}
        return self._call("POST", f"{self._repo}/git/commits", readers.sha, body=body, permission=_CONTENTS)

    def read_file(self, ref: str, path: str) -> bytes | None:
        """A file's content at a SHA or branch; None when file or ref is missing. A second request above 1 MB."""
        address, query = f"{self._repo}/contents/{_path(path)}", {"ref": ref}
        try:
            content, blob = self._call("GET", address, readers.content, query=query, permission="contents: read")
        except GitHubError as error:
            if error.status == 404:
                return None
            raise
        if content is not None:
            return content
        address = f"{self._repo}/git/blobs/{_part(blob)}"
        return self._call("GET", address, readers.content, permission="contents: read")[0]

    # Actions

    def permission_of(self, login: str) -> str:
        """What somebody may do here: `admin`, `write`, `read` or `none`."""
        path = f"{self._repo}/collaborators/{_part(login)}/permission"
        try:
            return self._call("GET", path, lambda data: str(data["permission"]), permission="metadata: read")
        except GitHubError as error:
            if error.status == 404:  # no such account
                return "none"
            raise

    def workflow_run(self, run_id: int) -> WorkflowRun:
        """A workflow run as it is now."""
        path = f"{self._repo}/actions/runs/{int(run_id)}"
        return self._call("GET", path, readers.workflow_run, permission="actions: read")

    def workflow_runs_of(self, sha: str) -> list[WorkflowRun]:
        """The workflow runs of a head commit, newest first."""
        path, query = f"{self._repo}/actions/runs", {"head_sha": sha}
        listed = self._transport.pages(path, query=query, permission="actions: read", key="workflow_runs")
        return [self._transport.read(readers.workflow_run, each) for each in listed]

    def rerun_run(self, run_id: int) -> None:
        """Ask for a finished workflow run to be run again, whole; status 403 while it still runs."""

        def started() -> bool | None:
            return True if self.workflow_run(run_id).status != "completed" else None

        path = f"{self._repo}/actions/runs/{int(run_id)}/rerun"
        self._call("POST", path, lambda _: True, permission=_ACTIONS, recover=started)

    def artifacts(self, run_id: int) -> list[Artifact]:
        """The artifacts of a workflow run."""
        path = f"{self._repo}/actions/runs/{int(run_id)}/artifacts"
        listed = self._transport.pages(path, permission="actions: read", key="artifacts")
        return [self._transport.read(readers.artifact, each) for each in listed]

    def download_artifact(self, artifact_id: int, *, limit: int = ARCHIVE_LIMIT) -> bytes:
        """An artifact as a zip of at most `limit` bytes; status 410 when it has expired, 413 when it is larger."""
        path = f"{self._repo}/actions/artifacts/{int(artifact_id)}/zip"
        address = self._transport.location(path, permission="actions: read")
        return download(address, limit=limit, ca_bundle=self._ca_bundle, timeout=self._timeout)


def _part(text: str) -> str:
    """One part of an address."""
    if text in {"", ".", ".."}:
        raise GitHubError(None, "a name in the request is empty or stands for a folder")
    return quote(text, safe="")


def _path(text: str) -> str:
    """Several parts of an address, with their slashes; never one that leaves its place."""
    return "/".join(_part(part) for part in text.split("/"))


def _ref(name: str) -> str:
    return _path(name.removeprefix("refs/"))


def _lines(text: str) -> str:
    return text.replace("\r\n", "\n").strip()


def _moved(error: GitHubError, *words: str) -> GitHubError:
    """409 in place of the 422 by which GitHub says that a ref is not where it was thought to be."""
    if error.status == 422 and any(each in error.message for each in words):
        return GitHubError(409, error.message)
    return error
