"""The gates that look at the whole suite, and which verdict comes first."""

from __future__ import annotations

from typing import Any

import pytest
from analysis_runs import report_of, run_of

from repeat_eval.analysis.analyse import analyse
from repeat_eval.analysis.rules import Rules
from repeat_eval.records.run import RunFooter

STABLE, FLAKY, FAILING = "PPPPPPPPPP", "PPPPPPPPPF", "PFFFFFFFFF"


def gates(report: Any, verdict: str | None = None) -> list[str]:
    return [reason.gate for reason in report.reasons if verdict in (None, reason.verdict)]


def test_incomplete_comes_before_fail_and_fail_before_pass() -> None:
    assert report_of({"a": STABLE}).verdict == "pass"
    failed = report_of({"a": STABLE, "b": FAILING})
    assert (failed.verdict, failed.exit_code) == ("fail", 1)
    both = report_of({"a": "PPPPPFFFFE", "b": FAILING})
    assert (both.verdict, both.exit_code) == ("incomplete", 3)
    assert [reason.verdict for reason in both.reasons] == ["incomplete", "fail"]


def test_a_suite_in_which_nothing_was_done_is_incomplete() -> None:
    assert report_of({}).reasons[0].text == "no case was evaluated"
    assert report_of({"a": "SSS", "b": "SS"}).reasons[0].text == "every trial was skipped"
    assert report_of({"a": "EEE"}).exit_code == 3
    assert report_of({"a": ""}, run={"asked": {"a": 5}}).exit_code == 3


def test_eighty_of_a_hundred_meet_a_strict_suite_threshold_of_08() -> None:
    cases = {f"case {n}": STABLE if n < 80 else "F" * 10 for n in range(100)}
    rules: dict[str, Any] = {"gate": "strict", "max_failing_cases": 20}
    assert report_of(cases, suite_threshold="0.8", **rules).verdict == "pass"
    assert report_of(cases, suite_threshold="0.801", **rules).verdict == "fail"


def test_means_of_rates_are_compared_as_fractions() -> None:
    cases = {"a": "P", "b": "PPF", "c": "F"}
    rules: dict[str, Any] = {"gate": "strict", "threshold": "0", "suite_threshold": "0.5555555555555556"}
    assert gates(report_of(cases, **rules)) == ["suite-threshold"]
    assert report_of(cases, **{**rules, "suite_threshold": "0.5555555555555555"}).verdict == "pass"


def test_the_wilson_gate_lets_a_suite_pass_whose_interval_reaches_the_threshold() -> None:
    cases = {f"case {n}": "PPPPPPPPFF" for n in range(5)}
    assert report_of(cases, suite_threshold="0.85").verdict == "pass"
    assert gates(report_of(cases, suite_threshold="0.85", gate="strict"), "fail") == ["suite-threshold"]
    assert gates(report_of(cases, suite_threshold="0.99", max_failing_cases=5), "fail") == ["suite-threshold"]


def test_trials_without_a_verdict_can_leave_the_suite_threshold_open() -> None:
    report = report_of({"a": "PPPPPPPPPE", "b": STABLE}, suite_threshold="1.0", gate="strict")
    assert report.verdict == "incomplete"
    assert gates(report) == ["suite-threshold"]
    assert report_of({"a": "PPPPPPPPPE", "b": STABLE}, suite_threshold="0.95", gate="strict").verdict == "pass"


def test_a_suite_within_noise_is_open_when_both_bounds_fail_with_narrower_intervals() -> None:
    rules: dict[str, Any] = {"threshold": "0", "suite_threshold": "0.89"}
    others = {"b": "P" * 10, "c": "PPPPFFFFFF"}
    verdicts = [report_of({"a": case, **others}, **rules).verdict for case in ("PPPPPPPP", "PPPPPPPPPP", "PPPPPPPPFF")]
    assert verdicts == ["pass", "fail", "fail"]
    assert report_of({"a": "PPPPPPPPEE", **others}, **rules).verdict == "incomplete"


