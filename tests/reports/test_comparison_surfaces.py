"""A comparison in the terminal, the job summary and junit.xml, and the words that they share."""

from __future__ import annotations

import io
import re
from pathlib import Path

import comparison_examples as compared
import pytest
import report_examples as examples
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree
from rich.cells import cell_len

from repeat_eval.analysis.report import Provenance, Report, Setting
from repeat_eval.reports import comparison_wording as words
from repeat_eval.reports import format as fmt
from repeat_eval.reports.junit import write_junit
from repeat_eval.reports.markdown import render_summary
from repeat_eval.reports.reproduce import reproduce_command
from repeat_eval.reports.terminal import make_console, render

GOLDEN = Path(__file__).parent / "golden"
SCHEMAS = Path(__file__).parent / "schemas"


def shown(report: Report, width: int = 140, encoding: str = "utf-8") -> str:
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding=encoding, newline="\n")
    render(report, make_console(no_color=True, width=width, file=file))
    file.flush()
    return raw.getvalue().decode(encoding)


def properties(report: Report, *, strict: bool = False) -> dict[str, dict[str, str]]:
    root = etree.fromstring(write_junit(report, strict=strict))
    found = {case.get("name"): case for case in root.iter("testcase")} | {"": root}
    return {
        name: {one.get("name"): one.get("value") for one in element.findall("properties/property")}
        for name, element in found.items()
    }


# -- words ------------------------------------------------------------------------------------------------------------


def _rates(base: int, head: int, p: float) -> Report:
    return compared.compared([compared.pair("a", compared.letters(base, 100), compared.letters(head, 100))], p)


def test_a_large_suite_finds_seven_points_significant_and_a_small_one_calls_them_noise() -> None:
    large = shown(_rates(84, 91, 0.03))
    assert "Pass rate  84.0% → 91.0% ↑ +7.0 points" in large
    assert "Statistical significance: p=0.030 ✦ significant\n" in large
    assert "Verdict: IMPROVED — pass rate up 7.0 points\n" in large
    small = shown(_rates(84, 91, 0.29))
    assert "Statistical significance: p=0.29 not significant (likely noise)\n" in small
    assert "Verdict: NO DETECTABLE CHANGE — pass rate up 7.0 points, may be luck\n" in small


@pytest.mark.parametrize(
    ("p", "text"),
    [
        (0.0, "p<1e-12 ✦✦ highly significant"),
        (0.0004, "p<0.001 ✦✦ highly significant"),
        (0.0099, "p=0.0099 ✦✦ highly significant"),
        (0.049, "p=0.049 ✦ significant"),
        (0.05, "p=0.050 marginal, treat with caution"),
        (0.1, "p=0.10 not significant (likely noise)"),
        (None, "not tested"),
    ],
)
def test_significance_reads_like_this(p: float | None, text: str) -> None:
    assert words.significance(p, compared.level_of(p)) == text


@pytest.mark.parametrize(
    ("difference", "decimals", "text"),
    [
        (-0.05, 1, "−5.0 points"),
        (0.07, 1, "+7.0 points"),
        (0.0, 1, "0.0 points"),
        (-0.7, 0, "−70 points"),
        (0.01, 0, "+1 point"),
        (-0.0004, 1, "−0.040 points"),
        (0.004, 0, "+0.40 points"),
        (None, 1, "-"),
    ],
)
def test_differences_have_a_sign_and_never_round_to_nothing(difference: float | None, decimals: int, text: str) -> None:
    assert fmt.points(difference, decimals) == text


@given(st.floats(-1, 1), st.integers(0, 2))
def test_a_printed_difference_has_the_sign_of_the_difference(difference: float, decimals: int) -> None:
    text = fmt.points(difference, decimals)
    assert text.startswith("−" if difference < 0 else "+" if difference > 0 else "0")
    assert "-" not in text


def test_unequal_repeats_are_told() -> None:
    report = compared.compared([compared.pair("a", "P" * 20, "P" * 10)])
    assert report.comparison is not None
    assert words.repeats(report.comparison, "main") == "10 repeats against 20 on main"


# -- terminal ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [80, 140])
def test_a_comparison_in_the_terminal_looks_like_this(width: int) -> None:
    golden = GOLDEN / f"terminal-comparison-{width}.txt"
    assert shown(compared.regression(), width) == golden.read_text(encoding="utf-8")


@pytest.mark.parametrize("width", [60, 80, 100, 140])
@pytest.mark.parametrize("make", [compared.mixed, compared.hostile, compared.no_change])
def test_no_line_of_the_changed_cases_is_wider_than_the_terminal(make: object, width: int) -> None:
    assert callable(make)
    text = shown(make(), width)
    table = text[text.index("Compared with base") :].split("\n\n")[1]
    assert table.startswith("Case")
    assert max(cell_len(line) for line in table.splitlines()) <= width


def test_changes_of_the_gate_stand_under_the_title() -> None:
    assert shown(compared.mixed()).splitlines()[1] == "⚠ The gate changed: threshold lowered from 0.9 to 0.8"


def test_a_case_that_got_worse_within_its_threshold_is_a_reason_too() -> None:
    report = compared.compared([compared.pair("a", "P" * 40, "P" * 34 + "F" * 6), compared.pair("b", "PPPPP", "PPPPP")])
    text = shown(report)
    assert "Why it failed:\n  • a got worse than on base\n    trial 35: output does not contain" in text
    assert text.splitlines()[-1] == "FAILED worse than base: 1 of 2 cases broke, luck is unlikely"


