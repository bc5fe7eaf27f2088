"""What was run, and against what, is said on every surface, also where it is unusual."""

from __future__ import annotations

import io

import comparison_examples as compared
import msgspec
import report_examples as examples

from repeat_eval.analysis.report import Comparison, Provenance, Reason, Report, Setting
from repeat_eval.reports import comparison_wording as words
from repeat_eval.reports import format as fmt
from repeat_eval.reports.comment import render_comment
from repeat_eval.reports.markdown import render_summary
from repeat_eval.reports.terminal import make_console, render


def on_a_terminal(report: Report) -> str:
    stream = io.StringIO()
    render(report, make_console(no_color=True, file=stream, width=140))
    return stream.getvalue()


def at_one_commit() -> Report:
    report = compared.regression()
    assert report.comparison is not None
    base = report.comparison.base
    assert base is not None
    origin = msgspec.structs.replace(report.provenance, commit=base.commit)
    return msgspec.structs.replace(report, provenance=origin)


def test_two_sides_at_one_commit_are_not_shown_as_two_commits() -> None:
    report = at_one_commit()
    assert "Compared with base at the same commit · " in on_a_terminal(report)
    assert "base at the same commit" in render_summary(report)
    assert "against main at the same commit" in render_comment(report)
    assert "at the same commit" not in on_a_terminal(compared.regression())


def test_a_base_that_lacks_trials_is_shown_with_those_that_it_did() -> None:
    report = compared.regression()
    assert report.comparison is not None
    side = msgspec.structs.replace
    cases = tuple(side(case, base=side(case.base, passed=1, failed=0, missing=9)) for case in report.comparison.cases)
    assert words.repeats(side(report.comparison, cases=cases), "base") == "10 repeats against 1 on base"


def test_a_comparison_that_could_see_nothing_says_that_everything_could_hide() -> None:
    comparison = msgspec.structs.replace(compared.comparison([compared.pair("a", "P", "PPF")]), detectable=None)
    blind = msgspec.structs.replace(comparison, detectable_case=None)
    assert words.hidden(blind) == "nearly any change: one of the sides has too few trials to tell"


def test_a_part_of_a_suite_is_never_shown_as_the_suite() -> None:
    report = examples.small()
    part = msgspec.structs.replace(report, provenance=Provenance(selection=("greets*", "tag:smoke")))
    assert " · only greets*, tag:smoke · " in on_a_terminal(part).splitlines()[0]


def test_the_target_of_a_suite_is_not_called_a_command() -> None:
    for source, label in (("suite", "target"), ("command", "command")):
        origin = Provenance(source=source, command="agent:answer")
        assert f"{label} `agent:answer`" in render_summary(msgspec.structs.replace(examples.small(), provenance=origin))


def test_settings_are_written_as_people_write_them() -> None:
    values = (["provider", "timeout"], [], 30.0, 0.5, "0.80", True)
    assert [fmt.setting(value) for value in values] == ["provider, timeout", "none", "30", "0.5", "0.80", "True"]
    report = msgspec.structs.replace(examples.small(), settings={"retry_on": Setting(["provider"], "default")})
    assert "| `retry_on` | `provider` | default |" in render_summary(report)


def test_why_nothing_could_be_compared_is_said_once_in_the_last_line() -> None:
    why = "base and head have no case in common"
    report = msgspec.structs.replace(
        examples.small(),
        verdict="incomplete",
        reasons=(Reason(gate="no-base", verdict="incomplete", text=f"cannot be compared with base: {why}"),),
        comparison=Comparison(verdict="not comparable", text=why),
    )
    assert words.verdict_line(report) == f"INCOMPLETE no verdict: cannot be compared with base: {why}"


def test_when_no_trial_gave_a_verdict_the_first_line_says_what_the_trials_said() -> None:
    nothing = Reason(gate="evidence", verdict="incomplete", text="no trial gave a verdict")
    report = examples.report([examples.case("a", "EEE")], reasons=[nothing])
    text = "no verdict, 3 of 3 trials gave none (timeout: no answer within 30 s)"
    assert words.verdict_line(report) == f"INCOMPLETE {text}"
    assert render_summary(report).splitlines()[0] == f"### ⚠️ Incomplete: {text}"


def test_an_improvement_says_that_luck_is_unlikely_and_not_the_improvement() -> None:
    text = render_comment(compared.mixed())
    assert "(luck: " in text
    assert "(very unlikely" not in text and "(unlikely" not in text


def test_weighted_rates_are_called_so_only_where_cases_have_different_numbers_of_trials() -> None:
    words_of_it = ", cases weighted by their trials"
    equal = [compared.pair("a", "PPPP", "PPPF"), compared.pair("b", "PPPP", "PPPP")]
    unequal = [compared.pair("a", "PPPP", "PPPF"), compared.pair("b", "PPPPPPPP", "PPPPPPPP")]
    assert words_of_it not in on_a_terminal(compared.compared(equal))
    assert words_of_it in on_a_terminal(compared.compared(unequal))