def test_a_share_that_is_nearly_all_is_not_told_as_all() -> None:
    cases = {f"case {n}": "PP" if n else "PF" for n in range(400)}
    (reason,) = [one for one in report_of(cases, min_stability="0.999", threshold="0").reasons if one.case is None]
    assert "stability >99% is below 0.999" in reason.text


def test_stability_is_the_share_of_cases_that_agree() -> None:
    cases = {"a": STABLE, "b": FLAKY, "c": FLAKY, "d": "F" * 10}
    rules: dict[str, Any] = {"max_failing_cases": 1}
    report = report_of(cases, min_stability="0.5", **rules)
    assert report.stability == 0.5 and report.flaky_count == 2
    assert report.verdict == "pass"
    assert gates(report_of(cases, min_stability="0.51", **rules), "fail") == ["min-stability"]


def test_stability_is_exact() -> None:
    cases = {f"case {n}": STABLE if n < 7 else FLAKY for n in range(10)}
    assert report_of(cases, min_stability="0.7").verdict == "pass"


def test_an_error_can_leave_stability_open() -> None:
    cases = {"a": STABLE, "b": "PPPPPPPPPE"}
    assert report_of(cases, min_stability="0.5").verdict == "pass"
    report = report_of(cases, min_stability="1.0")
    assert report.verdict == "incomplete"
    assert gates(report) == ["min-stability"]
    assert report_of({"a": FLAKY, "b": "PPPPPPPPFE"}, min_stability="0.5").verdict == "fail"


def test_cases_of_one_trial_say_nothing_about_stability() -> None:
    report = report_of({"a": "P", "b": "P"}, min_stability="1.0")
    assert report.stability is None
    assert report.verdict == "pass"


def test_so_many_cases_may_fail() -> None:
    cases = {"a": FAILING, "b": FAILING, "c": STABLE}
    assert report_of(cases, max_failing_cases=2).verdict == "pass"
    refused = report_of(cases, max_failing_cases=1)
    assert refused.verdict == "fail"
    assert gates(refused, "fail") == ["case", "case", "max-failing-cases"]
    allowed = report_of(cases, max_failing_cases=2)
    assert "2 cases fail, as max_failing_cases allows" in allowed.warnings
    assert {reason.verdict for reason in allowed.reasons} == {"pass"}


def test_every_case_must_reach_the_reliability() -> None:
    cases = {"a": STABLE, "b": FLAKY}  # 0.9 cubed is 0.729
    assert report_of(cases, min_reliability="0.729", gate="strict").verdict == "pass"
    refused = report_of(cases, min_reliability="0.73", gate="strict")
    assert [(reason.gate, reason.case) for reason in refused.reasons] == [("min-reliability", "b")]
    assert report_of(cases, min_reliability="0.9", gate="wilson").verdict == "pass"
    assert report_of({"b": "PPPPPFFFFF"}, min_reliability="0.9", threshold="0.3").verdict == "fail"


def test_an_error_can_leave_reliability_open() -> None:
    report = report_of({"a": "PPPPPPPPPE"}, min_reliability="0.9", gate="strict")
    assert report.verdict == "incomplete"
    assert gates(report) == ["min-reliability"]
    assert report_of({"a": "PPPPPPPPPE"}, min_reliability="0.7", gate="strict").verdict == "pass"


def test_too_many_errors_make_the_suite_incomplete() -> None:
    assert report_of({"a": "PPPPPPPPPE"}).verdict == "pass"
    report = report_of({"a": STABLE, "b": "PPPPPPPEEE"})
    assert gates(report) == ["max-error-rate"]
    assert report.reasons[0].text == "3 of 20 trials ended in an error, allowed is a share of 0.1 (provider 3)"
    assert report_of({"a": STABLE, "b": "PPPPPPPEEE"}, max_error_rate="0.15").verdict == "pass"


def test_a_verdict_that_stands_in_spite_of_errors_comes_with_a_warning() -> None:
    report = report_of({"a": "PPPPPPPPPE"})
    assert report.verdict == "pass"
    assert "1 trials of 1 cases gave no verdict; they could not turn it: a" in report.warnings


