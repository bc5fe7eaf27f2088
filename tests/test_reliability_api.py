"""`repeat_eval.reliability`: the worked examples of evaluator reliability, and analyses from Python."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import pytest

from repeat_eval import Case, Suite, UserError, reliability

TRACES = [{"id": "kind", "case": "a", "output": "Yes, please."}, {"id": "curt", "case": "a", "output": "No."}]


def polite(output: str) -> float:
    return 1.0 if "please" in output else 0.0


def desk(check: object = polite) -> Suite:
    return Suite("desk", [Case(id="a", input="hi", expect=[check])])  # type: ignore[list-item]


def test_at_least_one_or_all_of_three_runs() -> None:
    assert reliability.pass_at_k(8, 10, 3) == pytest.approx(0.992)
    assert reliability.pass_to_k(8, 10, 3) == pytest.approx(0.512)
    with pytest.raises(ValueError, match="at least one run"):
        reliability.pass_to_k(0, 0, 3)


def test_whether_an_evaluation_is_reliable() -> None:
    found = reliability.is_reliable(8, 10, threshold=0.9, k=3)
    assert not found.reliable
    assert found.pass_to_k == pytest.approx(0.512)
    assert found.recommendation == "Increase evaluation runs or adjust pass threshold"
    assert not reliability.is_reliable(9, 10, threshold="0.9", k=1).reliable
    assert reliability.is_reliable(10, 10).reliable


def test_two_of_three_votes() -> None:
    vote = reliability.majority_vote([0.85, 0.72, 0.88], pass_score=0.8)
    assert (vote.verdict, round(vote.confidence, 2)) == ("pass", 0.67)
    with pytest.raises(ValueError, match="must be numbers"):
        reliability.majority_vote([0.9, float("nan")])


def test_scores_that_are_there_already() -> None:
    found = reliability.analyse_scores([0.82, 0.91, 0.78, 0.85, 0.88, 0.79, 0.92, 0.84, 0.76, 0.87], pass_score=0.79)
    assert (found.passed, found.rating, found.pass_to_k["3"]) == (8, "low", pytest.approx(0.512))
    with pytest.raises(ValueError, match="between 0 and 1"):
        reliability.analyse_scores([1.2])


def test_a_suite_of_functions_is_tested_on_given_outputs(tmp_path: Path) -> None:
    found = reliability.analyse(desk(), TRACES, runs=5, min_pass_to={3: 0.9}, out=tmp_path)
    assert [(one.trace, one.passed, one.failed) for one in found.traces] == [("kind", 5, 0), ("curt", 0, 5)]
    assert (found.verdict, found.exit_code) == ("fail", 1)
    assert {path.name for path in tmp_path.iterdir()} == {
        ".gitignore",
        "judge-reliability.json",
        "judge-reliability.md",
    }
    labelled = reliability.analyse(desk(), TRACES, runs=1, labels=[{"trace": "kind", "label": True}])
    assert labelled.labels[0].share == 1.0


def test_a_check_without_verdict_is_an_error() -> None:
    draw = random.Random(1)

    def unsure(output: str) -> bool:
        if draw.random() < 0.05:
            raise RuntimeError("lost")
        return True

    found = reliability.analyse(desk(unsure), TRACES, runs=50, min_pass_to={1: "0.5"})
    assert found.summary.errors > 0
    assert sum(one.failed for one in found.traces) == 0
    assert found.verdict == "pass"


def test_an_analysis_may_be_made_inside_an_event_loop() -> None:
    async def inside() -> int:
        return reliability.analyse(desk(), TRACES, runs=1).sampled

    assert asyncio.run(inside()) == 2


def test_what_is_wrong_is_said_at_once() -> None:
    with pytest.raises(UserError) as raised:
        reliability.analyse(desk(), TRACES, runs=0, min_pass_to={3: 1}, repeats=5)
    text = str(raised.value)
    assert "`runs` must be a whole number from 1" in text
    assert "`min_pass_to` must be exceeded" in text
    assert "`repeats` does nothing here" in text
