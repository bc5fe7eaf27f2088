"""junit.xml: one testcase a case, in the shape that readers of flaky and rerun tests know."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import msgspec
import pytest
import report_examples as examples
from hypothesis import given, settings
from hypothesis import strategies as st
from junitparser import xunit2
from lxml import etree

from repeat_eval.analysis.report import Reason, Report
from repeat_eval.records.trial import CheckResult, Trial
from repeat_eval.reports.junit import MAX_ELEMENTS, write_junit

SCHEMAS = Path(__file__).parent / "schemas"
JENKINS = etree.XMLSchema(etree.parse(SCHEMAS / "jenkins-junit-10.xsd"))
SUREFIRE = etree.XMLSchema(etree.parse(SCHEMAS / "surefire-test-report-3.0.2.xsd"))

REPORTS = {
    "small": examples.small(),
    "seeds_003": examples.seeds_003(),
    "solid": examples.solid(),
    "single": examples.single(),
    "empty": examples.empty(),
    "all kinds": examples.report(
        [
            examples.case("noise", "PFPFP"),
            examples.case("fail", "FFEFP"),
            examples.case("incomplete", "EEFEP"),
            examples.case("missing", "", asked=5),
            examples.case("skipped", "SSSSS"),
            examples.case("errors", "PPPPEPPPPP"),
        ]
    ),
}


def tree(report: Report, *, strict: bool = False) -> etree._Element:
    return etree.fromstring(write_junit(report, strict=strict))


def elements(report: Report, name: str) -> list[str]:
    """Tags of a testcase's results, in order."""
    case = tree(report).find(f"testcase[@name='{name}']")
    assert case is not None
    return [child.tag for child in case if child.tag not in ("properties", "system-out")]


@pytest.mark.parametrize("name", REPORTS)
def test_the_strict_file_is_valid_under_both_schemas(name: str) -> None:
    root = tree(REPORTS[name], strict=True)
    JENKINS.assertValid(root)
    SUREFIRE.assertValid(root)


@pytest.mark.parametrize("name", REPORTS)
def test_the_default_file_is_valid_but_for_the_properties_of_testcases(name: str) -> None:
    root = tree(REPORTS[name])
    for properties in root.findall("testcase/properties"):
        properties.getparent().remove(properties)
    JENKINS.assertValid(root)
    SUREFIRE.assertValid(root)


@pytest.mark.parametrize("name", REPORTS)
def test_junitparser_counts_what_the_file_says(name: str) -> None:
    root = tree(REPORTS[name])
    suite = xunit2.TestSuite.fromelem(root)
    said = (suite.tests, suite.failures, suite.errors, suite.skipped, suite.time)
    suite.update_statistics()
    assert said == (suite.tests, suite.failures, suite.errors, suite.skipped, suite.time)


def test_each_failing_trial_of_a_case_that_passes_is_flaky() -> None:
    report = REPORTS["all kinds"]
    assert elements(report, "noise") == ["flakyFailure", "flakyFailure"]
    assert elements(report, "errors") == ["flakyError"]


def test_a_case_that_fails_has_one_failure_and_reruns() -> None:
    assert elements(REPORTS["all kinds"], "fail") == ["failure", "rerunFailure", "rerunFailure", "rerunError"]


def test_a_case_without_a_verdict_has_one_error_and_rerun_errors() -> None:
    report = REPORTS["all kinds"]
    assert elements(report, "incomplete") == ["error", "rerunError", "rerunError", "rerunError"]
    assert elements(report, "missing") == ["error"]


def test_a_skipped_case_is_skipped() -> None:
    assert elements(REPORTS["all kinds"], "skipped") == ["skipped"]


def test_names_are_stable_and_never_an_index() -> None:
    cases = tree(REPORTS["small"]).findall("testcase")
    assert [case.get("name") for case in cases] == [case.id for case in REPORTS["small"].case_reports]
    assert {case.get("classname") for case in cases} == {"refunds"}


def test_properties_hold_the_figures_of_a_case() -> None:
    case = tree(REPORTS["small"]).find("testcase[@name='escalates_over_limit']")
    assert case is not None
    values = {one.get("name"): one.get("value") for one in case.findall("properties/property")}
    expected = {
        "repeat-eval.n": "5",
        "repeat-eval.passes": "4",
        "repeat-eval.rate": "0.8",
        "repeat-eval.interval_low": "0.375535",
        "repeat-eval.interval_high": "0.963776",
        "repeat-eval.pass_hat_2": "0.6",
        "repeat-eval.pass_hat_3": "0.4",
        "repeat-eval.verdict": "pass",
        "repeat-eval.flaky": "true",
        "evals.item.id": "escalates_over_limit",
        "evals.scores.pass.type": "boolean",
        "evals.scores.pass.sum": "4",
        "evals.scores.pass.avg": "0.8",
        "evals.scores.pass.evaluations.0.value": "true",
        "evals.scores.pass.evaluations.2.value": "false",
        "evals.scores.score.avg": "0.84",
    }
    assert expected.items() <= values.items()


def test_the_strict_file_has_no_properties_in_testcases() -> None:
    assert not tree(REPORTS["small"], strict=True).findall("testcase/properties")


