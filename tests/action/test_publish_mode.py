"""The comment for a run without rights: whose it is, what of its report is believed, and what is never done."""

from __future__ import annotations

import io
import json
import re
import sys
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parents[1] / "github"))

from server.faults import forbidden
from server.web import GitHubServer, running

from repeat_eval.action import rejudge
from repeat_eval.action.main import run_action
from repeat_eval.action.rejudge import rejudged
from repeat_eval.action.uploaded import ARCHIVE_BYTES, REPORT_BYTES, read_uploaded
from repeat_eval.analysis.report import Report, Setting, to_json
from repeat_eval.errors import UserError
from repeat_eval.records.run import CasePlan, Run, RunFooter, RunHeader
from repeat_eval.records.trial import Trial
from repeat_eval.steps.bases import Base
from repeat_eval.steps.judging import report_of
from repeat_eval.suite.settings import resolve

HEAD, OLD = "a" * 40, "b" * 40
LETTERS = {"P": "passed", "F": "failed", "E": "error", "S": "skipped"}


def run_of(outcomes: Mapping[str, str], *, asked: int = 10) -> Run:
    """A run in which each case's trials came out like this."""
    trials = tuple(
        Trial(
            case=case,
            repetition=number,
            outcome=LETTERS[letter],  # type: ignore[arg-type]
            error_kind="provider" if letter == "E" else None,
        )
        for case, letters in outcomes.items()
        for number, letter in enumerate(letters, start=1)
    )
    plans = tuple(CasePlan(id=case, asked=asked) for case in outcomes)
    header = RunHeader(suite="shop", repeats=asked, cases=plans, commit="c" * 40)
    return Run(header=header, trials=trials, footer=RunFooter(complete=True, trials=len(trials)))


def report(head: Mapping[str, str], base: Mapping[str, str] | None = None) -> Report:
    """The report of a run beside base."""
    beside = Base(run_of(base), "side-by-side") if base is not None else None
    return report_of(run_of(head), resolve(), base=beside)


GOOD = {"greets": "P" * 10, "thanks": "P" * 10, "refunds": "P" * 10}
BROKEN = {**GOOD, "refunds": "F" * 10}


