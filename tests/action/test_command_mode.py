"""`/repeat-eval …` in a comment: who is answered, what is asked of GitHub, and what is not."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "github"))

from server.faults import answered, forbidden
from server.web import GitHubServer, running

from repeat_eval.action.command import HELP, Rerun, parse
from repeat_eval.action.main import run_action
from repeat_eval.github.marker import Marker, find_marker
from repeat_eval.github.request_note import RequestNote, find_note, with_note

HEAD, OLD = "a" * 40, "b" * 40


@dataclass
class Bench:
    """A pull request with a red result of ours, and the job that answers comments on it."""

    server: GitHubServer
    root: Path
    run: int = 0
    result: int = 0
    log: str = ""

    def say(self, body: str, author: str = "ann", *, on_issue: bool = False, **inputs: str) -> int:
        """Somebody writes a comment; the exit code of the job that it starts."""
        issue = {"number": 7} if on_issue else {"number": 7, "pull_request": {"url": "u"}}
        payload = {
            "action": "created",
            "repository": {"full_name": "octo/shop", "default_branch": "main"},
            "issue": issue,
            "comment": {"id": 5, "body": body, "user": {"login": author}},
        }
        event = self.root / "event.json"
        event.write_text(json.dumps(payload))
        environ = {
            "GITHUB_EVENT_NAME": "issue_comment",
            "GITHUB_EVENT_PATH": str(event),
            "GITHUB_REPOSITORY": "octo/shop",
            "GITHUB_SHA": "c" * 40,
            "GITHUB_RUN_ID": "900",
            "GITHUB_API_URL": self.server.url,
            "GITHUB_WORKSPACE": str(self.root),
            "GITHUB_OUTPUT": str(self.root / "output"),
            **{f"INPUT_{name.upper()}": value for name, value in {"mode": "command", **inputs}.items()},
        }
        stream = io.StringIO()
        code = run_action(environ, self.server.state.token, stream)
        self.log = stream.getvalue()
        return code

    @property
    def requests(self) -> list[str]:
        """Method and end of the path of every request, in order."""
        return [f"{each.method} {each.path.removeprefix('/repos/octo/shop/')}" for each in self.server.log]

    @property
    def body(self) -> str:
        return str(self.server.state.comments[self.result]["body"])

    @property
    def reply(self) -> str:
        """The newest comment."""
        return str(list(self.server.state.comments.values())[-1]["body"])

    @property
    def attempt(self) -> int:
        return int(self.server.state.runs[self.run]["run_attempt"])


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    with running() as server:
        state = server.state
        state.repository = "octo/shop"
        state.permissions |= {"ann": "write", "bob": "read"}
        state.add_pull(7, head=HEAD, base=OLD)
        bench = Bench(server, tmp_path)
        bench.run = state.add_run(HEAD)
        bench.result = state.add_comment(7, f"### ❌ Worse\n{Marker('shop', HEAD, bench.run, 1)}")
        yield bench
    assert server.violations == []


def test_a_writer_gets_the_run_run_again_and_the_request_stands_in_our_comment(bench: Bench) -> None:
    assert bench.say("/repeat-eval rerun\nplease") == 0
    assert bench.requests == [
        "GET collaborators/ann/permission",
        "GET pulls/7",
        "GET issues/7/comments",
        "GET actions/runs",
        f"PATCH issues/comments/{bench.result}",
        f"POST actions/runs/{bench.run}/rerun",
    ]
    assert bench.attempt == 2
    assert find_note(bench.body) == RequestNote(HEAD, bench.run, 2, look=1, author="ann")
    assert find_marker(bench.body) == Marker("shop", HEAD, bench.run, 1)
    assert "🔁 ann asked for a further look: attempt 2 of the run is on its way." in bench.body


def test_a_writer_names_cases_and_trials_and_the_request_tells_them(bench: Bench) -> None:
    assert bench.say('/repeat-eval rerun case greets "says good bye" refund_* x30') == 0
    named = ("greets", "says good bye", "refund_*")
    assert find_note(bench.body) == RequestNote(HEAD, bench.run, 2, look=1, cases=named, trials=30, author="ann")
    assert r"asked for a further look at greets, says good bye, refund\_\*, 30 trials a side" in bench.body
    assert bench.requests[-2:] == [
        f"PATCH issues/comments/{bench.result}",
        f"POST actions/runs/{bench.run}/rerun",
    ]


@pytest.mark.parametrize(
    ("words", "asked"),
    [
        ("rerun", Rerun()),
        ("rerun x50", Rerun(trials=50)),
        ("rerun case a", Rerun(("a",))),
        ("rerun case a case b X5", Rerun(("a", "b"), 5)),
        ("rerun case 'x5' x7", Rerun(("x5",), 7)),
        ("rerun x51", "help"),
        ("rerun x0", "help"),
        ("rerun case x5", "help"),
        ("rerun case", "help"),
        ("rerun case 'not closed", "help"),
        ("rerun case " + "a" * 201, "help"),
        ("rerun case " + " ".join(f"c{number}" for number in range(11)), "help"),
        ("rerun case \x1b[31m", "help"),
    ],
)
def test_what_can_be_asked_for_is_bounded(words: str, asked: Rerun | str) -> None:
    assert parse(f"/repeat-eval {words}") == asked


@pytest.mark.parametrize("author", ["bob", "zoe"])
def test_a_stranger_gets_nothing_run_and_nothing_written(bench: Bench, author: str) -> None:
    assert bench.say("/repeat-eval rerun", author) == 0
    assert bench.requests == [f"GET collaborators/{author}/permission"]
    assert f"{author} may not write to this repository" in bench.log
    assert bench.attempt == 1


def test_a_stranger_is_not_even_helped(bench: Bench) -> None:
    bench.say("/repeat-eval help", "bob")
    assert bench.requests == ["GET collaborators/bob/permission"]


def test_a_moved_head_is_refused(bench: Bench) -> None:
    bench.server.state.pulls[7]["head"]["sha"] = "d" * 40
    assert bench.say("/repeat-eval rerun") == 0
    assert bench.requests[1:] == ["GET pulls/7", "GET issues/7/comments", "POST issues/7/comments"]
    assert "the result here is about `aaaaaaa`, and the head has moved on to `ddddddd`" in bench.reply
    assert bench.attempt == 1


def test_a_third_time_is_refused_and_attempts_by_hand_count(bench: Bench) -> None:
    bench.say("/repeat-eval rerun")
    bench.server.state.runs[bench.run].update(status="completed", conclusion="failure", run_attempt=3)
    bench.server.log.clear()
    assert bench.say("/repeat-eval rerun") == 0
    assert bench.requests[3:] == ["GET actions/runs", "POST issues/7/comments"]
    assert "looked at 3 times already" in bench.reply
    assert bench.attempt == 3


def test_another_run_of_the_same_commit_and_workflow_counts_as_a_look(bench: Bench) -> None:
    bench.server.state.add_run(HEAD, run_attempt=2)
    bench.say("/repeat-eval rerun")
    assert "looked at 3 times already" in bench.reply
    assert bench.attempt == 1


def test_two_further_looks_are_granted(bench: Bench) -> None:
    for attempt in (2, 3):
        bench.say("/repeat-eval rerun")
        assert bench.attempt == attempt
        bench.server.state.runs[bench.run].update(status="completed")


def test_a_request_that_finds_no_room_in_our_comment_is_refused(bench: Bench) -> None:
    marker = str(Marker("shop", HEAD, bench.run, 1))
    bench.server.state.comments[bench.result]["body"] = f"{'x' * (65_530 - len(marker))}\n{marker}"
    assert bench.say("/repeat-eval rerun case greets") == 0
    assert "there is no room left in the result's comment" in bench.reply
    assert not bench.server.requests("POST", "rerun")


def test_a_run_that_goes_on_is_left_alone(bench: Bench) -> None:
    bench.server.state.runs[bench.run]["status"] = "in_progress"
    bench.say("/repeat-eval rerun")
    assert "the run has not ended yet" in bench.reply
    assert not bench.server.requests("POST", "rerun")


def test_a_closed_pull_request_is_left_alone(bench: Bench) -> None:
    bench.server.state.pulls[7]["state"] = "closed"
    bench.say("/repeat-eval rerun")
    assert "the pull request is closed" in bench.reply


@pytest.mark.parametrize(
    "other",
    [{"head_repository": {"full_name": "eve/shop"}}, {"event": "push"}, {"head_sha": OLD}],
    ids=["of another repository", "of another event", "of another commit"],
)
def test_a_run_that_is_not_the_pull_requests_own_is_never_started(bench: Bench, other: dict[str, object]) -> None:
    bench.server.state.runs[bench.run].update(other)
    bench.say("/repeat-eval rerun")
    assert "not a run of this pull request" in bench.reply
    assert not bench.server.requests("POST", "rerun")


def test_a_marker_that_somebody_copied_is_not_ours(bench: Bench) -> None:
    state = bench.server.state
    state.comments[bench.result]["user"] = {"login": "eve"}
    bench.say("/repeat-eval rerun")
    assert "there is no result of repeat-eval here yet" in bench.reply
    assert not bench.server.requests("PATCH")


@pytest.mark.parametrize("login", ["evals-app[bot]", "robot"])
def test_a_result_that_was_written_with_another_token_is_found(bench: Bench, login: str) -> None:
    state = bench.server.state
    state.comments[bench.result]["user"] = {"login": login}
    state.viewer, state.viewer_is_integration = "robot", login != "robot"
    bench.say("/repeat-eval rerun")
    assert bench.attempt == 2


def test_a_copied_marker_of_another_bot_does_not_hide_our_own_result(bench: Bench) -> None:
    bench.server.state.add_comment(7, f"quoted\n{Marker('shop', HEAD, 999_999, 1)}", "echo[bot]")
    bench.say("/repeat-eval rerun")
    assert bench.attempt == 2


def test_when_github_does_not_run_it_the_note_is_taken_back(bench: Bench) -> None:
    before = bench.body
    bench.server.faults.append(answered("POST", "/rerun", 403, "This workflow is already running"))
    assert bench.say("/repeat-eval rerun") == 0
    assert bench.body == before
    assert "it may be running already" in bench.reply


def test_a_missing_permission_is_named_and_the_note_is_taken_back(bench: Bench) -> None:
    before = bench.body
    bench.server.faults.append(forbidden("POST", "/rerun"))
    assert bench.say("/repeat-eval rerun") == 4
    assert "actions: write" in bench.log
    assert bench.body == before


@pytest.mark.parametrize("words", ["help", "", "rerun greets", "rerun x51", "restart", "rerun; rm -rf /"])
def test_whatever_is_not_understood_is_answered_with_help(bench: Bench, words: str) -> None:
    assert bench.say(f"/repeat-eval {words}".rstrip()) == 0
    assert bench.requests == ["GET collaborators/ann/permission", "POST issues/7/comments"]
    assert bench.reply == HELP
    assert parse(HELP) is None  # our own words start nothing


@pytest.mark.parametrize(
    "body", ["", "hello", "> /repeat-eval rerun", "/repeat-evaluate rerun", "see\n/repeat-eval rerun"]
)
def test_other_comments_cost_no_request(bench: Bench, body: str) -> None:
    assert bench.say(body) == 0
    assert bench.requests == []


def test_an_issue_is_no_pull_request(bench: Bench) -> None:
    assert bench.say("/repeat-eval rerun", on_issue=True) == 0
    assert bench.requests == []


def test_inputs_of_a_run_do_nothing_and_are_refused(bench: Bench) -> None:
    assert bench.say("/repeat-eval rerun", suite="evals/suite.yaml") == 2
    assert "`suite` does nothing with `mode: command`" in bench.log
    assert bench.requests == []


def test_a_second_note_takes_the_place_of_the_first() -> None:
    body = f"text\n{Marker('shop', HEAD, 1, 1)}"
    twice = with_note(with_note(body, RequestNote(HEAD, 1, 2), "ann"), RequestNote(HEAD, 1, 3), "a@b<!-- -->")
    assert find_note(twice) == RequestNote(HEAD, 1, 3)
    assert find_marker(twice) == find_marker(body)
    assert twice.count("repeat-eval-request") == 1
    assert twice.count("<!--") == 2
    assert find_note(body) is None
