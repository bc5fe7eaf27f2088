"""What is kept of a run, and what a report shows of kept runs."""

from __future__ import annotations

import msgspec
import pytest
from analysis_runs import run_of

from repeat_eval.analysis.analyse import analyse
from repeat_eval.analysis.history import MAX_POINTS, stored_run, with_history
from repeat_eval.analysis.rules import Rules
from repeat_eval.records.run import CasePlan, Run
from repeat_eval.records.stored import StoredRun, run_of_stored

COMMIT = "c" * 40


def kept(run: Run, **more: object) -> StoredRun:
    values = {"commit": COMMIT, "run": 7, "attempt": 1, **more}
    report = analyse(run, Rules.from_settings(run.header.settings))
    return stored_run(report, run.header, run.trials, **values)  # type: ignore[arg-type]


def a_run(**cases: str) -> Run:
    run = run_of(cases or {"a": "PPPPFPPPPP", "b": "PPPPPPPPEP"})
    header = msgspec.structs.replace(run.header, started="2026-03-01T10:00:00.123456+00:00", target_fingerprint="t1")
    trials = [msgspec.structs.replace(t, output="secret words", message="because", duration=2.0) for t in run.trials]
    return msgspec.structs.replace(run, header=header, trials=tuple(trials))


def test_counts_and_sums_are_kept_and_nothing_that_a_model_said() -> None:
    stored = kept(a_run())
    assert [(case.id, case.passed, case.failed, case.errors) for case in stored.cases] == [
        ("a", 9, 1, 0),
        ("b", 9, 0, 1),
    ]
    assert (stored.cases[0].seconds, stored.cases[0].timed, stored.cases[1].timed) == (20.0, 10, 9)
    assert stored.target_fingerprint == "t1"
    text = msgspec.json.encode(stored)
    assert b"secret" not in text
    assert b"because" not in text


def test_a_kept_run_as_base_gives_the_figures_of_the_run_itself() -> None:
    base, head = a_run(a="P" * 10, b="P" * 9 + "F"), a_run(a="P" * 3 + "F" * 7, b="P" * 10)
    straight = analyse(head, Rules(), base=base, base_source="stored").comparison
    again = analyse(head, Rules(), base=run_of_stored(kept(base)), base_source="stored").comparison
    assert straight is not None
    assert again is not None
    assert (again.delta, again.interval, again.p) == (straight.delta, straight.interval, straight.p)
    assert [(case.id, case.change) for case in again.cases] == [(case.id, case.change) for case in straight.cases]
    assert again.base is not None
    assert (again.base.source, again.base.commit, again.base.target_fingerprint) == ("stored", COMMIT, "t1")


def test_a_stored_base_alone_does_not_block() -> None:
    base, head = a_run(a="P" * 40), a_run(a="P" * 32 + "F" * 8)
    report = analyse(head, Rules(), base=run_of_stored(kept(base)), base_source="stored")
    assert report.comparison is not None
    assert report.comparison.verdict == "regressed"
    assert report.verdict == "pass"


def test_a_run_without_a_time_or_a_commit_is_not_kept() -> None:
    run = a_run()
    with pytest.raises(msgspec.ValidationError):
        kept(msgspec.structs.replace(run, header=msgspec.structs.replace(run.header, started=None)))
    with pytest.raises(msgspec.ValidationError):
        kept(run, commit="main")


def test_a_report_remembers_the_newest_runs_oldest_first() -> None:
    run = a_run()
    runs = [kept(run, commit=f"{number:040x}") for number in range(50)]
    points = with_history(analyse(run, Rules()), runs).history
    assert len(points) == MAX_POINTS
    assert [points[0].commit, points[-1].commit] == [runs[20].commit, runs[49].commit]
    assert (points[0].pass_rate, points[0].verdict) == (runs[0].pass_rate, runs[0].verdict)


def asking(run: Run, *, repeats: int = 10, **fingerprints: str) -> Run:
    plans = tuple(CasePlan(id=case, asked=repeats, case_fingerprint=text) for case, text in fingerprints.items())
    return msgspec.structs.replace(run, header=msgspec.structs.replace(run.header, cases=plans))


def test_cases_that_ask_something_else_since_are_said_and_not_compared_with_a_stored_base() -> None:
    base = asking(a_run(a="P" * 10, b="P" * 10), a="1", b="2")
    head = asking(a_run(a="F" * 10, b="P" * 10), a="other", b="2")
    report = analyse(head, Rules(), base=run_of_stored(kept(base)), base_source="stored")
    assert report.comparison is not None
    assert (report.comparison.changed, report.comparison.common) == (("a",), 1)
    assert [case.id for case in report.comparison.cases] == ["b"]
    assert (report.comparison.added, report.comparison.removed) == ((), ())
    told = "1 case changed input or checks since base, and is not compared with its stored run: a"
    assert told in report.warnings
    assert report.verdict == "fail"  # by its own threshold, with nothing of base to excuse it


def test_a_stored_base_whose_cases_all_ask_something_else_cannot_be_compared() -> None:
    base, head = asking(a_run(a="P" * 10), a="1"), asking(a_run(a="P" * 10), a="2")
    comparison = analyse(head, Rules(), base=run_of_stored(kept(base)), base_source="stored").comparison
    assert comparison is not None
    assert comparison.verdict == "not comparable"
    assert "changed input or checks" in comparison.text


def with_rules(run: Run, rules: Rules) -> Run:
    return msgspec.structs.replace(run, header=msgspec.structs.replace(run.header, settings=rules.as_settings()))


def test_what_head_weakened_since_base_was_stored_is_said() -> None:
    rules = Rules(threshold="0.6")
    base = with_rules(asking(a_run(a="P" * 10), a="1"), Rules(threshold="0.9"))
    head = with_rules(asking(a_run(a="P" * 5), repeats=5, a="1"), rules)
    comparison = analyse(head, rules, base=run_of_stored(kept(base)), base_source="stored").comparison
    assert comparison is not None
    assert comparison.common == 1
    assert comparison.gate_changes == (
        "the threshold was lowered from 0.9 to 0.6",
        "repeats of 1 case went down from 10 to 5: a",
    )


def test_a_stored_base_that_counted_other_errors_as_failures_cannot_be_compared() -> None:
    base = with_rules(asking(a_run(a="P" * 10), a="1"), Rules(count_as_failed=frozenset({"crash"})))
    comparison = analyse(a_run(a="P" * 10), Rules(), base=run_of_stored(kept(base)), base_source="stored").comparison
    assert comparison is not None
    assert comparison.verdict == "not comparable"
    assert "count_as_failed crash, and head has none" in comparison.text
