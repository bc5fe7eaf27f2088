"""A run without a base in two looks: cases below their threshold are judged by fresh trials alone."""

from __future__ import annotations

from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st
from looks_alone_runs import LETTERS, alone, judged, of, run_of

from repeat_eval.analysis.analyse import analyse
from repeat_eval.analysis.false_alarms import seen_cases
from repeat_eval.analysis.looks_alone import low_cases
from repeat_eval.analysis.planning_looks import plan_alone
from repeat_eval.analysis.report import CaseReport, Report
from repeat_eval.analysis.rules import Rules, exact
from repeat_eval.records.run import CasePlan, Run, RunFooter, RunHeader
from repeat_eval.records.trial import Trial
from repeat_eval.records.two_looks import TwoLooks
from repeat_eval.statistics.low_rule import low_rule_verdict


def only(report: Report) -> CaseReport:
    (case,) = report.case_reports
    return case


def weight(n: int, k: int, p: float) -> float:
    return comb(n, k) * p**k * (1 - p) ** (n - k)


RATES = (0.3, 0.5, 0.6, 0.7, 0.8, 0.9)
PASSED_FIRST = "PPP"


@pytest.fixture(scope="module")
def verdicts() -> dict[tuple[int, int | None], str]:
    """The verdict of every outcome of 3 first and 20 fresh trials."""
    found: dict[tuple[int, int | None], str] = {(3, None): only(judged({"a": (PASSED_FIRST, "")})).verdict}
    for first in range(3):
        for fresh in range(21):
            found[first, fresh] = only(judged({"a": (of(first, 3), of(fresh, 20))})).verdict
    return found


@pytest.mark.parametrize(("rate", "fails"), list(zip(RATES, (0.972, 0.760, 0.458, 0.150, 0.016, 0.000), strict=True)))
def test_a_case_fails_as_often_as_the_tables_say(
    verdicts: dict[tuple[int, int | None], str], rate: float, fails: float
) -> None:
    chance = sum(
        weight(3, first, rate) * (1.0 if fresh is None else weight(20, fresh, rate))
        for (first, fresh), verdict in verdicts.items()
        if verdict == "fail"
    )
    assert chance == pytest.approx(fails, abs=0.0006)


@pytest.mark.parametrize(("rate", "fails"), list(zip(RATES, (0.953, 0.623, 0.367, 0.150, 0.033, 0.002), strict=True)))
def test_ten_fixed_repeats_fail_as_often_as_the_tables_say(rate: float, fails: float) -> None:
    chance = 0.0
    for passed in range(11):
        plan = CasePlan(id="a", asked=10)
        header = RunHeader(suite="fixed", repeats=10, cases=(plan,))
        trials = tuple(
            Trial(case="a", repetition=number, outcome=LETTERS[letter])
            for number, letter in enumerate(of(passed, 10), start=1)
        )
        report = analyse(Run(header=header, trials=trials, footer=RunFooter(complete=True, trials=10)), Rules())
        chance += weight(10, passed, rate) * (only(report).verdict == "fail")
    assert chance == pytest.approx(fails, abs=0.0006)


@given(
    first=st.text("PF", min_size=3, max_size=3),
    fresh=st.text("PF", min_size=20, max_size=20),
    threshold=st.sampled_from(["0.3", "0.5", "0.7", "0.8", "0.85"]),
)
def test_the_verdict_is_that_of_the_rule_whatever_came(first: str, fresh: str, threshold: str) -> None:
    counts = (first.count("P"), 3)
    low = low_cases(run_of({"a": (first, "")}, closed=False), Rules(threshold=threshold))
    report = judged({"a": (first, fresh if low else "")}, Rules(threshold=threshold))
    wanted = low_rule_verdict(counts, (fresh.count("P"), 20) if low else None, exact(threshold), asked=20)
    assert only(report).verdict == wanted
    assert report.totals.passed == counts[0]


def test_nothing_is_red_by_the_first_look() -> None:
    report = judged({"a": ("FFF", "P" * 20), "b": ("PPP", "")})
    assert report.verdict == "pass"
    assert alone(report).cases[0].outcome == "not confirmed"
    assert only(judged({"a": ("FFF", "P" * 20)})).text == "first 0/3, re-run 20/20 reaches 0.8"


def test_a_confirmed_case_fails_with_both_looks_in_its_reason() -> None:
    report = judged({"a": ("PPF", of(9, 20)), "b": ("PPP", "")})
    assert report.verdict == "fail"
    (reason,) = report.reasons
    assert reason.text == "first 2/3, re-run 9/20 is below 0.8, needs 13 of 20"
    assert reason.observed == 0.45
    low = alone(report).cases[0]
    assert (low.outcome, low.first_head.passed, low.fresh_head.passed) == ("confirmed", 2, 9)
    assert low.pass_hat_k["2"] == pytest.approx(9 * 8 / (20 * 19))


def test_figures_of_the_suite_are_those_of_the_first_look() -> None:
    report = judged({"a": ("FFP", "P" * 20), "b": ("PPP", "")})
    assert report.totals.pass_rate == pytest.approx(2 / 3)
    assert (report.totals.trials, report.totals.flaky) == (6, 1)
    looks = alone(report)
    assert (looks.first_trials, looks.fresh_trials, looks.asked) == (6, 20, 20)


@pytest.mark.parametrize(
    ("first", "again"),
    [("PPE", True), ("PEE", True), ("EEE", True), ("PPS", True), ("SSS", False), ("PPP", False), ("PPF", True)],
)
def test_what_an_error_hid_acquits_nobody(first: str, again: bool) -> None:
    assert (low_cases(run_of({"a": (first, "")}, closed=False), Rules()) == {"a": 20}) is again


