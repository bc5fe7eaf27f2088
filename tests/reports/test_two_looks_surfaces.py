"""Two looks on every surface: fresh rates for suspects, the first look beside them, and never a sum of both."""

from __future__ import annotations

import re
from io import StringIO
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree
from two_looks import healthy, letters, looked, two_sides

from repeat_eval.action.outputs import outputs_of
from repeat_eval.analysis.analyse import analyse
from repeat_eval.analysis.report import Report, to_json
from repeat_eval.analysis.rules import Rules
from repeat_eval.github.annotations import annotations_of
from repeat_eval.records.run import Run, RunFooter
from repeat_eval.reports.comment import render_comment
from repeat_eval.reports.junit import write_junit
from repeat_eval.reports.markdown import render_summary
from repeat_eval.reports.second_look_text import p_value
from repeat_eval.reports.terminal import make_console, render
from repeat_eval.statistics.second_look import SecondLookSettings

SOLID = "P" * 23
OLD = {"refuses": ("F" * 23, "FPF" + "F" * 20), "rises": ("PPF" + "P" * 20, SOLID)}
BREAKS = {"escalates": (SOLID, "PFF" + letters(9, 20)), **OLD, **healthy(21)}
CLEARED = {"escalates": (SOLID, "PFF" + letters(19, 20)), **OLD, **healthy(21)}
QUIET = {**OLD, **healthy(22)}
ALARM = {f"case {place}": (SOLID, "PPF" + letters(5, 7) + "P" * 13) for place in range(8)}
TOGETHER = {**{f"dips {place}": (SOLID, "PPF" + letters(16, 20)) for place in range(3)}, **OLD, **healthy(19)}


def told(run: Run) -> Run:
    trials = tuple(
        msgspec.structs.replace(
            trial, cost=0.01, message=f"look {trial.repetition > 3:d} failed" if trial.outcome == "failed" else None
        )
        for trial in run.trials
    )
    return msgspec.structs.replace(run, trials=trials)


def sides(cases: dict[str, tuple[str, str]]) -> tuple[Run, Run, Report]:
    base, head = map(told, two_sides(cases))
    return base, head, analyse(head, Rules(), base=base, base_source="side-by-side")


def cut_short() -> Report:
    base, head = two_sides({**QUIET, "escalates": (SOLID, "PFFPPPP")})
    head = msgspec.structs.replace(head, footer=RunFooter(complete=False, trials=1, stopped="max-cost"))
    return analyse(head, Rules(), base=base, base_source="side-by-side")


def printed(report: Report, width: int = 120) -> str:
    out = StringIO()
    render(report, make_console(no_color=True, width=width, file=out))
    return out.getvalue()


def visible(text: str) -> str:
    """What a comment shows before the first fold, with plain spaces and hyphens."""
    return text.partition("<details>")[0].replace("\u00a0", " ").replace("\u2011", "-").replace("\u2060", "")


SITUATIONS: dict[str, tuple[dict[str, tuple[str, str]], str]] = {
    "nothing suspected": (QUIET, "### ✅ No detectable change against `main`: nothing suspected in 24 cases"),
    "suspected and cleared": (
        CLEARED,
        "### ✅ No detectable change against `main`: 1 of 24 cases suspected, not confirmed by 20 fresh trials a side",
    ),
    "confirmed": (BREAKS, "### ❌ Worse than `main`: 1 of 24 cases broke, luck is very unlikely"),
    "alarm confirmed": (
        ALARM,
        "### ❌ Worse than `main`: the suite got worse, down 28.6 points in fresh trials, luck is very unlikely",
    ),
    "together": (
        TOGETHER,
        "### ❌ Worse than `main`: the 3 re-run cases together got worse, down 20.0 points in fresh trials, luck is "
        "very unlikely",
    ),
}


@pytest.mark.parametrize("name", SITUATIONS)
def test_the_first_line_alone_says_what_both_looks_found(name: str) -> None:
    cases, line = SITUATIONS[name]
    text = render_comment(looked(cases))
    assert text.partition("\n")[0] == line
    assert len(visible(text)) < 2_200


def test_a_second_look_that_was_cut_is_no_verdict_in_the_first_line() -> None:
    line = render_comment(cut_short()).partition("\n")[0]
    assert line.startswith("### ⚠️ Incomplete: no verdict: the second look was cut short after 24 of 40 fresh trials")


def test_the_row_of_a_broken_case_shows_fresh_rates_and_the_first_look_in_small() -> None:
    text = visible(render_comment(sides(BREAKS)[2]))
    assert (
        "| `escalates` | 20/20 → **9/20**<br><sub>first 3/3 → 1/3</sub> | very unlikely ✦✦ p 0.00004 | −55 points"
        in text
    )
    assert "- `escalates` trial 13: `look 1 failed` – 11 of 11 failures alike" in text


