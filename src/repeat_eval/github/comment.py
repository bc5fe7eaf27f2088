"""One comment on a pull request: found again by its hidden marker, edited in place, safe against other jobs.

GitHub has no way to say "write this only if nobody else has". So after a comment was created all comments are read
again: the oldest of ours wins, whoever made another one deletes it, and only that one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from repeat_eval.analysis.report import Report
from repeat_eval.github.comment_body import BodyOf, Merged, is_written, merge_body
from repeat_eval.github.errors import GitHubError
from repeat_eval.github.marker import Marker, find_marker
from repeat_eval.github.trouble import trouble

Mode = Literal["always", "on-change", "on-failure", "off"]
Action = Literal["created", "edited", "unchanged", "skipped", "failed"]

_TURNS = 5
"""How often a comment is looked at again while other jobs write it, too."""
_PAUSE = 1.0
"""Seconds before a further look: longer than another job needs from its reading to its writing."""

_WORKFLOW_BOT = "github-actions[bot]"


class CommentLike(Protocol):
    """A comment as the client lists it."""

    @property
    def id(self) -> int:
        """Its number; a later comment has a higher one."""

    @property
    def body(self) -> str:
        """Its text in Markdown."""

    @property
    def user_login(self) -> str | None:
        """Who wrote it; a bot's name ends in `[bot]`."""


class PullRequestLike(Protocol):
    """What is needed of a pull request."""

    @property
    def state(self) -> str:
        """`open` or `closed`."""

    @property
    def head_sha(self) -> str:
        """Its newest commit."""

    @property
    def url(self) -> str:
        """The address of its page."""


class CommentClient(Protocol):
    """What is needed of the client."""

    def pull_request(self, number: int) -> PullRequestLike:
        """The pull request as it is now."""

    def comments(self, number: int) -> Iterable[CommentLike]:
        """All comments, of all pages."""

    def create_comment(self, number: int, body: str) -> int:
        """Write a comment; its number."""

    def edit_comment(self, comment_id: int, body: str) -> object:
        """Replace a comment's text."""

    def delete_comment(self, comment_id: int) -> object:
        """Delete a comment."""

    def viewer_login(self) -> str | None:
        """Whose token it is; None where that cannot be known, as with the workflow's own token."""


@dataclass(frozen=True, slots=True)
class Published:
    """What became of the comment.

    Attributes:
        action: `unchanged` when it says the same already; `skipped` when it should not be written; `failed` when GitHub
            refused, which turns no gate.
        url: the comment's address; None when there is none that is ours.
        reason: one sentence without a final stop; empty when it was written.
    """

    action: Action
    url: str | None = None
    reason: str = ""


def worth_a_comment(mode: Mode, reports: Iterable[Report]) -> bool:
    """Whether a comment is created where there is none. One that is there is brought up to date in any mode but off.

    `on-failure`: a suite failed or has no verdict. `on-change`: also when a comparison found anything but "no
    detectable change", when cases came or went, or when the pull request weakens its own gate.
    """
    if mode in ("always", "off"):
        return mode == "always"
    return any(report.verdict != "pass" or (mode == "on-change" and _changed(report)) for report in reports)


def _changed(report: Report) -> bool:
    comparison = report.comparison
    if comparison is None or comparison.verdict == "not comparable":
        return False
    return comparison.verdict != "no detectable change" or bool(
        comparison.added or comparison.removed or comparison.changed or comparison.gate_changes
    )


def publish_comment(
    client: CommentClient,
    number: int,
    key: str,
    body_of: BodyOf | Mapping[str, BodyOf],
    *,
    head: str,
    run: int,
    attempt: int,
    mode: Mode = "always",
    worth_it: bool = True,
    looks: str = "",
    sleep: Callable[[float], None] = time.sleep,
) -> Published:
    """Create the comment, or edit it in place.

    It is not written when the pull request is closed or has moved on to another commit, nor over the news of a later
    run. Requests: one for the pull request, one for each 100 comments, one to write, and one to look again after it was
    created; with a token that is not the workflow's, one to learn whose it is.

    Args:
        client: speaks to GitHub.
        number: of the pull request.
        key: which of our comments it is.
        body_of: gives the text within limits, without a marker; or several of them by their own keys, for suites that
            share the comment. Sections that another job wrote about the same commit are kept.
        head: the pull request's commit that it is about. run: the workflow run's number. attempt: counted from 1.
        mode: see `worth_a_comment`; `off` asks GitHub nothing.
        worth_it: whether it is worth to create the comment where there is none.
        looks: the looks at this commit, hidden beside the marker; see `look_data`.
        sleep: waits for so many seconds before a further look, where other jobs write the same comment.

    Returns:
        What became of it. GitHub's refusal is a `failed` with a reason, never raised.

    Raises:
        ValueError: `head`, `run` or `attempt` cannot be what they are called.
    """
    if mode == "off":
        return Published("skipped", reason="comments are off")
    sections = body_of if isinstance(body_of, Mapping) else {key: body_of}
    writer = _Writer(client, number, Marker(key, head, run, attempt, looks), sections, worth_it=worth_it, sleep=sleep)
    try:
        return writer.publish()
    except GitHubError as error:
        return writer.broken_off(error)


