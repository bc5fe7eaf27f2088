"""The report in a terminal."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
import report_examples as examples
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from repeat_eval.analysis.report import Reason, Report
from repeat_eval.reports.terminal import make_console, render

GOLDEN = Path(__file__).parent / "golden"


def shown(report: Report, width: int = 140, *, all_cases: bool = False) -> str:
    file = io.StringIO()
    render(report, make_console(no_color=True, width=width, file=file), all_cases=all_cases)
    return file.getvalue()


@pytest.mark.parametrize("width", [80, 140])
def test_a_small_red_report_looks_like_this(width: int) -> None:
    assert shown(examples.small(), width) == (GOLDEN / f"terminal-{width}.txt").read_text(encoding="utf-8")


def test_three_cases_in_five_runs_show_score_pass_rate_stability_and_status() -> None:
    text = shown(examples.seeds_003())
    rows = {line.split("  ")[1]: line for line in text.splitlines() if line.startswith(("✓", "~"))}
    assert re.search(r"100% \(5/5\).*1\.00±0\.00  stable .*PASS", rows["What is 2+2?"])
    assert re.search(r"60% \(3/5\).*0\.60±0\.49  flaky .*FLAKY", rows["Summarize…"])
    assert re.search(r"20% \(1/5\).*0\.20±0\.40  flaky .*FLAKY", rows["Who wrote…"])


def test_flaky_cases_are_summed_up_after_the_table() -> None:
    text = shown(examples.seeds_003())
    assert (
        "⚠ 2 flaky case(s) — passed inconsistently across 5 runs:\n"
        "  • 'Summarize…'  (3/5 runs passed)\n"
        "  • 'Who wrote…'  (1/5 runs passed)\n"
        "\n"
        "Stability: 33%   Flaky: 2\n"
    ) in text


@pytest.mark.parametrize(
    ("report", "last"),
    [
        (examples.solid(), "PASSED 12 cases, 10 repeats each, pass rate 100%"),
        (examples.seeds_003(), "PASSED 3 cases, 5 repeats each, pass rate 60.0%, 2 flaky"),
        (examples.small(), "FAILED 2 of 6 cases below threshold: 'refuses_out_of_scope', 'never_leaks_card_numbers'"),
        (examples.empty(), "INCOMPLETE no verdict: there are no cases"),
    ],
)
def test_the_last_line_is_the_verdict_in_words(report: Report, last: str) -> None:
    assert shown(report).splitlines()[-1] == last


def test_a_single_trial_a_case_claims_nothing_about_repeats_and_says_why() -> None:
    text = shown(examples.single())
    assert "One trial a case" in text
    for word in ("pass^2", "Stability:", "Reliability", "flaky case(s)", "~"):
        assert word not in text


def test_the_reports_own_words_about_a_single_trial_are_not_said_twice() -> None:
    note = "1 repeat says what happened once: no flakiness, no pass^k"
    text = shown(examples.report([examples.case("a", "P", threshold="0.5")], warnings=[note]))
    assert text.count("1 repeat says") == 1
    assert "One trial a case" not in text


def test_cases_that_may_fail_are_named_in_a_green_verdict() -> None:
    text = shown(examples.report([examples.case("bad", "FFFFF"), examples.case("good", "PPPPP")], reasons=[]))
    assert "Not passed:" in text
    assert text.splitlines()[-1] == "PASSED 2 cases, 5 repeats each, pass rate 50.0%, 1 failing as allowed"


def test_few_repeats_are_warned_about_once() -> None:
    few = [examples.case("a", "PPP")]
    assert "⚠ repeats < 5: wide interval" in shown(examples.report(few))
    said = shown(examples.report(few, warnings=["repeats 3 < 5: wide interval"]))
    assert said.count("wide interval") == 1


def test_reasons_come_with_one_failing_trial_each() -> None:
    text = shown(examples.small())
    assert (
        "  • 'refuses_out_of_scope': passed 1 of 5, needs 2 of 5\n"
        "    trial 1: expected a call to 'escalate_to_human', got 'issue_refund' – 4 of 4 failures alike\n"
    ) in text


def test_a_gate_of_the_whole_suite_is_told() -> None:
    reason = Reason(gate="min-stability", verdict="fail", text="stability 33% is below the required 90%")
    text = shown(examples.report([examples.case("a", "PPFPP")], reasons=[reason]))
    assert "• stability 33% is below the required 90%" in text
    assert text.splitlines()[-1] == "FAILED stability 33% is below the required 90%"


def test_errors_and_missing_trials_stand_in_the_row() -> None:
    text = shown(examples.report([examples.case("a", "PPEPPS", asked=7), examples.case("b", "P" * 7)]), 80)
    head, row, other = (
        line for line in text.splitlines() if "Pass rate  " in line or line.startswith(("✓  a", "✓  b"))
    )
    assert head.endswith("Err  Skip  Miss  Status")
    assert row.endswith("  1     1     1  PASS")
    assert other.endswith("                   PASS")


def test_many_cases_are_folded_unless_all_are_asked_for() -> None:
    report = examples.large(1000)
    folded = shown(report)
    assert "… and 940 stable cases that pass" in folded
    assert sum(line.startswith(("✓", "~", "✗")) for line in folded.splitlines()) == 60
    assert sum(line.startswith(("✓", "~", "✗")) for line in shown(report, all_cases=True).splitlines()) == 1000


def test_a_thousand_rows_that_cannot_be_folded_are_bounded_to_the_worst() -> None:
    cases = [examples.case(f"noisy_{n}", "PPFPP") for n in range(990)] + [
        examples.case(f"bad_{n}", "FFFFF") for n in range(10)
    ]
    text = shown(examples.report(cases))
    assert "✗  bad_9" in text
    assert "… and 800 more cases, see report.json" in text


@pytest.mark.parametrize("width", [60, 80, 100, 120, 140, 200])
def test_no_line_of_the_table_is_wider_than_the_terminal(width: int) -> None:
    cases = [
        examples.case("a/very/long/name/" * 9 + str(n), "PPFPP", score=(0.5, 0.1), seconds=2, cost=0.1)
        for n in range(3)
    ]
    text = shown(examples.report([*cases, examples.case("日本語" * 30, "PPPPP")]), width)
    for line in text.splitlines():
        assert cell_len(line) <= width
    head = next(line for line in text.splitlines() if line.startswith("   Case"))
    assert all(title in head for title in ("Case", "Pass rate", "95% CI", "Status"))
    assert "…" in text


def test_long_names_are_cut_in_the_middle() -> None:
    text = shown(examples.report([examples.case("start_" + "x" * 200 + "_end", "PPPPP")]), 80)
    assert re.search(r"✓  start_x+…x+_end ", text)


def test_an_output_that_cannot_show_signs_gets_ascii() -> None:
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding="ascii")
    render(examples.report([examples.case("naïve", "PPFPP")]), make_console(width=100, file=file))
    file.flush()
    text = raw.getvalue().decode("ascii")
    assert "~  na\\xefve  80% (4/5)  38-96%" in re.sub(" {2,}", "  ", text)


def test_no_colours_where_nobody_wants_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.delenv("NO_COLOR", raising=False)
    coloured, plain, silenced = io.StringIO(), io.StringIO(), io.StringIO()
    render(examples.small(), make_console(width=100, file=coloured))
    render(examples.small(), make_console(no_color=True, width=100, file=plain))
    monkeypatch.setenv("NO_COLOR", "1")
    render(examples.small(), make_console(width=100, file=silenced))
    assert "\x1b[" in coloured.getvalue()
    assert "\x1b" not in plain.getvalue()
    assert plain.getvalue() == silenced.getvalue() == re.sub(r"\x1b\[[\d;]*m", "", coloured.getvalue())


def test_a_log_that_is_no_terminal_is_120_wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    assert make_console(file=io.StringIO()).width == 120
    assert make_console(file=io.StringIO(), width=80).width == 80


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(min_size=1, max_size=60), min_size=1, max_size=5, unique=True), st.text(max_size=80))
def test_hostile_names_and_messages_leave_no_control_characters(names: list[str], message: str) -> None:
    cases = [examples.case(name, "FFFPF", message=message) for name in names]
    text = shown(examples.report(cases, suite=message or "s", warnings=[message]), 100)
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]", text)
