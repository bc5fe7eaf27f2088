from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from server import faults
from server.web import GitHubServer, running

from repeat_eval.errors import UserError
from repeat_eval.github.answers import WorkflowRun
from repeat_eval.github.client import GitHub
from repeat_eval.github.errors import GitHubError


@dataclass
class Clock:
    """Time that passes only while somebody sleeps."""

    now: float = 0.0
    slept: list[float] = field(default_factory=list)

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def connect(server: GitHubServer, clock: Clock, **more: Any) -> GitHub:
    settings = {"token": server.state.token, "api_url": server.url, "sleep": clock.sleep, "clock": clock, **more}
    return GitHub(server.state.repository, **settings)


@pytest.fixture
def client(github_server: GitHubServer, clock: Clock) -> Iterator[GitHub]:
    made = connect(github_server, clock)
    yield made
    made.close()


def head_of(server: GitHubServer) -> str:
    return str(server.state.pulls[1]["head"]["sha"])


def base_of(server: GitHubServer) -> str:
    return server.state.refs["refs/heads/main"]


# Comments and pull requests


def test_a_comment_is_written_changed_and_deleted_with_one_request_each(
    client: GitHub, github_server: GitHubServer
) -> None:
    number = client.create_comment(1, "first")
    client.edit_comment(number, "second")
    assert [(each.id, each.body, each.user_login) for each in client.comments(1)] == [
        (number, "second", "github-actions[bot]")
    ]
    client.delete_comment(number)
    assert github_server.state.comments == {}
    assert [each.method for each in github_server.requests()] == ["POST", "PATCH", "GET", "DELETE"]


def test_comments_are_read_a_hundred_a_page_and_only_as_far_as_asked(
    client: GitHub, github_server: GitHubServer
) -> None:
    for index in range(205):
        github_server.state.add_comment(1, f"comment {index}", "someone")
    assert [each.body for each in client.comments(1)] == [f"comment {index}" for index in range(205)]
    assert [each.query["per_page"] for each in github_server.requests("GET")] == ["100"] * 3
    assert next(client.comments(1)).body == "comment 0"
    assert len(github_server.requests("GET")) == 4


def test_a_comment_that_is_gone_is_deleted_already_and_cannot_be_edited(client: GitHub) -> None:
    client.delete_comment(999)
    with pytest.raises(GitHubError) as caught:
        client.edit_comment(999, "text")
    assert caught.value.status == 404


def test_a_comment_beyond_the_limit_is_refused_with_githubs_reason(client: GitHub) -> None:
    client.create_comment(1, "x" * 65_536)
    with pytest.raises(GitHubError, match="too long") as caught:
        client.create_comment(1, "x" * 65_537)
    assert caught.value.status == 422


def test_a_pull_request_tells_head_base_and_repository(client: GitHub, github_server: GitHubServer) -> None:
    pull = client.pull_request(1)
    assert (pull.number, pull.state, pull.base_ref) == (1, "open", "main")
    assert (pull.head_sha, pull.base_sha) == (head_of(github_server), base_of(github_server))
    assert pull.head_repository == "octo/refunds"


def test_a_pull_request_from_a_deleted_fork_has_no_head_repository(client: GitHub, github_server: GitHubServer) -> None:
    github_server.state.add_pull(2, head="a" * 40, base="b" * 40, head_repository=None)
    assert client.pull_request(2).head_repository is None


def test_changed_files_hold_both_names_of_a_renamed_file(client: GitHub, github_server: GitHubServer) -> None:
    github_server.state.pull_files[1] = [
        {"filename": "prompts/b.txt", "previous_filename": "prompts/a.txt", "status": "renamed"},
        {"filename": "README.md", "status": "modified"},
    ]
    assert client.changed_files(1) == ["prompts/b.txt", "prompts/a.txt", "README.md"]


def test_an_apps_token_does_not_know_its_login_and_a_persons_does(client: GitHub, github_server: GitHubServer) -> None:
    assert client.viewer_login() is None
    github_server.state.viewer_is_integration = False
    github_server.state.viewer = "octocat"
    assert client.viewer_login() == "octocat"


# Checks, statuses, commits


