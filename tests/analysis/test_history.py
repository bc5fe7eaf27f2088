"""What is kept of a run, and what a report shows of kept runs."""

from __future__ import annotations

import msgspec
import pytest
from analysis_runs import run_of

from repeat_eval.analysis.analyse import analyse
from repeat_eval.analysis.history import MAX_POINTS, stored_run, with_history
from repeat_eval.analysis.rules import Rules
from repeat_eval.records.run import Run
from repeat_eval.records.stored import StoredRun, run_of_stored

COMMIT = "c" * 40


def kept(run: Run, **more: object) -> StoredRun:
    values = {"commit": COMMIT, "run": 7, "attempt": 1, **more}
    return stored_run(analyse(run, Rules()), run.header, run.trials, **values)  # type: ignore[arg-type]


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
