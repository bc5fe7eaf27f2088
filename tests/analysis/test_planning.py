"""How many repeats: what a plan promises holds when it is counted out."""

from __future__ import annotations

import itertools
from fractions import Fraction
from math import comb

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from repeat_eval.analysis.planning import (
    SIZES,
    ComparisonPlan,
    any_of,
    findable_passes,
    plan_comparison,
    plan_gate,
    varying_cases,
)
from repeat_eval.statistics.comparison import case_exact
from repeat_eval.statistics.gates import gate_verdict
from repeat_eval.statistics.planner import minimal_detectable_difference

CALM = settings(deadline=None, max_examples=40)


def binomial(passes: int, trials: int, rate: float) -> float:
    return comb(trials, passes) * rate**passes * (1 - rate) ** (trials - passes)


def test_a_gate_at_0_8_catches_a_case_at_0_3_from_5_repeats_and_always_from_7() -> None:
    plan = plan_gate("0.8", bad_rate="0.3")
    assert (plan.first, plan.always, plan.decisive, plan.proving) == (5, 7, 1, 16)


def test_the_table_has_a_row_for_each_size_in_order() -> None:
    assert tuple(row.repeats for row in plan_gate("0.8").rows) == SIZES
    assert [row.repeats for row in plan_gate("0.8", sizes=[9, 3, 9]).rows] == [3, 9]


@pytest.mark.parametrize("gate", ["wilson", "strict"])
@pytest.mark.parametrize("n", [3, 5, 10])
def test_chances_of_a_row_are_sums_over_all_results_that_fail_the_gate(gate: str, n: int) -> None:
    (row,) = plan_gate("0.8", gate=gate, bad_rate="0.3", cases=20, sizes=[n]).rows  # type: ignore[arg-type]
    fails = [c for c in range(n + 1) if gate_verdict(c, n, Fraction("0.8"), gate) == "fail"]  # type: ignore[arg-type]
    assert row.needs == len(fails)
    assert row.bad_fails == pytest.approx(sum(binomial(c, n, 0.3) for c in fails), abs=1e-12)
    for rate, one, several in zip((0.95, 0.9), row.good_fails, row.any_good_fails, strict=True):
        assert one == pytest.approx(sum(binomial(c, n, rate) for c in fails), abs=1e-12)
        assert several == pytest.approx(1 - (1 - one) ** 20, abs=1e-9)


def test_any_of_100_healthy_cases_fails_as_often_as_documented() -> None:
    strict = plan_gate("0.8", gate="strict", cases=100, sizes=[3, 5, 10])
    wilson = plan_gate("0.8", cases=100, sizes=[3, 5, 10])
    assert [round(row.any_good_fails[0], 2) for row in strict.rows] == [1.0, 0.9, 0.69]
    assert [round(row.any_good_fails[0], 3) for row in wilson.rows] == [0.517, 0.109, 0.006]


def test_where_no_bad_rate_is_given_it_lies_below_every_threshold() -> None:
    assert plan_gate("0.8").bad_rate == 0.3
    assert plan_gate("0.2").bad_rate == 0.1


