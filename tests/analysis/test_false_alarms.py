"""A/A: how often gates alarm on an unchanged system, and what is no false alarm."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from random import Random
from typing import Any

import pytest
from analysis_runs import run_of
from hypothesis import given, settings
from hypothesis import strategies as st

from repeat_eval.analysis.alarms import compare, counted, judge_of
from repeat_eval.analysis.analyse import analyse
from repeat_eval.analysis.false_alarms import Alarm, FalseAlarms, false_alarms, seen_cases
from repeat_eval.analysis.rules import Rules
from repeat_eval.analysis.unchanged import SeenCase, simulated_draws, split_draws
from repeat_eval.records.run import RunFooter
from repeat_eval.statistics.gates import gate_fail_probability

CLAIMS = ("regressed", "improved", "mixed")
STEADY = {f"steady-{number}": "P" * 10 for number in range(8)}


def found(cases: Mapping[str, str], *, run: Mapping[str, Any] | None = None, **rules: Any) -> FalseAlarms:
    draws = {"simulations": 400, "splits": 200}
    return false_alarms(run_of(cases, **(run or {})), Rules(**rules), **draws)  # type: ignore[arg-type]


def rate(alarms: tuple[Alarm, ...], gate: str) -> float:
    return next(alarm.rate for alarm in alarms if alarm.gate == gate)


def seen(passed: int, failed: int, errors: int = 0, asked: int = 10, threshold: str = "0.8") -> SeenCase:
    return SeenCase(
        id="case", passed=passed, failed=failed, errors=errors, threshold=threshold, gate="wilson", asked=asked
    )


def test_a_suite_that_never_fails_never_alarms() -> None:
    made = found(STEADY)
    assert all(alarm.alarms == 0 for alarm in (*made.simulations, *made.splits))
    assert made.advice == ()
    assert made.likely == ()


def test_it_says_that_a_clean_sweep_proves_little() -> None:
    assert any("passed every trial" in warning for warning in found(STEADY).warnings)


def test_the_gate_on_cases_alarms_as_often_as_its_probability_says() -> None:
    made = false_alarms(run_of({**STEADY, "weak": "PPPPPPPPPF"}), Rules(gate="strict", threshold="0.9"), splits=0)
    exact = gate_fail_probability(10, Fraction("0.9"), 0.9, "strict")
    low, high = next(alarm.interval for alarm in made.simulations if alarm.gate == "case")
    assert low < exact < high
    assert [case.id for case in made.likely] == ["weak"]
    assert made.likely[0].probability == pytest.approx(exact)
    assert made.splits == ()


def test_alarms_that_are_too_frequent_come_with_what_would_help() -> None:
    made = found({**STEADY, "weak": "PPPPPPPPPF"}, gate="strict", threshold="0.85")
    alarm = next(alarm for alarm in made.simulations if alarm.gate == "case")
    assert alarm.too_often
    advice = " / ".join(made.advice)
    assert "mostly weak (9/10 seen, threshold 0.85" in advice
    assert "the wilson gate at the same repeats would leave" in advice
    assert "max-failing-cases 1 would leave 0.0%" in advice


def test_repeats_are_advised_where_they_help() -> None:
    made = found({**STEADY, **{f"weak-{n}": "PPPPPPPPPF" for n in range(40)}}, gate="strict", threshold="0.6")
    (text,) = [text for text in made.advice if "repeats would leave" in text and "wilson" not in text]
    repeats = int(text.split(" ", 1)[0])
    one = gate_fail_probability(repeats, Fraction("0.6"), 0.9, "strict")
    assert 1 - (1 - one) ** 40 <= 0.05


def test_a_case_below_its_threshold_alarms_deservedly_and_is_not_counted() -> None:
    made = found({**STEADY, "broken": "FFFFFFFFFF"})
    assert made.below == ("broken",)
    assert rate(made.simulations, "case") == 0.0


def test_allowed_failures_are_used_up_by_the_cases_that_are_below_already() -> None:
    cases = [seen(0, 10), seen(10, 0), seen(10, 0)]
    rows = [(0, 10, 0, 10), (10, 10, 0, 10), (10, 10, 10, 10)]
    assert "case" in judge_of(cases, Rules(max_failing_cases=1, fail_on="none"))(rows, [])
    assert "case" not in judge_of(cases, Rules(max_failing_cases=2, fail_on="none"))(rows, [])


def test_a_case_that_fails_on_both_sides_is_not_the_pull_requests() -> None:
    judge = judge_of([seen(9, 1)], Rules(fail_on="none"))
    assert judge([(5, 10, 5, 10)], []) == {"case", "run"}
    assert "pull-request" in judge([(9, 10, 5, 10)], [])


def test_both_halves_of_the_regression_gate_are_told_apart() -> None:
    assert compare([(3, 3, 0, 3)], [], Rules()) == {"case-regression", "comparison"}
    spread = [(5, 5, 4, 5)] * 6
    assert compare(spread, [], Rules()) == {"suite-regression", "comparison"}
    assert compare([(0, 3, 3, 3)], [], Rules()) == {"comparison"}
    assert compare([(5, 5, 4, 5)], [], Rules()) == set()


def test_a_minimum_effect_keeps_small_regressions_from_alarming() -> None:
    small = [(1000, 1000, 980, 1000)]
    assert "case-regression" in compare(small, [], Rules())
    assert compare(small, [], Rules(min_effect=5.0)) == {"comparison"}
    assert "case-regression" in compare(small, [], Rules(min_effect=2.0))


def test_more_errors_on_head_are_an_alarm_of_their_own() -> None:
    assert compare([(5, 5, 3, 3)], [(10, 10, 3, 10)], Rules()) == {"error-regression"}
    assert compare([(5, 5, 3, 3)], [(3, 10, 10, 10)], Rules()) == set()


def test_an_alarm_of_errors_needs_their_share_of_alpha_and_the_suites_level_shrinks_beside_errors() -> None:
    few_more = [(10, 10, 9, 10)] * 6
    assert compare([(5, 5, 5, 5)], few_more, Rules()) == set()
    fall = [(10, 10, 6, 10), (10, 10, 9, 9)]
    assert "suite-regression" in compare(fall, [], Rules())
    assert "suite-regression" in compare(fall, [(10, 10, 10, 10)] * 2, Rules())
    assert "suite-regression" not in compare(fall, [(10, 10, 10, 10), (10, 10, 9, 10)], Rules())


def test_an_unchanged_suite_with_errors_is_blocked_in_at_most_alpha_of_pull_requests() -> None:
    rng = Random(11)
    rates = [rng.betavariate(2, 1) for _ in range(10)]

    def side(rate: float) -> tuple[int, int]:
        verdicts = sum(rng.random() >= 0.05 for _ in range(10))
        return sum(rng.random() < rate for _ in range(verdicts)), verdicts

    red = 0
    for _ in range(1500):
        pairs = [(side(rate), side(rate)) for rate in rates]
        errors = [(base[1], 10, head[1], 10) for base, head in pairs]
        red += bool(compare([(*base, *head) for base, head in pairs], errors, Rules()) & counted(Rules()))
    assert red / 1500 <= 0.045, "expected about 3 %; errors at a full half of alpha would make it 5.5 %"


def test_non_inferiority_that_cannot_be_shown_blocks() -> None:
    made = found({"a": "PPPPF", "b": "PPFPP"}, require="non-inferior", margin=3.0)
    alarm = next(alarm for alarm in made.simulations if alarm.gate == "non-inferiority")
    assert alarm.rate > 0.9
    assert any("raise the margin" in text for text in made.advice)


def test_gates_that_are_off_do_not_block() -> None:
    made = found({"a": "PPPPF"}, fail_on="none")
    blocking = {alarm.gate for alarm in made.simulations if alarm.blocks}
    assert blocking == {"case", "run", "pull-request"}


def test_suite_wide_gates_that_this_run_does_not_reach_are_not_counted() -> None:
    made = found({"a": "PPPPF", "b": "PPPPP"}, suite_threshold="0.95", min_stability="0.5", min_reliability="0.5")
    assert set(made.deserved) == {"suite-threshold"}
    assert "90.0% in this run, below 0.95" in made.deserved["suite-threshold"]
    assert {"min-stability", "min-reliability"} <= {alarm.gate for alarm in made.simulations}


def test_stability_alarms_when_flaky_cases_show_as_flaky() -> None:
    made = found({f"c{n}": "PPPPPPPPPF" if n == 0 else "P" * 10 for n in range(2)}, min_stability="0.5")
    assert rate(made.simulations, "min-stability") == 0.0
    again = found({"a": "PPPPPPPPPF", "b": "PPPPPPPPPP"}, min_stability="0.5", run={"asked": {"a": 3, "b": 3}})
    assert rate(again.simulations, "min-stability") == 0.0


def test_the_regression_gate_keeps_its_budget_in_splits_and_simulations() -> None:
    cases = {f"c{n}": "PPPPPPPFFF" if n % 2 else "PPPPPPPPPF" for n in range(20)}
    made = false_alarms(run_of(cases), Rules(), simulations=2000, splits=2000)
    for alarms in (made.simulations, made.splits):
        for gate in ("suite-regression", "case-regression"):
            alarm = next(alarm for alarm in alarms if alarm.gate == gate)
            assert alarm.interval[0] < 0.025


def test_the_same_seed_finds_the_same_and_another_seed_something_else() -> None:
    run = run_of({f"c{n}": "PPPPPPPFFF" for n in range(10)})
    draws = {"simulations": 300, "splits": 300}
    first = false_alarms(run, Rules(), seed=1, **draws)
    assert first == false_alarms(run, Rules(), seed=1, **draws)
    assert first != false_alarms(run, Rules(), seed=2, **draws)


def test_drift_during_the_run_is_seen_in_order_of_repetition_and_said() -> None:
    made = found({f"c{n}": "PPPPPFFFFF" for n in range(4)})
    assert made.in_order is not None
    assert made.in_order.delta == -1.0
    assert made.in_order.p < 0.001
    assert any("second half of the trials differs" in warning for warning in made.warnings)


def test_repeats_of_a_side_are_those_asked_for_half_of_them_or_those_given() -> None:
    run = run_of({"a": "PPPPPPPPPF"})
    assert false_alarms(run, Rules(), simulations=100, splits=10).simulated_repeats == (10, 10)
    assert false_alarms(run, Rules(), repeats="half", simulations=100, splits=10).simulated_repeats == (5, 5)
    made = false_alarms(run, Rules(), repeats=30, simulations=100, splits=10)
    assert (made.simulated_repeats, made.split_repeats) == ((30, 30), (5, 5))


def test_cases_without_a_verdict_are_left_out_and_named() -> None:
    made = found({"a": "PPPP", "down": "EEEE", "skipped": "SSSS"})
    assert made.left_out == ("down", "skipped")
    assert made.cases == 1


def test_a_run_without_any_verdict_cannot_be_judged() -> None:
    with pytest.raises(ValueError, match="no case has a verdict"):
        found({"down": "EEEE"})


def test_errors_that_count_as_failures_count_here_too() -> None:
    cases, _ = seen_cases(run_of({"a": "PPEE"}), Rules(count_as_failed=frozenset({"provider"})))
    assert (cases[0].passed, cases[0].failed, cases[0].errors) == (2, 2, 0)


def test_an_interrupted_run_is_said() -> None:
    made = found({"a": "PPPP"}, run={"footer": RunFooter(complete=False, trials=4, stopped="interrupted")})
    assert "interrupted" in made.warnings[0]


def test_one_trial_a_case_is_simulated_but_not_split() -> None:
    made = found({"a": "P", "b": "F"})
    assert made.splits == ()
    assert made.split_repeats is None
    assert made.in_order is None


counts = st.tuples(st.integers(0, 12), st.integers(0, 12), st.integers(0, 4)).filter(lambda c: sum(c[:2]) >= 1)


@settings(deadline=None, max_examples=60)
@given(st.lists(counts, min_size=1, max_size=6), st.integers(0, 2**32))
def test_a_split_hands_out_every_trial_once(cases: list[tuple[int, int, int]], seed: int) -> None:
    given_cases = [seen(*case) for case in cases if sum(case) >= 2]
    for rows, error_rows in split_draws(given_cases, 3, seed):
        for case, row in zip(given_cases, rows, strict=True):
            assert row[0] + row[2] == case.passed
            assert row[1] + row[3] == case.verdicts
            assert 0 <= row[0] <= row[1]
            assert 0 <= row[2] <= row[3]
        assert bool(error_rows) == any(case.errors for case in given_cases)
        for case, row in zip(given_cases, error_rows, strict=False):
            assert row[1] + row[3] == case.attempted
            assert row[1] - row[3] in (0, 1)


@settings(deadline=None, max_examples=60)
@given(st.lists(counts, min_size=1, max_size=6), st.integers(1, 30), st.integers(0, 2**32))
def test_a_simulation_asks_what_the_suite_asks(cases: list[tuple[int, int, int]], asked: int, seed: int) -> None:
    given_cases = [seen(*case, asked=asked) for case in cases]
    for rows, error_rows in simulated_draws(given_cases, 3, seed):
        for case, row in zip(given_cases, rows, strict=True):
            assert 0 <= row[0] <= row[1] <= asked
            assert 0 <= row[2] <= row[3] <= asked
            if not case.errors:
                assert (row[1], row[3]) == (asked, asked)
            if case.passed == 0:
                assert row[0] == row[2] == 0
        assert all(row[1] == row[3] == asked for row in error_rows)


def test_simulated_passes_have_the_rate_that_was_seen() -> None:
    total = sum(rows[0][0] + rows[0][2] for rows, _ in simulated_draws([seen(7, 3)], 5000, 3))
    assert total / (5000 * 20) == pytest.approx(0.7, abs=0.01)


@pytest.mark.parametrize("alpha", ["0.05", "0.2"])
def test_a_larger_alpha_alarms_more_and_is_pointed_out(alpha: str) -> None:
    made = found({f"c{n}": "PPPPPPPFFF" for n in range(20)}, alpha=alpha, threshold="0.3")
    too_often = {alarm.gate for alarm in made.simulations if alarm.too_often}
    assert ("suite-regression" in too_often) == (alpha == "0.2")
    assert any("alpha is 0.2" in text for text in made.advice) == (alpha == "0.2")


@settings(deadline=None, max_examples=80)
@given(
    st.lists(st.tuples(st.integers(0, 10), st.integers(0, 10)), min_size=1, max_size=8),
    st.sampled_from([None, 10.0, 30.0]),
    st.sampled_from([None, 5.0, 60.0]),
)
def test_alarms_on_counts_agree_with_the_real_gates(
    passes: list[tuple[int, int]], min_effect: float | None, margin: float | None
) -> None:
    rules = Rules(
        gate="none", min_effect=min_effect, margin=margin, require="non-inferior" if margin is not None else None
    )
    letters = [
        {f"c{i}": "P" * pair[side] + "F" * (10 - pair[side]) for i, pair in enumerate(passes)} for side in (0, 1)
    ]
    report = analyse(run_of(letters[1]), rules, base=run_of(letters[0]))
    blocking = {reason.gate for reason in report.reasons if reason.verdict != "pass"}
    alarms = compare([(base, 10, head, 10) for base, head in passes], [], rules)
    assert alarms - {"comparison"} == blocking
    assert ("comparison" in alarms) == (report.comparison is not None and report.comparison.verdict in CLAIMS)
