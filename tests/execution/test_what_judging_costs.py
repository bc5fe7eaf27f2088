"""Judges cost money too: it is kept apart from the target's, and counts against the budget."""

from __future__ import annotations

import asyncio

import pytest
from execution_targets import Scripted, planned

from repeat_eval.execution.grading import Grade, grade
from repeat_eval.execution.run_trials import run_trials
from repeat_eval.execution.stopping import Stop
from repeat_eval.records.trial import ErrorKind, Judge, Tokens, Trial
from repeat_eval.suite.checks.base import Answer, NoVerdict, Observation, Score, Spent
from repeat_eval.suite.checks.judge import Judge as JudgeCheck
from repeat_eval.suite.spec import ConfiguredCheck
from repeat_eval.targets.base import Call

PAID = Spent(cost=0.5, tokens=Tokens(input=10, output=1))
WHO = Judge(model="openai:m", rubric="0" * 16)
CHECK = ConfiguredCheck("kind", JudgeCheck("Is kind."))
OTHER = ConfiguredCheck("other", JudgeCheck("Is short."))


async def judge(configured: ConfiguredCheck, observation: Observation, call: Call) -> Score:
    return Score(True, 0.9, "scored 0.9", WHO, PAID)


def graded(*answers: Score | NoVerdict, checks: tuple[ConfiguredCheck, ...] = (CHECK, OTHER)) -> Grade:
    waiting = list(answers)

    async def remote(configured: ConfiguredCheck, observation: Observation, call: Call) -> Score:
        answer = waiting.pop(0)
        if isinstance(answer, NoVerdict):
            raise answer
        return answer

    observation = Observation(case="a", repetition=1, input="in", answer=Answer(output="out"), duration=0.1)
    call = Call(case="a", input="in", repetition=1, repeats=1, seed=1)
    return asyncio.run(grade(observation, call, checks, remote))


def run(max_cost: float | None = None, target_cost: float | None = None) -> tuple[list[Trial], Stop]:
    done: list[Trial] = []
    stop = Stop(max_cost=max_cost)
    cases = planned(Scripted(cost=target_cost), {"a": 6}, checks=(CHECK,))
    asyncio.run(run_trials(cases, workers=1, seed=1, stop=stop, on_trial=done.append, remote=judge))
    return done, stop


def test_a_trial_keeps_what_judging_cost_apart_from_what_the_target_cost() -> None:
    trials, _ = run(target_cost=0.25)
    assert (trials[0].cost, trials[0].tokens) == (0.25, None)
    assert (trials[0].judge_cost, trials[0].judge_tokens) == (0.5, Tokens(input=10, output=1))
    assert trials[0].spent == 0.75
    assert trials[0].checks[0].judge == WHO


def test_a_budget_counts_judges_even_when_the_targets_cost_is_unknown() -> None:
    trials, stop = run(max_cost=1.0)
    assert stop.reason == "max-cost"
    assert len(trials) == 2


def test_the_costs_of_several_checks_add_up_also_of_one_without_verdict() -> None:
    verdict = graded(Score(True, 1.0, spent=PAID), NoVerdict("no majority", spent=PAID))
    assert verdict.spent == Spent(cost=1.0, tokens=Tokens(input=20, output=2))
    assert (verdict.outcome, verdict.error_kind) == ("error", "judge")


def test_a_cost_that_is_unknown_for_one_check_is_unknown_for_the_trial() -> None:
    verdict = graded(Score(True, 1.0, spent=PAID), Score(True, 1.0, spent=Spent(tokens=Tokens(input=1))))
    assert verdict.spent == Spent(cost=None, tokens=Tokens(input=11, output=None))


def test_without_judges_nothing_was_spent_on_judging() -> None:
    assert graded(Score(True, 1.0), Score(True, 1.0)).spent is None


@pytest.mark.parametrize(
    ("kind", "outcome"), [("judge", ("failed", None)), ("recording", ("error", "recording"))], ids=["broken", "missing"]
)
def test_a_missing_recording_is_an_error_even_where_another_check_fails(
    kind: ErrorKind, outcome: tuple[str, str | None]
) -> None:
    verdict = graded(Score(False, 0.0, "no"), NoVerdict("gone", kind=kind))
    assert (verdict.outcome, verdict.error_kind) == outcome


def test_a_pass_score_beside_a_judge_does_not_overrule_the_majority_of_its_votes() -> None:
    check = ConfiguredCheck("kind", JudgeCheck("Is kind."), pass_score=0.7)
    verdict = graded(Score(True, 0.6, "2 of 3 votes"), checks=(check,))
    assert verdict.outcome == "passed"
