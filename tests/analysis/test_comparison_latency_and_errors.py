"""Changes of latency, cost and error rate."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import pytest
from analysis_runs import run_of, trials_of
from comparing import judged

from repeat_eval.analysis.comparison import compare_runs
from repeat_eval.analysis.rules import Rules
from repeat_eval.records.run import Run
from repeat_eval.records.trial import Trial


def timed(seconds: Mapping[str, Sequence[float | None]], *, field: str = "duration") -> Run:
    trials = [
        Trial(case=case, repetition=number, outcome="passed", **{field: value})  # type: ignore[arg-type]
        for case, values in seconds.items()
        for number, value in enumerate(values, start=1)
    ]
    return run_of({case: "P" * len(values) for case, values in seconds.items()}, trials=trials)


def cases(*means: float) -> dict[str, list[float | None]]:
    return {f"case {number}": [mean * 0.9, mean * 1.1] for number, mean in enumerate(means)}


def test_latency_is_the_geometric_mean_of_the_cases_ratios() -> None:
    base, head = timed(cases(1, 2, 4, 8, 1)), timed(cases(2, 4, 8, 8, 1.2))
    change = compare_runs(base, head, Rules()).duration
    assert change is not None and change.cases == 5
    assert change.ratio == pytest.approx((2 * 2 * 2 * 1 * 1.2) ** (1 / 5))
    assert (change.base, change.head) == pytest.approx((3.2, 4.64))
    assert change.p == pytest.approx(0.0395, abs=1e-4) and change.level == "significant"
    assert change.interval == pytest.approx((1.0358, 2.3857), abs=1e-4)


def test_a_clear_change_of_latency_is_significant_and_has_the_sign_reversed_when_the_sides_are() -> None:
    base, head = timed(cases(1, 2, 4, 8, 1, 3)), timed(cases(1.5, 3.1, 6.2, 11.8, 1.4, 4.7))
    up, down = compare_runs(base, head, Rules()).duration, compare_runs(head, base, Rules()).duration
    assert up and down and up.ratio and down.ratio
    assert up.level == "strong" and up.p == pytest.approx(down.p)
    assert up.ratio == pytest.approx(1 / down.ratio)


def test_one_slow_case_does_not_decide_for_the_others() -> None:
    base, head = timed(cases(1, 1, 1, 1, 100)), timed(cases(0.5, 0.51, 0.49, 0.5, 110))
    change = compare_runs(base, head, Rules()).duration
    assert change and change.ratio and change.head > change.base and change.ratio < 0.6


def test_below_five_cases_there_is_a_ratio_and_no_p() -> None:
    change = compare_runs(timed(cases(1, 2, 3, 4)), timed(cases(2, 4, 6, 8)), Rules()).duration
    assert change and change.ratio == pytest.approx(2.0)
    assert (change.p, change.interval, change.level) == (None, None, "noise")


def test_equal_latencies_are_no_change() -> None:
    run = timed(cases(1, 2, 3, 4, 5))
    change = compare_runs(run, run, Rules()).duration
    assert change and (change.ratio, change.p) == (1.0, 1.0)


def test_cases_with_a_single_timed_trial_or_without_time_are_left_out() -> None:
    base = timed({"a": [1.0, None], "b": [1.0, 1.0], "c": [0.0, 0.0]})
    head = timed({"a": [1.0, 1.0], "b": [2.0, 2.0], "c": [1.0, 1.0]})
    change = compare_runs(base, head, Rules()).duration
    assert change and (change.cases, change.ratio) == (1, pytest.approx(2.0))


def test_unknown_latency_is_unknown() -> None:
    run = run_of({"a": "PPP"})
    comparison = compare_runs(run, run, Rules())
    assert comparison.duration is None and comparison.cost is None
    assert comparison.base and comparison.base.duration is None and comparison.base.cost is None


def test_errors_and_cached_answers_say_nothing_about_latency() -> None:
    base = run_of({"a": "PPE"}, trials=[*trials_of("a", "PP", duration=1.0), *trials_of("a", "..E", duration=120.0)])
    cached = run_of(
        {"a": "PPP"}, trials=[*trials_of("a", "PP", duration=2.0), *trials_of("a", "..P", duration=0.0, cached=True)]
    )
    change = compare_runs(base, cached, Rules()).duration
    assert change and change.ratio == pytest.approx(2.0)


def test_cost_is_compared_like_latency() -> None:
    dollars = cases(0.01, 0.02, 0.03, 0.04, 0.05)
    doubled = {case: [value * 2 for value in values if value] for case, values in dollars.items()}
    comparison = compare_runs(timed(dollars, field="cost"), timed(doubled, field="cost"), Rules())
    assert comparison.cost and comparison.cost.ratio == pytest.approx(2.0)
    assert comparison.base and comparison.base.cost == pytest.approx(0.3)
    assert comparison.cases[0].head.cost == pytest.approx(0.04)


def test_error_rates_get_the_exact_test() -> None:
    base = run_of({f"case {number}": "PPPPP" for number in range(6)})
    head = run_of({f"case {number}": "PPPPE" for number in range(6)})
    change = compare_runs(base, head, Rules()).errors
    assert change and change.p == pytest.approx(2**-6)
    assert (change.base, change.head, change.ratio) == (0.0, pytest.approx(0.2), None)
    assert (change.level, change.cases) == ("significant", 6)


def test_a_case_that_is_all_errors_on_one_side_counts_for_the_error_rate() -> None:
    base, head = run_of({"a": "PPPPP", "b": "PPPPP"}), run_of({"a": "PPPPP", "b": "EEEEE"})
    change = compare_runs(base, head, Rules()).errors
    assert change and change.head == pytest.approx(0.5) and change.p == pytest.approx(1 / 252)


def test_skipped_and_missing_trials_are_no_errors() -> None:
    base = run_of({"a": "PPPSS"})
    head = run_of({"a": "PPP"}, asked={"a": 5})
    assert compare_runs(base, head, Rules()).errors is None


def test_a_few_errors_more_are_no_regression() -> None:
    base, head = run_of({"a": "PPPPPPPPPP"}), run_of({"a": "PPPPPPPPPE"})
    report = judged(base, head)
    assert report.exit_code == 0 and report.comparison and report.comparison.errors
    assert report.comparison.errors.level == "noise"
    assert math.isclose(report.comparison.errors.head, 0.1)