def test_what_the_re_run_did_not_confirm_stands_apart_with_both_looks() -> None:
    text = visible(render_comment(looked(CLEARED)))
    assert "**Re-run, not confirmed:** `escalates` first 3/3 → 1/3, re-run 20/20 → 19/20, p 0.25." in text
    assert "broke" not in text


def test_what_was_suspected_and_not_re_run_is_listed() -> None:
    cases = {**{f"low {place}": (SOLID, "PFF" + "P" * 20) for place in range(4)}, **healthy(20)}
    report = looked(cases, SecondLookSettings(alarm=0.0))
    assert "**Suspected, not re-run:** `low 3`." in render_comment(report)
    assert "Suspected, not re-run: 'low 3'" in printed(report)
    assert "the alarm over the suite was off" in render_comment(report)


@pytest.mark.parametrize("cases", [BREAKS, CLEARED, ALARM, TOGETHER], ids=["breaks", "cleared", "alarm", "together"])
def test_no_surface_adds_up_the_two_looks(cases: dict[str, tuple[str, str]]) -> None:
    report = sides(cases)[2]
    for text in (render_comment(report), render_summary(report), printed(report), write_junit(report).decode()):
        assert not re.search(r"/(23|10)\b", text.replace("20/", ""))


def test_after_an_alarm_the_fresh_difference_goes_first_and_the_first_look_stands_beside_it() -> None:
    text = visible(render_comment(looked(ALARM)))
    fresh, first = text.index("| second look |"), text.index("| first look |")
    assert fresh < first
    assert "−28.6 points" in text[fresh:first]
    lines = printed(looked(ALARM)).splitlines()
    assert any(line.startswith("Second look at all cases  100% → 71.4%, −28.6 points") for line in lines)
    assert any(line.startswith("First look  100% → 66.7%") for line in lines)


def test_the_suite_is_said_to_have_got_worse_only_after_an_alarm() -> None:
    for text in (render_comment(looked(TOGETHER)), printed(looked(TOGETHER)), render_summary(looked(TOGETHER))):
        assert "the suite got worse" not in text
        assert "the 3 re-run cases together got worse" in text


def test_what_was_saved_is_one_line() -> None:
    report = sides(QUIET)[2]
    line = "624 of 768 trials (about $6.24) against 16 fixed repeats, which find a case that falls to half as often"
    assert f"**Saved:** {line}." in render_comment(report)
    assert f"Saved: {line}" in printed(report, width=200)


def test_what_could_hide_is_told_from_both_looks_and_not_where_one_was_cut() -> None:
    assert "or one solid case that falls to half, which 14% of such runs miss" in render_comment(looked(QUIET))
    assert "What could hide" not in visible(render_comment(cut_short()))


def test_pass_hat_k_of_a_suspect_comes_from_fresh_trials_and_is_marked_so() -> None:
    text = render_comment(looked(BREAKS)).replace("\u00a0", " ").replace("\u2011", "-")
    assert re.search(r"\| `escalates` .* \| 19% · 7% \(re-run\) \|", text)


def test_the_terminal_marks_a_status_that_comes_from_the_re_run() -> None:
    text = printed(looked(BREAKS))
    assert re.search(r"escalates +33% \(1/3\).*FAIL \(re-run\)", text)
    assert re.search(r"escalates +20/20 +9/20 +−55 .* 0\.00004 ✦✦  regressed; first 3/3 → 1/3", text)
    assert "72 of 72 trials: " in text and "40 of 40 fresh trials in the second look" in text
    assert "wide interval" not in text


def test_junit_writes_suspects_by_their_fresh_trials_and_others_by_their_first_look() -> None:
    _, head, report = sides(BREAKS)
    for tree in (etree.fromstring(write_junit(report, trials=head.trials)), etree.fromstring(write_junit(report))):
        cases = {case.get("name"): case for case in tree.iter("testcase")}
        failing = [one for one in cases["escalates"] if one.tag in ("failure", "rerunFailure")]
        assert len(failing) == 11
        assert "trial 13 failed: look 1 failed" in (failing[0].get("message") or "")
        assert "first 3/3 → 1/3, re-run 20/20 → 9/20, p 0.00004" in (cases["escalates"].findtext("system-out") or "")
        properties = {one.get("name"): one.get("value") for one in cases["escalates"].iter("property")}
        assert properties["repeat-eval.second_look"] == "confirmed"
        assert (properties["repeat-eval.first_passes"], properties["repeat-eval.first_n"]) == ("1", "3")
        assert (properties["repeat-eval.rerun_passes"], properties["repeat-eval.rerun_n"]) == ("9", "20")
        assert properties["evals.scores.pass.sum"] == "9"
        whole = {one.get("name"): one.get("value") for one in tree.iterfind("properties/property")}
        assert (whole["repeat-eval.second_look"], whole["repeat-eval.fresh_trials"]) == ("3+20", "40")
        assert cases["rises"].find("flakyFailure") is None


