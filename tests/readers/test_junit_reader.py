"""JUnit XML as real tools write it, read into trials."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

import pytest

from repeat_eval.readers import FileResults, FoundTrial, ReadError, ReadOptions, read_file

SAMPLES = Path(__file__).parent / "samples"
WORDS = {"pass": "passed", "fail": "failed", "error": "error", "skip": "skipped"}


def outcomes(results: FileResults) -> dict[str, list[str]]:
    found: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for trial in results.trials:
        found[trial.case].append((trial.repetition or 1, trial.outcome))
    return {case: [outcome for _, outcome in sorted(trials)] for case, trials in found.items()}


def expected(name: str, file: str) -> dict[str, list[str]]:
    cases = json.loads((SAMPLES / name).read_text())[file]
    return {case["case"].replace(".", "::", 1): [WORDS[outcome] for outcome in case["outcomes"]] for case in cases}


def written(tmp_path: Path, body: str, suite: str = 'name="s"') -> Path:
    path = tmp_path / "results.xml"
    path.write_text(f"<testsuites><testsuite {suite}>{body}</testsuite></testsuites>", encoding="utf-8")
    return path


def only(results: FileResults) -> FoundTrial:
    (trial,) = results.trials
    return trial


@pytest.mark.parametrize("file", ["pytest-repeat.junit.xml", "pytest-flakefinder.junit.xml"])
def test_repetitions_in_names_of_pytest_plugins_are_repetitions(file: str) -> None:
    results = read_file(SAMPLES / file)
    assert results.broken is None
    assert results.format == "junit"
    assert outcomes(results) == expected("pytest.expected.json", file)
    assert {trial.repetition for trial in results.trials} == {1, 2, 3}


def test_scores_and_costs_travel_as_properties() -> None:
    results = read_file(SAMPLES / "pytest-repeat.junit.xml")
    flaky = [trial for trial in results.trials if trial.case == "test_capitals::test_flaky"]
    assert [trial.score for trial in flaky] == [1.0, 0.25, 1.0]
    assert [trial.cost for trial in flaky] == [0.0004] * 3
    assert flaky[1].message == "AssertionError: assert 'I am not sure' == 'Paris'"


def test_a_rerun_whose_failure_is_lost_is_never_a_pass() -> None:
    results = read_file(SAMPLES / "pytest-rerunfailures.junit.xml")
    assert results.broken is None
    flaky, stable = results.trials
    assert (flaky.outcome, flaky.error_kind, flaky.attempts) == ("error", "harness", 2)
    assert "--duplicates" in (flaky.message or "")
    assert stable.outcome == "passed"
    assert any("--duplicates" in warning for warning in results.warnings)


def test_the_user_can_say_that_equal_names_are_retries() -> None:
    results = read_file(SAMPLES / "pytest-rerunfailures.junit.xml", ReadOptions(duplicates="retries"))
    assert outcomes(results) == {"test_first_try::test_flaky": ["passed"], "test_first_try::test_stable": ["passed"]}
    assert results.trials[0].retried


def test_the_user_can_say_that_equal_names_are_repeats() -> None:
    results = read_file(SAMPLES / "pytest-rerunfailures.junit.xml", ReadOptions(duplicates="repeats"))
    assert outcomes(results)["test_first_try::test_flaky"] == ["passed", "passed"]


def test_the_user_can_refuse_equal_names() -> None:
    with pytest.raises(ReadError, match="2 testcases have the name test_first_try::test_flaky"):
        read_file(SAMPLES / "pytest-rerunfailures.junit.xml", ReadOptions(duplicates="error"))


def test_equal_names_with_a_failure_that_shows_are_one_retried_trial(tmp_path: Path) -> None:
    body = '<testcase classname="c" name="t"><failure message="no"/></testcase><testcase classname="c" name="t"/>'
    trial = only(read_file(written(tmp_path, body)))
    assert (trial.outcome, trial.attempts, trial.retried) == ("passed", 2, True)


def test_the_last_of_equal_names_decides(tmp_path: Path) -> None:
    body = '<testcase classname="c" name="t"/><testcase classname="c" name="t"><failure message="no"/></testcase>'
    assert only(read_file(written(tmp_path, body))).outcome == "failed"


def test_equal_names_in_suites_of_different_names_are_different_cases(tmp_path: Path) -> None:
    path = tmp_path / "results.xml"
    case = '<testcase classname="c" name="t"/>'
    path.write_text(
        f'<testsuites><testsuite name="a">{case}</testsuite><testsuite name="b">{case}</testsuite></testsuites>'
    )
    assert outcomes(read_file(path)) == {"a::c::t": ["passed"], "b::c::t": ["passed"]}


def test_numeric_parameters_are_no_repetitions(tmp_path: Path) -> None:
    names = ["test_add[1-3]", "test_add[2-3]", "test_sub[0]", "test_sub[1]", "test_sub[2]", "test_other"]
    body = "".join(f'<testcase classname="c" name="{name}"/>' for name in names)
    assert set(outcomes(read_file(written(tmp_path, body)))) == {f"c::{name}" for name in names}


def test_endings_of_names_can_be_left_alone() -> None:
    results = read_file(SAMPLES / "pytest-repeat.junit.xml", ReadOptions(repetition_suffixes=False))
    assert len(outcomes(results)) == 18


def test_a_lost_repetition_leaves_a_hole_in_the_numbers(tmp_path: Path) -> None:
    names = ["a[1-3]", "a[2-3]", "a[3-3]", "b[1-3]", "b[3-3]"]
    results = read_file(written(tmp_path, "".join(f'<testcase classname="c" name="{name}"/>' for name in names)))
    assert [(trial.case, trial.repetition) for trial in results.trials if trial.case == "c::b"] == [
        ("c::b", 1),
        ("c::b", 3),
    ]


def test_deepeval_writes_pytest_files_with_repeats() -> None:
    results = read_file(SAMPLES / "deepeval.junit.xml")
    assert outcomes(results) == expected("deepeval.expected.json", "deepeval.junit.xml")


def test_promptfoo_counts_its_repetitions_as_tests() -> None:
    results = read_file(SAMPLES / "promptfoo.junit.xml")
    assert outcomes(results) == {
        "[flaky-demo] prompt 1::stable capital": ["passed"] * 3,
        "[flaky-demo] prompt 1::flaky capital": ["passed", "failed", "passed"],
        "[flaky-demo] prompt 1::sometimes errors": ["passed", "passed", "error"],
    }


def test_the_tries_of_surefire_are_one_trial_each() -> None:
    results = read_file(SAMPLES / "surefire-flaky.junit.xml")
    assert results.broken is None
    found = [(trial.outcome, trial.error_kind, trial.attempts, trial.duration) for trial in results.trials]
    assert found == [
        ("passed", None, None, 0.021),
        ("passed", None, 3, 1203.25),
        ("failed", None, 2, 0.5),
        ("error", "provider", 2, 0.5),
    ]


def test_the_tries_of_surefire_are_trials_when_the_user_says_that_all_were_always_run() -> None:
    results = read_file(SAMPLES / "surefire-flaky.junit.xml", ReadOptions(duplicates="repeats"))
    assert outcomes(results) == {
        "com.example.RefundTest::alwaysPasses": ["passed"],
        "com.example.RefundTest::passesOnTheThirdTry": ["failed", "error", "passed"],
        "com.example.RefundTest::neverPasses": ["failed", "failed"],
        "com.example.RefundTest::cannotConnect": ["error", "error"],
    }
    kinds = [trial.error_kind for trial in results.trials if trial.case.endswith("passesOnTheThirdTry")]
    assert kinds == [None, "timeout", None]


def test_a_rerun_without_its_failure_is_no_pass(tmp_path: Path) -> None:
    body = '<testcase classname="c" name="t"><rerunFailure message="no" type="x"/></testcase>'
    assert only(read_file(written(tmp_path, body))).outcome == "failed"


def test_nameless_testcases_are_missing_trials() -> None:
    results = read_file(SAMPLES / "surefire-broken-class.junit.xml")
    assert results.trials == ()
    (gap,) = results.gaps
    assert gap.scope == "com.example.RefundTest"
    assert "could not start the database" in gap.message


def test_what_pytest_writes_in_odd_moments() -> None:
    results = read_file(SAMPLES / "pytest-odd.junit.xml")
    assert results.broken is None
    assert [gap.scope for gap in results.gaps] == ["test_bad"]
    assert {trial.case.removeprefix("test_dia::"): trial.outcome for trial in results.trials} == {
        "test_pass_td": "error",
        "test_fail_td": "failed",
        "test_sub": "failed",
        "test_sub_ok": "passed",
        "test_xf": "skipped",
        "test_xp": "failed",
        "test_xp2": "passed",
        "test_key": "failed",
        "test_fail": "failed",
        "test_ex": "failed",
    }
    assert not any(trial.retried for trial in results.trials)


@pytest.mark.parametrize(
    ("attributes", "case"),
    [
        ('classname="c" name="t" file="f.py"', "c::t"),
        ('name="t" file="f.py"', "f.py::t"),
        ('name="t"', "s::t"),
        ('classname="" name=" t "', "s::t"),
    ],
)
def test_a_case_is_its_class_and_name(tmp_path: Path, attributes: str, case: str) -> None:
    assert only(read_file(written(tmp_path, f"<testcase {attributes}/>"))).case == case


def test_a_testsuite_may_be_the_root_and_suites_may_nest(tmp_path: Path) -> None:
    path = tmp_path / "results.xml"
    path.write_text(
        '<testsuite tests="2" failures="1" errors="0"><testsuite name="inner" tests="1" failures="0">'
        '<testcase classname="c" name="a"/></testsuite>'
        '<testcase classname="c" name="b"><failure/></testcase></testsuite>'
    )
    results = read_file(path)
    assert results.broken is None
    assert outcomes(results) == {"c::a": ["passed"], "c::b": ["failed"]}


def test_a_suite_may_be_counted_without_the_suites_in_it(tmp_path: Path) -> None:
    path = tmp_path / "results.xml"
    path.write_text(
        '<testsuite tests="1" failures="0"><testsuite name="inner" tests="1" failures="1">'
        '<testcase classname="c" name="a"><failure/></testcase></testsuite>'
        '<testcase classname="c" name="b"/></testsuite>'
    )
    assert read_file(path).broken is None


@pytest.mark.parametrize(
    ("totals", "says"),
    [
        ('tests="1" failures="1" errors="0"', "declares 1 failures and errors and lists 0"),
        ('tests="1" errors="2"', "declares 2 failures and errors and lists 0"),
        ('tests="3" failures="0"', "declares 3 tests and lists 1"),
        ('tests="0" failures="0"', "declares 0 tests and lists 1"),
    ],
)
def test_a_file_that_contradicts_its_own_totals_is_broken(tmp_path: Path, totals: str, says: str) -> None:
    results = read_file(written(tmp_path, '<testcase classname="c" name="t"/>', f'name="s" {totals}'))
    assert says in (results.broken or "")


def test_more_failures_than_declared_are_a_contradiction(tmp_path: Path) -> None:
    body = '<testcase classname="c" name="t"><failure/></testcase>'
    results = read_file(written(tmp_path, body, 'name="s" tests="1" failures="0" errors="0"'))
    assert results.broken is not None


def test_totals_that_leave_skipped_tests_out_are_no_contradiction(tmp_path: Path) -> None:
    body = '<testcase classname="c" name="t"/><testcase classname="c" name="u"><skipped/></testcase>'
    assert read_file(written(tmp_path, body, 'tests="1"')).broken is None


@pytest.mark.parametrize(
    ("inner", "outcome", "kind"),
    [
        ("<failure/>", "failed", None),
        ("<error/>", "error", "crash"),
        ('<error type="java.lang.AssertionError"/>', "failed", None),
        ('<error type="org.opentest4j.AssertionFailedError"/>', "failed", None),
        ('<error message="openai.RateLimitError: slow down"/>', "error", "provider"),
        ('<error message="failed on setup with &quot;ConnectionError: closed&quot;"/>', "error", "provider"),
        ('<error type="java.util.concurrent.TimeoutException"/>', "error", "timeout"),
        ('<error/><properties><property name="error_kind" value="judge"/></properties>', "error", "judge"),
        ("<failure/><error/>", "failed", None),
        ("<skipped/><error/>", "error", "crash"),
        ("<skipped/>", "skipped", None),
        ("<system-out>ok</system-out>", "passed", None),
        ("<wrapper><failure/></wrapper>", "failed", None),
    ],
)
def test_outcomes_and_kinds(tmp_path: Path, inner: str, outcome: str, kind: str | None) -> None:
    trial = only(read_file(written(tmp_path, f'<testcase classname="c" name="t">{inner}</testcase>')))
    assert (trial.outcome, trial.error_kind) == (outcome, kind)


@pytest.mark.parametrize(
    ("status", "outcome"), [("notrun", "skipped"), ("failed", "failed"), ("error", "error"), ("run", "passed")]
)
def test_a_status_attribute_can_only_take_a_pass_away(tmp_path: Path, status: str, outcome: str) -> None:
    body = f'<testcase classname="c" name="t" status="{status}"/>'
    assert only(read_file(written(tmp_path, body))).outcome == outcome


@pytest.mark.parametrize(
    ("time", "seconds"),
    [("0.5", 0.5), ("1,234.5", 1234.5), ("1.234,5", 1234.5), ("0,5", 0.5), ("1,234", None), ("nan", None),
     ("-1", None), ("0_8", None), ("٣", None), ("1e999", None), ("", None)],
)  # fmt: skip
def test_durations_of_other_locales_and_unreadable_ones(tmp_path: Path, time: str, seconds: float | None) -> None:
    results = read_file(written(tmp_path, f'<testcase classname="c" name="t" time="{time}"/>'))
    assert only(results).duration == seconds
    assert bool(results.warnings) == (seconds is None and time != "")


def test_a_score_that_is_no_number_is_unknown_and_said(tmp_path: Path) -> None:
    body = '<testcase classname="c" name="t"><properties><property name="score" value="nan"/></properties></testcase>'
    results = read_file(written(tmp_path, body))
    assert only(results).score is None
    assert any("no numbers" in warning for warning in results.warnings)


def test_namespaces_do_not_matter(tmp_path: Path) -> None:
    path = tmp_path / "results.xml"
    path.write_text(
        '<testsuites xmlns="urn:x"><testsuite tests="1" failures="1" errors="0">'
        '<testcase classname="c" name="t"><failure/></testcase></testsuite></testsuites>'
    )
    results = read_file(path)
    assert (only(results).outcome, results.broken) == ("failed", None)


def test_utf16_is_read(tmp_path: Path) -> None:
    path = tmp_path / "results.xml"
    path.write_bytes(
        '<?xml version="1.0" encoding="UTF-16"?><testsuite><testcase name="é"/></testsuite>'.encode("utf-16")
    )
    assert only(read_file(path)).case == "é"
