"""Two looks in a report: whose figures are shown, who is blamed, what blocks, what is never green."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from two_looks import LOOKS, healthy, letters, looked, two_sides

from repeat_eval.analysis.analyse import analyse
from repeat_eval.analysis.comparison import compare_runs
from repeat_eval.analysis.history import stored_run
from repeat_eval.analysis.looks import first_look
from repeat_eval.analysis.report import CaseComparison, Report, to_json
from repeat_eval.analysis.rules import Rules
from repeat_eval.analysis.second_look_model import SecondLook
from repeat_eval.records.run import RunFooter
from repeat_eval.records.two_looks import TwoLooks
from repeat_eval.statistics.second_look import SecondLookSettings

SOLID = "P" * 23
BROKEN = {"breaks": (SOLID, "PFF" + letters(9, 20)), **healthy(9)}
CLEARED = {"breaks": (SOLID, "PFF" + letters(19, 20)), **healthy(9)}
TOGETHER = {
    **{f"dips {place}": (SOLID, "PPF" + letters(16, 20)) for place in range(3)},
    "rises": ("PFF" + "P" * 20, SOLID),
    **healthy(20),
}
ALARM = {f"case {place}": (SOLID, "PPF" + letters(5, 7) + "P" * 13) for place in range(8)}
CUT = {"breaks": (SOLID, "PFFPPPP"), **healthy(9)}


def looks_of(report: Report) -> SecondLook:
    assert report.comparison is not None and report.comparison.second_look is not None
    return report.comparison.second_look


def compared(report: Report, case: str) -> CaseComparison:
    assert report.comparison is not None
    return next(one for one in report.comparison.cases if one.id == case)


def blocking(report: Report) -> list[tuple[str, str | None]]:
    return [(reason.gate, reason.case) for reason in report.reasons if reason.verdict == "fail"]


def test_a_confirmed_case_is_blamed_and_its_fresh_trials_judge_it() -> None:
    report = looked(BROKEN)
    assert (report.verdict, report.exit_code) == ("fail", 1)
    assert blocking(report) == [("case-regression", "breaks"), ("case", "breaks")]
    case = compared(report, "breaks")
    assert (case.change, case.rejected_down, case.second_look) == ("regressed", True, "confirmed")
    assert report.reasons[0].text.startswith("first 3/3 → 1/3, re-run 20/20 → 9/20: luck is unlikely")
    assert report.cases["breaks"].text == "re-run, 9/20 is below 0.8, needs 13 of 20"


def test_all_figures_of_head_base_and_suite_are_those_of_the_first_look() -> None:
    report = looked(BROKEN)
    case, totals = report.cases["breaks"], report.totals
    assert (case.passed, case.verdicts, case.outcomes, case.asked) == (1, 3, "PFF", 3)
    assert (totals.trials, totals.asked, totals.passed) == (30, 30, 28)
    assert totals.pass_hat_k["3"] == pytest.approx(0.9)
    assert totals.pass_hat_k["5"] is None
    comparison = report.comparison
    assert comparison is not None and comparison.base is not None and comparison.head is not None
    assert (comparison.base.verdicts, comparison.head.verdicts, comparison.head.passed) == (30, 30, 28)
    assert comparison.delta == looks_of(report).first_difference.delta == pytest.approx(-2 / 30)


def test_fresh_trials_change_no_figure_of_the_suite() -> None:
    bad, good = looked(BROKEN), looked(CLEARED)
    assert bad.totals.pass_rate == good.totals.pass_rate
    assert bad.totals.interval == good.totals.interval
    assert bad.totals.stability == good.totals.stability


def test_a_cleared_case_is_no_longer_blamed_by_its_first_look_or_its_threshold() -> None:
    report = looked(CLEARED)
    assert (report.verdict, report.exit_code, report.reasons) == ("pass", 0, ())
    case = compared(report, "breaks")
    assert (case.change, case.second_look, case.watch) == ("unchanged", "not confirmed", True)
    assert report.cases["breaks"].verdict == "pass"


def test_the_watch_list_holds_at_most_three_suspects_with_a_fresh_p_up_to_thirty_percent() -> None:
    cases = {f"dips {place}": (SOLID, "PFF" + letters(20 - place, 20)) for place in range(5)} | healthy(45)
    report = looked(cases, SecondLookSettings(alarm=0.0))
    assert report.comparison is not None
    assert {case.id for case in report.comparison.cases if case.watch} == {"dips 2", "dips 3", "dips 4"}
    assert [case.id for case in looks_of(report).cleared] == [f"dips {place}" for place in range(5)]


def test_re_run_cases_that_only_together_got_worse_are_not_named_by_themselves() -> None:
    report = looked(TOGETHER)
    assert blocking(report) == [("suite-regression", None)]
    assert report.reasons[0].text.startswith("the 3 re-run cases together got worse, by 20.0 points in fresh trials")
    assert all(compared(report, f"dips {place}").change == "unchanged" for place in range(3))


def test_after_an_alarm_the_suite_got_worse_and_the_fresh_difference_is_large() -> None:
    report = looked(ALARM)
    looks = looks_of(report)
    assert blocking(report) == [("suite-regression", None)]
    assert report.reasons[0].text.startswith("the suite got worse, by 28.6 points in fresh trials")
    assert report.reasons[0].observed == looks.headline.delta == pytest.approx(-2 / 7)


def test_the_halves_of_the_gate_block_by_themselves_as_fail_on_says() -> None:
    assert blocking(looked(BROKEN, gate="none", fail_on="suite-regression")) == [("suite-regression", None)]
    assert blocking(looked(BROKEN, gate="none", fail_on="case-regression")) == [("case-regression", "breaks")]
    assert blocking(looked(TOGETHER, fail_on="case-regression")) == []
    report = looked(TOGETHER, fail_on="none")
    assert report.verdict == "pass"
    assert report.comparison is not None and report.comparison.verdict == "regressed"


def test_a_regression_smaller_than_the_least_effect_is_told_and_does_not_block() -> None:
    report = looked(TOGETHER, min_effect=25)
    assert report.verdict == "pass"
    assert "less than the 25 points that block" in report.reasons[0].text
    assert looked(TOGETHER, min_effect=15).verdict == "fail"


def test_a_second_look_that_was_cut_is_incomplete_and_says_how_far_it_came() -> None:
    report = looked(CUT)
    assert (report.verdict, report.exit_code) == ("incomplete", 3)
    assert report.reasons[0].text == "the second look was cut short: 24 of 40 fresh trials were done"


def test_a_run_that_stopped_in_its_second_look_names_one_reason_only() -> None:
    base, head = two_sides(CUT)
    head = msgspec.structs.replace(head, footer=RunFooter(complete=False, trials=34, stopped="time-budget"))
    report = analyse(head, Rules(), base=base, base_source="side-by-side")
    assert report.verdict == "incomplete"
    assert [reason.text for reason in report.reasons] == [
        "the second look was cut short after 24 of 40 fresh trials: the time budget was used up; --resume goes on"
    ]


def test_a_cut_second_look_stays_incomplete_whatever_fails_the_gate() -> None:
    assert looked(CUT, fail_on="none").verdict == "incomplete"


def test_fresh_trials_that_mostly_end_in_errors_are_no_evidence() -> None:
    report = looked({"breaks": (SOLID, "PFF" + "P" * 15 + "E" * 5), **healthy(9)})
    assert report.verdict == "incomplete"
    assert "5 of 20 fresh trials ended in an error" in report.reasons[0].text


def test_fewer_than_six_cases_with_verdicts_are_not_judged_by_three_trials() -> None:
    report = looked({**healthy(5), "errors": ("PPP", "EEE")})
    assert report.verdict == "incomplete"
    assert any("fewer than 6 cases" in reason.text for reason in report.reasons)


# The absolute gate.


def test_the_first_look_fails_no_case_by_itself() -> None:
    cases = {**{f"low {place}": (SOLID, "PFF" + "P" * 20) for place in range(5)}, **healthy(25)}
    report = looked(cases, SecondLookSettings(alarm=0.0))
    assert looks_of(report).not_rerun == ("low 3", "low 4")
    assert report.verdict == "pass"
    left_out = report.cases["low 4"]
    assert left_out.verdict == "within-noise"
    assert left_out.text == "1/3 is below 0.8 in the first look, which fails no case alone"
    assert compared(report, "low 4").second_look == "not re-run"


def test_a_case_that_fails_on_base_too_is_not_this_change() -> None:
    report = looked({"old": ("FFF" + "F" * 20, "FFF" + "F" * 20), **healthy(9)})
    assert report.verdict == "pass"
    assert compared(report, "old").not_this_change
    assert "it fails on base too (0/3): not this change" in report.reasons[0].text


def test_a_suspect_below_its_threshold_on_both_sides_by_fresh_trials_is_not_this_change() -> None:
    report = looked({"low": ("PPP" + letters(10, 20), "PFF" + letters(9, 20)), **healthy(9)})
    assert compared(report, "low").not_this_change
    assert report.verdict == "pass"
    assert "re-run 10/20" in report.reasons[0].text


def test_where_any_miss_fails_a_case_a_re_run_does_not_forgive_it() -> None:
    cases = {"strict": (SOLID, "PPF" + "P" * 20), **healthy(9)}
    assert blocking(looked(cases, threshold="1")) == [("case", "strict")]
    assert blocking(looked(cases, threshold="0.8")) == []


def test_cases_that_only_head_has_keep_their_own_threshold() -> None:
    report = looked({"new": ("", "FFFFFFFFFF"), **healthy(9)}, own={"new": 10})
    assert blocking(report) == [("case", "new")]


def test_reliability_is_not_missed_by_a_first_look_alone() -> None:
    cases = {**healthy(9), "dips": (SOLID, "PFF" + "P" * 20)}
    report = looked(cases, gate="strict", threshold="0.3", min_reliability="0.6")
    assert report.verdict == "pass"
    assert any("its fresh trials reach it" in reason.text for reason in report.reasons)


# Alpha, errors, other sources.


def test_two_looks_spend_what_is_kept_for_the_first_of_several() -> None:
    assert looks_of(looked(BROKEN)).alpha == "0.05"
    assert looks_of(looked(BROKEN, extra_looks=2)).alpha == "0.04"


def test_errors_are_compared_on_the_first_look_alone() -> None:
    with_fresh_errors = {"breaks": (SOLID, "PFF" + "P" * 18 + "EE"), **healthy(9)}
    report = looked(with_fresh_errors)
    assert report.comparison is not None and report.comparison.errors is None
    first = looked({"errs": ("PPP", "PPE"), **healthy(9)})
    assert first.comparison is not None and first.comparison.errors is not None
    assert first.comparison.errors.head == pytest.approx(1 / 30)


def test_a_run_of_two_looks_against_another_file_is_compared_by_its_first_look() -> None:
    base, head = two_sides(BROKEN)
    other = msgspec.structs.replace(base, header=msgspec.structs.replace(base.header, second_look=msgspec.UNSET))
    report = analyse(head, Rules(), base=other, base_source="file")
    assert report.comparison is not None and report.comparison.second_look is None
    assert report.comparison.head is not None and report.comparison.head.verdicts == 30


def test_comparing_the_runs_themselves_says_the_same() -> None:
    base, head = two_sides(BROKEN)
    report = analyse(head, Rules(), base=base, base_source="side-by-side")
    assert report.comparison is not None
    alone = compare_runs(base, head, Rules(), source="side-by-side")
    assert alone.second_look == report.comparison.second_look
    assert (alone.verdict, alone.delta, alone.text) == (
        report.comparison.verdict,
        report.comparison.delta,
        report.comparison.text,
    )


def test_without_base_the_figures_are_still_those_of_the_first_look() -> None:
    _, head = two_sides(BROKEN)
    assert analyse(head, Rules(gate="none")).totals.trials == 30


def test_a_stored_base_screens_and_what_it_holds_blocks_nothing() -> None:
    looks = SecondLookSettings(mode="screen", alarm=0.0)
    base, head = two_sides(BROKEN)
    marked = msgspec.structs.replace(TwoLooks.of(looks), trials={"breaks": 20})
    head = msgspec.structs.replace(head, header=msgspec.structs.replace(head.header, second_look=marked))
    stored = msgspec.structs.replace(
        two_sides({case: (pair[0][:20], pair[0][:20]) for case, pair in BROKEN.items()})[0],
        trials=tuple(trial for trial in base.trials if trial.repetition <= 3),
    )
    stored = msgspec.structs.replace(stored, header=msgspec.structs.replace(stored.header, second_look=msgspec.UNSET))
    report = analyse(head, Rules(), base=base, base_stored=stored)
    assert looks_of(report).mode == "screen"
    assert ("case-regression", "breaks") in blocking(report)
    assert not any("does not block" in reason.text for reason in report.reasons)
    quiet = two_sides(healthy(9))[1]
    quiet = msgspec.structs.replace(quiet, header=msgspec.structs.replace(quiet.header, second_look=TwoLooks.of(looks)))
    unsuspected = analyse(quiet, Rules(), base=None, base_stored=stored)
    assert unsuspected.verdict == "pass"
    assert looks_of(unsuspected).wording == ("nothing-suspected", "alarm-off")


def test_improvements_that_were_re_run_are_named_by_fresh_trials() -> None:
    report = looked({"mends": ("F" * 23, SOLID), **healthy(9)}, SecondLookSettings(both=True, alarm=0.0))
    assert report.comparison is not None and report.comparison.verdict == "improved"
    assert compared(report, "mends").change == "fixed"


def test_what_is_kept_in_the_store_has_no_fresh_trials() -> None:
    base, head = two_sides(BROKEN)
    timed = tuple(msgspec.structs.replace(trial, duration=1.0) for trial in head.trials)
    head = msgspec.structs.replace(
        head, trials=timed, header=msgspec.structs.replace(head.header, started="2026-03-01T10:00:00Z")
    )
    report = analyse(head, Rules(), base=base, base_source="side-by-side")
    kept = stored_run(report, head.header, head.trials, commit="a" * 40, run=1, attempt=1)
    assert all(case.timed == case.passed + case.failed == 3 for case in kept.cases)
    assert kept.pass_rate == report.totals.pass_rate


def test_the_report_survives_being_written_and_read() -> None:
    report = looked(BROKEN)
    assert msgspec.json.decode(to_json(report), type=Report) == report


def test_a_case_with_repeats_of_its_own_has_a_longer_first_look() -> None:
    cases = {"breaks": ("P" * 25, "PPFFF" + letters(9, 20)), **healthy(9)}
    report = looked(cases, own={"breaks": 5})
    (suspect,) = looks_of(report).confirmed
    assert (suspect.first_head.passed, suspect.first_head.verdicts) == (2, 5)
    assert (suspect.fresh_head.passed, suspect.fresh_head.verdicts) == (9, 20)
    assert (report.cases["breaks"].verdicts, looks_of(report).calls.first) == (5, 64)


TRIALS = st.integers(0, 3).flatmap(
    lambda first: st.integers(0, 20).map(lambda fresh: letters(first, 3) + letters(fresh, 20))
)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(TRIALS, TRIALS), min_size=6, max_size=10), st.sampled_from(["regression", "none"]))
def test_no_verdict_rests_on_the_first_look_alone(sides: list[tuple[str, str]], fail_on: Any) -> None:
    report = looked({f"case {place}": pair for place, pair in enumerate(sides)}, fail_on=fail_on)
    looks = looks_of(report)
    assert report.comparison is not None
    regressed = {case.id for case in report.comparison.cases if case.change in ("regressed", "newly broken")}
    assert regressed == {case.id for case in looks.confirmed}
    rerun = {case.id for case in looks.suspects}
    for gate, case in blocking(report):
        assert gate != "case-regression" or case in regressed
        assert gate != "case" or case in rerun
    if not rerun and not looks.down.alarm:
        assert report.verdict == "pass"
    assert looks.calls.fresh == looks.calls.asked
    assert LOOKS.n1 == looks.first


def test_after_two_looks_the_suspects_that_fresh_trials_nearly_confirm_are_watched_by_their_fresh_counts() -> None:
    fresh = {"near": "P" * 17 + "F" * 3, "cleared": "P" * 20, "nearer": "P" * 16 + "F" * 4}
    cases = {case: ("P" * 23, "PPF" + after) for case, after in fresh.items()}
    cases["red"] = ("P" * 23, "PFF" + "F" * 20)
    report = looked({**healthy(30), **cases}, SecondLookSettings(alarm=0.0, cap=4))
    look = first_look(report, attempt=1, text="said", level=0.04)
    assert [(case.id, case.blamed, case.head) for case in look.cases] == [
        ("red", True, (0, 20)),
        ("nearer", False, (16, 20)),
        ("near", False, (17, 20)),
    ]
    assert all(case.base == (20, 20) for case in look.cases)


def test_what_two_looks_do_not_suspect_is_not_watched() -> None:
    report = looked({**healthy(8), "weak": ("P" * 23, "PPF" + "P" * 20)})
    assert first_look(report, attempt=1, text="said", level=0.04).cases == ()


def test_an_alarm_that_base_answers_with_errors_is_never_green() -> None:
    fine = {f"fine {place}": (SOLID, "PPF" + "P" * 20) for place in range(3)}
    dark = {f"dark {place}": ("PPP" + "E" * 20, "PPF" + "F" * 20) for place in range(5)}
    report = looked({**fine, **dark})
    assert looks_of(report).down.alarm
    assert (report.verdict, report.exit_code) == ("incomplete", 3)
    assert report.reasons[0].text == (
        "the first look raised an alarm, and fewer than half of a side's fresh trials gave a verdict"
    )


LOW_AT_FIRST = {f"dips {place}": (SOLID, "PFF" + "P" * 20) for place in range(8)}


def test_non_inferiority_is_not_missed_by_a_first_look_alone() -> None:
    report = looked(LOW_AT_FIRST, SecondLookSettings(alarm=0.0), require="non-inferior", margin=3.0)
    assert (report.verdict, blocking(report)) == ("incomplete", [])
    assert report.reasons[0].text.endswith("in the first look, which blocks nothing alone")


def test_after_an_alarm_the_suite_threshold_is_not_missed_by_the_first_look_alone() -> None:
    report = looked(LOW_AT_FIRST, suite_threshold="0.9")
    assert report.verdict == "pass"
    assert [reason.text for reason in report.reasons] == [
        "mean pass rate 33.3% is below the suite threshold 0.9, beyond noise; the fresh trials of all cases reach it"
    ]
    low = {f"dips {place}": (SOLID, "PFF" + letters(2, 7) + "P" * 13) for place in range(8)}
    assert ("suite-threshold", None) in blocking(looked(low, suite_threshold="0.9"))


def test_what_was_not_done_was_not_saved() -> None:
    assert looks_of(looked(CUT)).calls.saved is None
    assert looks_of(looked(CLEARED)).calls.saved


def test_a_run_of_two_looks_that_is_judged_without_its_base_says_that_fresh_trials_are_left_out() -> None:
    base, head = two_sides(BROKEN)
    alone = analyse(head, Rules())
    assert any(text.startswith("only the first look of this run is judged: its 20 fresh") for text in alone.warnings)
    beside = analyse(head, Rules(), base=base, base_source="side-by-side")
    assert not any("first look of this run" in text for text in beside.warnings)


def test_sides_whose_first_looks_were_of_other_lengths_are_compared_by_their_first_looks() -> None:
    longer = {**BROKEN, "longer": (SOLID, SOLID)}
    base, _ = two_sides(longer)
    _, head = two_sides(longer, own={"longer": 10})
    comparison = analyse(head, Rules(), base=base, base_source="file").comparison
    assert comparison is not None
    assert comparison.second_look is None
    assert comparison.common == 11


def test_after_an_alarm_the_stability_is_not_missed_by_the_first_look_alone() -> None:
    report = looked(LOW_AT_FIRST, min_stability="0.9")
    assert report.verdict == "pass"
    assert report.reasons[0].text.endswith("; the fresh trials of all cases reach it")
    flaky = {f"dips {place}": (SOLID, "PFF" + letters(6, 7) + "P" * 13) for place in range(8)}
    assert ("min-stability", None) in blocking(looked(flaky, min_stability="0.9"))
