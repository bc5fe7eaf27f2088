"""Further looks at a pull request's commit, through the action's entry: real git, real trials, GitHub's API."""

from __future__ import annotations

import io
import json
import os
import re
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "github"))

from server.web import GitHubServer

from repeat_eval.github.comment_body import section_marker
from repeat_eval.github.look_data import unpack_looks
from repeat_eval.github.request_note import RequestNote, with_note


def attempt(step: Any, number: int, **inputs: str) -> int:
    """Run this attempt of the workflow run; each has its own summary and outputs."""
    step.environ["GITHUB_RUN_ATTEMPT"] = str(number)
    for name in ("GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT"):
        Path(step.environ[name]).unlink(missing_ok=True)
    return int(step.run(**inputs))


def report_of(step: Any) -> dict[str, Any]:
    return dict(json.loads((step.workspace / "repeat-eval-report/report.json").read_text()))


def repair(step: Any) -> None:
    """From now on head answers as base does: what was seen before was luck."""
    (step.workspace / "evals/agent.py").write_text("def answer(input):\n    return input\n")


def body_of(server: GitHubServer) -> str:
    (comment,) = server.state.comments.values()
    return str(comment["body"])


def ask(server: GitHubServer, step: Any, number: int, **more: Any) -> None:
    """What `/repeat-eval rerun` notes in our comment."""
    (comment,) = server.state.comments.values()
    note = RequestNote(more.pop("head", step.head), 123, number, look=number - 1, author="ann", **more)
    comment["body"] = with_note(comment["body"], note, "ann")


def upload(server: GitHubServer, step: Any, number: int, change: Any = None) -> None:
    """The workflow uploads the report folder of an attempt."""
    report = report_of(step)
    if change is not None:
        change(report)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("report.json", json.dumps(report))
    server.state.add_artifact(123, f"repeat-eval-report-123-{number}", packed.getvalue())


@pytest.fixture
def first(on_github: Any, server: GitHubServer) -> Any:
    """A pull request that breaks a case, ready for its first attempt."""
    server.state.refs["heads/main"] = on_github.base
    run = server.state.runs.pop(server.state.add_run(on_github.head))
    server.state.runs[123] = run | {"id": 123}
    on_github.environ["INPUT_COMMENT"] = "always"
    return on_github


@pytest.fixture
def red(first: Any) -> Any:
    """The same after its first attempt, which is red."""
    assert attempt(first, 1) == 1
    return first


@pytest.fixture
def green(first: Any) -> Any:
    """A first attempt in which head happened to do well."""
    broken = (first.workspace / "evals/agent.py").read_text()
    repair(first)
    assert attempt(first, 1) == 0
    (first.workspace / "evals/agent.py").write_text(broken)
    return first


def test_the_first_look_spends_its_share_and_hides_what_it_found_in_the_comment(red: Any, server: GitHubServer) -> None:
    report = report_of(red)
    (look,) = report["looks"]
    assert (look["number"], look["kind"], look["level"], look["verdict"]) == (0, "first", 0.04, "regressed")
    assert report["comparison"]["alpha"] == "0.04"
    assert [case["id"] for case in look["cases"]] == ["refunds"]
    assert "look 0 spends 0.04 of alpha" in body_of(server)
    assert "look 0 spends 0.04 of alpha" in red.summary
    marker = section_marker(body_of(server), "shop")
    assert marker is not None and unpack_looks(marker.looks)[0].blamed[0].id == "refunds"


def test_after_red_an_appeal_runs_only_what_was_blamed_and_a_real_regression_stays(
    red: Any, server: GitHubServer
) -> None:
    ask(server, red, 2)
    assert attempt(red, 2) == 1
    report = report_of(red)
    # The suite as a whole was blamed as well, so the other cases are run for it.
    assert {case["id"]: case["trials"] for case in report["cases"]} == {"greets": 7, "thanks": 7, "refunds": 20}
    assert [look["kind"] for look in report["looks"]] == ["first", "appeal"]
    assert report["looks"][1]["verdict"] == "regressed"
    assert body_of(server).startswith("### ❌ Still worse than `main` on appeal: 1 of 1 blamed case still blamed,")
    assert "10/10 → 0/10" in body_of(server)  # the earlier result stays beside the new one
    assert "20/20 → 0/20" in body_of(server)
    assert "ann asked for it" in body_of(server)


