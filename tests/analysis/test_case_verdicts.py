"""Trials without a verdict count once as all passed and once as all failed; only agreement makes a verdict."""

from __future__ import annotations

from typing import Any

import pytest
from analysis_runs import figures, report_of

from repeat_eval.reports.format import case_line


@pytest.mark.parametrize(
    ("letters", "rules", "verdict"),
    [
        ("PPPPPPPPPE", {}, "pass"),  # 9/10 and 10/10 both reach 0.8
        ("FFFFFFFFFE", {}, "fail"),  # 0/10 and 1/10 both miss it, even by the interval
        ("PPPPPPPPEE", {"gate": "strict"}, "pass"),  # 8/10 still reaches 0.8
        ("PPPPPPPFEE", {"gate": "strict"}, "incomplete"),  # 7/10 or 9/10
        ("PPPPPFFFFE", {}, "incomplete"),  # 5/10 fails, 6/10 is within noise
        ("PPPPPPFFEE", {"gate": "none"}, "pass"),  # nothing is gated
    ],
)
def test_errors_matter_only_when_they_could_turn_the_verdict(letters: str, rules: dict[str, Any], verdict: str) -> None:
    assert figures(letters, **rules).verdict == verdict


def test_the_sentence_says_what_could_turn_the_verdict() -> None:
    case = figures("PPPPPPPFE", asked=10, gate="strict")
    assert case.verdict == "incomplete"
    assert case.text == "7/8 passed, but 1 error, 1 missing could turn the verdict at 0.8"
    assert case_line(case).endswith("INCOMPLETE, 1 error, 1 missing")


def test_errors_are_never_in_the_denominator() -> None:
    case = figures("PPPPEEEE", max_error_rate="1")
    assert (case.pass_rate, case.verdicts, case.errors) == (1.0, 4, 4)


def test_a_case_with_fewer_than_half_of_its_verdicts_is_incomplete_whatever_they_say() -> None:
    assert figures("PPPPPEEEEE", threshold="0.1").verdict == "pass"
    fewer = figures("PPPPEEEEEE", threshold="0.1")
    assert fewer.verdict == "incomplete"
    assert fewer.text == "only 4 of 10 trials gave a verdict: 6 errors"
    assert figures("PPPPEEEEEE", gate="none").verdict == "incomplete"


def test_missing_trials_are_judged_like_errors() -> None:
    assert figures("PPPPPPPPP", asked=10).verdict == "pass"
    assert figures("PPPPPPPF", asked=10, gate="strict").verdict == "incomplete"
    assert figures("PPPP", asked=10).missing == 6


def test_a_case_whose_trials_are_all_skipped_is_left_out() -> None:
    assert figures("SSSSS").verdict == "skipped"
    report = report_of({"greets": "PPPPP", "later": "SSSSS"})
    assert report.verdict == "pass"
    assert report.totals.pass_rate == 1.0
    assert any("skipped and are left out: later" in warning for warning in report.warnings)


def test_a_case_that_is_only_sometimes_skipped_lacks_verdicts() -> None:
    assert figures("PPPPPPPSSS", gate="strict").verdict == "incomplete"
    assert figures("PPPPPPPPPS", gate="strict").verdict == "pass"
    assert figures("SSSSE").verdict == "incomplete"


def test_no_trial_at_all_is_incomplete() -> None:
    assert figures("", asked=5).verdict == "incomplete"
    assert figures("EEEEE").text == "no trial gave a verdict: 5 errors"


def test_the_targets_own_errors_can_count_as_failures() -> None:
    crashed = figures("PPPPE", kind="crash", count_as_failed=frozenset({"crash", "timeout"}), gate="strict")
    assert (crashed.passed, crashed.failed, crashed.errors) == (4, 1, 0)
    assert crashed.outcomes == "PPPPF"
    assert crashed.error_kinds == {}
    provider = figures("PPPPE", kind="provider", count_as_failed=frozenset({"crash", "timeout"}))
    assert (provider.failed, provider.errors, provider.error_kinds) == (0, 1, {"provider": 1})


@pytest.mark.parametrize(
    ("letters", "threshold"),
    [
        ("PPPPF", "0.8"),
        ("PPPPPPPFFF", "0.7"),
        ("P" * 80 + "F" * 20, "0.8"),
        ("PPPPPPFFFF", "0.6"),
        ("PFFFFFFFFF", ".1"),
    ],
)
def test_thresholds_are_met_exactly(letters: str, threshold: str) -> None:
    assert figures(letters, threshold=threshold, gate="strict").verdict == "pass"


def test_two_of_three_do_not_reach_067() -> None:
    case = figures("PPF", threshold="0.67", gate="strict")
    assert case.verdict == "fail"
    assert case.text == "2/3 is below 0.67, needs 3 of 3"
    assert case.needs == 3


def test_within_noise_says_how_far_below() -> None:
    assert figures("PPPPPPPFFF").text == "7/10 is below 0.8 (8 of 10), but within noise: the interval reaches it"


def test_a_plans_own_threshold_and_gate_come_before_the_rules() -> None:
    report = report_of({"a": "PPPPF", "b": "PPPPF"}, run={"thresholds": {"b": "1.0"}}, gate="strict")
    assert [case.verdict for case in report.cases] == ["pass", "fail"]
    assert report.verdict == "fail"
