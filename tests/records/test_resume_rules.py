"""Resuming: a run goes on only as the same run, and tries again what gave no verdict."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from repeat_eval.records.resume import refusals, trials_to_keep
from repeat_eval.records.run import CasePlan, Run, RunHeader, Selection
from repeat_eval.records.trial import Trial

OLD = RunHeader(
    suite="refunds",
    commit="a" * 40,
    repeats=10,
    seed=7,
    cases=(CasePlan(id="a", asked=10, case_fingerprint="1"), CasePlan(id="b", asked=5, case_fingerprint="2")),
    target_fingerprint="t1",
    started="2026-01-01T00:00:00Z",
)


def now(**changes: Any) -> RunHeader:
    return msgspec.structs.replace(OLD, **changes)


def test_the_same_run_goes_on_whatever_the_clock_the_version_and_the_gate_say() -> None:
    later = now(started="2026-02-02T00:00:00Z", tool_version="9", settings={"threshold": "0.9"}, warnings=("x",))
    assert refusals(OLD, later) == []


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"suite": "other"}, "suite was 'refunds' and is now 'other'"),
        ({"source": "command"}, "source was 'suite' and is now 'command'"),
        ({"commit": None}, f"commit was '{'a' * 40}' and is now unknown"),
        ({"repeats": 20}, "repeats was 10 and is now 20"),
        ({"seed": 8}, "seed was 7 and is now 8"),
        ({"command": "pytest"}, "command was unknown and is now 'pytest'"),
        ({"target_fingerprint": "t2"}, "target fingerprint was 't1' and is now 't2'"),
        ({"selection": Selection(cases=("a*",))}, "selected cases was () and is now ('a*',)"),
        ({"selection": Selection(tags=("smoke",))}, "selected tags was () and is now ('smoke',)"),
        ({"cases": OLD.cases[:1]}, "case 'b' is gone"),
        ({"cases": (*OLD.cases, CasePlan(id="c", asked=1))}, "case 'c' is new"),
        (
            {"cases": (CasePlan(id="a", asked=3, case_fingerprint="1"), OLD.cases[1])},
            "case 'a' asked for 10 repeats and now asks for 3",
        ),
        (
            {"cases": (CasePlan(id="a", asked=10, case_fingerprint="9"), OLD.cases[1])},
            "case 'a' has another input or other checks",
        ),
    ],
)
def test_another_run_is_refused_with_the_difference(changes: dict[str, Any], reason: str) -> None:
    assert refusals(OLD, now(**changes)) == [reason]


def test_all_differences_are_said_at_once() -> None:
    assert len(refusals(OLD, now(suite="x", seed=1, cases=()))) == 4


def test_the_order_of_the_cases_does_not_matter() -> None:
    assert refusals(OLD, now(cases=OLD.cases[::-1])) == []


def test_everything_but_errors_is_kept() -> None:
    outcomes: tuple[Any, ...] = ("passed", "error", "failed", "skipped")
    trials = tuple(
        Trial(case="a", repetition=number, outcome=outcome, error_kind="crash" if outcome == "error" else None)
        for number, outcome in enumerate(outcomes, 1)
    )
    kept = trials_to_keep(Run(header=OLD, trials=trials))
    assert [trial.outcome for trial in kept] == ["passed", "failed", "skipped"]