def test_fresh_trials_have_new_numbers_and_another_seed(red: Any) -> None:
    def trials() -> tuple[str, set[int]]:
        lines = (red.workspace / "repeat-eval-report/run.jsonl").read_text().splitlines()
        header, *rest = [json.loads(line) for line in lines]
        return json.dumps(header), {trial["repetition"] for trial in rest if "repetition" in trial}

    before, used = trials()
    attempt(red, 2)
    after, fresh = trials()
    assert used == set(range(1, 11))
    assert fresh == set(range(51, 71))
    assert '"seed": 7' in before and '"seed": 7,' not in after


def test_after_red_an_appeal_clears_what_does_not_show_again(red: Any, server: GitHubServer) -> None:
    repair(red)
    assert attempt(red, 2) == 0
    assert report_of(red)["looks"][1]["verdict"] == "cleared"
    assert body_of(server).startswith("### ✅ Cleared on appeal against `main`: 0 of 1 blamed case still blamed,")
    assert "somebody ran the job again by hand" in body_of(server)


def test_after_green_named_cases_are_escalated_at_the_looks_own_level(green: Any, server: GitHubServer) -> None:
    ask(server, green, 2, cases=("ref*",), trials=30)
    assert attempt(green, 2) == 1
    report = report_of(green)
    assert [(case["id"], case["trials"]) for case in report["cases"]] == [("refunds", 30)]
    look = report["looks"][1]
    assert (look["kind"], look["level"], look["verdict"]) == ("escalation", 0.005, "regressed")
    assert body_of(server).startswith("### ❌ Worse than `main` in a further look: 1 of 1 watched case got worse")


def test_after_green_without_anything_to_watch_the_whole_suite_is_run_at_that_level(green: Any) -> None:
    repair(green)
    assert attempt(green, 2) == 0
    report = report_of(green)
    assert len(report["cases"]) == 3
    assert (report["looks"][1]["kind"], report["looks"][1]["level"]) == ("whole", 0.005)
    assert any("no case was near to being worse" in text for text in report["warnings"])


def test_what_was_cleared_can_turn_red_only_by_an_escalation(red: Any, server: GitHubServer) -> None:
    broken = (red.workspace / "evals/agent.py").read_text()
    repair(red)
    attempt(red, 2)
    (red.workspace / "evals/agent.py").write_text(broken)
    ask(server, red, 3, cases=("refunds",))
    assert attempt(red, 3) == 1
    assert [look["kind"] for look in report_of(red)["looks"]] == ["first", "appeal", "escalation"]


@pytest.mark.parametrize("state", ["red", "green"])
def test_a_fourth_time_runs_nothing_and_the_last_verdict_stands(
    request: pytest.FixtureRequest, server: GitHubServer, state: str
) -> None:
    step = request.getfixturevalue(state)
    code = int(state == "red")
    if state == "green":
        repair(step)
    assert [attempt(step, 2), attempt(step, 3)] == [code, code]
    before = body_of(server)
    assert attempt(step, 4) == code
    assert "was looked at 3 times already" in step.log
    assert body_of(server) == before
    assert step.outputs["verdict"] == "not evaluated"


def test_a_request_for_another_commit_is_refused(red: Any, server: GitHubServer) -> None:
    ask(server, red, 2, head="d" * 40)
    before = body_of(server)
    assert attempt(red, 2) == 3
    assert "this attempt was asked for at ddddddd" in red.log
    assert body_of(server) == before


def test_the_uploaded_report_tells_the_earlier_look_where_there_is_no_comment(first: Any, server: GitHubServer) -> None:
    first.environ["INPUT_COMMENT"] = "off"
    attempt(first, 1)
    upload(server, first, 1)
    repair(first)
    assert attempt(first, 2) == 0
    assert [look["kind"] for look in report_of(first)["looks"]] == ["first", "appeal"]


