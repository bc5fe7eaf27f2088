"""ctrf.json: one test a case, its trials as attempts, no field that CTRF does not know."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import pytest
import report_examples as examples
from hypothesis import given, settings
from hypothesis import strategies as st

from repeat_eval.analysis.analyse import analyse
from repeat_eval.analysis.report import Report
from repeat_eval.analysis.rules import Rules
from repeat_eval.errors import UserError
from repeat_eval.readers import collect, format_of, read_file
from repeat_eval.records.run import CasePlan, Run, RunFooter, RunHeader
from repeat_eval.records.trial import ERROR_KINDS, Tokens, Trial
from repeat_eval.reports.ctrf import write_ctrf

# The fields of CTRF 1.0.0, which allows no others; `!` marks those that must be there.
FIELDS = {
    "document": "reportFormat! specVersion! reportId timestamp generatedBy extra results! insights baseline",
    "results": "tool! summary! tests! environment extra",
    "tool": "name! version extra",
    "summary": "tests! passed! failed! skipped! pending! other! flaky suites start! stop! duration extra",
    "environment": "reportName appName appVersion buildId buildName buildNumber buildUrl repositoryName repositoryUrl "
    "commit branchName osPlatform osRelease osVersion testEnvironment healthy extra",
    "test": "id name! status! duration! start stop suite message trace snippet ai line rawStatus tags labels type "
    "filePath retries retryAttempts flaky stdout stderr threadId browser device screenshot attachments parameters "
    "steps insights extra",
    "attempt": "attempt! status! duration message trace line snippet stdout stderr start stop attachments extra",
    "test insights": "passRate failRate flakyRate averageTestDuration p95TestDuration executedInRuns extra",
    "insights": "passRate failRate flakyRate averageRunDuration p95RunDuration averageTestDuration runsAnalyzed extra",
    "delta": "current baseline change",
    "baseline": "reportId! timestamp source buildNumber buildName buildUrl commit extra",
}
STATUSES = {"passed", "failed", "skipped", "pending", "other"}
WHOLE = {"duration", "start", "stop", "retries", "attempt", "tests", "line", "executedInRuns", "runsAnalyzed"}


def check(kind: str, found: dict[str, Any]) -> None:
    allowed = {name.rstrip("!"): name.endswith("!") for name in FIELDS[kind].split()}
    assert set(found) <= set(allowed), (kind, set(found) - set(allowed))
    assert {name for name, needed in allowed.items() if needed} <= set(found)
    for name in WHOLE & set(found) - {"tests" if kind == "results" else ""}:
        assert type(found[name]) is int, (kind, name)
    if "status" in found:
        assert found["status"] in STATUSES
    for name, value in found.items():
        if name.endswith(("Rate", "TestDuration")) and kind.endswith("insights"):
            check("delta", value)


def written(report: Report, trials: list[Trial] | None = None) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(write_ctrf(report, trials))
    check("document", document)
    results = document["results"]
    for kind in ("results", "tool", "summary", "environment"):
        check(kind, results if kind == "results" else results[kind])
    for test in results["tests"]:
        check("test", test)
        check("test insights", test["insights"])
        for attempt in test.get("retryAttempts", ()):
            check("attempt", attempt)
    for kind in ("insights", "baseline"):
        if kind in document:
            check(kind, document[kind])
    summary = results["summary"]
    assert summary["tests"] == len(results["tests"])
    for status in STATUSES:
        assert summary[status] == sum(test["status"] == status for test in results["tests"])
    return document


def trial(case: str, repetition: int, letter: str, **more: Any) -> Trial:
    outcome = {"P": "passed", "F": "failed", "E": "error", "S": "skipped"}[letter]
    given_kind = more.pop("error_kind", "provider")
    kind = given_kind if letter == "E" else None
    return Trial(case=case, repetition=repetition, outcome=outcome, error_kind=kind, **more)  # type: ignore[arg-type]


def run_of(letters: dict[str, str], **more: Any) -> Run:
    trials = [
        trial(case, number, letter, duration=0.25, started=f"2026-05-01T10:00:{number:02}+00:00", score=0.5)
        for case, each in letters.items()
        for number, letter in enumerate(each, 1)
    ]
    plans = tuple(CasePlan(id=case, asked=len(each)) for case, each in letters.items())
    header = RunHeader(suite="capitals", repeats=5, cases=plans, started="2026-05-01T10:00:00+00:00", **more)
    return Run(header=header, trials=tuple(trials), footer=RunFooter(complete=True, trials=len(trials)))


@pytest.mark.parametrize(
    "report", [examples.seeds_003(), examples.small(), examples.solid(), examples.single(), examples.empty()]
)
def test_every_report_becomes_a_document_of_known_fields(report: Report) -> None:
    document = written(report)
    assert document["reportFormat"] == "CTRF"
    assert [test["name"] for test in document["results"]["tests"]] == [case.id for case in report.case_reports]


def test_status_is_the_verdict_and_attempts_are_the_trials() -> None:
    run = run_of({"solid": "PPPPP", "flaky": "PPFPP", "broken": "FFFFF", "down": "EEEEE", "off": "SSSSS"})
    document = written(analyse(run, Rules()), list(run.trials))
    tests = {test["name"]: test for test in document["results"]["tests"]}
    assert {name: test["status"] for name, test in tests.items()} == {
        "solid": "passed",
        "flaky": "passed",
        "broken": "failed",
        "down": "other",
        "off": "skipped",
    }
    flaky = tests["flaky"]
    assert flaky["flaky"] and not tests["broken"]["flaky"]
    assert [attempt["status"] for attempt in flaky["retryAttempts"]] == ["passed"] * 2 + ["failed"] + ["passed"] * 2
    assert (flaky["retries"], flaky["duration"], flaky["rawStatus"]) == (4, 1250, "pass")
    assert flaky["stop"] - flaky["start"] == 4250
    assert flaky["insights"]["passRate"] == {"current": 0.8}
    assert document["results"]["summary"]["flaky"] == 1


def test_a_comparison_fills_insights_and_baseline() -> None:
    head, base = (
        run_of({"a": "FFFFF", "b": "PPPPP"}, commit="c0ffee"),
        run_of({"a": "PPPPP", "b": "PPPPP"}, commit="ba5e"),
    )
    document = written(analyse(head, Rules(), base=base, base_source="side-by-side"), list(head.trials))
    assert document["insights"]["passRate"] == {"current": 0.5, "baseline": 1.0, "change": -0.5}
    assert document["results"]["tests"][0]["insights"]["passRate"] == {"current": 0.0, "baseline": 1.0, "change": -1.0}
    assert (document["baseline"]["commit"], document["baseline"]["source"]) == ("ba5e", "side-by-side")
    assert document["results"]["environment"] == {"reportName": "capitals", "commit": "c0ffee", "healthy": False}


def test_the_same_run_gives_the_same_bytes_and_another_one_another_id() -> None:
    one, two = run_of({"a": "PPF"}), run_of({"a": "PPP"})
    first = write_ctrf(analyse(one, Rules()), one.trials)
    assert first == write_ctrf(analyse(one, Rules()), one.trials)
    other = json.loads(write_ctrf(analyse(two, Rules()), two.trials))
    assert json.loads(first)["reportId"] != other["reportId"]
    assert json.loads(first)["results"]["tests"][0]["id"] == other["results"]["tests"][0]["id"]


def test_without_trials_outcomes_come_from_the_report(tmp_path: Path) -> None:
    run = run_of({"a": "PF" * 150, "b": "PFE"})
    path = tmp_path / "ctrf.json"
    path.write_bytes(write_ctrf(analyse(run, Rules())))
    outcomes = [found.outcome for found in collect([path]).trials]
    assert [outcomes.count(name) for name in ("passed", "failed", "error")] == [151, 151, 1]


times = st.none() | st.integers(0, 10**9).map(lambda milliseconds: milliseconds / 1000)


@st.composite
def trials(draw: st.DrawFn) -> list[Trial]:
    cases = draw(
        st.lists(
            st.text(st.characters(exclude_categories=["Cs"]), max_size=30).map(str.strip).filter(bool),
            min_size=1,
            max_size=4,
            unique=True,
        )
    )
    found = []
    for case in cases:
        for repetition in draw(st.lists(st.integers(1, 12), min_size=1, max_size=6, unique=True)):
            found.append(
                trial(
                    case,
                    repetition,
                    draw(st.sampled_from("PFES")),
                    error_kind=draw(st.sampled_from(ERROR_KINDS)),
                    score=draw(st.none() | st.floats(-10, 10)),
                    cost=draw(st.none() | st.floats(0, 10)),
                    tokens=draw(st.none() | st.builds(Tokens, st.integers(0, 10**6), st.integers(0, 10**6))),
                    turns=draw(st.none() | st.integers(0, 50)),
                    cached=draw(st.none() | st.booleans()),
                    duration=draw(times),
                )
            )
    return found


@settings(max_examples=100)
@given(trials())
def test_our_own_reader_reads_the_trials_back(given_trials: list[Trial]) -> None:
    plans = tuple(CasePlan(id=case, asked=12) for case in dict.fromkeys(each.case for each in given_trials))
    header = RunHeader(suite="s", repeats=12, cases=plans)
    run = Run(header=header, trials=tuple(given_trials), footer=RunFooter(complete=True, trials=len(given_trials)))
    with TemporaryDirectory() as folder:
        path = Path(folder) / "ctrf.json"
        path.write_bytes(write_ctrf(analyse(run, Rules()), given_trials))
        assert format_of(path).name == "ctrf"
        results = read_file(path)
    assert results.broken is None
    assert dict(results.asked) == {plan.id: 12 for plan in plans}
    names = ("case", "repetition", "outcome", "error_kind", "score", "cost", "tokens", "turns", "cached", "duration")
    told = {(found.case, found.repetition): found for found in results.trials}
    assert len(told) == len(given_trials)
    for each in given_trials:
        found = told[each.key]
        for name in names:
            expected = getattr(each, name)
            value = getattr(found, name)
            if isinstance(expected, float):
                assert value == pytest.approx(expected, abs=1e-9)
            else:
                assert value == expected, name


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda tests: tests.append(tests[0]), "name of an earlier one"),
        (lambda tests: tests[0]["retryAttempts"].append(tests[0]["retryAttempts"][0]), "two of one number"),
        (lambda tests: tests[0]["retryAttempts"][0].update(attempt=0), "without a number"),
        (lambda tests: tests[0]["retryAttempts"][0].update(status="odd"), "does not know"),
    ],
)
def test_own_files_that_were_changed_by_hand_are_refused(tmp_path: Path, change: Any, says: str) -> None:
    run = run_of({"a": "PPF"})
    document = json.loads(write_ctrf(analyse(run, Rules()), run.trials))
    change(document["results"]["tests"])
    document["results"]["summary"] |= {"tests": 1}
    path = tmp_path / "ctrf.json"
    path.write_bytes(msgspec.json.encode(document))
    with pytest.raises(UserError, match=says):
        read_file(path)
