"""The check run: opened before the work, completed whatever happens."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from server import faults
from server.web import GitHubServer

from repeat_eval.github.annotations import Annotation
from repeat_eval.github.checks import CONCLUSIONS, SUMMARY_LIMIT, OpenCheck, check_name, open_check
from repeat_eval.github.client import GitHub


@pytest.fixture
def client(github_server: GitHubServer) -> GitHub:
    state = github_server.state
    return GitHub(state.repository, state.token, api_url=github_server.url, sleep=lambda seconds: None)


class Bench:
    """One check of run 7 on the pull request's head, what was warned of, and what GitHub has of it."""

    def __init__(self, server: GitHubServer, client: GitHub) -> None:
        self.server = server
        self.client = client
        self.warnings: list[str] = []
        self.head = str(server.state.pulls[1]["head"]["sha"])

    def opened(self, *, name: str = "repeat-eval", run: int = 7, attempt: int = 1) -> Any:
        return open_check(
            self.client,
            self.head,
            name=name,
            run=run,
            attempt=attempt,
            warn=self.warnings.append,
            details_url="https://github.com/octo/refunds/actions/runs/7",
        )

    @property
    def checks(self) -> list[dict[str, Any]]:
        return list(self.server.state.checks.values())

    def annotations(self) -> list[dict[str, Any]]:
        (check,) = self.checks
        return self.server.state.annotations[check["id"]]

    def writes(self) -> list[Any]:
        return [one.body for one in self.server.requests("PATCH", "/check-runs/")]


@pytest.fixture
def bench(github_server: GitHubServer, client: GitHub) -> Bench:
    return Bench(github_server, client)


def told(text: str = "### It is fine") -> Any:
    return lambda limit: text


def placed(number: int, **more: Any) -> list[Annotation]:
    return [Annotation(f"case {n}: failed", "why", path="evals/a.yaml", line=n + 1, **more) for n in range(number)]


def test_a_check_is_in_progress_during_the_work_and_completed_after_it(bench: Bench) -> None:
    with bench.opened() as check:
        (during,) = bench.checks
        assert (during["status"], during["conclusion"], during["head_sha"]) == ("in_progress", None, bench.head)
        check.complete("success", "No detectable change", told(), placed(2))
    (after,) = bench.checks
    assert (after["name"], after["status"], after["conclusion"]) == ("repeat-eval", "completed", "success")
    assert after["details_url"] == "https://github.com/octo/refunds/actions/runs/7"
    assert (after["output"]["title"], after["output"]["summary"]) == ("No detectable change", "### It is fine")
    assert [(one["path"], one["start_line"]) for one in bench.annotations()] == [
        ("evals/a.yaml", 1),
        ("evals/a.yaml", 2),
    ]
    assert len(bench.server.requests()) == 3
    assert bench.warnings == []


def test_no_verdict_ever_gives_a_conclusion_that_github_counts_as_passed() -> None:
    assert CONCLUSIONS == {"pass": "success", "fail": "failure", "incomplete": "failure"}


@pytest.mark.parametrize(
    ("broken_by", "conclusion"),
    [(ValueError("a bug"), "failure"), (KeyboardInterrupt(), "cancelled"), (SystemExit(3), "cancelled")],
)
def test_a_check_is_completed_when_the_work_breaks_off(bench: Bench, broken_by: BaseException, conclusion: str) -> None:
    with pytest.raises(type(broken_by)), bench.opened():
        raise broken_by
    (check,) = bench.checks
    assert (check["status"], check["conclusion"]) == ("completed", conclusion)
    assert "a bug" not in check["output"]["summary"]


def test_work_that_ends_without_a_result_is_a_failure(bench: Bench) -> None:
    with bench.opened():
        pass
    (check,) = bench.checks
    assert (check["status"], check["conclusion"]) == ("completed", "failure")


def test_what_happens_after_the_result_does_not_change_it(bench: Bench) -> None:
    with pytest.raises(KeyboardInterrupt), bench.opened() as check:
        check.complete("success", "Fine", told())
        check.complete("failure", "Not fine", told())
        raise KeyboardInterrupt
    (after,) = bench.checks
    assert (after["conclusion"], after["output"]["title"]) == ("success", "Fine")


def test_checks_that_an_older_run_left_open_are_closed_and_no_others(bench: Bench) -> None:
    def left(name: str, external_id: str, status: str = "in_progress") -> int:
        return bench.client.create_check(name, bench.head, status=status, external_id=external_id)

    older = left("repeat-eval", "repeat-eval run=6 attempt=2")
    earlier = left("repeat-eval", "repeat-eval run=7 attempt=1")
    newer = left("repeat-eval", "repeat-eval run=8 attempt=1")
    of_a_job = left("repeat-eval", "4f1c-of-a-job")
    done = left("repeat-eval", "repeat-eval run=5 attempt=1")
    bench.client.update_check(done, status="completed", conclusion="failure")
    other_name = left("other", "repeat-eval run=6 attempt=1")
    with bench.opened(run=7, attempt=2) as check:
        check.complete("success", "Fine", told())
    status = {number: (one["status"], one["conclusion"]) for number, one in bench.server.state.checks.items()}
    assert status[older] == status[earlier] == ("completed", "cancelled")
    assert status[done] == ("completed", "failure")
    assert status[newer] == status[of_a_job] == status[other_name] == ("in_progress", None)
    assert check.id is not None
    assert status[check.id] == ("completed", "success")


