"""What holds for every run, whatever its trials."""

from __future__ import annotations

import random
from typing import Any

from analysis_runs import report_of, run_of
from hypothesis import given
from hypothesis import strategies as st

from repeat_eval.analysis.analyse import analyse
from repeat_eval.analysis.report import Report, to_json
from repeat_eval.analysis.rules import Rules

LETTERS = st.text("PPPFES.", max_size=14)
SUITES = st.dictionaries(st.sampled_from(("a", "b", "c", "d")), LETTERS.filter(bool), min_size=1, max_size=4)
RATES = st.sampled_from(("0", "0.3", "0.5", "0.7", "0.8", "0.9", "1.0"))
RULES = st.fixed_dictionaries(
    {"threshold": RATES, "gate": st.sampled_from(("wilson", "strict", "none"))},
    optional={
        "suite_threshold": RATES,
        "min_stability": RATES,
        "min_reliability": RATES,
        "max_failing_cases": st.integers(0, 3),
        "max_error_rate": RATES,
    },
)
ORDER = {"pass": 0, "fail": 1, "incomplete": 1}


@given(SUITES, RULES)
def test_counts_add_up(cases: dict[str, str], rules: dict[str, Any]) -> None:
    report = report_of(cases, **rules)
    for counts in (*report.cases, report.totals):
        assert counts.passed + counts.failed + counts.errors + counts.skipped == counts.trials
        assert counts.trials + counts.missing == counts.asked
    verdicts = [case.verdict for case in report.cases]
    totals = report.totals
    assert (totals.failing, totals.incomplete) == (verdicts.count("fail"), verdicts.count("incomplete"))
    assert totals.within_noise == verdicts.count("within-noise")


@given(SUITES, RULES, st.randoms(use_true_random=False))
def test_the_order_in_which_trials_ended_changes_nothing(
    cases: dict[str, str], rules: dict[str, Any], chance: random.Random
) -> None:
    run = run_of(cases)
    shuffled = list(run.trials)
    chance.shuffle(shuffled)
    mixed = run_of(cases, trials=shuffled)
    assert to_json(analyse(run, Rules(**rules))) == to_json(analyse(mixed, Rules(**rules)))


@given(SUITES, RULES, st.data())
def test_one_more_error_never_turns_a_suite_to_pass(
    cases: dict[str, str], rules: dict[str, Any], data: st.DataObject
) -> None:
    before = report_of(cases, **rules)
    case = data.draw(st.sampled_from(sorted(cases)))
    after = report_of({**cases, case: cases[case] + "E"}, **rules)
    assert ORDER[after.verdict] >= ORDER[before.verdict]


@given(SUITES, RULES, st.data())
def test_a_trial_that_ends_in_an_error_instead_never_turns_a_suite_to_pass(
    cases: dict[str, str], rules: dict[str, Any], data: st.DataObject
) -> None:
    before = report_of(cases, **rules)
    case = data.draw(st.sampled_from(sorted(cases)))
    place = data.draw(st.integers(0, len(cases[case]) - 1))
    letters = cases[case]
    after = report_of({**cases, case: letters[:place] + "E" + letters[place + 1 :]}, **rules)
    assert ORDER[after.verdict] >= ORDER[before.verdict]


@given(SUITES, RULES)
def test_every_verdict_other_than_pass_has_its_reason(cases: dict[str, str], rules: dict[str, Any]) -> None:
    report = report_of(cases, **rules)
    assert report.exit_code == {"pass": 0, "fail": 1, "incomplete": 3}[report.verdict]
    assert (report.verdict == "pass") == (not [reason for reason in report.reasons if reason.verdict != "pass"])
    assert all(reason.text and not reason.text.endswith(".") for reason in report.reasons)


@given(SUITES, RULES)
def test_rates_lie_in_their_intervals_and_pass_hat_k_falls(cases: dict[str, str], rules: dict[str, Any]) -> None:
    report: Report = report_of(cases, **rules)
    for case in report.cases:
        if case.pass_rate is None:
            assert case.interval is None
            continue
        assert case.interval is not None
        low, high = case.interval
        assert 0 <= low <= case.pass_rate <= high <= 1
        known = [value for value in (case.pass_hat_k[k] for k in ("2", "3", "5")) if value is not None]
        assert known == sorted(known, reverse=True)
