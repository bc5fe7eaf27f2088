"""What a comparison makes of the gate: what blocks, what does not, and who is not blamed."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from analysis_runs import run_of
from comparing import Row, judged, judged_rows, letters, sides, with_header

from repeat_eval.analysis.comparison_text import p_text
from repeat_eval.analysis.report import Reason, Report

SOLID: Row = (10, 10, 10, 10)
BROKE: Row = (10, 10, 1, 10)
BROAD: list[Row] = [(5, 5, 4, 5)] * 6
"""Every case lost one trial: the suite fell, and no case by itself."""


def of_gate(report: Report, gate: str) -> list[Reason]:
    return [reason for reason in report.reasons if reason.gate == gate]


def test_a_broken_case_blocks_and_is_named() -> None:
    report = judged_rows(BROKE, SOLID)
    assert (report.verdict, report.exit_code) == ("fail", 1)
    (reason,) = of_gate(report, "case-regression")
    assert (reason.case, reason.verdict, reason.observed) == ("case 0", "fail", -0.9)
    assert "10/10 on base and 1/10 now" in reason.text


def test_a_broad_fall_blocks_as_a_whole() -> None:
    report = judged_rows(*BROAD)
    (reason,) = of_gate(report, "suite-regression")
    assert report.verdict == "fail" and "fell by 20.0 points" in reason.text and "p 0.016" in reason.text
    assert not of_gate(report, "case-regression")


@pytest.mark.parametrize(
    ("fail_on", "broad", "single"),
    [("regression", 1, 1), ("suite-regression", 1, 0), ("case-regression", 0, 1), ("none", 0, 0)],
)
def test_either_half_can_be_used_alone(fail_on: str, broad: int, single: int) -> None:
    assert judged_rows(*BROAD, fail_on=fail_on).exit_code == broad
    hidden = [BROKE, *[(5, 10, 6, 10)] * 9]
    assert judged_rows(*hidden, fail_on=fail_on).exit_code == single


def test_luck_does_not_block() -> None:
    assert judged_rows((8, 10, 6, 10), SOLID, SOLID).exit_code == 0


def test_an_improvement_does_not_block() -> None:
    report = judged_rows((1, 10, 10, 10), SOLID)
    assert report.comparison and report.comparison.verdict == "improved"
    assert report.exit_code == 0 and not report.reasons


def test_mixed_blocks_for_what_fell() -> None:
    report = judged_rows(BROKE, (1, 10, 10, 10))
    assert report.comparison and report.comparison.verdict == "mixed"
    assert [reason.case for reason in report.reasons if reason.verdict == "fail"] == ["case 0"]


def test_a_regression_smaller_than_the_minimum_effect_is_told_and_does_not_block() -> None:
    report = judged_rows(*BROAD, min_effect=25.0)
    (reason,) = of_gate(report, "suite-regression")
    assert (reason.verdict, report.exit_code) == ("pass", 0)
    assert "less than the 25 points that block" in reason.text
    assert judged_rows(*BROAD, min_effect=20.0).exit_code == 1


def test_a_case_must_reach_the_minimum_effect_by_itself() -> None:
    rows = [BROKE, *[SOLID] * 30]
    assert judged_rows(*rows, min_effect=10.0).exit_code == 1
    assert judged_rows(*rows, min_effect=95.0).exit_code == 0


@pytest.mark.parametrize(
    ("rows", "verdict"),
    [
        ([(100, 100, 100, 100)] * 10, "pass"),
        ([SOLID] * 3, "incomplete"),
        ([(100, 100, 60, 100)] * 3, "fail"),
    ],
)
def test_non_inferiority_must_be_shown(rows: list[Row], verdict: str) -> None:
    report = judged_rows(*rows, require="non-inferior", margin=3.0, fail_on="none")
    assert report.verdict == verdict
    assert [reason.verdict for reason in of_gate(report, "non-inferiority")] == ([] if verdict == "pass" else [verdict])


def test_non_inferiority_without_a_margin_is_incomplete() -> None:
    assert judged_rows(SOLID, require="non-inferior").exit_code == 3


def test_a_missing_base_passes_unless_it_is_required() -> None:
    head = run_of({"a": "PPP"})
    assert judged(None, head).exit_code == 0
    report = judged(None, head, options={"base_missing": "the store is empty"}, no_base="incomplete")
    assert report.exit_code == 3
    assert of_gate(report, "no-base")[0].text == "a base is required: the store is empty"
    assert judged(None, head, no_base="incomplete").exit_code == 3


def test_a_base_that_was_given_and_cannot_be_compared_leaves_the_evidence_incomplete() -> None:
    base, head = run_of({"a": "EEE"}), run_of({"a": "PPP"})
    report = judged(base, head)
    assert report.exit_code == 3
    (reason,) = of_gate(report, "no-base")
    assert reason.text.startswith("cannot be compared with base: no trial of base gave a verdict")
    assert "not compared with base: no trial of base gave a verdict" in report.warnings[0]


def test_more_errors_on_head_are_a_regression() -> None:
    base = run_of({f"case {number}": "PPPPPPPPPP" for number in range(8)})
    head = run_of({f"case {number}": "PPPPPPPPPE" for number in range(8)})
    report = judged(base, head)
    (reason,) = of_gate(report, "error-regression")
    assert reason.verdict == "fail" and reason.text.startswith("errors rose from 0% to 10.0% of the trials")
    assert report.exit_code == 1
    assert judged(head, base).exit_code == 0
    assert judged(base, head, fail_on="none").exit_code == 0


def test_a_rise_of_errors_that_is_significant_only_outside_its_share_of_alpha_is_told_and_does_not_block() -> None:
    base = run_of({f"case {number}": "PPPPPPPPPP" for number in range(6)})
    head = run_of({f"case {number}": "PPPPPPPPPE" for number in range(6)})
    report = judged(base, head)
    (reason,) = of_gate(report, "error-regression")
    assert report.exit_code == 0 and reason.verdict == "pass"
    assert "p 0.016" in reason.text and "only p below 0.01 blocks" in reason.text
    assert of_gate(judged(base, head, alpha="0.1"), "error-regression")[0].verdict == "fail"


def test_errors_take_their_share_of_alpha_from_the_suites_half_alone() -> None:
    base = run_of({"a": letters(10, 10), "b": letters(10, 10)})
    head = run_of({"a": letters(6, 10), "b": letters(10, 10)})
    with_error = run_of({"a": letters(6, 10), "b": "PPPPPPPPPE"})
    assert judged(base, head, gate="none", fail_on="suite-regression").verdict == "fail"
    report = judged(base, with_error, gate="none", fail_on="suite-regression")
    (reason,) = of_gate(report, "suite-regression")
    assert report.verdict == "pass" and report.comparison and report.comparison.verdict == "regressed"
    assert "p 0.043" in reason.text and "only p below 0.04 blocks" in reason.text
    # One broken case among three trials is found at exactly half of alpha, errors or not.
    three = run_of({"a": "PPP", "b": "PPP"}), run_of({"a": "FFF", "b": "PPE"})
    assert of_gate(judged(*three, gate="none"), "case-regression")[0].verdict == "fail"


def test_a_probability_is_never_rounded_across_a_level() -> None:
    assert p_text(0.0498) == "p 0.0498" and p_text(0.0131) == "p 0.013" and p_text(0.05) == "p 0.05"
    assert p_text(0.997) == "p > 0.99" and p_text(1.0) == "p 1" and p_text(0.0) == "p < 1e-12"


def test_removed_cases_are_a_warning_for_suites_and_incomplete_for_other_ways_in() -> None:
    base, head = run_of({"a": "PPP", "gone": "PPP"}), run_of({"a": "PPP"})
    report = judged(base, head)
    assert report.exit_code == 0 and "1 case of base is gone: gone" in report.warnings
    for source in ("command", "results"):
        other = with_header(head, source=source)
        assert judged(base, other).exit_code == 3
        assert of_gate(judged(base, other), "removed-cases")
        assert judged(base, other, removed_cases="warn").exit_code == 0
    assert judged(base, head, removed_cases="incomplete").exit_code == 3


def test_a_stored_base_warns_and_blocks_only_when_it_may() -> None:
    base, head = sides([BROKE, SOLID])
    stored: dict[str, Any] = {"base_source": "stored"}
    report = judged(base, head, options=stored, gate="none")
    assert report.exit_code == 0
    assert report.comparison and report.comparison.verdict == "regressed"
    assert "does not block" in of_gate(report, "case-regression")[0].text
    assert any("stored run" in warning for warning in report.warnings)
    blocked = judged(base, head, options=stored, gate="none", gate_stored=True)
    assert blocked.exit_code == 1 and not any("do not block" in warning for warning in blocked.warnings)


def test_nobody_is_blamed_for_a_case_that_was_broken_before() -> None:
    base = run_of({"old": letters(2, 10), "fine": letters(10, 10)})
    head = run_of({"old": letters(1, 10), "fine": letters(10, 10)})
    report = judged(base, head)
    (reason,) = of_gate(report, "case")
    assert (report.exit_code, reason.verdict) == (0, "pass")
    assert "it fails on base too (2/10): not this change" in reason.text
    assert judged(None, head).exit_code == 1


def test_a_case_that_only_head_fails_blocks_beside_one_that_both_fail() -> None:
    base = run_of({"old": letters(2, 10), "mine": letters(8, 10)})
    head = run_of({"old": letters(2, 10), "mine": letters(5, 10)})
    report = judged(base, head)
    assert report.exit_code == 1
    assert [(reason.case, reason.verdict) for reason in of_gate(report, "case")] == [("mine", "fail"), ("old", "pass")]


def test_old_failures_do_not_use_up_the_allowance_of_failing_cases() -> None:
    base = run_of({"old": letters(2, 10), "mine": letters(8, 10)})
    head = run_of({"old": letters(2, 10), "mine": letters(5, 10)})
    assert judged(base, head, max_failing_cases=1).exit_code == 0


def test_a_new_case_below_its_threshold_blocks() -> None:
    base, head = run_of({"a": letters(10, 10)}), run_of({"a": letters(10, 10), "new": letters(2, 10)})
    assert [reason.case for reason in of_gate(judged(base, head), "case")] == ["new"]


def test_a_case_that_failed_before_and_broke_still_blocks_by_its_fall() -> None:
    base, head = run_of({"a": letters(50, 100)}), run_of({"a": letters(10, 100)})
    report = judged(base, head)
    assert report.exit_code == 1
    assert [(reason.gate, reason.verdict) for reason in report.reasons] == [
        ("suite-regression", "fail"),
        ("case-regression", "fail"),
        ("case", "pass"),
    ]


@pytest.mark.parametrize(
    ("rules", "gate"),
    [
        ({"suite_threshold": "0.95", "gate": "strict"}, "suite-threshold"),
        ({"min_stability": "0.9"}, "min-stability"),
        ({"min_reliability": "0.9", "gate": "strict"}, "min-reliability"),
    ],
)
def test_a_gate_of_the_whole_suite_that_base_misses_too_does_not_block(rules: dict[str, Any], gate: str) -> None:
    flaky = {f"case {number}": letters(9, 10) for number in range(5)}
    solid = {case: letters(10, 10) for case in flaky}
    rules = {"threshold": "0", **rules}
    report = judged(run_of(flaky), run_of(flaky), **rules)
    assert report.exit_code == 0
    assert all("base misses it too" in reason.text for reason in of_gate(report, gate)) and of_gate(report, gate)
    assert judged(run_of(solid), run_of(flaky), **rules).exit_code == 1


def test_head_without_evidence_stays_incomplete_whatever_base_says() -> None:
    base, head = run_of({"a": "EEEEE", "b": "PPPPP"}), run_of({"a": "EEEEE", "b": "PPPPP"})
    assert judged(base, head).exit_code == 3
    assert judged(run_of({"a": "PPPPP"}), run_of({"a": "PPPPP"}, footer=None)).exit_code == 3


def test_nothing_is_excused_by_a_base_of_another_suite() -> None:
    base, head = run_of({"old": letters(2, 10)}), run_of({"old": letters(1, 10)})
    assert judged(base, head).exit_code == 0
    report = judged(with_header(base, suite="other"), head)
    assert [reason.verdict for reason in of_gate(report, "case")] == ["fail"]
    assert report.exit_code == 3


def test_what_base_lacks_is_told() -> None:
    base, head = sides([SOLID])
    assert base.footer is not None
    base = msgspec.structs.replace(
        base, footer=msgspec.structs.replace(base.footer, missing=("a.xml: cannot be read",))
    )
    assert "base: a.xml: cannot be read" in judged(base, head).warnings


@pytest.mark.parametrize(
    ("on_base", "on_head", "blocks"),
    [
        (10, 5, True),  # met its threshold before, fails it now
        (8, 5, True),
        (7, 5, False),  # below its threshold before, if only within noise, and nothing says that it fell
        (7, 2, True),  # below before, but by itself significantly lower now
        (5, 5, False),  # failed before
    ],
)
def test_a_threshold_that_was_missed_before_blocks_only_what_fell(on_base: int, on_head: int, blocks: bool) -> None:
    solid = {f"solid {number}": letters(10, 10) for number in range(12)}
    # Cases that vary without changing, so that the case half of the regression gate has many cases to correct for.
    varying = {f"varying {number}": letters(9 - number % 3, 10) for number in range(9)}
    base = run_of({"case": letters(on_base, 10), **solid, **varying})
    head = run_of({"case": letters(on_head, 10), **solid, **varying})
    reasons = of_gate(judged(base, head, fail_on="none"), "case")
    assert [reason.verdict for reason in reasons if reason.case == "case"] == ["fail" if blocks else "pass"]
