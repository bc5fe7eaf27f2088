"""`mode: command`: somebody wrote `/repeat-eval …` on a pull request.

Nothing of the pull request is checked out or run here. Who asks must be allowed to write to the repository, as GitHub
says; then the pull request's own run is run again by GitHub, with the commit and the rights that it had before. What
it is to look at stands in a note in our own comment.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

from repeat_eval.action.answered import Answered
from repeat_eval.action.job import Job
from repeat_eval.errors import ExitCode, UserError
from repeat_eval.github.errors import GitHubError
from repeat_eval.github.marker import Marker, find_marker
from repeat_eval.github.request_note import (
    MAX_PATTERN,
    MAX_PATTERNS,
    MAX_TRIALS,
    RequestNote,
    find_note,
    with_note,
)
from repeat_eval.reports.escape import markdown_code, terminal

if TYPE_CHECKING:
    from repeat_eval.github.answers import IssueComment, PullRequest, WorkflowRun
    from repeat_eval.github.client import GitHub
    from repeat_eval.github.event import WrittenComment

WORD = "/repeat-eval"
FURTHER_LOOKS = 2
"""Attempts of one commit beyond the first; one that was started by hand counts, too."""
_MAY_ASK = frozenset({"admin", "write"})
_BOT = "github-actions[bot]"
_COMMENT_LIMIT = 65_536

_MAX_LINE = 4000
_TRIALS = re.compile(r"[xX]([1-9][0-9]{0,5})")

HELP = f"""`{WORD} rerun` looks at this commit again, with fresh trials on both sides: after a red result at what it \
blames, otherwise at the cases to watch; at most {FURTHER_LOOKS} times a commit.
`{WORD} rerun case NAME "OTHER NAME" refund_* x30` looks at these cases with 30 trials a side: at most {MAX_PATTERNS} \
names or patterns, at most {MAX_TRIALS} trials. After a red result everything it blames is looked at, whatever is named.
`{WORD} help` shows this.