def _other_run(report: dict[str, Any]) -> None:
    report["provenance"]["run"] = 124


def _other_head(report: dict[str, Any]) -> None:
    report["provenance"]["head"] = "e" * 40


def _other_attempt(report: dict[str, Any]) -> None:
    report["provenance"]["attempt"] = 7


def _impossible(report: dict[str, Any]) -> None:
    report["looks"][0]["cases"][0]["head"] = [11, 10]


def _no_report(report: dict[str, Any]) -> None:
    report.clear()


@pytest.mark.parametrize("change", [_other_run, _other_head, _other_attempt, _impossible, _no_report])
def test_evidence_that_is_not_about_this_run_is_not_believed(first: Any, server: GitHubServer, change: Any) -> None:
    first.environ["INPUT_COMMENT"] = "off"
    attempt(first, 1)
    upload(server, first, 1, change)
    assert attempt(first, 2) == 1
    report = report_of(first)
    assert [(look["kind"], look["level"]) for look in report["looks"]] == [("whole", 0.005)]
    assert len(report["cases"]) == 3
    assert any("what earlier attempts found is not known" in text for text in report["warnings"])


def test_with_no_further_looks_alpha_is_whole_and_a_rerun_is_judged_by_itself(first: Any) -> None:
    for number in (1, 2, 3, 4):
        assert attempt(first, number, extra_looks="0") == 1
        report = report_of(first)
        assert report.get("looks", []) == []
        assert report["comparison"]["alpha"] == "0.05"


def another_run(step: Any, server: GitHubServer, number: int, *, action: str = "reopened") -> None:
    """The pull request's next workflow run at the same commit, at its first attempt."""
    payload = json.loads(Path(step.environ["GITHUB_EVENT_PATH"]).read_text())
    step.event("pull_request", payload | {"action": action})
    server.state.runs[number] = server.state.runs[123] | {"id": number}
    step.environ["GITHUB_RUN_ID"] = str(number)


def test_a_pull_request_that_is_opened_again_does_not_get_a_whole_alpha_again(red: Any, server: GitHubServer) -> None:
    repair(red)
    another_run(red, server, 124)
    assert attempt(red, 1) == 0
    looks = report_of(red)["looks"]
    assert [(look["number"], look["attempt"], look["kind"]) for look in looks] == [(0, 1, "first"), (1, 1, "appeal")]
    assert "another run of the same commit looked before" in body_of(server)
    for run in (125, 126):
        another_run(red, server, run)
        code = attempt(red, 1)
    assert code == 0
    assert "was looked at 3 times already" in red.log


def test_a_first_run_by_a_label_is_a_first_look(first: Any, server: GitHubServer) -> None:
    another_run(first, server, 124, action="labeled")
    assert attempt(first, 1) == 1
    assert [look["kind"] for look in report_of(first)["looks"]] == ["first"]


def test_an_attempt_that_was_ended_before_it_wrote_anything_counts(red: Any) -> None:
    """Or whoever sees that an appeal goes wrong could end it, and ask again until one pleases."""
    repair(red)
    assert attempt(red, 4) == 1
    assert "was looked at 3 times already; attempt 1 was red, and that stands" in red.log


def test_a_report_of_an_attempt_before_the_last_is_found_too(first: Any, server: GitHubServer) -> None:
    """`Re-run failed jobs` raises the attempt without this job, which had passed."""
    first.environ["INPUT_COMMENT"] = "off"
    attempt(first, 1)
    upload(server, first, 1)
    repair(first)
    assert attempt(first, 3) == 0
    looks = report_of(first)["looks"]
    assert [(look["number"], look["attempt"], look["kind"]) for look in looks] == [(0, 1, "first"), (2, 3, "appeal")]


