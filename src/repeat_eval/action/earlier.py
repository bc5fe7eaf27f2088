"""What earlier attempts found at this commit, and what was asked for: from the uploaded report, or our own comment.

Both were written by an earlier attempt and may have been changed since. So each must be about this very commit, must be
sound as a whole, and is believed for nothing but the looks in it. The report must be of this run. The comment may be of
an earlier run of the same commit, such as the one before a pull request was closed and opened again.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from repeat_eval.action.command import our_comments
from repeat_eval.action.job import Job
from repeat_eval.action.uploaded import ARCHIVE_BYTES, read_uploaded
from repeat_eval.analysis.look_model import Look
from repeat_eval.errors import Incomplete, UserError
from repeat_eval.github.comment_body import section_marker
from repeat_eval.github.errors import GitHubError
from repeat_eval.github.look_data import are_sound, unpack_looks
from repeat_eval.github.request_note import RequestNote, find_note
from repeat_eval.reports.escape import terminal

if TYPE_CHECKING:
    from repeat_eval.github.answers import Artifact
    from repeat_eval.github.client import GitHub

_MOST_ARTIFACTS = 10
"""Uploaded reports that are looked into: one for each leg of a matrix."""


class Earlier(msgspec.Struct, frozen=True):
    """What is known of earlier attempts.

    Attributes:
        looks: the looks, oldest first; empty when they are not known. source: where they were found.
        note: the request for this very attempt; None when nobody asked in a comment.
        troubles: why a place was not read, a sentence each.
    """

    looks: tuple[Look, ...] = ()
    source: str = ""
    note: RequestNote | None = None
    troubles: tuple[str, ...] = ()


def earlier_attempts(job: Job, key: str) -> Earlier:
    """Find out what earlier attempts found at this commit for the report of this key.

    Raises:
        Incomplete: this attempt was asked for, but for another commit than the one it has.
    """
    client = job.client
    if client is None:
        return Earlier(troubles=("without a token earlier attempts cannot be asked for",))
    troubles: list[str] = []
    context = job.context
    uploaded = _uploaded(job, client, key, troubles) if context.run_attempt > 1 else ()
    hidden: tuple[Look, ...] = ()
    note: RequestNote | None = None
    if context.number is not None:
        hidden, note = looks_in_comment(
            client,
            context.number,
            key,
            head=context.head_sha,
            run=context.run_id,
            attempt=context.run_attempt,
            troubles=troubles,
        )
    if note is not None and note.head != context.head_sha:
        raise Incomplete(
            f"this attempt was asked for at {terminal(note.head, 64)[:7]}, and this run is about "
            f"{context.head_sha[:7]}: nothing was run"
        )
    # An attempt that uploaded nothing may still have written the comment, and the other way round.
    if uploaded and (not hidden or uploaded[-1].number >= hidden[-1].number):
        return Earlier(uploaded, "the uploaded report", note, tuple(troubles))
    return Earlier(hidden, "our comment" if hidden else "", note, tuple(troubles))


def _uploaded(job: Job, client: GitHub, key: str, troubles: list[str]) -> tuple[Look, ...]:
    """The looks in the report that an attempt before this one uploaded: the newest one, some run other jobs alone."""
    context = job.context
    try:
        listed = _named(client.artifacts(context.run_id), context.run_id, context.run_attempt)
    except GitHubError as error:
        troubles.append(f"uploaded reports were not read: {error}")
        return ()
    for attempt, artifact in listed:
        try:
            report = read_uploaded(client.download_artifact(artifact.id, limit=ARCHIVE_BYTES))
        except (GitHubError, UserError) as error:
            troubles.append(f"an uploaded report was not read: {terminal(str(error), 300)}")
            continue
        origin = report.provenance
        about = (origin.run, origin.attempt, origin.head, origin.key)
        if about != (context.run_id, attempt, context.head_sha, key):
            continue  # of another leg, or not what its name says
        if not report.looks:
            continue
        if are_sound(report.looks) and report.looks[-1].attempt == attempt:
            return report.looks
        troubles.append("the looks in the uploaded report cannot be")
    return ()


def _named(listed: list[Artifact], run: int, before: int) -> list[tuple[int, Artifact]]:
    """The reports of attempts before this one, each with its attempt, the newest first."""
    pattern = re.compile(rf"repeat-eval-report(?:-[A-Za-z0-9_. -]{{1,100}})?-{run}-([1-9][0-9]{{0,8}})")
    matched = [(pattern.fullmatch(artifact.name), artifact) for artifact in listed if not artifact.expired]
    found = [(int(match[1]), artifact) for match, artifact in matched if match is not None]
    found = [each for each in found if each[0] < before]
    return sorted(found, key=lambda each: (-each[0], each[1].id))[:_MOST_ARTIFACTS]


def looks_in_comment(
    client: GitHub, number: int, key: str, *, head: str, run: int, attempt: int, troubles: list[str]
) -> tuple[tuple[Look, ...], RequestNote | None]:
    """The looks that are hidden in our comment, and the request for this attempt there.

    Args:
        client: speaks to GitHub. number: of the pull request. key: of the report.
        head: the commit. run, attempt: who asks; what they or later ones wrote is no earlier look.
        troubles: gets a sentence when the comments cannot be read.
    """
    try:
        ours = our_comments(client, number)
    except GitHubError as error:
        troubles.append(f"our comment was not read: {error}")
        return (), None
    looks: tuple[Look, ...] = ()
    note = None
    for comment, _ in ours:
        marker = section_marker(comment.body, key)
        if marker is None:
            continue
        asked = find_note(comment.body)
        if asked is not None and asked.is_for(run, attempt):
            note = asked
        if marker.head != head or (marker.run, marker.attempt) >= (run, attempt):
            continue
        found = unpack_looks(marker.looks)
        if found and found[-1].attempt == marker.attempt and (not looks or found[-1].number > looks[-1].number):
            looks = found
    return looks, note