def test_a_cleared_case_is_green_in_junit_with_its_fresh_failure_as_flaky() -> None:
    _, head, report = sides(CLEARED)
    tree = etree.fromstring(write_junit(report, trials=head.trials))
    case = next(case for case in tree.iter("testcase") if case.get("name") == "escalates")
    assert [one.tag for one in case if one.tag.endswith(("ailure", "rror"))] == ["flakyFailure"]
    assert tree.get("failures") == "0"


def test_a_red_suite_without_a_named_case_is_red_in_junit() -> None:
    tree = etree.fromstring(write_junit(looked(ALARM)))
    assert tree.get("failures") == "1"


def test_report_json_holds_both_looks() -> None:
    found: Any = msgspec.json.decode(to_json(looked(BREAKS)))
    looks = found["comparison"]["second_look"]
    assert looks["verdict"] == found["comparison"]["verdict"] == "regressed"
    assert looks["suspects"][0]["fresh_head"]["passed"] == 9
    assert found["totals"]["trials"] == 72


def test_annotations_tell_of_the_fresh_trials(tmp_path: Path) -> None:
    (annotation,) = annotations_of(sides(BREAKS)[2], tmp_path)
    assert "re-run 20/20 → 9/20" in annotation.message
    assert "#13: look 1 failed (11 of 11 failures alike)" in annotation.message


def test_the_outputs_of_the_action_tell_the_difference_that_is_shown_large() -> None:
    alarm = outputs_of(looked(ALARM), report_dir="out", exit_code=1, attempt=1)
    assert float(alarm["delta"]) == pytest.approx(-2 / 7)
    assert float(alarm["p-value"]) < 0.001
    quiet = outputs_of(looked(QUIET), report_dir="out", exit_code=0, attempt=1)
    assert float(quiet["delta"]) == pytest.approx(2 / 72)


def test_small_p_values_are_written_in_full() -> None:
    assert [p_value(p) for p in (3.6e-05, 0.00093, 0.0123, 0.5, 1e-9, None)] == [
        "0.00004",
        "0.0009",
        "0.012",
        "0.50",
        "<0.000001",
        "-",
    ]


NASTY = st.text(min_size=1, max_size=60).filter(lambda text: text.strip() != "" and max(text) < "\ud800")


@settings(max_examples=25, deadline=None)
@given(NASTY)
def test_names_from_outside_stay_harmless_in_all_parts_of_two_looks(name: str) -> None:
    hostile = f"{name}|<!-- x --><script>@all"
    for suspect in ("PFF" + letters(9, 20), "PFF" + "P" * 20):
        text = render_comment(looked({hostile: (SOLID, suspect), **healthy(9)}))
        assert "<!--" not in text
        # A code span ends with as many backticks as it begins with.
        assert "<script" not in re.sub(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)", "", text)


def test_a_cut_second_look_is_called_no_verdict_and_clears_nobody() -> None:
    report = cut_short()
    text = visible(render_comment(report))
    assert "**Re-run, too few verdicts to say:** `escalates` first 3/3 → 1/3, re-run 20/20 → 4/4, p 0.50." in text
    assert "not confirmed" not in text
    terminal = printed(report)
    assert "Verdict: NO VERDICT — the second look is not whole" in terminal
    assert "likely noise" not in terminal
    assert "trials_saved" not in write_junit(report).decode()
    assert 'name="repeat-eval.comparison" value="incomplete"' in write_junit(report).decode()
    assert outputs_of(report, report_dir="out", exit_code=3, attempt=1)["comparison"] == "incomplete"


def test_after_an_alarm_the_fresh_counts_of_every_case_are_listed() -> None:
    report = looked({**ALARM, "holds": (SOLID, "PPP" + letters(4, 7) + "P" * 13)})
    lines = printed(report).splitlines()
    assert any(line.startswith("case 7") and "re-run 7/7 → 5/7" in line for line in lines)
    assert any(line.startswith("holds") and "re-run 7/7 → 4/7" in line for line in lines)
    assert "re-run 7/7 → 5/7" in render_comment(report).replace("\u2011", "-").replace("\u00a0", " ")


def test_suspects_that_are_cleared_while_the_suite_is_red_are_cleared_by_themselves_only() -> None:
    assert "**Re-run, not confirmed by itself:** `case 0`" in visible(render_comment(looked(ALARM)))
    assert "**Re-run, not confirmed:** `escalates`" in visible(render_comment(looked(CLEARED)))
