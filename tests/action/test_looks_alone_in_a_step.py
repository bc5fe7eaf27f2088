"""Two looks without a base in whole steps: only where the step, or off the default branch the suite, asks for them."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

CASES = [f"case{number}" for number in range(8)]
SUITE = 'name: shop\ntarget: {python: "agent:answer"}\nseed: 7\ncases:\n' + "".join(
    f"  - {{id: {case}, input: {case}, expect: [{{contains: yes!}}]}}\n" for case in CASES
)
ASKING = f"second_look: 3+20\n{SUITE}"
BROKEN = "def answer(input):\n    return 'no' if input == 'case3' else 'yes!'\n"
LUCK = "def answer(input, context):\n    return 'no' if (input, context.repetition) == ('case3', 1) else 'yes!'\n"


def pushed(step_between: Any, suite: str, agent: str, *, ref: str = "refs/heads/main") -> Any:
    files = {"evals/suite.yaml": suite, "evals/agent.py": agent}
    step = step_between(files, {"README.md": "text"})
    step.check_out(step.head)
    payload = {"forced": False, "repository": {"default_branch": "main"}}
    step.event("push", payload, GITHUB_REF=ref, GITHUB_SHA=step.head, GITHUB_RUN_ID="50")
    return step


def trials_of(step: Any) -> Counter[str]:
    lines = (step.workspace / "repeat-eval-report/run.jsonl").read_text().splitlines()
    return Counter(line["case"] for line in map(json.loads, lines) if "repetition" in line)


def report_of(step: Any) -> Any:
    return json.loads((step.workspace / "repeat-eval-report/report.json").read_text())


@pytest.mark.parametrize(("agent", "code", "outcome"), [(BROKEN, 1, "confirmed"), (LUCK, 0, "not confirmed")])
def test_the_input_runs_cases_below_their_threshold_again(
    step_between: Any, agent: str, code: int, outcome: str
) -> None:
    step = pushed(step_between, SUITE, agent)
    assert step.run(second_look="3+20", base="none") == code, step.log
    assert trials_of(step) == {case: 23 if case == "case3" else 3 for case in CASES}
    (low,) = report_of(step)["looked_alone"]["cases"]
    assert (low["id"], low["outcome"]) == ("case3", outcome)
    assert "second look: 1 case below the threshold ('case3'), 20 fresh trials" in step.log


def test_a_suite_that_asks_keeps_ten_repeats_on_the_default_branch(step_between: Any) -> None:
    step = pushed(step_between, ASKING, LUCK)
    assert step.run(base="none") == 0, step.log
    assert set(trials_of(step).values()) == {10}


def test_a_suite_that_asks_looks_twice_on_another_branch(step_between: Any) -> None:
    step = pushed(step_between, ASKING, LUCK, ref="refs/heads/feature")
    assert step.run(base="none") == 0, step.log
    assert trials_of(step)["case3"] == 23
