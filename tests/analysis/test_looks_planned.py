"""Two looks in plan and A/A: costs, chances, fixed repeats that are as good, and trials that depend on each other."""

from __future__ import annotations

from random import Random

import pytest
from analysis_runs import run_of

from repeat_eval.analysis.false_alarms import FalseAlarms, false_alarms
from repeat_eval.analysis.looks_alarms import LooksAlarms
from repeat_eval.analysis.planning_looks import LooksPlan, plan_looks
from repeat_eval.analysis.rules import Rules
from repeat_eval.statistics.second_look import SecondLookSettings
from repeat_eval.statistics.second_look_planning import chance_to_find

USUAL = SecondLookSettings()
CHEAP = SecondLookSettings(n2=10)


def plan(cases: int = 24, *, settings: SecondLookSettings = USUAL, cost: float | None = None) -> LooksPlan:
    found = plan_looks({"3+20": settings}, cases, usual="3+20", varied=None, bad_rate=0.5, cost_per_trial=cost)
    assert found is not None
    return found


def aa(cases: dict[str, str], *, looks: SecondLookSettings = USUAL, written: str = "3+20") -> FalseAlarms:
    run = run_of(cases)
    return false_alarms(run, Rules(), simulations=300, splits=100, looks=looks, looks_written=written)


def twice(found: FalseAlarms) -> LooksAlarms:
    assert found.second_look is not None
    return found.second_look


def shuffled(number: int, passes: int, fails: int) -> str:
    letters = list("P" * passes + "F" * fails)
    Random(number).shuffle(letters)
    return "".join(letters)


def test_a_plan_says_least_and_most_and_what_is_found() -> None:
    (row,) = plan().rows
    assert (row.first, row.suspects, row.most) == (144, 264, 558)
    assert row.found == chance_to_find(0.5, USUAL)
    assert (row.fixed_repeats, row.fixed_trials, row.usual) == (11, 528, True)
    assert (row.cost_first, row.cost_most) == (None, None)


def test_a_plan_says_what_it_costs_where_a_trial_s_cost_is_known() -> None:
    (row,) = plan(cost=0.5).rows
    assert (row.cost_first, row.cost_suspects, row.cost_most) == (72.0, 132.0, 279.0)


def test_a_stored_base_halves_the_first_look() -> None:
    (row,) = plan(settings=SecondLookSettings(mode="screen")).rows
    assert (row.first, row.suspects) == (72, 192)


def test_too_few_cases_have_no_two_looks() -> None:
    assert plan_looks({"3+20": USUAL}, 5, usual="3+20", varied=None, bad_rate=0.5, cost_per_trial=None) is None
    assert aa({f"case {n}": "PPPP" for n in range(5)}).second_look is None


def test_a_steady_suite_is_never_blocked_and_takes_the_first_look_alone() -> None:
    found = twice(aa({f"case {n}": "P" * 20 for n in range(8)}))
    assert found.simulated.blocked == 0
    assert found.simulated.trials == 48
    assert found.lasting is None
    assert found.split is not None
    assert (found.split.first, found.split.fresh) == (3, 7)


def test_independent_trials_are_blocked_as_seldom_as_alpha_says_and_called_independent() -> None:
    found = aa({f"case {n}": shuffled(n, 14, 6) for n in range(12)})
    both = twice(found)
    assert both.simulated.rate <= 0.05
    assert both.simulated.trials > 2 * 12 * 3
    assert not both.depends
    assert not any("independent" in text for text in found.advice)


def test_what_lasts_is_seen_though_the_suite_s_mean_stays_and_fewer_fresh_trials_are_proposed() -> None:
    """Half of the cases fall and half rise between the halves of the run."""
    cases = {f"case {n}": "P" * 10 + "F" * 10 if n % 2 else "F" * 10 + "P" * 10 for n in range(8)}
    found = aa(cases)
    assert twice(found).depends
    assert any("not independent" in text and "--second-look 3+10" in text for text in found.advice)
    already = aa(cases, looks=CHEAP, written="3+10")
    assert any("not independent" in text and "--second-look" not in text for text in already.advice)


def test_the_same_seed_gives_the_same_figures() -> None:
    cases = {f"case {n}": shuffled(n, 14, 6) for n in range(8)}
    assert aa(cases) == aa(cases)


@pytest.mark.parametrize("trials", [4, 10])
def test_too_few_trials_are_not_split(trials: int) -> None:
    assert twice(aa({f"case {n}": "P" * trials for n in range(8)})).split is None