def test_no_base_is_said_in_the_last_line() -> None:
    text = shown(compared.no_base())
    assert "Not comparable: this is the first run (no base)" in text
    assert text.splitlines()[-1].endswith("; compared with nothing: this is the first run (no base)")


def test_an_output_without_signs_gets_a_comparison_in_ascii() -> None:
    text = shown(compared.regression(), encoding="ascii")
    assert "Pass rate  95.4% -> 89.2% v -6.3 points" in text
    assert "0.0015 **  regressed" in text


# -- job summary ------------------------------------------------------------------------------------------------------


def test_the_summary_begins_with_the_comparison_and_folds_all_cases() -> None:
    text = render_summary(compared.regression())
    assert text.splitlines()[0] == "### ❌ Worse than base: 2 of 24 cases broke, luck is very unlikely"
    unfolded = re.sub(r"<details>.*?</details>", "", text, flags=re.DOTALL)
    assert unfolded.index("| broke |") < unfolded.index("| whole suite | base | head | difference |")
    assert "**Not this change:** `refuses_out_of_scope`" in unfolded
    assert text.count("<details>") == text.count("</details>") == 3


@pytest.mark.parametrize("limit", [500, 2_000, 10_000, 100_000])
def test_a_summary_with_a_comparison_keeps_its_limit(limit: int) -> None:
    text = render_summary(compared.many(1000), limit)
    assert len(text.encode()) <= limit
    assert text.startswith("### ❌ Worse than base: ")


# -- junit.xml --------------------------------------------------------------------------------------------------------


def test_testcases_carry_base_rate_difference_and_p() -> None:
    found = properties(compared.regression())["escalates_over_limit"]
    wanted = {
        "repeat-eval.change": "regressed",
        "repeat-eval.base_n": "10",
        "repeat-eval.base_passes": "10",
        "repeat-eval.base_rate": "1",
        "repeat-eval.difference": "-0.7",
        "repeat-eval.p": "0.00154799",
    }
    assert {key: found[key] for key in wanted} == wanted


def test_the_suite_carries_the_comparison() -> None:
    found = properties(compared.regression())[""]
    assert found["repeat-eval.comparison"] == "regressed"
    assert found["repeat-eval.base_commit"] == compared.BASE_COMMIT
    assert found["repeat-eval.base_rate"] == "0.954167"
    assert found["repeat-eval.difference"] == "-0.0625"
    assert found["repeat-eval.p"] == "0.0134"


def test_a_new_case_has_no_properties_of_base() -> None:
    found = properties(compared.mixed())["issues_partial_refund"]
    assert not [key for key in found if key.startswith("repeat-eval.base")]


def test_what_the_comparison_blocks_is_a_failure_and_what_broke_before_is_skipped() -> None:
    pairs = [
        compared.pair("worse", "P" * 40, "P" * 34 + "F" * 6),
        compared.pair("broken_before", "FFFFF", "FFFFF"),
        compared.pair("fine", "PPPPP", "PPPPP"),
    ]
    root = etree.fromstring(write_junit(compared.compared(pairs)))
    cases = {case.get("name"): case for case in root.iter("testcase")}
    assert cases["worse"].find("failure").get("message").startswith("worse got worse than on base; trial 35 failed")
    assert cases["broken_before"].find("failure") is None
    assert cases["broken_before"].find("skipped").get("message").startswith("not this change, fails on base, too")
    assert (root.get("failures"), root.get("skipped"), root.get("tests")) == ("1", "1", "3")


@pytest.mark.parametrize("schema", ["surefire-test-report-3.0.2.xsd", "jenkins-junit-10.xsd"])
@pytest.mark.parametrize("make", [compared.regression, compared.mixed, compared.incomplete, compared.no_base])
def test_a_strict_file_with_a_comparison_is_valid(make: object, schema: str) -> None:
    assert callable(make)
    document = etree.fromstring(write_junit(make(), strict=True))
    etree.XMLSchema(etree.parse(SCHEMAS / schema)).assertValid(document)


# -- the command that reproduces it -----------------------------------------------------------------------------------


def test_the_command_names_what_broke_the_seed_and_what_was_given_outside_the_suite() -> None:
    report = compared.regression()
    assert reproduce_command(report, ["evals/refunds.yaml"], base=["--base-ref", "9f8e7d6"]) == (
        "repeat-eval run evals/refunds.yaml --base-ref 9f8e7d6 --repeats 5 --seed 7 "
        "--case escalates_over_limit --case quotes_policy_window"
    )


def test_names_are_quoted_for_shell_and_glob() -> None:
    report = compared.compared([compared.pair("it's [a] $(case) *", compared.SOLID, compared.letters(2, 10))])
    assert reproduce_command(report, ["s.yaml"]).endswith("""--case 'it'"'"'s [[]a] $(case) [*]'""")


@pytest.mark.parametrize("name", ["bell\x07", "line\nbreak", "two  spaces", "x" * 2000])
def test_a_name_that_cannot_be_typed_runs_the_whole_suite(name: str) -> None:
    report = compared.compared([compared.pair(name, compared.SOLID, compared.letters(2, 10))])
    assert reproduce_command(report, ["s.yaml"]) == "repeat-eval run s.yaml --repeats 5 --seed 7"


def test_settings_of_the_suite_file_are_not_repeated() -> None:
    settings = {
        "threshold": Setting("0.9", "suite"),
        "gate": Setting("strict", "variable"),
        "alpha": Setting("0.05", "default"),
    }
    report = examples.report([examples.case("a", "PPPPP")], settings=settings, provenance=Provenance())
    assert reproduce_command(report, ["s.yaml"]) == "repeat-eval run s.yaml --gate strict"
