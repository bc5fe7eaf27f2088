"""Which commit base is, for the event at hand. What the event does not say is asked of git, then of GitHub."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from repeat_eval.action.job import Job
from repeat_eval.github.base_commit import BasePlan, plan_base, with_merge_base, with_parents
from repeat_eval.records.revision import ask_git, commit_of

_PARENT = re.compile(r"^parent ([0-9a-f]{40,64})$", re.MULTILINE)
_QUIET = frozenset({"schedule", "workflow_dispatch"})
"""Events that have no base by their nature; nobody needs to be told."""


@dataclass(frozen=True, slots=True)
class WhichBase:
    """The commit of base, or why there is none. `expected`: whether its absence is worth a warning."""

    commit: str | None
    reason: str | None = None
    expected: bool = True


def which_base(job: Job) -> WhichBase:
    """The commit to compare with. Raises nothing: without an answer there is no base, and the reason is told."""
    from repeat_eval.github.errors import GitHubError

    tested = commit_of(job.folder)
    plan = plan_base(job.context, tested)
    try:
        if plan.kind == "first-parent":
            plan = with_parents(plan, _parents(job, plan.commit or ""))
        elif plan.kind == "merge-base":
            plan = with_merge_base(plan, _merge_base(job, plan))
    except GitHubError as error:
        return WhichBase(None, f"GitHub did not say which commit base is: {error}")
    if plan.commit is None or plan.kind != "commit":
        return WhichBase(None, plan.reason, job.context.event not in _QUIET)
    return WhichBase(plan.commit)


def _parents(job: Job, commit: str) -> tuple[str, ...]:
    """The parents of a commit, read from the commit itself: a shallow clone knows it, and hides them otherwise."""
    text = ask_git(job.folder, "cat-file", "commit", commit)
    if text is not None:
        return tuple(_PARENT.findall(text.partition("\n\n")[0]))
    return tuple(job.client.commit(commit).parents) if job.client is not None else ()


def _merge_base(job: Job, plan: BasePlan) -> str | None:
    head, others = plan.head or "", [other for other in (plan.branch, plan.commit) if other]
    if job.client is not None:
        return _first(others, lambda other: _compared(job, other, head))
    local = [f"refs/remotes/origin/{plan.branch}", plan.commit or ""]
    return _first(local, lambda other: ask_git(Path(job.folder), "merge-base", other, head))


def _first(others: list[str], ask: Callable[[str], str | None]) -> str | None:
    return next((found for other in others if (found := ask(other))), None)


def _compared(job: Job, base: str, head: str) -> str | None:
    from repeat_eval.github.errors import GitHubError

    assert job.client is not None  # noqa: S101 - the caller looked
    try:
        return job.client.compare(base, head).merge_base
    except GitHubError as error:
        if error.status == 404:
            return None  # the branch is gone, or has nothing in common with head
        raise