def test_a_suite_gate_that_no_case_carries_is_never_all_green() -> None:
    reason = Reason(gate="suite-threshold", verdict="fail", text="pass rate 80.0% is below 90%")
    root = tree(examples.report([examples.case("a", "PPPPF")], reasons=[reason]))
    assert root.get("failures") == "1"
    failure = root.find("testcase[@name='(whole suite)']/failure")
    assert failure is not None and failure.get("message") == "pass rate 80.0% is below 90%"
    assert tree(examples.empty()).get("errors") == "1"
    assert tree(REPORTS["small"]).find("testcase[@name='(whole suite)']") is None


def test_messages_name_the_trial_and_counted_messages_fill_in_for_the_rest() -> None:
    messages = (("no 30 days", 3), ("too long", 2))
    case = examples.case("a", "FFFFFPPPPP", threshold="0.5", message="no 30 days", failures=messages)
    found = tree(examples.report([case])).findall("testcase/flakyFailure")
    assert [element.get("message") for element in found] == [
        "trial 1 failed: no 30 days",
        "trial 2 failed: no 30 days",
        "trial 3 failed: no 30 days",
        "a trial failed: too long",
        "a trial failed: too long",
    ]


def test_with_the_trials_every_message_is_the_trials_own() -> None:
    case = examples.case("a", "PFFFF", threshold="0.1")
    trials = [
        Trial(
            case="a",
            repetition=n,
            outcome="failed",
            checks=(CheckResult(f"check {n}", False, 0.0, f"why {n}"),),
            output="out",
        )
        for n in (5, 4, 3, 2)
    ]
    trials.append(Trial(case="a", repetition=1, outcome="passed"))
    root = etree.fromstring(write_junit(examples.report([case]), trials=trials))
    found = root.findall("testcase/flakyFailure")
    assert [element.get("message") for element in found] == [f"trial {n} failed: why {n}" for n in (2, 3, 4, 5)]
    assert found[0].findtext("stackTrace") == "trial 2 failed: why 2\noutput: out"


def test_an_error_that_counts_as_a_failure_is_written_as_one() -> None:
    error = examples.case("a", "FFF", threshold="0.9").examples[0]
    example = msgspec.structs.replace(error, outcome="error", error_kind="timeout", message="30 s")
    case = examples.case("a", "FPPPPPPPPP", threshold="0.9", examples=(example,), asked=11)
    trials = [Trial(case="a", repetition=1, outcome="error", error_kind="timeout", message="30 s")]
    trials += [Trial(case="a", repetition=n, outcome="passed") for n in range(2, 11)]
    for known in (None, trials):
        root = etree.fromstring(write_junit(examples.report([case]), trials=known))
        assert [element.get("message") for element in root.iter("flakyFailure")] == ["trial 1 failed (timeout): 30 s"]
        assert [element.get("type") for element in root.iter("flakyFailure")] == ["timeout"]
        assert not list(root.iter("flakyError"))


def test_failing_trials_are_bounded_and_the_rest_is_said() -> None:
    case = examples.case("a", "F" * 150 + "P" * 50, threshold="0.1")
    root = tree(examples.report([case]))
    assert len(root.findall("testcase/flakyFailure")) == MAX_ELEMENTS
    assert "100 more failing trials not written out here" in (root.findtext("testcase/system-out") or "")


def test_a_missing_trial_makes_no_number_up() -> None:
    case = examples.case("a", "PFPFFFF", asked=9, threshold="0.1")
    numbered = [e.get("message", "").split(" failed")[0] for e in tree(examples.report([case])).iter("flakyFailure")]
    assert numbered == ["trial 2", "trial 4", "trial 5", "a trial", "a trial"]


@settings(max_examples=80, deadline=None)
@given(
    st.lists(
        st.tuples(st.text(st.characters(exclude_categories=()), max_size=40), st.text("PFES", min_size=1, max_size=12)),
        min_size=1,
        max_size=6,
    ),
    st.text(st.characters(exclude_categories=()), max_size=60),
    st.booleans(),
)
def test_any_names_and_messages_give_a_valid_file_with_one_element_a_failing_trial(
    rows: list[tuple[str, str]], message: str, strict: bool
) -> None:
    report = examples.report([examples.case(name, letters, message=message) for name, letters in rows], suite=message)
    root = tree(report, strict=strict)
    for properties in root.findall("testcase/properties"):
        properties.getparent().remove(properties)
    JENKINS.assertValid(root)
    SUREFIRE.assertValid(root)
    read = next(iter(xunit2.JUnitXml.fromstring(write_junit(report))))
    for case, element in zip(report.case_reports, read, strict=False):
        tags = Counter(type(one).__name__ for one in element.result + element.interim_result)
        if case.verdict == "skipped":
            assert tags == {"Skipped": 1}
            continue
        assert sum(tags.values()) == max(case.failed + case.errors, int(case.verdict == "incomplete"))
        assert element.is_flaky + element.is_rerun <= 1
        assert element.is_failure == (case.verdict == "fail")
        assert element.is_error == (case.verdict == "incomplete")