def test_a_check_is_created_completed_and_found_by_its_name(client: GitHub, github_server: GitHubServer) -> None:
    head = head_of(github_server)
    number = client.create_check("refunds", head, status="in_progress", external_id="run 1")
    note = {"path": "a", "start_line": 1, "end_line": 1, "annotation_level": "failure", "message": "m"}
    output = {"title": "t", "summary": "s", "annotations": [note] * 50}
    client.update_check(number, status="completed", conclusion="failure", output=output)
    client.update_check(number, output={**output, "annotations": [note]})
    assert len(github_server.state.annotations[number]) == 51
    (found,) = client.checks(head, "refunds")
    assert (found.id, found.status, found.conclusion, found.external_id) == (number, "completed", "failure", "run 1")
    assert client.checks(head, "another") == []


def test_a_check_on_an_unknown_commit_is_refused(client: GitHub) -> None:
    with pytest.raises(GitHubError, match="No commit found") as caught:
        client.create_check("refunds", "0" * 40)
    assert caught.value.status == 422


def test_a_status_is_set_with_and_without_an_address(client: GitHub, github_server: GitHubServer) -> None:
    head = head_of(github_server)
    client.create_status(head, "pending", "refunds", "running", None)
    client.create_status(head, "success", "refunds", "passed", "https://example.org/1")
    assert [each["state"] for each in github_server.state.statuses] == ["pending", "success"]
    assert [each["target_url"] for each in github_server.state.statuses] == [None, "https://example.org/1"]


def test_a_commit_tells_its_parents_and_two_commits_their_merge_base(
    client: GitHub, github_server: GitHubServer
) -> None:
    state, base, head = github_server.state, base_of(github_server), head_of(github_server)
    later = state.commit_files({"README.md": b"refunds\n", "new.txt": b""}, parents=[base], branch="main")
    merge = state.commit_files({"README.md": b""}, parents=[later, head])
    assert client.commit(merge).parents == (later, head)
    found = client.compare("main", head)
    assert (found.merge_base, found.ahead, found.behind, found.files) == (base, 1, 1, ("README.md",))
    assert found.files_complete


# The store's operations


def test_an_orphan_branch_is_made_and_moved_by_compare_and_swap(client: GitHub, github_server: GitHubServer) -> None:
    assert client.ref("heads/eval/store") is None
    first = client.create_commit("first", client.create_tree({"a/b.json": "{}", "raw": b"\xff"}))
    client.create_ref("refs/heads/eval/store", first)
    tree = client.create_tree({"a/b.json": "[1]", "raw": None}, base=client.commit(first).tree)
    second = client.create_commit("second", tree, [first])
    client.update_ref("heads/eval/store", second, expected=first)
    assert client.ref("heads/eval/store") == second
    assert client.read_file("eval/store", "a/b.json") == b"[1]"
    assert client.read_file(first, "raw") == b"\xff"
    assert client.read_file("eval/store", "raw") is None
    assert client.read_file("no-such-branch", "raw") is None


def test_a_branch_that_somebody_else_moved_or_made_is_a_conflict(client: GitHub, github_server: GitHubServer) -> None:
    tree = client.create_tree({"a": "1"})
    first = client.create_commit("first", tree)
    client.create_ref("heads/store", first)
    ours, theirs = client.create_commit("ours", tree, [first]), client.create_commit("theirs", tree, [first])
    client.update_ref("heads/store", theirs, expected=first)
    for attempt in (
        lambda: client.update_ref("heads/store", ours, expected=first),
        lambda: client.create_ref("heads/store", ours),
        lambda: client.update_ref("heads/gone", ours, expected=first),
    ):
        with pytest.raises(GitHubError) as caught:
            attempt()
        assert caught.value.status == 409
    assert client.ref("heads/store") == theirs


def test_a_file_above_a_megabyte_is_read_whole(client: GitHub, github_server: GitHubServer) -> None:
    github_server.state.commit_files({"big": b"x" * 1_100_000}, branch="big")
    assert client.read_file("big", "big") == b"x" * 1_100_000
    assert len(github_server.requests()) == 2


def test_names_never_lead_to_another_operation(client: GitHub, github_server: GitHubServer) -> None:
    for attempt in (
        lambda: client.read_file("main", "../../issues"),
        lambda: client.permission_of(".."),
        lambda: client.ref("heads/../../x"),
    ):
        with pytest.raises(GitHubError):
            attempt()
    assert client.permission_of("a/b?c") == "read"
    assert [each.path for each in github_server.requests()] == [
        "/repos/octo/refunds/collaborators/a%2Fb%3Fc/permission"
    ]


# Actions


