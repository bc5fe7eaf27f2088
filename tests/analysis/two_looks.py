"""Pairs of runs that looked twice, for tests: `looked({"breaks": ("PPP" + "P" * 20, "PFF" + "F" * 20)})`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from analysis_runs import run_of

from repeat_eval.analysis.analyse import analyse
from repeat_eval.analysis.report import Report
from repeat_eval.analysis.rules import Rules
from repeat_eval.analysis.second_look import plan_rerun
from repeat_eval.records.run import Run
from repeat_eval.records.two_looks import TwoLooks
from repeat_eval.statistics.second_look import SecondLookSettings

LOOKS = SecondLookSettings()


def letters(passed: int, n: int) -> str:
    """Outcomes of `n` trials of which the last ones failed."""
    return "P" * passed + "F" * (n - passed)


def healthy(number: int) -> dict[str, tuple[str, str]]:
    """Cases that pass everything."""
    return {f"healthy {place}": ("P" * 23, "P" * 23) for place in range(number)}


def two_sides(cases: Mapping[str, tuple[str, str]], looks: SecondLookSettings = LOOKS, **run: Any) -> tuple[Run, Run]:
    """Base and head from the letters of both; of the fresh ones only what the first look asks for is kept."""
    sides = [run_of({case: pair[side] for case, pair in cases.items() if pair[side]}, **run) for side in (0, 1)]
    marked = [_marked(side, TwoLooks.of(looks), looks.n1) for side in sides]
    plan = plan_rerun(marked[0], marked[1], looks)
    asked = plan.trials if plan is not None else {}
    ended = msgspec.structs.replace(TwoLooks.of(looks), trials=dict(asked))
    base, head = [_kept(_marked(side, ended, looks.n1), asked, looks.n1) for side in sides]
    return base, head


def _marked(run: Run, looks: TwoLooks, first: int) -> Run:
    plans = tuple(msgspec.structs.replace(plan, asked=first) for plan in run.header.cases)
    return msgspec.structs.replace(run, header=msgspec.structs.replace(run.header, cases=plans, second_look=looks))


def _kept(run: Run, asked: Mapping[str, int], first: int) -> Run:
    kept = tuple(trial for trial in run.trials if trial.repetition <= first + asked.get(trial.case, 0))
    footer = run.footer and msgspec.structs.replace(run.footer, trials=len(kept))
    return msgspec.structs.replace(run, trials=kept, footer=footer)


def looked(
    cases: Mapping[str, tuple[str, str]],
    looks: SecondLookSettings = LOOKS,
    *,
    run: Mapping[str, Any] | None = None,
    **rules: Any,
) -> Report:
    """Head's report against base, both from the letters of their trials."""
    base, head = two_sides(cases, looks, **(run or {}))
    return analyse(head, Rules(**rules), base=base, base_source="side-by-side")
