"""Which commit a run is compared with. What only git or GitHub knows is asked for by the plan and put in afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from repeat_eval.github.event import Context, PullRequestEvent

Kind = Literal["commit", "first-parent", "merge-base", "none"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BasePlan:
    """How base is found.

    `commit` is known at once; `first-parent` and `merge-base` need an answer first: `with_parents`, `with_merge_base`.

    Attributes:
        kind: how.
        commit: `commit`: base itself. `first-parent`: the merge commit whose parents are asked for. `merge-base`: a
            commit of the base branch, to be asked about where the branch cannot be.
        head: `first-parent`: what the second parent must be, None for any. `merge-base`: the other side.
        branch: the branch that base is on, where it is known. The merge base is that of its newest commit and `head`.
        reason: why there is no base; only with `none`.
    """

    kind: Kind
    commit: str | None = None
    head: str | None = None
    branch: str | None = None
    reason: str | None = None


def plan_base(context: Context, tested: str | None = None) -> BasePlan:
    """The plan for an event: a merge was tested → its first parent; a head was tested → the merge base; a push → what
    was there before; a merge group → what it is put on.

    Args:
        context: the event.
        tested: the commit that is checked out; None for the one that GitHub says is tested.
    """
    tested = tested or context.sha
    if context.pull_request is not None:
        return _pull_request(context.pull_request, context.sha, tested)
    if context.activity == "merge-queue":
        branch = _queue_branch(context.ref)
        return _elsewhere(tested, context.sha) or _commit(context.queue_base, tested, branch)
    if context.event == "push" and context.activity == "branch":
        return _elsewhere(tested, context.sha) or _push(context, tested)
    return _none(f"{context.event} says nothing of an earlier commit")


def with_parents(plan: BasePlan, parents: Sequence[str]) -> BasePlan:
    """A `first-parent` plan with the parents of its commit, read from the commit object: `commit` or `none`."""
    if len(parents) != 2:
        return _none(f"the tested commit {_short(plan.commit)} is not a merge of two commits")
    if plan.head is not None and parents[1] != plan.head:
        return _none(
            f"the tested commit {_short(plan.commit)} is neither the pull request's head {_short(plan.head)} nor its "
            "merge into base"
        )
    return BasePlan(kind="commit", commit=parents[0], branch=plan.branch)


def with_merge_base(plan: BasePlan, found: str | None) -> BasePlan:
    """A `merge-base` plan with the commit that was found, None for none: `commit` or `none`."""
    if found is None:
        return _none(
            f"the pull request's head {_short(plan.head)} has no commit in common with {plan.branch or 'base'}"
        )
    if found == plan.head:
        return _none(f"the pull request's head {_short(plan.head)} is already part of {plan.branch or 'base'}")
    return BasePlan(kind="commit", commit=found, branch=plan.branch)


def _pull_request(pull_request: PullRequestEvent, sha: str, tested: str) -> BasePlan:
    head, branch = pull_request.head_sha, pull_request.base_ref or None
    if tested == head:
        return BasePlan(kind="merge-base", commit=pull_request.base_sha, head=head, branch=branch)
    # GitHub's own merge may be of a head that is newer than the event; any other commit has to prove what it is.
    return BasePlan(kind="first-parent", commit=tested, head=None if tested == sha else head, branch=branch)


def _push(context: Context, tested: str) -> BasePlan:
    branch = context.ref.removeprefix("refs/heads/") if context.ref.startswith("refs/heads/") else None
    if context.forced:
        return _none("the push rewrote the branch, so the commit before it is not part of its history")
    if context.before is None:
        return _none("the branch or tag is new, so there is no commit before the push")
    return _commit(context.before, tested, branch)


def _queue_branch(ref: str) -> str | None:
    # refs/heads/gh-readonly-queue/main/pr-1-<sha>: the branch may itself hold slashes.
    prefix = "refs/heads/gh-readonly-queue/"
    return (ref.removeprefix(prefix).rpartition("/")[0] or None) if ref.startswith(prefix) else None


def _elsewhere(tested: str, sha: str) -> BasePlan | None:
    if tested == sha:
        return None
    return _none(f"the commit that is checked out, {_short(tested)}, is not the event's {_short(sha)}")


def _commit(commit: str | None, tested: str, branch: str | None) -> BasePlan:
    if commit == tested:
        return _none("the commit before is the tested one")
    return BasePlan(kind="commit", commit=commit, branch=branch)


def _none(reason: str) -> BasePlan:
    return BasePlan(kind="none", reason=reason)


def _short(sha: str | None) -> str:
    return (sha or "")[:7]
