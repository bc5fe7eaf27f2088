"""Which commit is base."""

from __future__ import annotations

import pytest
from github_events import BASE, HEAD, MERGE, PUSHED, QUEUED, context

from repeat_eval.github.base_commit import BasePlan, plan_base, with_merge_base, with_parents

OTHER = "d" * 40
NEWER_BASE = "8" * 40


def test_a_tested_merge_is_compared_with_its_first_parent() -> None:
    plan = plan_base(context("pull_request"))
    assert (plan.kind, plan.commit, plan.branch) == ("first-parent", MERGE, "main")
    assert with_parents(plan, [NEWER_BASE, HEAD]) == BasePlan(kind="commit", commit=NEWER_BASE, branch="main")


def test_githubs_own_merge_may_be_of_a_newer_head_than_the_event() -> None:
    assert with_parents(plan_base(context("pull_request")), [BASE, OTHER]).commit == BASE


def test_a_tested_head_is_compared_with_the_merge_base() -> None:
    plan = plan_base(context("pull_request"), tested=HEAD)
    assert (plan.kind, plan.commit, plan.head, plan.branch) == ("merge-base", BASE, HEAD, "main")
    assert with_merge_base(plan, OTHER) == BasePlan(kind="commit", commit=OTHER, branch="main")


@pytest.mark.parametrize("found", [None, HEAD])
def test_a_head_is_never_compared_with_itself_or_a_stranger(found: str | None) -> None:
    base = with_merge_base(plan_base(context("pull_request"), tested=HEAD), found)
    assert base.kind == "none"
    assert base.reason


def test_another_commit_must_be_a_merge_of_the_pull_requests_head() -> None:
    plan = plan_base(context("pull_request"), tested=OTHER)
    assert with_parents(plan, [BASE, HEAD]).commit == BASE
    assert "neither the pull request's head" in str(with_parents(plan, [BASE, PUSHED]).reason)
    assert "not a merge" in str(with_parents(plan, [BASE]).reason)


def test_a_push_is_compared_with_what_was_there_before() -> None:
    assert plan_base(context("push")) == BasePlan(kind="commit", commit=BASE, branch="main")


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("push_new_branch", "new"),
        ("push_forced", "rewrote"),
        ("push_deleted", "earlier"),
        ("schedule", "earlier"),
        ("workflow_dispatch", "earlier"),
        ("workflow_run", "earlier"),
        ("issue_comment", "earlier"),
    ],
)
def test_where_there_is_no_base_it_is_said_why(name: str, reason: str) -> None:
    plan = plan_base(context(name))
    assert plan.kind == "none"
    assert reason in str(plan.reason)


def test_a_merge_group_is_compared_with_what_it_is_put_on() -> None:
    assert plan_base(context("merge_group")) == BasePlan(kind="commit", commit=BASE, branch="main")
    assert context("merge_group").sha == QUEUED


def test_a_queue_of_a_branch_with_slashes_is_named_whole() -> None:
    read = context("merge_group", GITHUB_REF="refs/heads/gh-readonly-queue/release/1.x/pr-7-abc")
    assert plan_base(read).branch == "release/1.x"


@pytest.mark.parametrize("name", ["push", "merge_group"])
def test_a_checkout_of_something_else_has_no_base(name: str) -> None:
    plan = plan_base(context(name), tested=OTHER)
    assert plan.kind == "none"
    assert "not the event's" in str(plan.reason)
