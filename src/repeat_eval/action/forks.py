"""`mode: publish`: the comment for a run that had no right to write it, from the report that it uploaded.

The run was the pull request's own: all that it uploaded may be made up. So GitHub is asked what it was about, its
counts are judged anew, the comment says who reported, and neither check nor status is ever set.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from repeat_eval.action.answered import Answered
from repeat_eval.action.job import Job
from repeat_eval.action.outputs import outputs_of
from repeat_eval.action.rejudge import rejudged
from repeat_eval.action.relooked import is_further, published_looks, relooked
from repeat_eval.action.uploaded import ARCHIVE_BYTES, read_uploaded
from repeat_eval.analysis.report import Look, Report
from repeat_eval.errors import ExitCode, UserError
from repeat_eval.github.comment import publish_comment, worth_a_comment
from repeat_eval.github.errors import GitHubError
from repeat_eval.github.key import comment_key
from repeat_eval.github.look_data import pack_looks
from repeat_eval.reports.comment import CommentLinks, render_comment
from repeat_eval.reports.escape import terminal

if TYPE_CHECKING:
    from repeat_eval.github.answers import Artifact, PullRequest
    from repeat_eval.github.client import GitHub
    from repeat_eval.github.event import FinishedRun

MOST_REPORTS = 10
"""Reports of one run that are published, one a matrix leg."""
HEADING = (
    "_Reported by the pull request's own workflow. The verdict below was made anew from its counts; "
    "whether those are true is for that workflow to answer._\n\n"
)


def publish_uploaded(job: Job) -> Answered:
    """Write the comments about a finished run's uploaded reports.

    Raises:
        UserError: this is no `workflow_run` job, or there is no token.
        GitHubError: GitHub does not say which pull request it is, or what the run uploaded.
    """
    finished, client = job.context.finished_run, job.client
    if finished is None:
        raise UserError(f"`mode: publish` belongs into a job on workflow_run; this one is on {job.context.event}")
    if client is None:
        raise UserError("`mode: publish` needs a token, and there is none")
    pull = _pull_request(job, client, finished)
    if pull is None:
        return Answered(ExitCode.PASSED)
    artifacts = _artifacts(client.artifacts(finished.id), finished)
    if not artifacts:
        job.log.notice(
            f"Nothing to publish: the run uploaded no report named repeat-eval-report-{finished.id}-{finished.attempt}"
        )
        return Answered(ExitCode.PASSED)
    return _publish_all(job, client, pull, finished, artifacts)


def _publish_all(
    job: Job, client: GitHub, pull: PullRequest, finished: FinishedRun, artifacts: list[tuple[str, Artifact]]
) -> Answered:
    """Write a comment a report. One that cannot be used does not keep the others back."""
    code, outputs = ExitCode.PASSED, {}
    for leg, artifact in artifacts:
        try:
            told = read_uploaded(client.download_artifact(artifact.id, limit=ARCHIVE_BYTES))
            report = rejudged(told, attempt=finished.attempt)
        except (UserError, GitHubError) as error:
            job.log.error(f"Not published: {terminal(_reason(error), 500)}")
            code = ExitCode.INCOMPLETE
            continue
        key = _key(job, report, leg)
        report = _as_look(job, client, pull, finished, key=key, told=told, judged=report)
        url, written = _comment(job, client, pull, finished, key=key, report=report)
        if not written and job.inputs.fail_on_publish_error and code == ExitCode.PASSED:
            code = ExitCode.PUBLISHING_FAILED
        outputs = outputs_of(report, report_dir="", exit_code=code, attempt=finished.attempt)
        outputs |= {"report-dir": "", "report-json": "", "junit": "", "commit": "", "comment-url": url}
    return Answered(code, outputs)


def _reason(error: UserError | GitHubError) -> str:
    return error.problems[0].message if isinstance(error, UserError) else str(error)


def _pull_request(job: Job, client: GitHub, finished: FinishedRun) -> PullRequest | None:
    """The one open pull request of that repository, branch and commit; None, said in the log, when there is not one."""
    if finished.event != "pull_request":
        job.log.notice(f"Nothing to publish: that run was started by {terminal(finished.event, 60)}")
        return None
    if finished.head_repository is None:
        job.log.notice("Nothing to publish: the repository of the pull request is gone")
        return None
    source = finished.head_repository.lower()
    found = [
        pull
        for pull in client.open_pull_requests(finished.head_repository.partition("/")[0], finished.head_branch)
        if (pull.head_repository or "").lower() == source
        and pull.head_ref == finished.head_branch
        and pull.head_sha == finished.head_sha
    ]
    if len(found) == 1:
        return found[0]
    if found:
        # Each is compared with another base, and which one this run tested only the run itself could tell.
        bases = ", ".join(sorted(terminal(pull.base_ref, 60) for pull in found))
        job.log.warning(f"Not published: this commit is the head of {len(found)} pull requests, into {bases}")
    else:
        job.log.notice("Nothing to publish: no open pull request has that repository, branch and commit any more")
    return None


def _artifacts(listed: list[Artifact], finished: FinishedRun) -> list[tuple[str, Artifact]]:
    """The reports of this very attempt, each with the name of its matrix leg, which may be empty."""
    pattern = re.compile(rf"repeat-eval-report(?:-(?P<leg>[A-Za-z0-9_. -]{{1,100}}))?-{finished.id}-{finished.attempt}")
    named = ((pattern.fullmatch(artifact.name), artifact) for artifact in listed if not artifact.expired)
    found = [(match["leg"] or "", artifact) for match, artifact in named if match is not None]
    return sorted(found, key=lambda each: (each[0], each[1].id))[:MOST_REPORTS]


def _key(job: Job, report: Report, leg: str) -> str:
    matrix = sorted(job.inputs.matrix.items()) or ([("leg", leg)] if leg else [])
    return comment_key([report.suite], matrix, job.inputs.key)


def _as_look(
    job: Job, client: GitHub, pull: PullRequest, finished: FinishedRun, *, key: str, told: Report, judged: Report
) -> Report:
    """The report with the looks before it, so that the comment says what the run's own job said."""
    earlier: tuple[Look, ...] = ()
    if is_further(told, finished):
        troubles: list[str] = []
        earlier = published_looks(client, pull.number, key, finished, troubles)
        for trouble in troubles:
            job.log.say(trouble)
    own = (finished.head_repository or "").lower() == job.context.repository.lower()
    return relooked(judged, told, earlier, base=pull.base_ref, part=own)


def _comment(
    job: Job, client: GitHub, pull: PullRequest, finished: FinishedRun, *, key: str, report: Report
) -> tuple[str, bool]:
    """Write one comment; its address and whether all went well."""
    context = job.context
    page = f"{context.server_url}/{context.repository}/actions/runs/{finished.id}/attempts/{finished.attempt}"

    def body(characters: int, size: int) -> str:
        return HEADING + render_comment(
            report,
            base_name=pull.base_ref,
            links=CommentLinks(full_report=page),
            head_commit=finished.head_sha,
            limit_characters=characters - len(HEADING),
            limit_bytes=size - len(HEADING.encode()),
        )

    published = publish_comment(
        client,
        pull.number,
        key,
        body,
        head=finished.head_sha,
        run=finished.id,
        attempt=finished.attempt,
        mode=job.inputs.comment,
        worth_it=worth_a_comment(job.inputs.comment, [report]),
        looks=pack_looks(report.looks),
    )
    if published.action == "failed":
        job.log.warning(published.reason)
    elif published.reason:
        job.log.say(f"comment: {published.reason}")
    return published.url or "", published.action != "failed"