def test_a_finished_run_is_run_again_and_a_running_one_is_not(client: GitHub, github_server: GitHubServer) -> None:
    number = github_server.state.add_run(head_of(github_server))
    (run,) = client.workflow_runs_of(head_of(github_server))
    assert isinstance(run, WorkflowRun)
    assert (run.id, run.attempt, run.head_repository, run.status) == (number, 1, "octo/refunds", "completed")
    client.rerun_run(number)
    assert client.workflow_run(number).attempt == 2
    with pytest.raises(GitHubError, match="already running"):
        client.rerun_run(number)


def test_an_artifact_is_listed_and_downloaded_without_the_token(client: GitHub, github_server: GitHubServer) -> None:
    run = github_server.state.add_run(head_of(github_server))
    number = github_server.state.add_artifact(run, "report-1-1", b"PK\x05\x06" + bytes(18))
    (artifact,) = client.artifacts(run)
    assert (artifact.id, artifact.name, artifact.size, artifact.expired) == (number, "report-1-1", 22, False)
    assert client.download_artifact(number) == b"PK\x05\x06" + bytes(18)
    with pytest.raises(GitHubError) as caught:
        client.download_artifact(number, limit=10)
    assert caught.value.status == 413
    gone = github_server.state.add_artifact(run, "old", b"", expired=True)
    with pytest.raises(GitHubError) as caught:
        client.download_artifact(gone)
    assert caught.value.status == 410


def test_open_pull_requests_are_found_by_owner_and_branch(client: GitHub, github_server: GitHubServer) -> None:
    github_server.state.add_pull(2, head="a" * 40, base="b" * 40, head_repository="eve/refunds")
    github_server.state.add_pull(3, head="a" * 40, base="b" * 40, head_repository="eve/other", state="closed")
    (found,) = client.open_pull_requests("eve", "change")
    assert (found.number, found.head_ref, found.head_repository) == (2, "change", "eve/refunds")
    assert client.open_pull_requests("eve", "other") == []


def test_permissions_of_people(client: GitHub, github_server: GitHubServer) -> None:
    github_server.state.permissions.update(ann="maintain", bob="admin")
    assert [client.permission_of(login) for login in ("ann", "bob", "zoe")] == ["write", "admin", "read"]


# Troubles

CALLS: list[tuple[str, str, Callable[[GitHub, str], object]]] = [
    ("PATCH", "pull-requests: write", lambda client, head: client.edit_comment(1001, "x")),
    ("POST", "pull-requests: write", lambda client, head: client.create_comment(1, "x")),
    ("POST", "checks: write", lambda client, head: client.create_check("n", head)),
    ("POST", "statuses: write", lambda client, head: client.create_status(head, "success", "c", "d")),
    ("POST", "contents: write", lambda client, head: client.create_blob(b"")),
    ("POST", "actions: write", lambda client, head: client.rerun_run(1)),
    ("GET", "actions: read", lambda client, head: client.artifacts(1)),
    ("GET", "contents: read", lambda client, head: client.commit(head)),
]


@pytest.mark.parametrize(("method", "permission", "call"), CALLS)
def test_a_missing_permission_is_named_and_not_tried_twice(
    github_server: GitHubServer, clock: Clock, method: str, permission: str, call: Callable[[GitHub, str], object]
) -> None:
    client = connect(github_server, clock)
    github_server.faults.append(faults.forbidden(method, times=9))
    with pytest.raises(GitHubError) as caught:
        call(client, head_of(github_server))
    assert (caught.value.status, caught.value.permission) == (403, permission)
    assert permission in str(caught.value)
    assert (len(github_server.log), clock.slept) == (1, [])


@pytest.mark.parametrize("status", [400, 401, 404, 409, 410, 422])
def test_a_refusal_is_raised_at_once(client: GitHub, github_server: GitHubServer, clock: Clock, status: int) -> None:
    github_server.faults.append(faults.answered("*", "", status, "no", times=9))
    with pytest.raises(GitHubError) as caught:
        client.create_status(head_of(github_server), "success", "c", "d")
    assert (caught.value.status, caught.value.message, caught.value.permission) == (status, "no", None)
    assert (len(github_server.log), clock.slept) == (1, [])


PASSING: list[tuple[faults.Fault, list[float]]] = [
    (faults.broken("PATCH", status=500), [1.0]),
    (faults.broken("PATCH", status=502, times=3), [1.0, 2.0, 4.0]),
    (faults.broken("PATCH", status=503, headers={"Retry-After": "7"}), [7.0]),
    (faults.too_many("PATCH", retry_after=5), [5.0]),
    (faults.too_many("PATCH"), [1.0]),
    (faults.secondary_limit("PATCH", retry_after=9), [9.0]),
    (faults.secondary_limit("PATCH"), [60.0]),
    (faults.cut("PATCH"), [1.0]),
    (faults.cut("PATCH", act=True), [1.0]),
]


