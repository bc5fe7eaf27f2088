"""What is computed of one case: rates, pass^k, scores, checks, time, evidence."""

from __future__ import annotations

import pytest
from analysis_runs import figures, trials_of

from repeat_eval.analysis.case_figures import case_report
from repeat_eval.analysis.rules import Rules
from repeat_eval.records.run import CasePlan
from repeat_eval.records.trial import CheckResult, Tokens, Trial
from repeat_eval.reports.format import case_line

SCORES = (0.82, 0.91, 0.78, 0.85, 0.88, 0.79, 0.92, 0.84, 0.76, 0.87)


def test_four_of_five_reads_as_people_know_it() -> None:
    case = figures("PPFPP")
    assert case_line(case) == "80% (4/5) pass^2 60% pass^3 40% [95% CI 38–96%] PASS"
    assert case.outcomes == "PPFPP"
    assert case.flaky and not case.broken


def test_three_of_five_is_within_noise_of_80_per_cent_by_wilson_and_fails_strictly() -> None:
    wilson, strict = figures("PPFFP"), figures("PPFFP", gate="strict")
    assert wilson.verdict == "within-noise"
    assert case_line(wilson).endswith("PASS (within noise)")
    assert strict.verdict == "fail"
    assert strict.text == "3/5 is below 0.8, needs 4 of 5"


@pytest.mark.parametrize(
    ("passed", "asked", "low", "high", "width"),
    [(2, 3, 0.21, 0.94, 0.73), (4, 5, 0.38, 0.96, 0.59), (8, 10, 0.49, 0.94, 0.45), (16, 20, 0.58, 0.92, 0.34)],
)
def test_intervals_are_those_of_the_literature(passed: int, asked: int, low: float, high: float, width: float) -> None:
    case = figures("P" * passed + "F" * (asked - passed))
    assert case.interval == pytest.approx((low, high), abs=0.005)
    assert case.width == pytest.approx(width, abs=0.005)


def test_ten_scores_give_mean_spread_and_the_plug_in_figures() -> None:
    trials = [
        Trial(case="grounded", repetition=n, outcome="passed" if score > 0.78 else "failed", score=score)
        for n, score in enumerate(SCORES, start=1)
    ]
    case = case_report(CasePlan(id="grounded", asked=10), trials, Rules())
    assert (case.passed, case.failed) == (8, 2)
    assert case.score is not None
    assert case.score.mean == pytest.approx(0.842, abs=5e-4)
    assert case.score.std == pytest.approx(0.052, abs=5e-4)
    assert case.pass_at_k_plugin == pytest.approx({"1": 0.8, "3": 0.992, "5": 0.99968})
    assert case.pass_to_k == pytest.approx({"1": 0.8, "3": 0.512, "5": 0.32768})
    assert case.reliability is not None
    assert case.reliability.rating == "low"
    assert case.reliability.value == pytest.approx(0.512)
    assert case.majority is not None
    assert (case.majority.verdict, case.majority.confidence) == ("pass", pytest.approx(0.8))


def test_unbiased_figures_are_unknown_for_k_above_the_verdicts() -> None:
    case = figures("PPF")
    assert case.pass_hat_k["5"] is None and case.pass_at_k["5"] is None
    assert case.pass_hat_k["3"] == 0.0
    assert case.pass_to_k["5"] == pytest.approx((2 / 3) ** 5)


def test_a_single_trial_has_no_flakiness_no_pass_hat_k_and_no_rating() -> None:
    case = figures("P")
    assert case.pass_hat_k == {"2": None, "3": None, "5": None}
    assert case.reliability is None
    assert not case.flaky
    assert "pass^" not in case_line(case)


def test_a_high_rating_of_fewer_than_five_trials_is_insufficient() -> None:
    assert figures("PPPP").reliability.insufficient  # type: ignore[union-attr]
    assert not figures("PPPPP").reliability.insufficient  # type: ignore[union-attr]