class _Writer:
    """One writing of one comment."""

    def __init__(
        self,
        client: CommentClient,
        number: int,
        marker: Marker,
        sections: Mapping[str, BodyOf],
        *,
        worth_it: bool,
        sleep: Callable[[float], None],
    ) -> None:
        self._client = client
        self._number = number
        self._marker = marker
        self._sections = sections
        self._worth_it = worth_it
        self._sleep = sleep
        self._viewer: str | None = None
        self._viewer_asked = False
        self._own: int | None = None
        """The comment that we created."""
        self._edited: int | None = None
        """The comment that we edited last."""
        self._page = ""
        self._leftover = ""
        """What is to be said although the comment is written."""
        self._action: Action = "unchanged"

    def publish(self) -> Published:
        """Write; raises GitHubError."""
        pull = self._client.pull_request(self._number)
        self._page = pull.url
        reason = _not_current(pull, self._marker.head)
        if reason:
            return Published("skipped", reason=reason)
        ours: list[CommentLike] = []
        for _ in range(_TURNS):
            ours = self._ours()
            if ours:
                published = self._settle(ours)
                if published is not None:
                    return published
            elif self._own is not None:  # written, but GitHub's list does not show it yet
                break
            elif not self._worth_it:
                return Published("skipped", reason="there is no comment, and nothing that is to be told in one")
            else:
                body = merge_body(None, self._sections, self._marker).body
                self._own = self._client.create_comment(self._number, body or "")
                self._action = "created"
        if ours:
            self._delete_own(ours[0])
        return self._published(ours[0].id if ours else self._own)

    def broken_off(self, error: GitHubError) -> Published:
        """What became of the comment when GitHub refused in the middle of it."""
        if self._action == "unchanged":
            return Published("failed", reason=trouble("the comment was not written", error))
        self._leftover = trouble("whether another job wrote the comment at the same time is not known", error)
        return self._published(self._edited or self._own)

    def _settle(self, ours: Sequence[CommentLike]) -> Published | None:
        """Bring the oldest of our comments up to date; None when it is to be looked at again."""
        oldest = ours[0]
        if self._action != "unchanged" and is_written(oldest.body, self._sections, self._marker):
            self._clean(ours)
            return self._published(oldest.id)
        merged = merge_body(oldest.body, self._sections, self._marker)
        reason = self._why_not(merged)
        if merged.body is None or reason or _same(merged.body, oldest.body):
            self._delete_own(oldest)
            return self._published(oldest.id, "skipped" if reason else "unchanged", reason)
        try:
            self._client.edit_comment(oldest.id, merged.body)
        except GitHubError as error:
            if error.status != 404:
                raise
            return None  # somebody deleted it meanwhile
        if oldest.id != self._own:
            self._action, self._edited = "edited", oldest.id
        if merged.shared or self._own is not None:  # others write it at the same time: is it still there?
            self._sleep(_PAUSE)
            return None
        self._clean(ours)
        return self._published(oldest.id)

    def _why_not(self, merged: Merged) -> str:
        """Why the merged body is not to be written; empty when it is."""
        if merged.body is None:
            return "a later run has written it"
        if merged.overtaken:  # by a run about another commit: which of the two is the head now?
            return _not_current(self._client.pull_request(self._number), self._marker.head)
        return ""

    def _published(self, comment: int | None, otherwise: Action = "unchanged", reason: str = "") -> Published:
        """What we did; where we wrote nothing that lasted, `otherwise` with its reason."""
        url = f"{self._page}#issuecomment-{comment}" if comment is not None else None
        if self._action == "edited" or (self._action == "created" and comment == self._own):
            return Published(self._action, url, self._leftover)
        return Published(otherwise, url, reason or self._leftover)

    def _ours(self) -> list[CommentLike]:
        """Our comments of this key, the oldest first."""
        found = [comment for comment in self._client.comments(self._number) if self._has_key(comment)]
        return sorted((comment for comment in found if self._is_ours(comment)), key=lambda comment: comment.id)

    def _has_key(self, comment: CommentLike) -> bool:
        marker = find_marker(comment.body or "")
        return marker is not None and marker.key == self._marker.key

    def _is_ours(self, comment: CommentLike) -> bool:
        """Anyone can copy a marker, so the author counts: the token's owner, or a bot where that cannot be known.

        The workflow's own bot is always ours: that saves a request, and keeps the one comment when the token changes.
        """
        login = (comment.user_login or "").lower()
        if comment.id == self._own or login == _WORKFLOW_BOT:
            return True
        if not self._viewer_asked:
            self._viewer_asked = True
            try:
                self._viewer = self._client.viewer_login()
            except GitHubError:
                self._viewer = None
        return login == self._viewer.lower() if self._viewer else login.endswith("[bot]")

    def _delete_own(self, oldest: CommentLike) -> None:
        """Delete the comment that we created, unless it is the one that stays."""
        if self._own is not None and self._own != oldest.id:
            self._delete(self._own)

    def _clean(self, ours: Sequence[CommentLike]) -> None:
        """Delete what we created beside the oldest, or what an earlier run of ours could not delete any more."""
        self._delete_own(ours[0])
        if self._own is not None:  # then what else is there is just being written by other jobs
            return
        for comment in ours[1:]:
            marker = find_marker(comment.body)
            written = (marker.run, marker.attempt) if marker is not None else (self._marker.run, self._marker.attempt)
            if comment.user_login == ours[0].user_login and written < (self._marker.run, self._marker.attempt):
                self._delete(comment.id)

    def _delete(self, comment: int) -> None:
        try:
            self._client.delete_comment(comment)
        except GitHubError as error:
            if error.status != 404:
                self._leftover = trouble("a second comment of ours was not deleted", error)


def _not_current(pull: PullRequestLike, head: str) -> str:
    """Why a comment about `head` is not written any more; empty when it is."""
    if pull.state != "open":
        return "the pull request is closed"
    if pull.head_sha != head:
        return f"the pull request has moved on to {pull.head_sha[:7]}"
    return ""


def _same(one: str, other: str) -> bool:
    return one.replace("\r\n", "\n").rstrip() == other.replace("\r\n", "\n").rstrip()
