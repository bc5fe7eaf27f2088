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


def two_sides(
    cases: Mapping[str, tuple[str, str]],
    looks: SecondLookSettings = LOOKS,
    *,
    own: Mapping[str, int] | None = None,
) -> tuple[Run, Run]:
    """Base and head from the letters of both; of the fresh ones only what the first look asks for is kept.

    `own` are the repeats of cases that set their own: so long is their first look.
    """
    sides = [run_of({case: pair[side] for case, pair in cases.items() if pair[side]}) for side in (0, 1)]
    first = {case: (own or {}).get(case, looks.n1) for case in cases}
    before = TwoLooks.of(looks)
    plan = plan_rerun(_marked(sides[0], before, first), _marked(sides[1], before, first), looks)
    asked = plan.trials if plan is not None else {}
    ended = msgspec.structs.replace(before, trials=dict(asked))
    base, head = [_kept(_marked(side, ended, first), asked) for side in sides]
    return base, head


def _marked(run: Run, looks: TwoLooks, first: Mapping[str, int]) -> Run:
    plans = tuple(msgspec.structs.replace(plan, asked=first[plan.id]) for plan in run.header.cases)
    return msgspec.structs.replace(run, header=msgspec.structs.replace(run.header, cases=plans, second_look=looks))


def _kept(run: Run, asked: Mapping[str, int]) -> Run:
    most = {plan.id: plan.asked + asked.get(plan.id, 0) for plan in run.header.cases}
    kept = tuple(trial for trial in run.trials if trial.repetition <= most[trial.case])
    footer = run.footer and msgspec.structs.replace(run.footer, trials=len(kept))
    return msgspec.structs.replace(run, trials=kept, footer=footer)


def looked(
    cases: Mapping[str, tuple[str, str]],
    looks: SecondLookSettings = LOOKS,
    *,
    own: Mapping[str, int] | None = None,
    **rules: Any,
) -> Report:
    """Head's report against base, both from the letters of their trials."""
    base, head = two_sides(cases, looks, own=own)
    return analyse(head, Rules(**rules), base=base, base_source="side-by-side")
