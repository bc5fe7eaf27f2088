"""What the people of a pull request see: summary, outputs, comment, check and status. None of it turns the gate."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from repeat_eval.action.job import Job
from repeat_eval.analysis.report import Report
from repeat_eval.github.commands import write_outputs
from repeat_eval.github.key import comment_key
from repeat_eval.github.step_summary import add_to_summary, summary_room
from repeat_eval.reports import comparison_wording as words
from repeat_eval.reports import wording
from repeat_eval.reports.comment import CommentLinks, render_comment
from repeat_eval.reports.escape import markdown, terminal
from repeat_eval.steps.sides import root_of

if TYPE_CHECKING:
    from repeat_eval.github.checks import OpenCheck
    from repeat_eval.github.comment_body import BodyOf
    from repeat_eval.github.status import State


class Surfaces:
    """Everything that is published for one step."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._check: OpenCheck | None = None
        self.comment_url = ""
        self.troubles: list[str] = []

    @contextlib.contextmanager
    def opened(self) -> Iterator[None]:
        """While the work goes on: the check is in progress, the status is pending. Both end with the block."""
        job, client = self._job, self._job.client
        with contextlib.ExitStack() as stack:
            if job.inputs.check and client is not None:
                from repeat_eval.github.checks import open_check

                self._check = stack.enter_context(
                    open_check(
                        client,
                        job.context.head_sha,
                        name=job.inputs.check_name,
                        run=job.context.run_id,
                        attempt=job.context.run_attempt,
                        warn=self._trouble,
                        details_url=job.context.run_url,
                        first=job.context.first_at_commit,
                    )
                )
            if (job.inputs.check or job.inputs.status) and client is None:
                self._trouble("check and status need a token, and there is none")
            yield

    def publish(self, report: Report, reproduce: str | None) -> None:
        """Summary, comment, check and status of a report."""
        job = self._job
        root = root_of(job.folder)
        report = placed(report, job.folder, root)

        def body(characters: int, size: int) -> str:
            return render_comment(
                report,
                base_name=job.base_name,
                head_name="this PR" if job.context.number is not None else "this commit",
                links=CommentLinks(full_report=job.context.run_url, blob=job.context.blob_url),
                reproduce=reproduce,
                head_commit=job.context.head_sha,
                limit_characters=characters,
                limit_bytes=size,
            )

        from repeat_eval.github.comment import worth_a_comment
        from repeat_eval.github.look_data import pack_looks

        self._summary(lambda room: body(room, room))
        looks = pack_looks(report.looks)
        if report.looks and not looks:
            job.log.say("comment: no room to keep what this look found; a further look then runs the whole suite")
        self._comment(report.suite, body, worth_it=worth_a_comment(job.inputs.comment, [report]), looks=looks)
        if self._check is not None:
            from repeat_eval.github.annotations import annotations_of
            from repeat_eval.github.checks import CONCLUSIONS

            annotations = annotations_of(report, root, limit=200)
            title = first_line(report, job.base_name)
            self._check.complete(CONCLUSIONS[report.verdict], title, lambda limit: body(limit, limit), annotations)
        from repeat_eval.github.status import STATES

        self._status(STATES[report.verdict], first_line(report, job.base_name))

    def not_evaluated(self, sentence: str, *, green: bool, comment: bool = True) -> None:
        """The same surfaces when nothing was run on purpose; `sentence` goes on from "Not evaluated:".

        Without `comment` the comment stays as it is.
        """
        line = f"### {'⚪' if green else '⚠️'} Not evaluated: {markdown(sentence)}\n"
        self._summary(lambda room: line)
        name = self._job.inputs.suite or self._job.inputs.name or "command"
        if comment:
            self._comment(Path(name).stem, lambda characters, size: line, worth_it=self._job.inputs.comment == "always")
        if self._check is not None:
            title = f"Not evaluated: {sentence}"
            self._check.complete("success" if green else "failure", title, lambda limit: line)
        self._status("success" if green else "error", f"Not evaluated: {sentence}")

    def outputs(self, values: Mapping[str, str]) -> None:
        """Write the outputs."""
        path = self._job.environ.get("GITHUB_OUTPUT")
        if not path:
            return
        try:
            write_outputs(Path(path), values)
        except OSError as error:
            self._trouble(f"the outputs were not written: {error.strerror}")

    def _summary(self, render: Callable[[int], str]) -> None:
        path = self._job.environ.get("GITHUB_STEP_SUMMARY")
        if not path or not self._job.inputs.summary:
            return
        try:
            add_to_summary(Path(path), render(summary_room(Path(path))))
        except OSError as error:
            self._trouble(f"the job summary was not written: {error.strerror}")

    def _comment(self, suite: str, body: BodyOf, *, worth_it: bool, looks: str = "") -> None:
        job = self._job
        if job.inputs.comment == "off" or job.context.number is None:
            return
        if job.client is None:
            self._trouble("the comment needs a token, and there is none")
            return
        from repeat_eval.github.comment import publish_comment

        published = publish_comment(
            job.client,
            job.context.number,
            comment_key([suite], sorted(job.inputs.matrix.items()), job.inputs.key),
            body,
            head=job.context.head_sha,
            run=job.context.run_id,
            attempt=job.context.run_attempt,
            mode=job.inputs.comment,
            worth_it=worth_it,
            looks=looks,
        )
        self.comment_url = published.url or ""
        if published.action == "failed":
            self._trouble(published.reason)
        elif published.reason:
            job.log.say(f"comment: {published.reason}")

    def _status(self, state: State, description: str) -> None:
        job = self._job
        if not job.inputs.status or job.client is None:
            return
        from repeat_eval.github.status import publish_status

        trouble = publish_status(
            job.client,
            job.context.head_sha,
            state,
            context=f"{job.inputs.check_name} status",
            description=description,
            target_url=job.context.run_url,
        )
        if trouble:
            self._trouble(trouble)

    def trouble(self, texts: Iterable[str]) -> None:
        """Say what else could not be published."""
        for text in texts:
            self._trouble(text)

    def _trouble(self, text: str) -> None:
        self.troubles.append(text)
        self._job.log.warning(text)


def placed(report: Report, folder: Path, root: Path) -> Report:
    """The report with its cases' files seen from the root of the repository, as links and annotations need them.

    Args:
        report: its files are relative to `folder`, where it was made. root: the root of the checkout.
    """
    files: dict[str | None, str | None] = {None: None}
    for case in report.case_reports:
        if case.file is not None and case.file not in files:
            path = (folder / case.file).resolve()
            files[case.file] = path.relative_to(root).as_posix() if path.is_relative_to(root) else None
    cases = tuple(msgspec.structs.replace(case, file=files[case.file]) for case in report.case_reports)
    return msgspec.structs.replace(report, case_reports=cases)


def first_line(report: Report, base: str) -> str:
    """The comment's first line as plain text."""
    told = words.headline(report, terminal(base, 100), name=wording.quoted, prose=terminal)
    return f"{told.sign} {told.text}"
