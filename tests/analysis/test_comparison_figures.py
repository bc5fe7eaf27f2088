"""What a comparison says of the suite and of each case, in plain examples."""

from __future__ import annotations

import pytest
from analysis_runs import run_of
from comparing import Row, compared, judged, letters, sides, with_header

from repeat_eval.analysis.comparison import compare_runs, detectable_case
from repeat_eval.analysis.report import CaseComparison
from repeat_eval.analysis.rules import Rules
from repeat_eval.records.run import CasePlan, Selection
from repeat_eval.statistics.planner import minimal_detectable_difference

SOLID: Row = (10, 10, 10, 10)


def case_of(row: Row, *others: Row, **rules: str) -> CaseComparison:
    return compared(row, *others, **rules).cases[0]


def test_eighty_four_to_ninety_one_per_cent_is_real_in_a_large_suite_and_noise_in_a_small_one() -> None:
    hundred = [(21, 25, 23, 25)] * 75 + [(21, 25, 22, 25)] * 25
    real = compared(*hundred)
    assert real.base and real.head
    assert real.base.pass_rate == pytest.approx(0.84)
    assert real.head.pass_rate == pytest.approx(0.91)
    assert (real.verdict, real.level) == ("improved", "strong")
    ten = [(21, 25, 23, 25)] * 3 + [(21, 25, 22, 25)]
    noise = compared(*ten)
    assert noise.delta == pytest.approx(real.delta)
    assert (noise.verdict, noise.level) == ("no detectable change", "noise")


def test_the_sides_hold_weighted_rates_so_that_their_difference_is_delta() -> None:
    comparison = compared((10, 10, 3, 5), (4, 20, 9, 10), (7, 10, 2, 3))
    assert comparison.base and comparison.head and comparison.delta
    assert comparison.base.pass_rate is not None and comparison.head.pass_rate is not None
    assert comparison.head.pass_rate - comparison.base.pass_rate == pytest.approx(comparison.delta)
    assert (comparison.base.passed, comparison.base.verdicts) == (21, 40)
    assert (comparison.head.passed, comparison.head.verdicts) == (14, 18)
    assert (comparison.base.flaky, comparison.head.flaky) == (2, 3)
    assert comparison.head.pass_hat_k["3"] is not None and comparison.head.pass_hat_k["5"] is None


@pytest.mark.parametrize(
    ("row", "change"),
    [
        ((10, 10, 0, 10), "newly broken"),
        ((10, 10, 3, 10), "regressed"),
        ((2, 10, 10, 10), "fixed"),
        ((1, 10, 9, 10), "improved"),
        ((10, 10, 9, 10), "newly flaky"),
        ((9, 10, 10, 10), "newly stable"),
        ((10, 10, 10, 10), "unchanged"),
        ((8, 10, 7, 10), "unchanged"),
        ((2, 10, 0, 10), "unchanged"),
        ((9, 10, 1, 1), "unchanged"),
    ],
)
def test_what_happened_to_a_case(row: Row, change: str) -> None:
    assert case_of(row).change == change


def test_a_fall_without_evidence_is_watched_and_no_verdict() -> None:
    comparison = compared((8, 10, 6, 10), SOLID)
    case = comparison.cases[0]
    assert comparison.verdict == "no detectable change"
    assert case.watch and case.change == "unchanged"
    assert case.p == pytest.approx(0.3847, abs=1e-4)


def test_what_is_hardly_a_fall_or_a_regression_is_not_watched() -> None:
    assert not case_of((10, 10, 3, 10)).watch
    assert not case_of((5, 10, 6, 10)).watch
    assert not case_of((50, 100, 49, 100)).watch


def test_a_case_below_its_threshold_on_both_sides_is_not_this_change() -> None:
    case = case_of((2, 10, 1, 10))
    assert case.not_this_change and not case.watch
    assert case_of((3, 10, 2, 10)).not_this_change
    assert not case_of((9, 10, 2, 10)).not_this_change


def test_a_case_that_failed_before_and_got_significantly_worse_is_this_change() -> None:
    case = case_of((50, 100, 10, 100))
    assert (case.base.verdict, case.head.verdict) == ("fail", "fail")
    assert case.change == "regressed" and not case.not_this_change


def test_a_flagged_case_that_holm_does_not_reject_counts_as_regressed_for_the_eye_only() -> None:
    comparison = compared((10, 10, 5, 10), (10, 10, 5, 10), (10, 10, 6, 10), (10, 10, 6, 10), (5, 10, 10, 10), SOLID)
    flagged = [case for case in comparison.cases if case.change == "regressed" and not case.rejected_down]
    assert flagged and all(case.q is not None and case.q <= 0.05 for case in flagged)


