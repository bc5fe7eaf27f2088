"""One comment on a pull request: found again, edited in place, safe against other jobs."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from github_reports import case_report, compared, report
from server import faults
from server.web import GitHubServer

from repeat_eval.github.annotations import Annotation
from repeat_eval.github.answers import IssueComment
from repeat_eval.github.checks import open_check
from repeat_eval.github.client import GitHub
from repeat_eval.github.comment import Published, publish_comment, worth_a_comment
from repeat_eval.github.marker import Marker, find_marker
from repeat_eval.reports.comment import render_comment

KEY = "refunds"


def client_of(server: GitHubServer) -> GitHub:
    return GitHub(server.state.repository, server.state.token, api_url=server.url, sleep=lambda seconds: None)


class Bench:
    """Pull request 1, and what is published there."""

    def __init__(self, server: GitHubServer) -> None:
        self.server = server
        self.state = server.state
        self.client = client_of(server)
        self.pauses: list[float] = []
        self.warnings: list[str] = []

    @property
    def head(self) -> str:
        return str(self.state.pulls[1]["head"]["sha"])

    def publish(self, text: str = "### Fine", *, client: Any = None, **more: Any) -> Published:
        settings = {"head": self.head, "run": 7, "attempt": 1, "sleep": self.pauses.append} | more
        return publish_comment(client or self.client, 1, KEY, lambda characters, size: text, **settings)

    def push(self) -> str:
        """A further commit on the pull request; the head until now."""
        before = self.head
        self.state.pulls[1]["head"]["sha"] = self.state.commit_files({"README.md": b"more\n"}, parents=[before])
        return before

    def bodies(self) -> list[str]:
        return [comment["body"] for comment in self.state.comments.values()]

    def marked(self, *, run: int = 1, head: str | None = None, key: str = KEY) -> str:
        return f"### Earlier\n{Marker(key, head or self.head, run, 1)}"

    def writes(self) -> list[str]:
        return [one.method for one in self.server.requests() if one.method != "GET"]


@pytest.fixture
def bench(github_server: GitHubServer) -> Bench:
    return Bench(github_server)


def test_the_first_comment_is_created_with_its_marker_at_the_end(bench: Bench) -> None:
    published = bench.publish("### Fine\n")
    (number,) = bench.state.comments
    assert published.action == "created"
    assert published.url is not None
    assert published.url.endswith(f"/pull/1#issuecomment-{number}")
    assert bench.bodies() == [f"### Fine\n{Marker(KEY, bench.head, 7, 1)}"]
    assert len(bench.server.requests()) == 4


def test_the_next_run_edits_it_in_place_with_three_requests(bench: Bench) -> None:
    first = bench.publish("### Worse")
    before = len(bench.server.requests())
    second = bench.publish("### Fine", run=8)
    assert (second.action, second.url) == ("edited", first.url)
    assert bench.bodies() == [f"### Fine\n{Marker(KEY, bench.head, 8, 1)}"]
    assert len(bench.server.requests()) - before == 3


def test_a_comment_that_says_the_same_already_is_not_written(bench: Bench) -> None:
    bench.publish("### Fine")
    before = bench.writes()
    again = bench.publish("### Fine")
    assert (again.action, bench.writes()) == ("unchanged", before)
    assert again.url is not None


def test_120_other_comments_before_ours_do_not_hide_it(bench: Bench) -> None:
    for number in range(120):
        bench.state.add_comment(1, f"comment {number}", login="octocat")
    ours = bench.state.add_comment(1, bench.marked())
    published = bench.publish("### Fine")
    assert published.action == "edited"
    assert len(bench.state.comments) == 121
    assert bench.state.comments[ours]["body"].startswith("### Fine")


def test_comments_of_others_are_never_touched_whatever_they_hold(bench: Bench) -> None:
    marked = bench.marked()
    others = {
        bench.state.add_comment(1, marked, login="octocat"): marked,
        bench.state.add_comment(1, f"> {marked}\n\nI agree", login="github-actions[bot]"): f"> {marked}\n\nI agree",
        bench.state.add_comment(1, bench.marked(key="other")): bench.marked(key="other"),
    }
    assert bench.publish("### Fine").action == "created"
    assert bench.publish("### Fine again", run=8).action == "edited"
    assert {number: bench.state.comments[number]["body"] for number in others} == others
    assert len(bench.state.comments) == len(others) + 1


def test_with_a_token_of_a_person_only_that_person_s_comment_is_ours(bench: Bench) -> None:
    bench.state.viewer, bench.state.viewer_is_integration = "Octo-Owner", False
    bot = bench.state.add_comment(1, bench.marked(), login="another[bot]")
    ours = bench.state.add_comment(1, bench.marked(), login="octo-owner")
    assert bench.publish("### Fine").action == "edited"
    assert bench.state.comments[ours]["body"].startswith("### Fine")
    assert bench.state.comments[bot]["body"] == bench.marked()


def test_with_the_token_of_an_app_the_comment_of_a_bot_is_ours(bench: Bench) -> None:
    bench.state.viewer = "our-evals[bot]"
    ours = bench.state.add_comment(1, bench.marked())
    assert bench.publish("### Fine").action == "edited"
    assert bench.state.comments[ours]["body"].startswith("### Fine")


def test_a_comment_about_a_commit_that_is_no_longer_the_head_is_not_written(bench: Bench) -> None:
    old = bench.push()
    published = bench.publish("### Old news", head=old)
    assert (published.action, published.url) == ("skipped", None)
    assert published.reason == f"the pull request has moved on to {bench.head[:7]}"
    assert bench.writes() == []


def test_a_closed_pull_request_gets_no_comment(bench: Bench) -> None:
    bench.state.pulls[1]["state"] = "closed"
    assert bench.publish().reason == "the pull request is closed"
    assert bench.writes() == []


@pytest.mark.parametrize(("run", "attempt"), [(6, 1), (7, 1)])
def test_an_older_run_that_finishes_last_does_not_overwrite(bench: Bench, run: int, attempt: int) -> None:
    newer = bench.publish("### New", run=7, attempt=2)
    older = bench.publish("### Old", run=run, attempt=attempt)
    assert (older.action, older.url, older.reason) == ("skipped", newer.url, "a later run has written it")
    assert bench.bodies() == [f"### New\n{Marker(KEY, bench.head, 7, 2)}"]


def test_news_about_the_head_overwrite_a_later_run_about_another_commit(bench: Bench) -> None:
    bench.state.add_comment(1, bench.marked(run=99, head="b" * 40))
    assert bench.publish("### Fine").action == "edited"


def test_a_push_during_the_writing_is_noticed_when_its_run_was_faster(bench: Bench) -> None:
    old = bench.head

    class Overtaken:
        """The client of a run that reads the pull request, and is overtaken by a push and its run."""

        def __getattr__(self, name: str) -> Any:
            return getattr(bench.client, name)

        def comments(self, number: int) -> Iterator[IssueComment]:
            if bench.head == old:
                bench.push()
                bench.publish("### New", run=8)
            return bench.client.comments(number)

    published = bench.publish("### Old", client=Overtaken(), head=old)
    assert published.action == "skipped"
    assert "moved on" in published.reason
    assert bench.bodies() == [f"### New\n{Marker(KEY, bench.head, 8, 1)}"]


class Racing:
    """A client whose first look at the comments waits until the other job has looked, too."""

    def __init__(self, client: GitHub, together: threading.Barrier) -> None:
        self._client = client
        self._together: threading.Barrier | None = together

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def comments(self, number: int) -> list[IssueComment]:
        seen = list(self._client.comments(number))
        if self._together is not None:
            self._together.wait(timeout=60)
            self._together = None
        return seen


def race(bench: Bench, *jobs: Callable[[Any], Published]) -> list[Published]:
    """Run the jobs at once, each sees no comment at first."""
    together = threading.Barrier(len(jobs))
    with ThreadPoolExecutor(len(jobs)) as pool:
        clients = [Racing(client_of(bench.server), together) for _ in jobs]
        return [
            done.result(timeout=60) for done in [pool.submit(job, one) for job, one in zip(jobs, clients, strict=True)]
        ]


def test_two_jobs_that_create_at_once_leave_one_comment_with_the_newest_text(bench: Bench) -> None:
    foreign = bench.state.add_comment(1, bench.marked(), login="octocat")
    for number in range(50):
        runs = random.Random(number).sample([7, 8], 2)
        jobs = [lambda client, run=run: bench.publish(f"### Run {run}", client=client, run=run) for run in runs]
        published = race(bench, *jobs)
        left = {key: value["body"] for key, value in bench.state.comments.items()}
        assert left.pop(foreign) == bench.marked()
        assert list(left.values()) == [f"### Run 8\n{Marker(KEY, bench.head, 8, 1)}"]
        assert {one.url for one in published if one.action != "skipped"} <= {f"{published[0].url}"}
        assert len(bench.server.requests("POST", "/comments")) == 2 * (number + 1)
        del bench.state.comments[next(iter(left))]


class Sharing:
    """A client that knows which jobs have read the comment and not written it yet; its pause waits for all of them."""

    def __init__(self, client: Any, changed: threading.Condition, busy: set[Sharing]) -> None:
        self._client = client
        self._changed = changed
        self._busy = busy

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def comments(self, number: int) -> list[IssueComment]:
        with self._changed:
            self._busy.add(self)
        return list(self._client.comments(number))

    def edit_comment(self, comment_id: int, body: str) -> None:
        self._client.edit_comment(comment_id, body)
        self.rest()

    def rest(self) -> None:
        with self._changed:
            self._busy.discard(self)
            self._changed.notify_all()

    def pause(self, seconds: float) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: not self._busy, timeout=60)


def test_three_jobs_that_share_a_comment_all_have_their_section_in_it(bench: Bench) -> None:
    changed, busy = threading.Condition(), set[Sharing]()

    def job(name: str) -> Callable[[Any], Published]:
        def publish(client: Any) -> Published:
            section = {name: lambda c, b: f"### {name}"}
            sharing = Sharing(client, changed, busy)
            settings: dict[str, Any] = {"head": bench.head, "run": 7, "attempt": 1, "sleep": sharing.pause}
            try:
                return publish_comment(sharing, 1, KEY, section, **settings)
            finally:
                sharing.rest()

        return publish

    for _ in range(10):
        race(bench, job("a"), job("b"), job("c"))
        (body,) = bench.bodies()
        assert sorted(line for line in body.splitlines() if line.startswith("###")) == ["### a", "### b", "### c"]
        assert find_marker(body) == Marker(KEY, bench.head, 7, 1)
        bench.state.comments.clear()


def test_a_duplicate_that_an_earlier_run_of_ours_left_is_deleted(bench: Bench) -> None:
    oldest = bench.state.add_comment(1, bench.marked(run=5))
    bench.state.add_comment(1, bench.marked(run=6))
    in_flight = bench.state.add_comment(1, bench.marked(run=9))
    assert bench.publish("### Fine").action == "edited"
    assert list(bench.state.comments) == [oldest, in_flight]


def test_a_comment_that_somebody_deletes_meanwhile_is_created_again(bench: Bench) -> None:
    ours = bench.state.add_comment(1, bench.marked())

    class Deleting:
        def __getattr__(self, name: str) -> Any:
            return getattr(bench.client, name)

        def edit_comment(self, comment_id: int, body: str) -> None:
            bench.state.comments.pop(ours, None)
            bench.client.edit_comment(comment_id, body)

    assert bench.publish("### Fine", client=Deleting()).action == "created"
    assert len(bench.bodies()) == 1


def test_several_suites_of_one_step_are_one_comment_and_one_write(bench: Bench) -> None:
    sections = {"a": lambda c, b: "### A", "b": lambda c, b: "### B"}
    published = publish_comment(bench.client, 1, "a + b", sections, head=bench.head, run=7, attempt=1)
    assert published.action == "created"
    assert bench.bodies()[0].index("### A") < bench.bodies()[0].index("### B")
    assert bench.writes() == ["POST"]


def test_an_existing_comment_and_a_check_with_50_annotations_take_six_requests(bench: Bench) -> None:
    bench.state.add_comment(1, bench.marked())
    annotations = [Annotation(f"case {n}: failed", "why", path="evals/a.yaml", line=1) for n in range(50)]
    with open_check(bench.client, bench.head, name="evals", run=7, attempt=1, warn=bench.warnings.append) as check:
        assert bench.publish("### Worse").action == "edited"
        check.complete("failure", "Worse", lambda limit: "### Worse", annotations)
    assert len(bench.server.requests()) == 6
    assert bench.warnings == []


def test_off_asks_github_nothing(bench: Bench) -> None:
    assert bench.publish(mode="off").action == "skipped"
    assert bench.server.requests() == []


def test_where_nothing_is_worth_a_comment_none_is_created_but_one_that_is_there_is_brought_up_to_date(
    bench: Bench,
) -> None:
    assert bench.publish("### Fine", mode="on-failure", worth_it=False).action == "skipped"
    assert bench.bodies() == []
    bench.publish("### Worse", mode="on-failure", worth_it=True)
    assert bench.publish("### Fine", mode="on-failure", worth_it=False, run=8).action == "edited"
    assert bench.bodies()[0].startswith("### Fine")


def test_which_reports_are_worth_a_comment() -> None:
    good = report(case_report("a", "pass"), verdict="pass")
    quiet = report(case_report("a", "pass"), verdict="pass", comparison=compared(verdict="no detectable change"))
    better = report(case_report("a", "pass"), verdict="pass", comparison=compared("a", verdict="improved"))
    gone = report(
        case_report("a", "pass"), verdict="pass", comparison=compared(verdict="no detectable change", removed=("b",))
    )
    bad, unknown = report(case_report("a", "fail")), report(case_report("a", "incomplete"), verdict="incomplete")
    every = [good, quiet, better, gone, bad, unknown]
    assert [worth_a_comment("always", [one]) for one in every] == [True] * 6
    assert [worth_a_comment("on-change", [one]) for one in every] == [False, False, True, True, True, True]
    assert [worth_a_comment("on-failure", [one]) for one in every] == [False, False, False, False, True, True]
    assert [worth_a_comment("off", [one]) for one in every] == [False] * 6
    assert worth_a_comment("on-failure", [good, bad])


def test_70000_characters_wanted_are_shed_and_arrive(bench: Bench) -> None:
    long = report(*[case_report(f"case {n} " + "ä🟡" * 40, "fail", message="because " * 40) for n in range(900)])
    asked: list[tuple[int, int]] = []

    def body_of(characters: int, size: int) -> str:
        asked.append((characters, size))
        return render_comment(long, limit_characters=characters, limit_bytes=size)

    assert len(render_comment(long, limit_characters=10**6, limit_bytes=10**7)) > 70_000
    published = publish_comment(bench.client, 1, KEY, body_of, head=bench.head, run=7, attempt=1)
    assert published.action == "created"
    (body,) = bench.bodies()
    assert len(body.encode("utf-16-le")) <= 2 * 65_536
    assert body.startswith("### ")
    assert find_marker(body) == Marker(KEY, bench.head, 7, 1)
    assert asked[0][0] < 65_536


def test_a_read_only_token_gives_one_sentence_with_the_permission(bench: Bench) -> None:
    bench.server.faults.append(faults.forbidden("POST", "/comments", times=99))
    published = bench.publish()
    assert (published.action, published.url) == ("failed", None)
    assert published.reason.startswith("the comment was not written")
    assert "pull-requests: write" in published.reason
    assert "\n" not in published.reason
    assert bench.state.token not in published.reason


@pytest.mark.parametrize("trouble", [faults.broken(times=99), faults.unauthorized(times=99), faults.cut(times=99)])
def test_no_trouble_with_github_is_raised(bench: Bench, trouble: faults.Fault) -> None:
    bench.server.faults.append(trouble)
    published = bench.publish()
    assert published.action == "failed"
    assert published.reason
    trouble.times = 0


def test_a_look_that_fails_after_the_comment_was_created_does_not_deny_it(bench: Bench) -> None:
    class Failing:
        looks = 0

        def __getattr__(self, name: str) -> Any:
            return getattr(bench.client, name)

        def comments(self, number: int) -> Iterator[IssueComment]:
            self.looks += 1
            if self.looks == 2:
                bench.server.faults.append(faults.unauthorized("GET", "/comments", times=99))
            return bench.client.comments(number)

    published = bench.publish("### Fine", client=Failing())
    (number,) = bench.state.comments
    assert published.action == "created"
    assert (published.url or "").endswith(f"#issuecomment-{number}")
    assert "is not known" in published.reason


def test_a_section_that_another_job_overwrites_meanwhile_is_written_again(bench: Bench) -> None:
    first = {"a": lambda c, b: "### a"}
    settings: dict[str, Any] = {"head": bench.head, "run": 7, "attempt": 1}
    publish_comment(bench.client, 1, KEY, first, **settings)
    (before,) = bench.bodies()
    number = next(iter(bench.state.comments))

    def overwritten(seconds: float) -> None:
        """The other job read the comment before ours was in it, and writes now."""
        if not bench.pauses:
            bench.state.comments[number]["body"] = before
        bench.pauses.append(seconds)

    published = publish_comment(bench.client, 1, KEY, {"b": lambda c, b: "### b"}, **settings, sleep=overwritten)
    assert published.action == "edited"
    assert len(bench.pauses) == 2
    assert "### a" in bench.bodies()[0]
    assert "### b" in bench.bodies()[0]


def test_a_duplicate_that_cannot_be_deleted_is_said_beside_the_written_comment(bench: Bench) -> None:
    bench.state.add_comment(1, bench.marked(run=5))
    bench.state.add_comment(1, bench.marked(run=6))
    bench.server.faults.append(faults.forbidden("DELETE", "/comments/", times=99))
    published = bench.publish("### Fine")
    assert published.action == "edited"
    assert "a second comment of ours was not deleted" in published.reason
