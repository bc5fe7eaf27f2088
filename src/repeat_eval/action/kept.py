"""The store in a step: history and base from it, this run into it. Its troubles are said and never turn the gate."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING

import msgspec

from repeat_eval.action.job import Job
from repeat_eval.action.which_base import WhichBase
from repeat_eval.errors import RepeatEvalError
from repeat_eval.github.errors import GitHubError
from repeat_eval.github.key import comment_key
from repeat_eval.github.trouble import trouble
from repeat_eval.records.run import Run

if TYPE_CHECKING:
    from repeat_eval.analysis.report import Report
    from repeat_eval.records.stored import StoredRun
    from repeat_eval.steps.recording import Recording

OLD_DAYS = 14
"""From this age on a stored base is warned of."""


class Kept:
    """What the store holds of one suite.

    `troubles` are sentences for the log; they have not been said yet. `warnings` belong into the report.
    """

    def __init__(self, job: Job, suite: str) -> None:
        self._job = job
        self.key = comment_key([suite], sorted(job.inputs.matrix.items()), job.inputs.key)
        self.troubles: list[str] = []
        self.warnings: list[str] = []

    @cached_property
    def runs(self) -> tuple[StoredRun, ...]:
        """The stored runs, oldest first; none where there is no store, or it cannot be read."""
        job = self._job
        if job.inputs.store == "off":
            return ()
        if job.client is None:
            self.troubles.append("the store needs a token, and there is none")
            return ()
        from repeat_eval.github.store import load

        try:
            return load(job.client, self.key, branch=job.inputs.store_branch).runs
        except RepeatEvalError as error:
            self._trouble("the store was not read", error)
            return ()

    def base(self, wanted: WhichBase, *, screens: bool = False) -> tuple[Run | None, str | None]:
        """The stored run to compare with, or why there is none; one that only `screens` may be of any age."""
        job = self._job
        if wanted.commit is None:
            return None, wanted.reason or "the event names no base"
        if not self.runs or job.client is None:
            return None, "the store has no run of this suite yet"
        from repeat_eval.github.store import nearest
        from repeat_eval.records.stored import run_of_stored

        try:
            found = nearest(job.client, self.runs, wanted.commit, selection=bool(job.inputs.case or job.inputs.tag))
        except GitHubError as error:
            self._trouble("base was not looked up in the store", error)
            return None, "the store could not be asked"
        if found is None:
            return None, f"the store has no run of {wanted.commit[:7]} or of a commit shortly before it"
        behind = f", {found.behind} commits before base" if found.behind > 1 else ""
        behind = ", one commit before base" if found.behind == 1 else behind
        job.log.say(f"base is the stored run of {found.run.commit}{behind}, run on {found.run.started[:10]}")
        if not screens:
            self._warn_of_age(found.run)
        return run_of_stored(found.run), None

    def add(self, report: Report, recording: Recording) -> None:
        """Put this run into the store, with its badges where they are asked for."""
        job = self._job
        if job.inputs.store != "write" or job.client is None:
            return
        if not job.context.may_write_store:
            job.log.say("store: not written, this is no push to, schedule or dispatch of the default branch")
            return
        commit = report.provenance.commit or job.context.sha
        if commit != job.context.sha:
            self.troubles.append("the store was not written: what was tested is not the commit of this run")
            return
        from repeat_eval.analysis.history import stored_run
        from repeat_eval.github.store import save

        files = {}
        if job.inputs.badge:
            from repeat_eval.reports.badge import badge_files

            files = badge_files(report)
        try:
            run = stored_run(
                report,
                recording.header,
                recording.trials,
                commit=commit,
                run=job.context.run_id,
                attempt=job.context.run_attempt,
            )
            saved = save(job.client, job.context, run, self.key, branch=job.inputs.store_branch, files=files)
        except RepeatEvalError as error:
            self._trouble("the store was not written", error)
        except msgspec.ValidationError as error:
            self.troubles.append(f"the store was not written: {error}")
        else:
            job.log.say(f"store: this run is commit {saved[:7]} of {job.inputs.store_branch}")

    def _warn_of_age(self, run: StoredRun) -> None:
        try:
            days = (datetime.now(UTC) - datetime.fromisoformat(run.started)).days
        except ValueError:
            return  # no day of the calendar; the report shows what is written there
        if days >= OLD_DAYS:
            self.warnings.append(
                f"base is the stored run of {run.commit[:7]} and {days:,} days old: what the provider changed "
                "since then looks like a change of head"
            )

    def _trouble(self, what: str, error: RepeatEvalError) -> None:
        self.troubles.append(trouble(what, error) if isinstance(error, GitHubError) else f"{what}: {error}")