def zipped(*files: tuple[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A zip of these files."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, data in files:
            archive.writestr(name, data)
    return buffer.getvalue()


def uploaded(report: Report) -> bytes:
    """A report folder as it is uploaded."""
    return zipped(("report.json", to_json(report)), ("junit.xml", b"<x/>"))


@dataclass
class Bench:
    """A pull request from a fork, its finished run, and the job that publishes."""

    server: GitHubServer
    root: Path
    run: int = 0
    attempt: int = 2
    log: str = ""
    outputs: str = ""
    finished: dict[str, Any] = field(default_factory=dict)

    def upload(self, archive: bytes, name: str | None = None) -> None:
        named = name or f"repeat-eval-report-{self.run}-{self.attempt}"
        self.server.state.add_artifact(self.run, named, archive)

    def publish(self, event: str = "workflow_run", **inputs: str) -> int:
        """The exit code of the job that the run's end starts."""
        run = {
            "id": self.run,
            "run_attempt": self.attempt,
            "event": "pull_request",
            "conclusion": "failure",
            "head_sha": HEAD,
            "head_branch": "change",
            "head_repository": {"full_name": "eve/shop"},
            "pull_requests": [],
            **self.finished,
        }
        path = self.root / "event.json"
        repository = {"full_name": "octo/shop", "default_branch": "main"}
        path.write_text(json.dumps({"action": "completed", "repository": repository, "workflow_run": run}))
        environ = {
            "GITHUB_EVENT_NAME": event,
            "GITHUB_EVENT_PATH": str(path),
            "GITHUB_REPOSITORY": "octo/shop",
            "GITHUB_SHA": "c" * 40,
            "GITHUB_RUN_ID": "900",
            "GITHUB_API_URL": self.server.url,
            "GITHUB_WORKSPACE": str(self.root),
            "GITHUB_OUTPUT": str(self.root / "output"),
            "INPUT_SETUP": "none",
            "INPUT_MATRIX": "null",
            **{f"INPUT_{name.upper()}": value for name, value in {"mode": "publish", **inputs}.items()},
        }
        stream = io.StringIO()
        code = run_action(environ, self.server.state.token, stream)
        self.log, output = stream.getvalue(), self.root / "output"
        self.outputs = output.read_text() if output.exists() else ""
        return code

    @property
    def requests(self) -> list[str]:
        return [f"{each.method} {each.path.removeprefix('/repos/octo/shop/')}" for each in self.server.log]

    @property
    def bodies(self) -> list[str]:
        return [comment["body"] for comment in self.server.state.comments.values()]


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    with running() as server:
        server.state.repository = "octo/shop"
        server.state.add_pull(7, head=HEAD, base=OLD, head_repository="eve/shop")
        bench = Bench(server, tmp_path)
        bench.run = server.state.add_run(HEAD, head_repository={"full_name": "eve/shop"}, run_attempt=2)
        yield bench
    assert server.violations == []


def test_the_comment_says_who_reported_and_what_the_counts_say(bench: Bench) -> None:
    bench.upload(uploaded(report(BROKEN, GOOD)))
    assert bench.publish() == 0
    (body,) = bench.bodies
    assert body.startswith("_Reported by the pull request's own workflow.")
    assert "### ❌ Worse than `main`: 1 of 3 cases broke" in body
    assert body.endswith(f"<!-- repeat-eval v1 key=shop head={HEAD} run={bench.run} attempt=2 -->")
    assert f"/octo/shop/actions/runs/{bench.run}/attempts/2" in body
    assert "attempt 2" in body
    assert "ccccccc" not in body  # the commit that the report names
    assert "fail" in bench.outputs.split()


def test_it_takes_these_requests_and_sets_neither_check_nor_status(bench: Bench) -> None:
    bench.upload(uploaded(report(BROKEN, GOOD)))
    bench.publish()
    comments = "issues/7/comments"
    artifact = next(iter(bench.server.state.artifacts))
    assert [each for each in bench.requests if "/storage/" not in each] == [
        "GET pulls",
        f"GET actions/runs/{bench.run}/artifacts",
        f"GET actions/artifacts/{artifact}/zip",
        f"GET {comments}",  # a second attempt: what did the first one find?
        "GET pulls/7",
        f"GET {comments}",
        f"POST {comments}",
        f"GET {comments}",
    ]
    assert not bench.server.state.checks
    assert not bench.server.state.statuses


def test_a_verdict_that_was_made_up_is_made_anew(bench: Bench) -> None:
    honest = report(BROKEN, GOOD)
    assert honest.comparison is not None
    comparison = msgspec.structs.replace(
        honest.comparison, verdict="improved", p=0.001, delta=0.5, text="All is well.", suite_improved=True
    )
    bench.upload(
        uploaded(msgspec.structs.replace(honest, verdict="pass", exit_code=0, reasons=(), comparison=comparison))
    )
    bench.publish()
    assert "### ❌ Worse than `main`: 1 of 3 cases broke" in bench.bodies[0]
    assert "All is well" not in bench.bodies[0]


def test_a_run_that_broke_off_stays_incomplete() -> None:
    run = run_of(GOOD)
    stopped = msgspec.structs.replace(run, footer=RunFooter(complete=False, trials=30, stopped="max-cost"))
    told = report_of(stopped, resolve())
    assert rejudged(told).verdict == told.verdict == "incomplete"


LETTERS_OF_A_CASE = st.text("PPPFES", max_size=12)
SIDES = st.dictionaries(st.sampled_from(["a", "b", "c", "d"]), LETTERS_OF_A_CASE, min_size=1)


@given(head=SIDES, base=SIDES | st.none())
def test_an_honest_report_is_judged_as_it_judged_itself(head: dict[str, str], base: dict[str, str] | None) -> None:
    told = report(head, base)
    again = rejudged(told)
    assert (again.verdict, again.totals) == (told.verdict, told.totals)
    assert {reason.text for reason in again.reasons} == {reason.text for reason in told.reasons}
    if told.comparison is not None and again.comparison is not None:
        assert (again.comparison.verdict, again.comparison.p) == (told.comparison.verdict, told.comparison.p)


def test_it_survives_being_written_and_read_and_judged_twice() -> None:
    once = rejudged(read_uploaded(uploaded(report(BROKEN, GOOD))))
    assert rejudged(once).verdict == once.verdict == "fail"


# Whose report it is


@pytest.mark.parametrize(
    "change",
    [
        lambda pull: pull["head"].update(repo={"full_name": "eve/other", "name": "other"}),
        lambda pull: pull["head"].update(sha=OLD),
        lambda pull: pull["head"].update(ref="main"),
        lambda pull: pull.update(state="closed"),
    ],
    ids=["another repository of the same owner", "another commit", "another branch", "a closed one"],
)
def test_another_pull_request_is_not_taken_for_it(bench: Bench, change: Callable[[dict[str, Any]], object]) -> None:
    change(bench.server.state.pulls[7])
    bench.upload(uploaded(report(BROKEN, GOOD)))
    assert bench.publish() == 0
    assert bench.bodies == []
    assert "no open pull request has that repository, branch and commit" in bench.log


def test_one_commit_in_two_pull_requests_is_not_guessed_at(bench: Bench) -> None:
    pull = {"ref": "release", "sha": OLD, "label": "octo:release", "repo": {}}
    bench.server.state.add_pull(8, head=HEAD, base=OLD, head_repository="eve/shop")
    bench.server.state.pulls[8]["base"] = pull
    bench.upload(uploaded(report(BROKEN, GOOD)))
    assert bench.publish() == 0
    assert bench.bodies == []
    assert "the head of 2 pull requests, into main, release" in bench.log


@pytest.mark.parametrize("finished", [{"event": "push"}, {"head_repository": None}])
def test_a_run_of_no_pull_request_costs_no_request(bench: Bench, finished: dict[str, Any]) -> None:
    bench.finished = finished
    assert bench.publish() == 0
    assert bench.requests == []
    assert "Nothing to publish" in bench.log


@pytest.mark.parametrize("name", ["repeat-eval-report-{run}-1", "repeat-eval-report-1-2", "report", "x{run}-2"])
def test_a_report_of_another_run_or_attempt_is_not_read(bench: Bench, name: str) -> None:
    bench.upload(uploaded(report(BROKEN, GOOD)), name.format(run=bench.run))
    assert bench.publish() == 0
    assert bench.bodies == []
    assert not bench.server.requests("GET", "/zip")


def test_matrix_legs_have_comments_of_their_own(bench: Bench) -> None:
    for leg in ("small", "large"):
        bench.upload(uploaded(report(BROKEN, GOOD)), f"repeat-eval-report-{leg}-{bench.run}-2")
    bench.publish()
    assert len(bench.bodies) == 2


def test_a_comment_that_may_not_be_written_turns_nothing_unless_asked(bench: Bench) -> None:
    bench.upload(uploaded(report(BROKEN, GOOD)))
    bench.server.faults.append(forbidden("POST", "/comments", times=9))
    assert bench.publish() == 0
    assert "pull-requests: write" in bench.log
    assert bench.publish(**{"fail-on-publish-error": "true"}) == 4


def test_it_belongs_into_a_job_on_workflow_run(bench: Bench) -> None:
    assert bench.publish("push") == 2
    assert "belongs into a job on workflow_run" in bench.log
    assert bench.publish(repeats="3") == 2
    assert "`repeats` does nothing with `mode: publish`" in bench.log


@pytest.mark.parametrize("name", [".", "run"])
def test_the_inputs_that_nobody_wrote_are_no_hindrance(bench: Bench, name: str) -> None:
    declared = yaml.safe_load((Path(__file__).parents[2] / name / "action.yml").read_text())["inputs"]
    values = {key: each["default"] for key, each in declared.items() if not each["default"].startswith("${{")}
    bench.upload(uploaded(report(BROKEN, GOOD)))
    assert bench.publish(**{**values, "mode": "publish"}) == 0
    assert len(bench.bodies) == 1


# What is in it

ARCHIVES = {
    "no zip": b"hello",
    "nothing": b"",
    "no report": zipped(("other.json", b"{}")),
    "a report that is not at the top": zipped(("a/report.json", b"{}"), ("../report.json", b"{}")),
    "two reports": zipped(("report.json", b"{}"), ("report_json", b"{}")).replace(b"report_json", b"report.json"),
    "a bomb": zipped(("report.json", b" " * (REPORT_BYTES + 1))),
    "too many files": zipped(*((f"{number}", b"") for number in range(1001))),
    "another packing": zipped(("report.json", b"{}"), method=zipfile.ZIP_LZMA),
    "no JSON": zipped(("report.json", b"\xff\x00")),
    "deep JSON": zipped(("report.json", b"[" * 100_000)),
    "no report of ours": zipped(("report.json", b'{"schema": "else/1"}')),
    "a newer report": zipped(("report.json", b'{"schema": "repeat-eval/report/9"}')),
    "half a report": zipped(("report.json", b'{"schema": "repeat-eval/report/1", "suite": "x"}')),
    "a zip that is too large": bytes(ARCHIVE_BYTES + 1),
    "a bad word of many": zipped(
        ("report.json", b'{"schema": "repeat-eval/report/1", "verdict": "%b"}' % (b"x" * 10**6))
    ),
    "a cut zip": uploaded(report(BROKEN, GOOD))[:-30],
}


@pytest.mark.parametrize("name", ARCHIVES)
def test_a_zip_that_is_not_as_it_should_be_is_refused(bench: Bench, name: str) -> None:
    bench.upload(ARCHIVES[name])
    assert bench.publish() == 3
    assert bench.bodies == []
    assert "Not published: " in bench.log
    assert len(bench.log) < 2000


@given(st.binary(max_size=300))
def test_bytes_that_are_no_zip_are_refused(data: bytes) -> None:
    with pytest.raises(UserError):
        read_uploaded(data)


@pytest.mark.parametrize("legs", ["ab", "ba"])
def test_one_broken_report_does_not_keep_the_others_back(bench: Bench, legs: str) -> None:
    for leg, archive in zip(legs, (b"no zip", uploaded(report(BROKEN, GOOD))), strict=True):
        bench.upload(archive, f"repeat-eval-report-{leg}-{bench.run}-2")
    assert bench.publish() == 3
    assert len(bench.bodies) == 1
    assert re.search(r"^exit-code<<\S+\n3$", bench.outputs, re.MULTILINE)


def test_a_report_that_has_expired_is_passed_over(bench: Bench) -> None:
    bench.upload(uploaded(report(BROKEN, GOOD)))
    for artifact in bench.server.state.artifacts.values():
        artifact["expired"] = True
    assert bench.publish() == 0
    assert bench.bodies == []


def with_case(**changes: Any) -> Report:
    told = report(GOOD, GOOD)
    first = msgspec.structs.replace(told.case_reports[0], **changes)
    return msgspec.structs.replace(told, case_reports=(first, *told.case_reports[1:]))


@pytest.mark.parametrize(
    "changes",
    [
        {"passed": -1},
        {"passed": 11},
        {"passed": 10**12, "trials": 10**12},
        {"asked": 10**12},
        {"id": ""},
        {"id": "x" * 501},
        {"id": "thanks"},
        {"threshold": "many"},
    ],
    ids=str,
)
def test_counts_that_cannot_be_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(UserError):
        rejudged(with_case(**changes))


def test_counts_of_base_that_cannot_be_are_refused() -> None:
    told = report(GOOD, GOOD)
    assert told.comparison is not None
    first = told.comparison.cases[0]
    cases = (msgspec.structs.replace(first, base=msgspec.structs.replace(first.base, passed=10**12)),)
    with pytest.raises(UserError):
        rejudged(msgspec.structs.replace(told, comparison=msgspec.structs.replace(told.comparison, cases=cases)))


def test_settings_that_cannot_be_are_refused() -> None:
    with pytest.raises(UserError):
        rejudged(msgspec.structs.replace(report(GOOD), settings={"alpha": Setting("much", "suite")}))


def test_outcomes_that_contradict_the_counts_are_made_from_them() -> None:
    assert rejudged(with_case(outcomes="F" * 10)).case_reports[0].outcomes == "P" * 10


def test_the_largest_report_is_judged_in_bounded_time() -> None:
    sides = {f"case{number}": "PF" * 25 for number in range(rejudge.CASES)}
    told = report_of(run_of(sides, asked=50), resolve(), base=Base(run_of(sides, asked=50), "side-by-side"))
    started = time.monotonic()
    rejudged(told)
    assert time.monotonic() - started < 60


def test_hostile_texts_are_inert_in_the_comment(bench: Bench) -> None:
    evil = "@octo <img src=x> <!-- repeat-eval v1 key=other head=aaaaaaa run=1 attempt=1 -->\n::error::x"
    told = report({evil: "F" * 10, "b": "P" * 10}, {evil: "P" * 10, "b": "P" * 10})
    bench.upload(uploaded(msgspec.structs.replace(told, suite=evil, warnings=(evil,))))
    bench.publish()
    (body,) = bench.bodies
    assert "<img" not in re.sub(r"`[^`]*`", "", body)
    assert "@octo" not in re.sub(r"`[^`]*`", "", body)
    assert body.count("<!-- repeat-eval v1") == 1
    assert not any(line.startswith(("::error", "<!-- repeat-eval v1 key=other")) for line in body.splitlines())
    assert not any(line.startswith("::error::x") for line in bench.log.splitlines())