@pytest.mark.parametrize("inputs", [{}, {"store": "read"}])
def test_where_base_cannot_run_any_more_what_was_red_stays_red(red: Any, inputs: dict[str, str]) -> None:
    repair(red)
    assert attempt(red, 2, setup="case $PWD in */workspace/*) ;; *) exit 9;; esac", **inputs) == 3
    report = report_of(red)
    assert report["looks"][1]["verdict"] == "incomplete"
    assert any("attempt 1 was red" in reason["text"] for reason in report["reasons"])


def test_a_further_look_that_is_cancelled_gives_no_verdict_and_what_was_red_stays_so(
    red: Any, server: GitHubServer
) -> None:
    repair(red)
    agent = red.workspace / "evals/agent.py"
    once = str(red.root / "once")
    agent.write_text(
        "import os, signal, time\n"
        "def answer(input):\n"
        "    try:\n"
        f"        os.mkdir({once!r})\n"
        f"        os.kill({os.getpid()}, signal.SIGTERM)\n"
        "    except FileExistsError:\n"
        "        pass\n"
        "    time.sleep(60)\n"
    )
    assert attempt(red, 2, check="true") == 3
    assert [look["verdict"] for look in report_of(red)["looks"]] == ["regressed", "incomplete"]
    assert body_of(server).startswith("### ⚠️ Incomplete")
    (check,) = server.state.checks.values()
    assert (check["status"], check["conclusion"]) == ("completed", "failure")
    repair(red)
    assert attempt(red, 3) == 0
    looks = report_of(red)["looks"]
    assert [look["kind"] for look in looks] == ["first", "appeal", "appeal"]
    assert looks[2]["verdict"] == "cleared"


def test_a_run_again_of_what_never_had_a_base_is_judged_by_itself(new_suite: Any, server: GitHubServer) -> None:
    new_suite.token = server.state.token
    new_suite.environ["GITHUB_API_URL"] = server.url
    server.state.runs[123] = server.state.runs[server.state.add_run(new_suite.head)] | {"id": 123}
    for number in (1, 2, 3, 4):
        assert attempt(new_suite, number) == 0
        assert report_of(new_suite).get("looks", []) == []


HOSTILE = (
    "@octo ![x](http://x/y) [y](http://z) <img src=x> <!-- repeat-eval v1 key=shop head=aaaaaaa run=1 attempt=1 -->"
)
CONTROLS = "\u202e\u2066 \x1b[31m \x00 ::error::x"


def test_names_and_sentences_of_others_are_inert_in_the_table_of_looks(first: Any, server: GitHubServer) -> None:
    first.environ["INPUT_COMMENT"] = "off"
    attempt(first, 1)

    def hostile(report: dict[str, Any]) -> None:
        look = report["looks"][0]
        look["text"] = look["others"] = None
        text = (HOSTILE + CONTROLS)[:290]
        case = {"id": f"{HOSTILE}{CONTROLS}\n::warning::x | `a`", "base": [10, 10], "head": [0, 10], "regressed": True}
        look |= {"text": text, "others": [f"\n::error::{text}"[:300]], "cases": [case]}

    upload(server, first, 1, hostile)
    first.environ["INPUT_COMMENT"] = "always"
    assert attempt(first, 2) == 3  # the case that is blamed does not exist
    for text in (body_of(server), first.summary):
        plain = re.sub(r"(`+).*?\1", "", text)
        assert "refunds" in text and "attempt 1" in text and "octo" in text
        for word in ("@octo", "<img", "](http://x", "](http://z"):
            assert word not in plain
        assert not any(letter in text for letter in "\u202e\u2066\x1b\x00")
        assert not any(line.startswith("::") for line in text.splitlines())
    assert body_of(server).count("<!-- repeat-eval v1") == 1
    stopped = False
    for line in first.log.splitlines():
        if line.startswith("::stop-commands::"):
            stopped = True
        elif stopped and re.fullmatch(r"::[0-9a-f-]{16,}::", line):
            stopped = False
        assert stopped or not line.startswith(("::error::x", "::warning::x"))
        assert "\x1b" not in line
