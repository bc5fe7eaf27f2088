"""Further looks of runs without rights: the comment from the uploaded report says what the run's own job said."""

from __future__ import annotations

import io
import json
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "github"))

from server.web import GitHubServer

from repeat_eval.action.main import run_action

GOOD = "def answer(input):\n    return input\n"


class Pair:
    """The two workflows of a pull request: one evaluates and may write nothing, one publishes."""

    def __init__(self, step: Any, server: GitHubServer, source: str) -> None:
        self.step = step
        self.server = server
        self.source = source
        self.log = ""
        server.state.refs["heads/main"] = step.base
        server.state.add_pull(7, head=step.head, base=step.base, head_repository=source)
        run = server.state.runs.pop(server.state.add_run(step.head, head_repository={"full_name": source}))
        server.state.runs[123] = run | {"id": 123}
        payload = json.loads(Path(step.environ["GITHUB_EVENT_PATH"]).read_text())
        payload["pull_request"]["head"]["repo"]["full_name"] = source
        step.event("pull_request", payload)
        step.environ["INPUT_COMMENT"] = "off"

    def evaluate(self, attempt: int) -> int:
        self.step.environ["GITHUB_RUN_ATTEMPT"] = str(attempt)
        for name in ("GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT"):
            Path(self.step.environ[name]).unlink(missing_ok=True)
        return int(self.step.run())

    @property
    def report(self) -> dict[str, Any]:
        return dict(json.loads((self.step.workspace / "repeat-eval-report/report.json").read_text()))

    def publish(self, attempt: int, change: Callable[[dict[str, Any]], object] | None = None) -> int:
        report = self.report
        if change is not None:
            change(report)
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            archive.writestr("report.json", json.dumps(report))
        self.server.state.add_artifact(123, f"repeat-eval-report-123-{attempt}", packed.getvalue())
        run = {
            "id": 123,
            "run_attempt": attempt,
            "event": "pull_request",
            "conclusion": "failure",
            "head_sha": self.step.head,
            "head_branch": self.server.state.pulls[7]["head"]["ref"],
            "head_repository": {"full_name": self.source},
            "pull_requests": [],
        }
        path = self.step.root / "finished.json"
        repository = {"full_name": "octo/shop", "default_branch": "main"}
        path.write_text(json.dumps({"action": "completed", "repository": repository, "workflow_run": run}))
        environ = {
            "GITHUB_EVENT_NAME": "workflow_run",
            "GITHUB_EVENT_PATH": str(path),
            "GITHUB_REPOSITORY": "octo/shop",
            "GITHUB_SHA": "c" * 40,
            "GITHUB_RUN_ID": "900",
            "GITHUB_API_URL": self.server.url,
            "GITHUB_WORKSPACE": str(self.step.root),
            "INPUT_SETUP": "none",
            "INPUT_MATRIX": "null",
            "INPUT_MODE": "publish",
        }
        stream = io.StringIO()
        code = run_action(environ, self.server.state.token, stream)
        self.log = stream.getvalue()
        return code

    @property
    def headline(self) -> str:
        (comment,) = self.server.state.comments.values()
        return next(line for line in str(comment["body"]).splitlines() if line.startswith("### "))

    @property
    def told(self) -> str:
        """What the job itself said first."""
        return str(self.step.summary).splitlines()[0].replace("this PR", "head")

    def repair(self) -> None:
        (self.step.workspace / "evals/agent.py").write_text(GOOD)


@pytest.fixture(params=["eve/shop", "octo/shop"], ids=["a fork", "the repository itself"])
def pair(request: pytest.FixtureRequest, on_github: Any, server: GitHubServer) -> Pair:
    return Pair(on_github, server, request.param)


@pytest.fixture
def fork(on_github: Any, server: GitHubServer) -> Pair:
    return Pair(on_github, server, "eve/shop")


def test_an_appeal_that_clears_is_told_as_such_in_the_comment(pair: Pair) -> None:
    assert (pair.evaluate(1), pair.publish(1)) == (1, 0)
    assert pair.headline == pair.told
    assert "Worse than" in pair.headline
    pair.repair()
    # The second attempt finds the first one's look in the comment that the other workflow wrote.
    assert (pair.evaluate(2), pair.publish(2)) == (0, 0)
    assert pair.headline == pair.told
    assert pair.headline.startswith("### ✅ Cleared on appeal")


def test_an_appeal_that_does_not_clear_and_the_one_after_are_told_as_such(pair: Pair) -> None:
    for attempt in (1, 2, 3):
        assert (pair.evaluate(attempt), pair.publish(attempt)) == (1, 0)
        assert pair.headline == pair.told
    assert pair.headline.startswith("### ❌ Still worse than `main` on appeal")
    assert len(pair.report["looks"]) == 3


def test_an_escalation_is_told_as_such(pair: Pair, server: GitHubServer) -> None:
    broken = (pair.step.workspace / "evals/agent.py").read_text()
    pair.repair()
    assert (pair.evaluate(1), pair.publish(1)) == (0, 0)
    (pair.step.workspace / "evals/agent.py").write_text(broken)
    assert (pair.evaluate(2), pair.publish(2)) == (1, 0)
    assert pair.headline == pair.told


def _claims_an_appeal(report: dict[str, Any]) -> None:
    look = {"number": 0, "attempt": 1, "kind": "first", "level": 0.04, "verdict": "regressed"}
    blamed = {"id": "greets", "base": [10, 10], "head": [0, 10], "regressed": True}
    report["looks"] = [look | {"cases": [blamed]}, {"number": 1, "attempt": 2, "kind": "appeal", "verdict": "cleared"}]


def _claims_an_escalation(report: dict[str, Any]) -> None:
    report["looks"] = [{"number": 1, "attempt": 2, "kind": "escalation", "verdict": "no detectable change"}]


@pytest.mark.parametrize("change", [_claims_an_appeal, _claims_an_escalation])
def test_a_report_cannot_talk_a_regression_away_by_earlier_looks_that_never_were(fork: Pair, change: Any) -> None:
    fork.evaluate(1)
    assert fork.publish(2, change) == 0
    assert fork.headline.startswith("### ❌ Worse than `main`")


def test_looks_of_a_report_that_are_not_known_here_are_said_to_be_no_part_of_the_verdict(fork: Pair) -> None:
    fork.evaluate(1)
    fork.publish(2, _claims_an_appeal)
    (comment,) = fork.server.state.comments.values()
    assert "what earlier attempts found is not known" in comment["body"]
