"""JUnit files of our own: a testcase is a verdict, and a verdict is no trial."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

from repeat_eval.readers import Collected, ReadError, collect, read_file


def repeated_case(name: str, outcomes: str, verdict: str, inner: str = "", asked: int | None = None) -> str:
    values = {"verdict": verdict, "asked": str(asked or len(outcomes)), "outcomes": outcomes, "cost": "0.5"}
    properties = "".join(f'<property name="repeat-eval.{key}" value="{value}"/>' for key, value in values.items())
    return f'<testcase classname="t" name="{name}" time="1">{inner}<properties>{properties}</properties></testcase>'


def collected(path: Path, *testcases: str) -> Collected:
    path.write_text(f'<testsuites><testsuite name="pytest">{"".join(testcases)}</testsuite></testsuites>')
    return collect([path])


def letters(found: Collected) -> dict[str, str]:
    cases: dict[str, str] = defaultdict(str)
    for trial in found.trials:
        cases[trial.case] += trial.outcome[0].upper()
    return dict(cases)


def test_a_repeated_test_has_all_its_trials_and_the_others_have_one(tmp_path: Path) -> None:
    found = collected(
        tmp_path / "junit.xml",
        repeated_case("a[1-3]", "PPFPE", "within-noise"),
        repeated_case("b", "FFFP", "fail", '<failure message="1/4 is below 0.8"/>', asked=6),
        '<testcase classname="t" name="plain"/>',
    )
    assert letters(found) == {"t::a[1-3]": "PPFPE", "t::b": "FFFP", "t::plain": "P"}
    assert found.asked == {"t::a[1-3]": 5, "t::b": 6, "t::plain": 1}
    assert all(trial.cost is None and trial.duration is None for trial in found.trials if trial.case != "t::plain")
    assert any("2 tests were repeated" in text for text in found.warnings)


@pytest.mark.parametrize(
    ("inner", "outcomes", "verdict", "expected"),
    [
        ('<skipped type="pytest.xfail"/>', "FFFF", "fail", "S"),
        ('<failure message="[XPASS(strict)]"/>', "PPPP", "pass", "F"),
        ('<error message="failed on teardown"/>', "PPPP", "pass", "E"),
        ("", "PP?P", "pass", "P"),
        ("", "P" * 10_001, "pass", "P"),
    ],
)
def test_where_pytest_judged_otherwise_the_testcase_counts(
    tmp_path: Path, inner: str, outcomes: str, verdict: str, expected: str
) -> None:
    assert letters(collected(tmp_path / "junit.xml", repeated_case("a", outcomes, verdict, inner))) == {
        "t::a": expected
    }


def test_a_report_of_ours_is_refused_and_its_run_file_named(tmp_path: Path) -> None:
    path = tmp_path / "junit.xml"
    mark = '<properties><property name="repeat-eval.verdict" value="pass"/></properties>'
    path.write_text(f'<testsuite name="s">{mark}<testcase name="a"/></testsuite>')
    with pytest.raises(ReadError, match=r"report of repeat-eval.*run\.jsonl"):
        read_file(path)