def test_errors_never_enter_a_denominator() -> None:
    base = run_of({"a": "PPPPPPPPPP", "b": "PPPPP"})
    head = run_of({"a": "PPPPPPPPEE", "b": "PPPPP"})
    comparison = compare_runs(base, head, Rules())
    assert (comparison.delta, comparison.p) == (0.0, 1.0)
    assert comparison.head and (comparison.head.verdicts, comparison.head.errors, comparison.head.trials) == (13, 2, 15)
    assert comparison.cases[0].head.outcomes == "PPPPPPPPEE"


def test_errors_that_count_as_failures_do_so_on_both_sides() -> None:
    base, head = run_of({"a": "PPPPPEEEEE"}), run_of({"a": "PPPPPPPPPE"})
    comparison = compare_runs(base, head, Rules(count_as_failed=frozenset({"provider"})))
    case = comparison.cases[0]
    assert (case.base.passed, case.base.verdicts) == (5, 10)
    assert (case.head.passed, case.head.verdicts) == (9, 10)
    assert case.base.outcomes == "PPPPPFFFFF"
    assert comparison.errors is None


def test_a_case_without_a_verdict_on_one_side_is_listed_and_not_judged() -> None:
    base, head = run_of({"a": "PPPPP", "b": "EEEEE"}), run_of({"a": "PPPPP", "b": "FFFFF"})
    report = judged(base, head)
    comparison = report.comparison
    assert comparison and comparison.common == 1
    case = comparison.cases[1]
    assert (case.change, case.p, case.delta) == ("not judged", None, None)
    assert any("no verdict on one side" in warning for warning in report.warnings)


def test_only_common_cases_enter_and_the_others_are_listed() -> None:
    base, head = run_of({"a": "PPPP", "gone": "FFFF"}), run_of({"new": "FFFF", "a": "PPPP"})
    comparison = compare_runs(base, head, Rules())
    assert (comparison.added, comparison.removed) == (("new",), ("gone",))
    assert (comparison.common, comparison.delta) == (1, 0.0)


def test_a_case_that_head_was_told_not_to_run_is_not_removed() -> None:
    base, head = run_of({"refund a": "PPPP", "refund b": "PPPP", "other": "PPPP"}), run_of({"refund a": "PPPP"})
    head = with_header(head, selection=Selection(cases=("refund*",)))
    assert compare_runs(base, head, Rules()).removed == ("refund b",)


def test_a_declared_case_without_trials_is_missing_and_not_removed() -> None:
    base, head = run_of({"a": "PPPP", "b": "PPPP"}), run_of({"a": "PPPP", "b": ""}, asked={"b": 4})
    comparison = compare_runs(base, head, Rules())
    assert comparison.removed == ()
    assert (comparison.cases[1].change, comparison.cases[1].head.missing) == ("not judged", 4)


def test_a_changed_definition_is_marked_and_compared_all_the_same() -> None:
    base, head = sides([(5, 5, 5, 5), (5, 5, 4, 5)])
    plans = [CasePlan(id=f"case {number}", asked=5, case_fingerprint=f"old {number}") for number in range(2)]
    base = with_header(base, cases=tuple(plans))
    head = with_header(head, cases=(plans[0], CasePlan(id="case 1", asked=5, case_fingerprint="new")))
    comparison = compare_runs(base, head, Rules())
    assert comparison.changed == ("case 1",)
    assert [case.definition_changed for case in comparison.cases] == [False, True]
    assert comparison.common == 2


def test_both_sides_are_judged_by_heads_thresholds() -> None:
    base = run_of({"a": letters(6, 10)}, thresholds={"a": "0.1"})
    head = run_of({"a": letters(6, 10)}, thresholds={"a": "1.0"})
    case = compare_runs(base, head, Rules()).cases[0]
    assert (case.base.verdict, case.head.verdict) == ("fail", "fail")


def test_cases_stand_in_heads_order() -> None:
    base, head = run_of({"a": "PP", "b": "PP", "c": "PP"}), run_of({"c": "PP", "a": "PP", "b": "PP"})
    assert [case.id for case in compare_runs(base, head, Rules()).cases] == ["c", "a", "b"]


def test_how_many_cases_varied_and_could_be_tested_is_said() -> None:
    comparison = compared((10, 10, 0, 10), (10, 10, 9, 10), SOLID, (0, 10, 0, 10))
    assert (comparison.common, comparison.varied, comparison.testable) == (4, 2, 1)


