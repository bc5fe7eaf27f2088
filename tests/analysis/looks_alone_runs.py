"""What tests of two looks without a base share: runs made of letters."""

from __future__ import annotations

import msgspec

from repeat_eval.analysis.analyse import analyse
from repeat_eval.analysis.report import LooksAlone, Report
from repeat_eval.analysis.rules import Rules
from repeat_eval.records.run import CasePlan, Run, RunFooter, RunHeader
from repeat_eval.records.trial import Outcome, Trial
from repeat_eval.records.two_looks import TwoLooks

LETTERS: dict[str, Outcome] = {"P": "passed", "F": "failed", "E": "error", "S": "skipped"}
Looks = tuple[str, str]
"""Letters of a case's first look, and of its fresh trials."""


def run_of(
    cases: dict[str, Looks],
    *,
    first: int = 3,
    fresh: int = 20,
    closed: bool = True,
    again: tuple[str, ...] | None = None,
    thresholds: dict[str, str] | None = None,
    complete: bool = True,
) -> Run:
    """A run of these outcomes; what has fresh trials was asked for them, or what `again` says."""
    wanted = tuple(case for case, (_, rest) in cases.items() if rest) if again is None else again
    looks = TwoLooks.alone(first, fresh)
    if closed:
        looks = msgspec.structs.replace(looks, trials=dict.fromkeys(wanted, fresh))
    own = thresholds or {}
    header = RunHeader(
        suite="alone",
        repeats=10,
        cases=tuple(
            [
                CasePlan(id=case, asked=max(first, len(letters)), threshold=own.get(case))
                for case, (letters, _) in cases.items()
            ]
        ),
        second_look=looks,
    )
    trials = tuple(
        Trial(case=case, repetition=number, outcome=LETTERS[letter], error_kind="target" if letter == "E" else None)
        for case, (letters, rest) in cases.items()
        for start, some in ((1, letters), (max(first, len(letters)) + 1, rest))
        for number, letter in enumerate(some, start=start)
    )
    footer = RunFooter(complete=complete, trials=len(trials), stopped=None if complete else "max-cost")
    return Run(header=header, trials=trials, footer=footer)


def judged(cases: dict[str, Looks], rules: Rules | None = None, **more: object) -> Report:
    return analyse(run_of(cases, **more), rules or Rules())  # type: ignore[arg-type]


def alone(report: Report) -> LooksAlone:
    assert report.looked_alone is not None
    return report.looked_alone


def of(passed: int, n: int) -> str:
    return "F" * (n - passed) + "P" * passed