def test_binary_scores_have_no_histogram_and_graded_ones_show_two_camps() -> None:
    def scored(*scores: float) -> list[Trial]:
        return [Trial(case="c", repetition=n, outcome="passed", score=score) for n, score in enumerate(scores, start=1)]

    plan = CasePlan(id="c", asked=6)
    binary = case_report(plan, scored(1, 0, 1, 1, 0, 1), Rules()).score
    camps = case_report(plan, scored(0.05, 0.1, 0.1, 0.9, 0.95, 0.95), Rules()).score
    outside = case_report(plan, scored(3, 4, 5, 3, 4, 5), Rules()).score
    assert binary is not None and binary.histogram is None
    assert camps is not None and camps.bimodal and sum(camps.histogram or ()) == 6
    assert outside is not None and outside.histogram is None and outside.mean == 4


def test_every_check_has_its_rate_its_mean_score_and_its_majority() -> None:
    def trial(repetition: int, held: bool, score: float) -> Trial:
        checks = (CheckResult("polite", held, score), CheckResult("contains", True, 1.0))
        return Trial(case="c", repetition=repetition, outcome="passed" if held else "failed", checks=checks)

    trials = [trial(1, True, 0.9), trial(2, True, 0.7), trial(3, False, 0.2)]
    polite, contains = case_report(CasePlan(id="c", asked=3), trials, Rules()).checks
    assert (polite.name, polite.passed, polite.failed) == ("polite", 2, 1)
    assert polite.score == pytest.approx(0.6)
    assert (polite.majority.verdict, polite.majority.confidence) == ("pass", pytest.approx(2 / 3))
    assert contains.majority.confidence == 1


def test_unknown_time_cost_and_tokens_stay_unknown() -> None:
    case = figures("PPF")
    assert (case.duration, case.cost, case.tokens, case.turns, case.score) == (None,) * 5


def test_known_values_are_averaged_over_the_trials_that_know_them() -> None:
    trials = [
        Trial(case="c", repetition=1, outcome="passed", duration=1, cost=0.5, tokens=Tokens(10, 5), turns=2),
        Trial(case="c", repetition=2, outcome="passed", duration=3, tokens=Tokens(20, None), turns=4, attempts=2),
        Trial(case="c", repetition=3, outcome="passed"),
    ]
    case = case_report(CasePlan(id="c", asked=3), trials, Rules())
    assert case.duration is not None
    assert (case.duration.mean, case.duration.median, case.duration.max) == (2, 2, 3)
    assert (case.cost, case.tokens, case.turns, case.retried) == (0.5, 17.5, 3, 1)


def test_outcomes_are_in_order_of_repetition_and_bounded() -> None:
    trials = list(reversed(trials_of("c", "F" + "P" * 299)))
    case = case_report(CasePlan(id="c", asked=300), trials, Rules())
    assert case.outcomes == "F" + "P" * 199


def test_examples_are_at_most_three_that_did_not_pass_and_one_that_did_each_bounded() -> None:
    trials = [
        Trial(case="c", repetition=n, outcome="failed", message=f"reason {n % 2}", output="x" * 9_000)
        for n in range(1, 8)
    ]
    trials += [Trial(case="c", repetition=n, outcome="passed", output="fine") for n in (8, 9)]
    case = case_report(CasePlan(id="c", asked=9), trials, Rules())
    assert [example.outcome for example in case.examples] == ["failed", "failed", "failed", "passed"]
    assert {example.message for example in case.examples[:2]} == {"reason 0", "reason 1"}
    assert all(len(example.output or "") < 2_100 for example in case.examples)
    assert case.failures == (("reason 1", 4), ("reason 0", 3))


def test_failures_are_shown_before_errors() -> None:
    case = figures("EEEFP", max_error_rate="1")
    assert [example.outcome for example in case.examples] == ["failed", "error", "error", "passed"]