@pytest.mark.parametrize("index", range(len(PASSING)))
def test_an_edit_is_tried_again_after_a_passing_trouble(
    client: GitHub, github_server: GitHubServer, clock: Clock, index: int
) -> None:
    fault, waits = PASSING[index]
    number = github_server.state.add_comment(1, "before")
    github_server.faults.append(fault)
    client.edit_comment(number, "after")
    assert github_server.state.comments[number]["body"] == "after"
    assert clock.slept == waits
    assert len(github_server.requests("PATCH")) == len(waits) + 1


def test_used_up_requests_are_waited_for_only_within_the_budget(
    client: GitHub, github_server: GitHubServer, clock: Clock
) -> None:
    github_server.faults.append(faults.exhausted("GET", seconds=20))
    client.pull_request(1)
    assert clock.slept == [pytest.approx(21, abs=2)]
    github_server.faults.append(faults.exhausted("GET", seconds=3000, times=9))
    with pytest.raises(GitHubError, match="rate limit") as caught:
        client.pull_request(1)
    assert (caught.value.status, caught.value.permission, len(clock.slept)) == (403, None, 1)


def test_the_budget_holds_for_all_calls_together(client: GitHub, github_server: GitHubServer, clock: Clock) -> None:
    github_server.faults.append(faults.broken(status=503, times=99))
    for _ in range(4):
        with pytest.raises(GitHubError) as caught:
            client.create_status(head_of(github_server), "success", "c", "d")
        assert caught.value.status == 503
    assert sum(clock.slept) <= 60
    assert len(github_server.log) == len(clock.slept) + 4


def test_after_a_silence_that_used_up_the_budget_nothing_hangs_again(github_server: GitHubServer, clock: Clock) -> None:
    client = connect(github_server, clock, budget_seconds=3.0)
    github_server.faults.append(faults.cut(times=99))
    with pytest.raises(GitHubError, match="connection failed"):
        client.pull_request(1)
    client_tries = len(github_server.log)
    clock.now += 100
    slow = connect(github_server, clock, budget_seconds=0.0)
    for _ in range(3):
        with pytest.raises(GitHubError) as caught:
            slow.pull_request(1)
        assert caught.value.status is None
    assert client_tries == 3
    assert len(github_server.log) == client_tries + 1


def test_a_slow_answer_counts_as_lost_after_the_timeout(github_server: GitHubServer, clock: Clock) -> None:
    client = connect(github_server, clock, timeout=1)
    github_server.faults.append(faults.slow("GET", delay=1.5))
    assert client.pull_request(1).number == 1
    assert clock.slept == [1.0]


# What must not happen twice


@pytest.mark.parametrize("fault", [faults.broken, faults.cut])
@pytest.mark.parametrize("took_effect", [True, False])
def test_a_comment_whose_answer_was_lost_is_written_once(
    client: GitHub, github_server: GitHubServer, fault: Callable[..., faults.Fault], took_effect: bool
) -> None:
    github_server.state.add_comment(1, "another")
    github_server.faults.append(fault("POST", "comments", act=took_effect))
    number = client.create_comment(1, "line\r\nline\n")
    assert [each.id for each in client.comments(1)][1:] == [number]
    assert len(github_server.requests("POST")) == (1 if took_effect else 2)


@pytest.mark.parametrize("took_effect", [True, False])
def test_a_check_whose_answer_was_lost_is_created_once(
    client: GitHub, github_server: GitHubServer, took_effect: bool
) -> None:
    head = head_of(github_server)
    client.create_check("refunds", head, external_id="run 1", status="in_progress")
    github_server.faults.append(faults.broken("POST", "check-runs", act=took_effect))
    number = client.create_check("refunds", head, external_id="run 2", status="in_progress")
    assert github_server.state.checks[number]["external_id"] == "run 2"
    assert len(github_server.state.checks) == 2


def test_a_ref_and_a_rerun_whose_answers_were_lost_are_found_done(client: GitHub, github_server: GitHubServer) -> None:
    run = github_server.state.add_run(head_of(github_server))
    github_server.faults += [faults.cut("POST", "git/refs", act=True), faults.broken("POST", "rerun", act=True)]
    client.create_ref("heads/store", base_of(github_server))
    client.rerun_run(run)
    assert client.ref("heads/store") == base_of(github_server)
    assert github_server.state.runs[run]["run_attempt"] == 2