def test_an_error_that_could_not_make_a_case_low_is_no_reason_to_run_it_again() -> None:
    run = run_of({"a": ("PPPPPPPPPE", "")}, closed=False)
    assert low_cases(run, Rules()) == {}


def test_errors_that_count_as_failed_do_so_in_both_looks() -> None:
    rules = Rules(count_as_failed=frozenset({"target"}))
    assert low_cases(run_of({"a": ("PPE", "")}, closed=False), rules) == {"a": 20}
    report = judged({"a": ("PPE", "E" * 12 + "P" * 8)}, rules)
    assert only(report).verdict == "fail"


@pytest.mark.parametrize(
    ("fresh", "text"),
    [
        ("E" * 20, "no trial gave a verdict: 20 errors"),
        ("S" * 20, "all fresh trials were skipped"),
        ("P" * 9 + "E" * 11, "only 9 of 20 trials gave a verdict"),
        ("P" * 9, "11 missing"),
        ("", "20 missing"),
    ],
)
def test_fresh_trials_without_verdicts_are_never_green(fresh: str, text: str) -> None:
    report = judged({"a": ("PPF", fresh), "b": ("PPP", "")}, again=("a",))
    assert report.verdict == "incomplete"
    assert any(text in reason.text for reason in report.reasons)
    assert alone(report).cases[0].outcome == "incomplete"


def test_a_wave_that_was_cut_is_never_green_even_where_the_trials_suffice() -> None:
    report = judged({"a": ("PPF", "P" * 19), "b": ("PPP", "")}, again=("a",), complete=False)
    assert report.verdict == "incomplete"
    assert "the second look was cut short after 19 of 20 fresh trials: max-cost was reached" in report.reasons[0].text


def test_a_first_look_that_has_not_ended_fails_no_case_and_passes_none_that_is_low() -> None:
    report = judged({"a": ("FFF", ""), "b": ("PPP", "")}, closed=False, complete=False)
    assert [case.verdict for case in report.case_reports] == ["incomplete", "pass"]
    assert report.verdict == "incomplete"


def test_a_case_whose_gate_any_miss_fails_is_judged_by_its_fixed_repeats() -> None:
    first = {"a": ("P" * 9 + "F", ""), "b": ("PPP", "")}
    assert low_cases(run_of(first, closed=False, thresholds={"a": "1.0"}), Rules()) == {}
    report = judged(first, thresholds={"a": "1.0"})
    assert [case.verdict for case in report.case_reports] == ["fail", "pass"]
    assert alone(report).looked == 1


@pytest.mark.parametrize("gate", ["strict", "none"])
def test_other_gates_have_no_second_look(gate: str) -> None:
    assert low_cases(run_of({"a": ("FFF", "")}, closed=False), Rules(gate=gate)) == {}  # type: ignore[arg-type]


def test_fresh_trials_that_nobody_asked_for_count_for_nothing() -> None:
    report = judged({"a": ("PPP", "F" * 20)}, again=())
    assert report.verdict == "pass"
    assert alone(report).fresh_trials == 0


def test_a_case_judged_by_a_higher_threshold_than_it_ran_with_has_no_verdict() -> None:
    report = judged({"a": ("PPF", ""), "b": ("PPP", "")}, Rules(threshold="0.8"))
    assert "was not run again" in report.case_reports[0].text
    assert report.verdict == "incomplete"


def test_two_such_runs_are_compared_by_their_first_looks_alone() -> None:
    base, head = run_of({f"c{n}": ("PPP", "") for n in range(6)}), run_of({f"c{n}": ("PPP", "") for n in range(6)})
    report = analyse(head, Rules(), base=base)
    assert report.comparison is not None
    assert report.comparison.second_look is None
    assert report.verdict == "pass"


def test_the_looks_of_a_run_without_a_base_are_none_for_a_comparison() -> None:
    with pytest.raises(ValueError, match="compare nothing"):
        TwoLooks.alone(3, 20).settings(0.05)


def test_fresh_trials_that_can_fail_no_case_are_warned_about() -> None:
    report = judged({"a": ("PPP", "")}, Rules(threshold="0.5"), fresh=2)
    assert report.warnings


def test_what_is_planned_from_such_a_run_comes_from_its_first_look() -> None:
    cases, _ = seen_cases(run_of({"a": ("PPF", "F" * 20)}), Rules())
    assert [(case.passed, case.failed) for case in cases] == [(2, 1)]


def test_a_plan_says_what_two_looks_without_a_base_cost_and_what_fails() -> None:
    plan = plan_alone(
        "3+20",
        24,
        first=3,
        fresh=20,
        threshold=exact("0.8"),
        gate="wilson",
        good_rate=0.9,
        bad_rate=0.5,
        cost_per_trial=0.5,
    )
    assert plan is not None
    assert (plan.trials, plan.most) == (72, 552)
    assert plan.good == pytest.approx(72 + 24 * 20 * (1 - 0.9**3))
    assert (plan.cost_first, plan.cost_most) == (36.0, 276.0)
    assert plan.bad_fails == pytest.approx(0.760, abs=0.0006)


@pytest.mark.parametrize(
    ("cases", "threshold", "gate"), [(5, "0.8", "wilson"), (24, "1.0", "wilson"), (24, "0.8", "strict")]
)
def test_there_is_no_such_plan_where_repeats_are_fixed(cases: int, threshold: str, gate: str) -> None:
    plan = plan_alone(
        "3+20",
        cases,
        first=3,
        fresh=20,
        threshold=exact(threshold),
        gate=gate,  # type: ignore[arg-type]
        good_rate=0.9,
        bad_rate=0.5,
        cost_per_trial=None,
    )
    assert plan is None