Only those who may write to this repository are answered."""


@dataclass(frozen=True, slots=True)
class Rerun:
    """A further look that somebody asks for: at these cases or patterns, with so many trials a side."""

    cases: tuple[str, ...] = ()
    trials: int | None = None


class Refused(Exception):
    """Nothing is done, and this is why: a sentence in Markdown."""


def answer_command(job: Job) -> Answered:
    """Answer the comment of this event.

    Raises:
        UserError: this is no `issue_comment` job, or there is no token.
        GitHubError: GitHub refuses what is needed to answer.
    """
    comment, client = job.context.comment, job.client
    if comment is None:
        raise UserError(f"`mode: command` belongs into a job on issue_comment; this one is on {job.context.event}")
    asked = parse(comment.body)
    if asked is None:
        job.log.notice(f"Nothing to do: the comment does not begin with {WORD}")
        return Answered(ExitCode.PASSED)
    if client is None:
        raise UserError("`mode: command` needs a token, and there is none")
    if client.permission_of(comment.author) not in _MAY_ASK:
        # No answer on the pull request: whoever can comment could make us comment.
        job.log.notice(f"Nothing was done: {terminal(comment.author, 60)} may not write to this repository")
        return Answered(ExitCode.PASSED)
    if not isinstance(asked, Rerun):
        client.create_comment(comment.number, HELP)
        return Answered(ExitCode.PASSED)
    try:
        run = _rerun(client, comment, asked)
    except Refused as refused:
        job.log.notice(f"Nothing was run: {refused}")
        client.create_comment(comment.number, f"`{WORD} rerun`: {refused}")
        return Answered(ExitCode.PASSED)
    job.log.say(f"run {run.id} is run again as attempt {run.attempt + 1}")
    return Answered(ExitCode.PASSED)


def parse(body: str) -> Rerun | str | None:
    """What a comment asks for in its first line; None when it is no command. Whatever is not known asks for `help`."""
    line = body.lstrip("\ufeff").partition("\n")[0].strip()
    if line.split(maxsplit=1)[:1] != [WORD]:
        return None
    try:
        words = shlex.split(line[:_MAX_LINE], comments=False)[1:]
    except ValueError:  # a quote that is not closed
        return "help"
    if not words or words[0] != "rerun" or len(line) > _MAX_LINE:
        return "help"
    return _parsed(words[1:]) or "help"


def _parsed(words: list[str]) -> Rerun | None:
    """`[case NAME…] [xN]`; None when it is anything else, or beyond the bounds."""
    trials = None
    if words and (match := _TRIALS.fullmatch(words[-1])):
        trials = int(match[1])
        words = words[:-1]
        if trials > MAX_TRIALS:
            return None
    if not words:
        return Rerun(trials=trials)
    names = tuple(dict.fromkeys(word for word in words[1:] if word != "case"))
    if words[0] != "case" or not 0 < len(names) <= MAX_PATTERNS:
        return None
    if any(not 0 < len(name) <= MAX_PATTERN or not name.isprintable() for name in names):
        return None
    return Rerun(names, trials)


def _rerun(client: GitHub, comment: WrittenComment, asked: Rerun) -> WorkflowRun:
    """Ask GitHub to run the pull request's own run again.

    Raises:
        Refused: it is not to be run again.
    """
    pull = client.pull_request(comment.number)
    if pull.state != "open":
        raise Refused("the pull request is closed.")
    ours = our_comments(client, comment.number)
    if not ours:
        raise Refused("there is no result of repeat-eval here yet.")
    current = [each for each in ours if each[1].head == pull.head_sha]
    if not current:
        raise Refused(
            f"the result here is about {markdown_code(ours[-1][1].head[:7])}, and the head has moved on to "
            f"{markdown_code(pull.head_sha[:7])}, whose own run reports by itself."
        )
    run, looks = _run_of(client, pull, max(marker.run for _, marker in current))
    note = RequestNote(
        pull.head_sha,
        run.id,
        run.attempt + 1,
        look=looks + 1,
        cases=asked.cases,
        trials=asked.trials,
        author=comment.author,
    )
    noted = [each for each, marker in current if marker.run == run.id]
    if any((found := find_note(each.body)) is not None and found.is_for(run.id, note.attempt) for each in noted):
        raise Refused("that was asked for already.")
    written = _write_notes(client, noted, note, comment.author)
    if not written:
        raise Refused("there is no room left in the result's comment to note what was asked for.")
    try:
        client.rerun_run(run.id)
    except GitHubError as error:
        _take_back(client, comment.number, written)
        if error.status == 403 and error.permission is None:
            raise Refused("GitHub does not run it again just now; it may be running already.") from None
        raise
    return run


def our_comments(client: GitHub, number: int) -> list[tuple[IssueComment, Marker]]:
    """Our results on the pull request, oldest first. Anyone can copy a marker, so the author counts.

    Results are ours when the workflow's own bot or the token's owner wrote them; where there are none and the owner
    cannot be known, as with an app's token, when a bot did.
    """
    marked = [
        (each, marker) for each in client.comments(number) if (marker := find_marker(each.body or "")) is not None
    ]
    authors = {(each.user_login or "").lower() for each, _ in marked}
    if authors <= {_BOT}:
        return marked
    viewer = client.viewer_login()
    names = authors & {_BOT, *({viewer.lower()} if viewer else ())}
    if not names and viewer is None:
        names = {author for author in authors if author.endswith("[bot]")}
    return [(each, marker) for each, marker in marked if (each.user_login or "").lower() in names]


def _run_of(client: GitHub, pull: PullRequest, run_id: int) -> tuple[WorkflowRun, int]:
    """The run to be run again, if it is the pull request's own, has ended and was not looked at too often.

    Returns:
        The run, and how many further looks there were.

    Raises:
        Refused: it is not.
    """
    source = (pull.head_repository or "").lower()
    own = [
        run
        for run in client.workflow_runs_of(pull.head_sha)
        if run.event == "pull_request"
        and run.head_sha == pull.head_sha
        and source
        and (run.head_repository or "").lower() == source
    ]
    run = next((run for run in own if run.id == run_id), None)
    if run is None:
        raise Refused("the run that wrote the result is not a run of this pull request any more.")
    looks = sum(each.attempt for each in own if each.path == run.path) - 1
    if looks >= FURTHER_LOOKS:
        raise Refused(
            f"this commit was looked at {looks + 1} times already, and asking until the answer pleases proves nothing. "
            "A new commit is looked at afresh."
        )
    if run.status != "completed":
        raise Refused("the run has not ended yet.")
    return run, looks


def _write_notes(
    client: GitHub, comments: list[IssueComment], note: RequestNote, author: str
) -> list[tuple[IssueComment, str]]:
    """Put the note into each comment where it finds room; the comments as they were, with what they now say."""
    written = []
    for each in comments:
        body = with_note(each.body, note, author)
        if len(body.encode("utf-16-le")) // 2 <= _COMMENT_LIMIT:
            client.edit_comment(each.id, body)
            written.append((each, body))
    return written


def _take_back(client: GitHub, number: int, written: list[tuple[IssueComment, str]]) -> None:
    """Take the notes out again, unless somebody wrote the comment meanwhile."""
    now = {each.id: each.body.replace("\r\n", "\n").rstrip() for each in client.comments(number)}
    for each, body in written:
        if now.get(each.id) == body.rstrip():
            client.edit_comment(each.id, each.body)