def test_nothing_varied_is_no_detectable_change() -> None:
    comparison = compared(SOLID, (0, 10, 0, 10))
    assert (comparison.verdict, comparison.p, comparison.delta) == ("no detectable change", 1.0, 0.0)
    assert "no case varied" in comparison.text


@pytest.mark.parametrize(
    ("base", "head", "words"),
    [
        (run_of({"a": "PP"}), run_of({"b": "PP"}), "no case in common"),
        (run_of({"a": "EEE"}), run_of({"a": "PPP"}), "no trial of base gave a verdict: all 3 ended in errors"),
        (run_of({"a": "PPP"}), run_of({"a": "SSS"}), "no trial of head gave a verdict"),
        (run_of({"a": "PE", "b": "EE"}), run_of({"a": "EE", "b": "PP"}), "no case has a verdict on both sides"),
        (with_header(run_of({"a": "PP"}), suite="other"), run_of({"a": "PP"}), "another suite: 'other'"),
    ],
)
def test_what_cannot_be_compared_says_why(base: object, head: object, words: str) -> None:
    comparison = compare_runs(base, head, Rules())  # type: ignore[arg-type]
    assert comparison.verdict == "not comparable"
    assert words in comparison.text
    assert comparison.p is None and comparison.delta is None and comparison.cases == ()


def test_the_question_about_new_cases_is_answered_from_ten_cases_on() -> None:
    assert compared(*[(9, 10, 7, 10)] * 4, *[(8, 10, 8, 10)] * 5).new_cases is None
    found = compared(*[(9, 10, 7, 10)] * 5, *[(8, 10, 8, 10)] * 5).new_cases
    assert found is not None and found.cases == 10 and found.delta == pytest.approx(-0.1)


def test_what_could_hide_is_said_for_the_suite_and_for_a_case() -> None:
    comparison = compared(*[(9, 10, 9, 10)] * 20)
    assert comparison.detectable == pytest.approx(minimal_detectable_difference(20, 10, 10, 0.1))
    assert comparison.detectable_case == (6, 10), "no case with two failures of twenty can be tested"
    assert compared((1, 1, 1, 1)).detectable is None


def test_a_case_that_falls_must_fall_further_beside_others_that_can_be_tested() -> None:
    assert compared((10, 10, 10, 10)).detectable_case == (6, 10)
    assert compared((10, 10, 10, 10), *[(5, 10, 5, 10)] * 4).detectable_case == (4, 10)
    assert detectable_case(10, 10, 0.05, testable=5) == (4, 10)


def test_three_repeats_find_only_a_case_that_never_passes_and_two_find_none() -> None:
    assert detectable_case(3, 3, 0.05) == (0, 3)
    assert detectable_case(2, 2, 0.05) is None
    assert detectable_case(20, 20, 0.05) == (15, 20)


def test_an_old_or_interrupted_base_is_warned_about() -> None:
    base, head = sides([SOLID, SOLID])
    base = with_header(base, started="2025-01-01T00:00:00Z")
    head = with_header(head, started="2025-02-01T00:00:00Z")
    assert any("31 days" in text for text in judged(base, head, options={"base_source": "file"}).warnings)
    assert not judged(base, head).warnings
    broken = run_of({"case 0": "PPPPP", "case 1": "PPPPP"}, footer=None)
    assert any("interrupted" in text for text in judged(broken, head).warnings)
    assert judged(broken, head).verdict == "pass"


def test_where_the_sides_come_from_is_kept() -> None:
    base, head = sides([SOLID])
    base = with_header(base, commit="b" * 40, target_fingerprint="one")
    comparison = compare_runs(base, with_header(head, commit="h" * 40), Rules(), source="stored")
    assert comparison.base and comparison.head
    assert (comparison.base.commit, comparison.base.source, comparison.base.target_fingerprint) == (
        "b" * 40,
        "stored",
        "one",
    )
    assert comparison.head.commit == "h" * 40


def test_a_report_without_a_base_has_no_comparison_and_one_whose_base_was_not_found_says_why() -> None:
    head = run_of({"a": "PPP"})
    assert judged(None, head).comparison is None
    report = judged(None, head, options={"base_missing": "this is the first run"})
    assert report.comparison is not None
    assert (report.comparison.verdict, report.comparison.text) == ("not comparable", "this is the first run")
    assert (report.verdict, report.warnings[0]) == ("pass", "not compared with base: this is the first run")
