"""From an answer to an outcome."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repeat_eval.execution.grading import Grade, grade
from repeat_eval.suite.checks.base import Answer, Check, NoVerdict, Observation, Score
from repeat_eval.suite.spec import ConfiguredCheck
from repeat_eval.targets.base import Call


class Says(Check):
    """Gives the score that it was made with, or raises it."""

    kind = "says"

    def evaluate(self, observation: Observation) -> Score:
        if isinstance(self.argument, Exception):
            raise self.argument
        score: Score = self.argument
        return score


def says(score: Any, name: str = "check", weight: float = 1.0, pass_score: float | None = None) -> ConfiguredCheck:
    return ConfiguredCheck(name, Says(score), weight, pass_score)


def judged(*checks: ConfiguredCheck, remote: Any = None) -> Grade:
    observation = Observation(case="a", repetition=1, input="in", answer=Answer(output="out"), duration=0.1)
    call = Call(case="a", input="in", repetition=1, repeats=1, seed=1)
    return asyncio.run(grade(observation, call, checks, remote))


GOOD, BAD = Score(True, 1.0), Score(False, 0.0, "it does not hold")


def test_a_trial_passes_when_all_its_checks_hold() -> None:
    assert judged(says(GOOD), says(GOOD)).outcome == "passed"
    assert judged(says(GOOD), says(BAD)).outcome == "failed"


def test_a_trial_without_checks_passes_and_has_no_score() -> None:
    verdict = judged()
    assert (verdict.outcome, verdict.score, verdict.checks) == ("passed", None, ())


def test_the_score_is_the_weighted_mean() -> None:
    assert judged(says(GOOD, weight=3), says(BAD)).score == pytest.approx(0.75)
    assert judged(says(Score(True, 0.9)), says(Score(True, 0.4))).score == pytest.approx(0.65)


def test_pass_score_decides_instead_of_the_check() -> None:
    assert judged(says(Score(False, 0.7), pass_score=0.7)).outcome == "passed"
    below = judged(says(Score(True, 0.69), name="polite", pass_score=0.7))
    assert (below.outcome, below.message) == ("failed", "scored 0.69, wanted 0.7")


def test_the_message_is_of_the_first_check_that_failed_and_counts_the_others() -> None:
    verdict = judged(says(GOOD), says(BAD), says(BAD), says(BAD))
    assert verdict.message == "it does not hold (and 2 more)"


@pytest.mark.parametrize("broken", [NoVerdict("the judge is away"), ValueError("a bug in it"), RecursionError()])
def test_a_check_without_verdict_is_an_error_and_never_a_pass(broken: Exception) -> None:
    verdict = judged(says(GOOD), says(broken, name="judge"))
    assert (verdict.outcome, verdict.error_kind, verdict.score) == ("error", "judge", None)
    assert verdict.message is not None and verdict.message.startswith("judge: ")


def test_failing_beats_broken() -> None:
    verdict = judged(says(NoVerdict("away")), says(BAD))
    assert (verdict.outcome, verdict.error_kind, verdict.score) == ("failed", None, None)


def test_python_checks_are_judged_by_the_workers() -> None:
    class Remote(Says):
        kind = "python"

    asked: list[str] = []

    async def remote(configured: ConfiguredCheck, observation: Observation, call: Call) -> Score:
        asked.append(configured.name)
        return BAD

    verdict = judged(ConfiguredCheck("polite", Remote(GOOD)), says(GOOD), remote=remote)
    assert asked == ["polite"]
    assert [result.passed for result in verdict.checks] == [False, True]


@given(
    st.lists(
        st.tuples(st.booleans(), st.floats(0, 1), st.floats(1e-6, 1e6), st.none() | st.floats(0, 1)),
        min_size=1,
        max_size=6,
    )
)
def test_scores_stay_between_0_and_1_and_outcomes_follow_the_checks(
    entries: Sequence[tuple[bool, float, float, float | None]],
) -> None:
    verdict = judged(*(says(Score(passed, score), "c", weight, limit) for passed, score, weight, limit in entries))
    assert verdict.score is not None and 0 <= verdict.score <= 1
    held = all(passed if limit is None else score >= limit for passed, score, _, limit in entries)
    assert (verdict.outcome == "passed") is held
    assert (verdict.message is None) is held