@pytest.mark.parametrize(
    ("threshold", "wish", "sentence"),
    [
        ("0.3", {"bad_rate": "0.3"}, "must lie below the threshold"),
        ("0", {}, "nothing to plan"),
        ("0.8", {"cases": 0}, "at least one case"),
        ("0.8", {"power": 1.0}, "power"),
        ("80", {}, "did you mean 0.8"),
    ],
)
def test_a_wish_that_means_nothing_is_refused(threshold: str, wish: dict[str, object], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        plan_gate(threshold, **wish)  # type: ignore[arg-type]


@given(st.lists(st.floats(0, 0.999), max_size=8))
def test_at_least_one_of_several_is_one_minus_none(probabilities: list[float]) -> None:
    none = 1.0
    for p in probabilities:
        none *= 1 - p
    assert any_of(probabilities) == pytest.approx(1 - none, abs=1e-12)
    assert any_of([*probabilities, 1.0]) == 1.0


@pytest.mark.parametrize(("n", "passes"), [(3, 0), (5, 1), (10, 6), (20, 15)])
def test_falls_of_one_case_that_are_found_alone_are_the_documented_ones(n: int, passes: int) -> None:
    assert findable_passes(n, n, 0.025) == passes


def test_two_trials_find_no_fall_and_other_testable_cases_make_it_harder() -> None:
    assert findable_passes(2, 2, 0.025) is None
    assert findable_passes(10, 10, 0.025, testable=5) == 4
    assert findable_passes(3, 3, 0.025, testable=2) is None


@CALM
@given(st.integers(1, 30), st.integers(1, 30), st.integers(1, 20))
def test_the_findable_passes_are_the_last_that_holm_rejects(base_n: int, head_n: int, testable: int) -> None:
    most = findable_passes(base_n, head_n, 0.025, testable)
    rejected = [c for c in range(head_n) if round(case_exact(base_n, base_n, c, head_n).p_less * testable, 12) <= 0.025]
    assert rejected == list(range(len(rejected)))
    assert most == (rejected[-1] if rejected else None)


def plan(**wishes: object) -> ComparisonPlan:
    return plan_comparison(20, **{"repeats": 5, **wishes})  # type: ignore[arg-type]


def test_a_typical_suite_of_20_cases_and_5_repeats_sees_12_9_points() -> None:
    made = plan()
    assert made.here.detectable is not None
    assert round(100 * made.here.detectable, 1) == 12.9
    assert (made.spread, made.spread_source) == (0.042, "assumed")


def test_the_repeats_for_a_wanted_difference_are_the_fewest_that_find_it() -> None:
    made = plan(detect=0.05)
    assert made.needed is not None
    n = made.needed.repeats
    assert n == 22
    assert (
        minimal_detectable_difference(20, n, n, 0.042) <= 0.05 < minimal_detectable_difference(20, n - 1, n - 1, 0.042)
    )
    assert made.needed in made.rows
    assert made.needed.trials == 2 * 20 * 22


def test_a_base_of_fixed_size_can_make_a_difference_unfindable() -> None:
    assert plan(base_repeats=3, detect=0.01).needed is None
    reachable = plan(base_repeats=200, detect=0.05).needed
    assert reachable is not None
    assert minimal_detectable_difference(20, 200, reachable.repeats, 0.042) <= 0.05
    assert reachable.trials == 20 * reachable.repeats


def test_a_difference_that_needs_more_than_10_000_repeats_has_no_answer() -> None:
    assert plan_comparison(1, repeats=5, detect=0.001).needed is None


def test_a_suite_too_small_to_find_anything_says_so() -> None:
    assert plan_comparison(1, repeats=2).here.detectable is None


def test_a_run_gives_its_spread_and_the_cases_that_share_the_level() -> None:
    made = plan(counts=[(10, 10)] * 15 + [(5, 10)] * 5, repeats=10)
    assert made.spread_source == "run file"
    assert made.spread == pytest.approx(5 * 25 / 90 / 20)
    assert (made.here.testable, made.here.single_drop, made.here.single_drop_here) == (5, 6, 4)
    assert made.here.bad_found_here == pytest.approx(sum(binomial(c, 10, 0.3) for c in range(5)))


def test_a_given_spread_holds_before_the_run_and_a_run_of_another_suite_gives_only_its_spread() -> None:
    counts = [(5, 10)] * 5
    assert plan(counts=counts, spread=0.1).spread == 0.1
    assert plan(counts=counts).here.testable is None
    assert plan(counts=counts).spread == pytest.approx(25 / 90)


def test_costs_are_those_of_all_trials_and_unknown_without_a_price() -> None:
    assert plan().here.cost is None
    assert plan(cost_per_trial=0.01).here.cost == pytest.approx(2.0)
    assert plan(cost_per_trial=0.01, base_repeats=5).here.cost == pytest.approx(1.0)


def test_more_repeats_find_less() -> None:
    found = [row.detectable or 2.0 for row in plan().rows]
    assert all(later < earlier for earlier, later in itertools.pairwise(found))


def test_cases_that_vary_are_listed_by_their_share_of_the_variance() -> None:
    found = varying_cases({"sure": (10, 10), "some": (9, 10), "coin": (5, 10), "once": (1, 1), "never": (0, 10)})
    assert [case.id for case in found] == ["coin", "some"]
    assert sum(case.share for case in found) == pytest.approx(1.0)
    assert found[0].share == pytest.approx(25 / 34)