def test_51_annotations_of_which_one_has_no_place_all_arrive(bench: Bench) -> None:
    homeless = Annotation("lost: failed", "nobody knows the line")
    annotations = placed(50)
    annotations.insert(20, homeless)
    with bench.opened() as check:
        check.complete("failure", "51 cases broke", told("### 51 cases broke"), annotations)
    assert [one["title"] for one in bench.annotations()] == [f"case {n}: failed" for n in range(50)]
    summary = bench.checks[0]["output"]["summary"]
    assert summary.startswith("### 51 cases broke\n\n**Without a line in a file of the repository**\n")
    assert "- `lost: failed` nobody knows the line" in summary
    assert len(bench.server.requests()) == 3


def test_more_annotations_than_fit_go_in_batches_with_the_verdict_in_the_first(bench: Bench) -> None:
    with bench.opened() as check:
        check.complete("failure", "Many", told(), placed(120))
    assert [len(body["output"]["annotations"]) for body in bench.writes()] == [50, 50, 20]
    assert [body.get("conclusion") for body in bench.writes()] == ["failure", None, None]
    assert len(bench.annotations()) == 120


def test_annotations_that_github_refuses_are_told_in_the_summary(bench: Bench) -> None:
    with bench.opened() as check:
        bench.server.faults.append(faults.answered("PATCH", "/check-runs/", 422, "Invalid request."))
        check.complete("failure", "Broke", told("### Broke"), placed(60))
    (after,) = bench.checks
    assert (after["status"], after["conclusion"]) == ("completed", "failure")
    assert [one["title"] for one in bench.annotations()] == [f"case {n}: failed" for n in range(50, 60)]
    summary = after["output"]["summary"]
    assert all(f"- `case {n}: failed` why" in summary for n in range(50))
    assert bench.warnings == []


def test_the_verdict_arrives_even_when_github_refuses_the_text(bench: Bench) -> None:
    with bench.opened() as check:
        bench.server.faults.append(faults.answered("PATCH", "/check-runs/", 422, "Invalid request.", times=2))
        check.complete("failure", "Broke", told("### Broke"), placed(1))
    (after,) = bench.checks
    assert (after["status"], after["conclusion"]) == ("completed", "failure")
    assert after["output"]["summary"] == "See the job's summary."


def test_70000_characters_are_cut_to_what_github_takes(bench: Bench) -> None:
    asked: list[int] = []

    def render(limit: int) -> str:
        asked.append(limit)
        return "ä🟡 " * 35_000

    with bench.opened() as check:
        check.complete("failure", "T" * 1000, render, [Annotation(f"case {n}: failed", "m" * 400) for n in range(200)])
    output = bench.checks[0]["output"]
    assert len(output["summary"].encode()) <= SUMMARY_LIMIT
    assert len(output["title"]) <= 255
    assert 40_000 < asked[0] < SUMMARY_LIMIT


def test_a_list_of_cases_without_a_place_stays_within_its_room_and_says_what_is_missing(bench: Bench) -> None:
    lost = [Annotation(f"case {n}: failed", "<b>@octo</b> " * 20) for n in range(200)]
    with bench.opened() as check:
        check.complete("failure", "Broke", lambda limit: "x" * limit, lost)
    summary = bench.checks[0]["output"]["summary"]
    assert "more\n" in summary[-40:]
    assert "@octo" not in summary
    assert "<b>" not in summary


def test_a_read_only_token_gives_one_warning_with_the_permission_and_no_check(bench: Bench) -> None:
    bench.server.faults.append(faults.forbidden("POST", "/check-runs", times=99))
    with bench.opened() as check:
        check.complete("failure", "Broke", told(), placed(60))
    (warning,) = bench.warnings
    assert warning.startswith("the check was not created")
    assert "checks: write" in warning
    assert bench.server.state.token not in warning
    assert bench.writes() == []


def test_a_check_that_cannot_be_completed_is_said_once_and_raises_nothing(bench: Bench) -> None:
    with bench.opened() as check:
        bench.server.faults.append(faults.forbidden("PATCH", "/check-runs/", times=99))
        check.complete("failure", "Broke", told(), placed(60))
    (warning,) = bench.warnings
    assert warning.startswith("the check was not completed")


def test_a_check_that_was_never_started_swallows_its_result(bench: Bench) -> None:
    OpenCheck(bench.client, bench.warnings.append).complete("success", "Fine", told())
    assert bench.server.requests() == []


@given(st.text(max_size=600))
def test_a_name_is_one_line_of_at_most_255_bytes_and_stable(text: str) -> None:
    name = check_name(text)
    assert name
    assert len(name.encode()) <= 255
    assert "\n" not in name
    assert check_name(text) == name


def test_long_names_that_differ_at_their_ends_stay_apart() -> None:
    assert check_name("ä" * 300 + "a") != check_name("ä" * 300 + "b")
    assert check_name("repeat-eval / refunds (small)") == "repeat-eval / refunds (small)"


def test_a_cancelled_run_completes_its_check_with_the_client_of_little_patience(
    bench: Bench, github_server: GitHubServer
) -> None:
    state = github_server.state
    clients = [GitHub(state.repository, state.token, api_url=github_server.url, budget_seconds=2) for _ in range(2)]
    used: list[int] = []

    class Noted:
        def __init__(self, number: int) -> None:
            self.number = number

        def __getattr__(self, name: str) -> Any:
            used.append(self.number)
            return getattr(clients[self.number], name)

    opened = open_check(Noted(0), bench.head, name="a", run=7, attempt=1, warn=bench.warnings.append, hurried=Noted(1))
    with opened as check:
        assert set(used) == {0}
        used.clear()
        check.complete("cancelled", "The run was cancelled", told())
    assert set(used) == {1}
    assert bench.checks[0]["conclusion"] == "cancelled"
