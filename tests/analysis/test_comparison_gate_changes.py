"""A pull request may not quietly weaken its own gate: what is told, and what is not."""

from __future__ import annotations

from typing import Any

import pytest
from analysis_runs import run_of
from comparing import judged, with_header

from repeat_eval.analysis.gate_changes import gate_changes
from repeat_eval.analysis.rules import Rules
from repeat_eval.records.run import CasePlan, RunHeader, Selection


def header(rules: dict[str, Any] | None = None, *cases: CasePlan, **fields: Any) -> RunHeader:
    settings = {**Rules().as_settings(), **(rules or {})}
    return RunHeader(suite="desk", repeats=10, cases=cases, settings=settings, **fields)


def plan(case: str, **fields: Any) -> CasePlan:
    return CasePlan(id=case, **{"asked": 10, **fields})


@pytest.mark.parametrize(
    ("before", "now", "sentence"),
    [
        ({"threshold": "0.9"}, {"threshold": "0.8"}, "the threshold was lowered from 0.9 to 0.8"),
        ({"gate": "strict"}, {"gate": "wilson"}, "the gate was strict and is wilson"),
        ({"gate": "wilson"}, {"gate": "none"}, "the gate was wilson and is none"),
        ({"suite_threshold": "0.9"}, {"suite_threshold": None}, "suite threshold 0.9 was dropped"),
        ({"suite_threshold": "0.9"}, {"suite_threshold": "0.85"}, "suite threshold was lowered from 0.9 to 0.85"),
        ({"min_stability": "0.9"}, {}, "min stability 0.9 was dropped"),
        ({"min_reliability": "0.9"}, {"min_reliability": "0.5"}, "min reliability was lowered from 0.9 to 0.5"),
        ({}, {"max_failing_cases": 2}, "max failing cases was raised from 0 to 2"),
        ({}, {"max_error_rate": "0.5"}, "max error rate was raised from 0.1 to 0.5"),
        ({}, {"min_effect": 5.0}, "min effect was raised from 0 to 5"),
        ({"fail_on": "regression"}, {"fail_on": "none"}, "fail_on was regression and is none"),
        ({"fail_on": "regression"}, {"fail_on": "suite-regression"}, "fail_on was regression and is suite-regression"),
        (
            {"alpha": "0.05"},
            {"alpha": "0.001"},
            "alpha was lowered from 0.05 to 0.001: more evidence is needed for a regression",
        ),
        ({"require": "non-inferior", "margin": 3.0}, {}, "require: non-inferior was dropped"),
        (
            {"require": "non-inferior", "margin": 3.0},
            {"require": "non-inferior", "margin": 10.0},
            "margin was raised from 3 to 10 points",
        ),
        ({"no_base": "incomplete"}, {}, "no base was incomplete and is pass"),
        (
            {"count_as_failed": ["crash", "timeout"]},
            {},
            "errors of kind crash, timeout counted as failures and no longer do",
        ),
    ],
)
def test_what_weakens_a_gate_is_told_and_its_opposite_is_not(
    before: dict[str, Any], now: dict[str, Any], sentence: str
) -> None:
    assert gate_changes(header(before), header(now)) == (sentence,)
    reverse = gate_changes(header(now), header(before))
    assert reverse == () or before.get("fail_on") is not None


def test_equal_settings_say_nothing() -> None:
    assert gate_changes(header(), header()) == ()
    assert gate_changes(header({"threshold": "0.80"}), header({"threshold": "0.8"})) == ()


def test_cases_that_moved_otherwise_than_the_suite_are_named() -> None:
    base = header(None, plan("a", threshold="1.0"), plan("b"), plan("c", gate="strict"))
    head = header(None, plan("a", threshold="0.5"), plan("b", threshold="0.1"), plan("c"))
    assert gate_changes(base, head) == (
        "the threshold of 2 cases was lowered: a (1.0 to 0.5), b (0.8 to 0.1)",
        "the gate of 1 case became weaker: c (strict to wilson)",
    )


def test_a_lowered_default_is_told_once_and_not_for_every_case() -> None:
    cases = [plan(f"case {number}") for number in range(50)]
    assert gate_changes(header({"threshold": "0.9"}, *cases), header(None, *cases)) == (
        "the threshold was lowered from 0.9 to 0.8",
    )


def test_fewer_repeats_removed_cases_and_changed_checks_are_told() -> None:
    base = header(None, *(plan(f"case {number}", case_fingerprint="x") for number in range(6)))
    head = header(
        None, *(plan(f"case {number}", asked=3, case_fingerprint="y" if number else "x") for number in range(5))
    )
    assert gate_changes(base, head) == (
        "repeats of 5 cases went down from 10 to 3: case 0, case 1, case 2 and 2 more",
        "1 case removed: case 5",
        "input or checks of 4 cases changed: case 1, case 2, case 3 and 1 more",
    )


def test_what_a_selection_leaves_out_was_not_removed() -> None:
    base = header(None, plan("a"), plan("b", tags=("slow",)))
    assert gate_changes(base, header(None, plan("a"), selection=Selection(cases=("a",)))) == ()
    assert gate_changes(base, header(None, plan("a"), selection=Selection(tags=("quick",)))) == ()


@pytest.mark.parametrize("rubbish", [None, "", "eighty", -1, True, [], {}, float("nan"), float("inf"), "9" * 100])
def test_settings_that_cannot_be_read_are_left_alone(rubbish: Any) -> None:
    settings = dict.fromkeys(Rules().as_settings(), rubbish)
    gate_changes(header(settings), header())
    gate_changes(header(), header(settings))
    gate_changes(header(settings), header(settings))


def test_a_base_that_tells_no_settings_tells_nothing_about_them() -> None:
    assert gate_changes(RunHeader(suite="desk", repeats=10), header({"threshold": "0.1"})) == ()


def test_the_comparison_carries_them() -> None:
    base, head = run_of({"a": "PPP"}), run_of({"a": "PPP"})
    base = with_header(base, settings={"threshold": "1.0"})
    head = with_header(head, settings={"threshold": "0.5"})
    comparison = judged(base, head).comparison
    assert comparison and comparison.gate_changes == ("the threshold was lowered from 1.0 to 0.5",)
    written = header({"gate": "strict"})
    comparison = judged(head, head, options={"base_written": written}).comparison
    assert comparison and "the gate was strict and is wilson" in comparison.gate_changes
