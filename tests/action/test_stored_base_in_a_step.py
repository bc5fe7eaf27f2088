"""A store in front of two looks, in whole steps: base is set up only for what head's first look suspects."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "github"))

from server.state import Commit
from server.web import GitHubServer

CASES = [f"case{number}" for number in range(8)]
SUITE = 'name: shop\ntarget: {python: "agent:answer"}\nseed: 7\ncases:\n' + "".join(
    f"  - {{id: {case}, input: {case}, expect: [{{contains: yes!}}]}}\n" for case in CASES
)
GOOD = "def answer(input):\n    return 'yes!'\n"
ONCE = "def answer(input, context):\n    return 'no' if (input, context.repetition) == ('case3', 1) else 'yes!'\n"
BROKEN = "def answer(input):\n    return 'no' if input == 'case3' else 'yes!'\n"
SETUP = 'echo "$PWD" >> "$RUNNER_NOTES"'


class Desk:
    """Makes a pull request on the server, with a run of main in the store, and knows which sides were set up."""

    def __init__(self, step_between: Any, server: GitHubServer) -> None:
        self._between, self._server = step_between, server

    def step(self, agent: str, *, store: bool = True, suite: str = SUITE, more: dict[str, str] | None = None) -> Any:
        step = self._between(
            {"evals/suite.yaml": suite, "evals/agent.py": GOOD}, {"evals/agent.py": agent, **(more or {})}
        )
        state = self._server.state
        tree = state.add_tree({})
        state.commits[step.base] = Commit(tree, [])
        state.commits[step.head] = Commit(tree, [step.base])
        state.commits[step.merge] = Commit(tree, [step.base, step.head])
        state.add_pull(7, head=step.head, base=step.base)
        state.refs["refs/heads/main"] = step.base
        step.token = state.token
        self.notes = step.root / "notes"
        step.environ |= {"GITHUB_API_URL": self._server.url, "RUNNER_NOTES": str(self.notes)}
        step.inputs = {"setup": SETUP}
        if store:
            on_main(step)
            assert step.run(store="write") == 0
            self.notes.unlink()
        on_pull_request(step)
        return step

    @property
    def set_up(self) -> int:
        """How many sides were set up in the last step."""
        return len(self.notes.read_text().splitlines())


@pytest.fixture
def desk(step_between: Any, server: GitHubServer) -> Desk:
    return Desk(step_between, server)


def on_main(step: Any, event: str = "push") -> None:
    step.check_out(step.base)
    step.event(event, {"forced": False}, GITHUB_REF="refs/heads/main", GITHUB_SHA=step.base, GITHUB_RUN_ID="50")
    step.environ["GITHUB_RUN_ATTEMPT"] = "1"


def on_pull_request(step: Any) -> None:
    step.check_out(step.merge)
    pull_request = {
        "number": 7,
        "head": {"sha": step.head, "ref": "feature", "repo": {"full_name": "octo/shop"}},
        "base": {"sha": step.base, "ref": "main"},
    }
    payload = {"action": "synchronize", "pull_request": pull_request}
    step.event("pull_request", payload, GITHUB_REF="refs/pull/7/merge", GITHUB_SHA=step.merge, GITHUB_RUN_ID="60")
    step.environ["GITHUB_RUN_ATTEMPT"] = "1"


def report_of(step: Any) -> Any:
    return json.loads((step.workspace / "repeat-eval-report/report.json").read_text())


def test_base_is_never_set_up_where_nothing_is_suspected(desk: Desk) -> None:
    step = desk.step(GOOD)
    assert step.run(store="read") == 0, step.log
    assert desk.set_up == 1
    assert "second look: nothing suspected, base is not run" in step.log
    report = report_of(step)
    assert report["comparison"]["second_look"]["mode"] == "screen"
    assert report["comparison"]["second_look"]["calls"]["trials"] == 24
    assert not (step.workspace / "repeat-eval-report/base.jsonl").exists()
    assert "base not run" in step.summary


def test_a_suspect_has_base_set_up_and_is_cleared_by_fresh_trials(desk: Desk) -> None:
    step = desk.step(ONCE)
    assert step.run(store="read") == 0, step.log
    assert desk.set_up == 2
    (suspect,) = report_of(step)["comparison"]["second_look"]["suspects"]
    assert (suspect["id"], suspect["outcome"]) == ("case3", "not confirmed")
    assert suspect["fresh_base"]["verdicts"] == suspect["fresh_head"]["verdicts"] == 20


def test_a_regression_that_fresh_trials_confirm_blocks_without_gate_stored(desk: Desk) -> None:
    step = desk.step(BROKEN)
    assert step.run(store="read") == 1, step.log
    assert step.outputs["comparison"] == "regressed"


def test_base_runs_beside_head_from_the_start_without_a_store(desk: Desk) -> None:
    step = desk.step(GOOD, store=False)
    assert step.run() == 0, step.log
    assert desk.set_up == 2
    assert report_of(step)["comparison"]["second_look"]["mode"] == "side-by-side"


def test_base_runs_beside_head_from_the_start_where_that_is_asked(desk: Desk) -> None:
    step = desk.step(GOOD)
    assert step.run(store="read", base="run") == 0, step.log
    assert desk.set_up == 2
    assert report_of(step)["comparison"]["second_look"]["mode"] == "side-by-side"


def test_a_pull_request_that_changes_a_case_runs_base_beside_head(desk: Desk) -> None:
    changed = SUITE.replace("contains: yes!}]}\n", "contains: ye}]}\n", 1)
    step = desk.step(GOOD, more={"evals/suite.yaml": changed})
    assert step.run(store="read") == 0, step.log
    assert desk.set_up == 2
    assert "does not know 1 of 8 cases as they are now" in step.log


def test_a_pull_request_that_weakens_its_gate_is_told_of_though_base_is_not_run(desk: Desk) -> None:
    weaker = SUITE.replace("seed: 7\n", "seed: 7\nthreshold: 0.5\n")
    step = desk.step(GOOD, more={"evals/suite.yaml": weaker})
    assert step.run(store="read") == 0, step.log
    assert desk.set_up == 1
    assert any("threshold" in text for text in report_of(step)["comparison"]["gate_changes"])


def test_a_base_that_cannot_be_set_up_after_all_is_compared_as_stored(desk: Desk) -> None:
    step = desk.step(BROKEN)
    step.inputs = {"setup": f'{SETUP}; test $(wc -l < "$RUNNER_NOTES") -lt 2'}
    assert step.run(store="read", gate="none") == 0, step.log
    report = report_of(step)
    assert report["comparison"]["second_look"] is None
    assert report["comparison"]["base"]["source"] == "stored"
    assert {case["trials"] for case in report["cases"]} == {10}
    assert "the setup of base failed" in step.log


@pytest.mark.parametrize("event", ["push", "schedule"])
def test_runs_of_the_default_branch_keep_ten_repeats(desk: Desk, event: str) -> None:
    step = desk.step(GOOD, store=False)
    on_main(step, event)
    assert step.run(store="write") == 0, step.log
    assert {case["trials"] for case in report_of(step)["cases"]} == {10}


def test_the_suite_may_ask_for_two_looks_on_the_default_branch_too(desk: Desk) -> None:
    suite = SUITE.replace("seed: 7\n", "seed: 7\nsecond_look: 3+10\n")
    step = desk.step(GOOD, store=False, suite=suite)
    step.check_out(step.merge)
    step.event("push", {"forced": False, "before": step.base}, GITHUB_REF="refs/heads/main", GITHUB_SHA=step.merge)
    assert step.run() == 0, step.log
    assert report_of(step)["comparison"]["second_look"]["fresh"] == 10
