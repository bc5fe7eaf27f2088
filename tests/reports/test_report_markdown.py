"""The job summary."""

from __future__ import annotations

import re

import pytest
import report_examples as examples
from hypothesis import given, settings
from hypothesis import strategies as st

from repeat_eval.analysis.report import Reason
from repeat_eval.reports.markdown import render_summary


def visible(text: str) -> str:
    """What is not folded."""
    return re.sub(r"<details>.*?</details>", "", text, flags=re.DOTALL)


@pytest.mark.parametrize(
    ("name", "first"),
    [
        ("solid", "### ✅ Passed: 12 cases, 10 repeats each, pass rate 100%"),
        ("small", "### ❌ Failed: 2 of 6 cases below threshold: `refuses_out_of_scope`, `never_leaks_card_numbers`"),
        ("empty", "### ⚠️ Incomplete: no verdict: there are no cases"),
    ],
)
def test_the_first_line_alone_is_enough(name: str, first: str) -> None:
    assert render_summary(getattr(examples, name)()).splitlines()[0] == first


def test_what_failed_stands_before_any_figure_of_the_suite() -> None:
    text = render_summary(examples.small())
    row = "| `refuses_out_of_scope` | **1/5** | 4–\u206062% | 0.8,&nbsp;needs\u00a03\u00a0of\u00a05 | fail |"
    why = "- `refuses_out_of_scope` trial 1: `expected a call to 'escalate_to_human', got 'issue_refund'` – 4 of 4"
    assert 0 < text.index(row) < text.index(why) < text.index("| pass rate |")


def test_the_suite_has_its_rate_its_interval_with_width_and_its_flaky_cases() -> None:
    text = visible(render_summary(examples.small()))
    assert "| pass rate | **60.0%** |" in text
    assert "| re-run 95% interval | 41–74% (34 points wide) |" in text
    assert "| flaky `~` | 3 of 6 cases |" in text
    assert "| stability | 50% |" in text
    assert "1 error" in text


def test_all_cases_and_settings_are_folded() -> None:
    text = render_summary(examples.small())
    assert "greets_the_customer" in text and "greets_the_customer" not in visible(text)
    assert "| `threshold` | `0.8` | suite |" in text and "`threshold`" not in visible(text)
    assert text.count("<details>") == text.count("</details>") == 2


def test_at_most_ten_failures_are_shown_and_the_rest_counted() -> None:
    text = visible(render_summary(examples.report([examples.case(f"bad_{n}", "FFFFF") for n in range(14)])))
    assert text.count("| **0/5** |") == 10
    assert "and 4 more cases" in text


def test_a_gate_of_the_whole_suite_is_told() -> None:
    reason = Reason(gate="suite-threshold", verdict="fail", text="pass rate 80.0% is below 90%")
    text = render_summary(examples.report([examples.case("a", "PPPPF")], reasons=[reason]))
    assert text.startswith("### ❌ Failed: pass rate 80.0% is below 90%\n")


def test_a_single_trial_a_case_claims_nothing_about_repeats() -> None:
    text = render_summary(examples.single())
    assert "One trial a case" in text
    assert "| flaky" not in text and "| stability" not in text and "pass^2 |" not in text


@pytest.mark.parametrize("limit", [0, 1, 50, 500, 1_000, 2_000, 4_000, 10_000, 65_536, 200_000])
def test_the_summary_stays_within_its_bytes_and_keeps_the_verdict(limit: int) -> None:
    text = render_summary(examples.large(1000), limit)
    assert len(text.encode()) <= limit
    assert "### ❌ Failed".startswith(text[:12]) or limit == 0
    if limit >= 2000:
        assert "left out here to keep this short" in text or text.count("case_0") > 1000
        assert text.count("<details>") == text.count("</details>")


def test_stable_cases_that_pass_are_shed_first() -> None:
    text = render_summary(examples.large(1000), 20_000)
    assert "940 cases left out here" in text
    assert "`threshold`" in text


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.text(min_size=1, max_size=60), min_size=1, max_size=4, unique=True),
    st.text(max_size=80),
    st.sampled_from(["", "|", "``", "<script>", "@me #1", "\n\n# x", "![i](http://x)", "\\"]),
)
def test_hostile_texts_add_no_html_mention_reference_or_table_cell(names: list[str], message: str, extra: str) -> None:
    cases = [examples.case(name + extra, "FFFPF", message=message + extra) for name in names]
    text = render_summary(examples.report(cases, suite=message + extra or "s", warnings=[message + extra]))
    outside = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", text)
    assert set(re.findall(r"<[^>]*>", outside)) <= {"<details>", "</details>", "<summary>", "</summary>"}
    assert not re.search(r"[@#]\w", outside)
    assert "![" not in outside and "://" not in outside
    table = [line for line in text.splitlines() if line.startswith("|")]
    for line in table:
        assert len(re.findall(r"(?<!\\)\|", line)) in {3, 4, 6, 9, 10}