@pytest.mark.parametrize(
    ("footer", "text"),
    [
        (None, "the run file has no end: the run was interrupted"),
        (RunFooter(complete=False, trials=10, stopped="max-cost"), "the run stopped because max-cost was reached"),
        (RunFooter(complete=False, trials=10, stopped="interrupted"), "the run was interrupted"),
    ],
)
def test_a_run_that_did_not_end_is_incomplete_even_if_every_trial_passed(footer: RunFooter | None, text: str) -> None:
    report = report_of({"a": STABLE}, run={"footer": footer})
    assert (report.verdict, report.exit_code) == ("incomplete", 3)
    assert report.reasons[0].text == f"{text} after 10 of 10 trials; --resume goes on"


def test_evidence_that_belongs_to_no_case_makes_the_run_incomplete() -> None:
    footer = RunFooter(complete=True, trials=10, missing=("broken.xml: not well-formed",))
    report = report_of({"a": STABLE}, run={"footer": footer})
    assert report.verdict == "incomplete"
    assert report.reasons[0].text == "broken.xml: not well-formed"


def test_without_a_gate_nothing_fails_and_the_report_says_so() -> None:
    report = report_of({"a": FAILING}, gate="none")
    assert report.verdict == "pass"
    assert "gate none: cases are reported, not gated" in report.warnings


def test_weak_settings_are_warned_about_once() -> None:
    assert any("repeats < 5: wide interval" in text for text in report_of({"a": "PPP", "b": "PPP"}).warnings)
    assert any("in 1 of 2 cases" in text for text in report_of({"a": "PPP", "b": STABLE}).warnings)
    assert any("1 repeat says what happened once" in text for text in report_of({"a": "P"}).warnings)
    assert any("cannot fail at threshold 0.2" in text for text in report_of({"a": STABLE}, threshold="0.2").warnings)
    assert any("as strict as the strict one" in text for text in report_of({"a": STABLE}, threshold="1").warnings)
    near = "at threshold 0.99 with 10 repeats a single miss fails a case, as with the strict gate"
    assert any(text.startswith(near) for text in report_of({"a": STABLE}, threshold="0.99").warnings)
    assert not any("single miss" in text for text in report_of({"a": "P"}, threshold="0.99").warnings)
    assert report_of({"a": STABLE}).warnings == ()


def test_long_answers_that_never_change_may_come_from_a_cache() -> None:
    from analysis_runs import trials_of

    answer = {"output": "The same forty characters or more, each time.", "output_sha256": "0" * 64}
    trials = trials_of("a", STABLE, **answer)
    for target, warned in (("http:https://example.org", True), ("python:agent:answer", False)):
        run = run_of({"a": STABLE}, trials=trials, target=target)
        assert any("cache" in text for text in analyse(run, Rules()).warnings) is warned


def test_figures_of_the_suite_add_up() -> None:
    report = report_of({"a": "PPFPE", "b": "PPPPP", "c": "SSSSS"}, max_error_rate="0.5")
    totals = report.totals
    assert (totals.cases, totals.asked, totals.trials) == (3, 15, 15)
    assert (totals.passed, totals.failed, totals.errors, totals.skipped, totals.missing) == (8, 1, 1, 5, 0)
    assert totals.pass_rate == pytest.approx((0.75 + 1) / 2)
    assert totals.pass_hat_k["2"] == pytest.approx((0.5 + 1) / 2)
    assert totals.pass_hat_k["5"] is None
    assert totals.new_cases_interval is None
    assert (totals.cost, totals.score, totals.duration) == (None, None, None)


def test_the_interval_for_new_cases_needs_ten_cases() -> None:
    nine = {f"case {n}": FLAKY for n in range(9)}
    assert report_of(nine).totals.new_cases_interval is None
    assert report_of({**nine, "case 9": STABLE}).totals.new_cases_interval is not None