def test_a_limit_is_no_lost_answer_so_nothing_is_looked_for(client: GitHub, github_server: GitHubServer) -> None:
    github_server.faults.append(faults.secondary_limit("POST", retry_after=1))
    client.create_comment(1, "text")
    assert [each.method for each in github_server.log] == ["POST", "POST"]


# The token and the address


TROUBLES = [
    faults.unauthorized(times=99), faults.forbidden(times=99), faults.secondary_limit(times=99),
    faults.too_many(times=99), faults.exhausted(times=99, seconds=9999), faults.broken(times=99), faults.cut(times=99),
    faults.answered("*", "", 422, times=99), faults.answered("*", "", 307, times=99),
]  # fmt: skip


@pytest.mark.parametrize("index", range(len(TROUBLES)))
def test_no_error_holds_the_token(
    github_server: GitHubServer, clock: Clock, index: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    fault = TROUBLES[index]
    told = f"{fault.message} token {github_server.state.token}\n\x1b[31m"
    github_server.faults.append(faults.Fault(**{**_fields(fault), "message": told}))
    with pytest.raises(GitHubError) as caught:
        connect(github_server, clock).create_status(head_of(github_server), "success", "c", "d")
    whole = "".join(traceback.format_exception(caught.value)) + repr(caught.value.args) + caught.value.message
    assert github_server.state.token not in whole
    assert "\x1b" not in whole
    assert "oken " + github_server.state.token not in caplog.text.replace(told, "").replace(repr(told)[1:-1], "")


def _fields(fault: faults.Fault) -> dict[str, Any]:
    return {name: getattr(fault, name) for name in fault.__dataclass_fields__}


def test_githubs_words_are_bounded(client: GitHub, github_server: GitHubServer) -> None:
    github_server.faults.append(faults.answered("GET", "", 404, "no " * 10_000))
    with pytest.raises(GitHubError) as caught:
        client.pull_request(1)
    assert len(str(caught.value)) < 600


def test_an_enterprise_server_has_its_api_below_a_path(clock: Clock) -> None:
    with running(GitHubServer(prefix="/api/v3")) as server:
        server.state.add_pull(1, head="a" * 40, base="b" * 40)
        for _ in range(101):
            server.state.add_comment(1, "text")
        client = connect(server, clock)
        assert client.pull_request(1).number == 1
        assert len(list(client.comments(1))) == 101
        assert server.violations == []


def test_without_a_token_reading_works_and_writing_is_refused(github_server: GitHubServer, clock: Clock) -> None:
    client = connect(github_server, clock, token=None)
    assert client.pull_request(1).number == 1
    with pytest.raises(GitHubError) as caught:
        client.create_comment(1, "x")
    assert caught.value.status == 401


def test_a_missing_bundle_of_certificates_is_an_error_of_ours(clock: Clock) -> None:
    client = GitHub(
        "octo/refunds", "made-up", api_url="https://127.0.0.1:9", ca_bundle="/no/such/file", sleep=clock.sleep
    )
    with pytest.raises(GitHubError):
        client.pull_request(1)
    assert clock.slept == []


@pytest.mark.parametrize("repository", ["", "octo", "octo/a/b", "../user", "octo/..", "octo/a b", "octo/a?x"])
def test_what_cannot_be_a_repository_is_refused(repository: str) -> None:
    with pytest.raises(UserError):
        GitHub(repository, None)


@pytest.mark.parametrize("address", ["", "api.github.com", "ftp://x", "https://user:word@host", "https://host/?a=b"])
def test_what_cannot_be_the_api_is_refused(address: str) -> None:
    with pytest.raises(UserError):
        GitHub("octo/refunds", None, api_url=address)


# The server judges


def test_the_server_notes_what_breaks_githubs_description(clock: Clock) -> None:
    with running() as server:
        base = server.state.commit_files({"a": b""}, branch="main")
        client = connect(server, clock)
        note = {"path": "a", "start_line": 1, "end_line": 1, "annotation_level": "failure", "message": "m"}
        check = client.create_check("n", base)
        client.update_check(check, output={"title": "t", "summary": "s", "annotations": [note] * 51})
        client.create_check("n", base, conclusion="passed", status="completed")
        client.create_check("n", base, color="red")
        assert "maxItems 50" in server.violations[0]
        assert "'passed' is not one of" in server.violations[1]
        assert "'color' is unknown" in server.violations[-1]
