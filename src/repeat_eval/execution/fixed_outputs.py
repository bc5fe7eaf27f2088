"""Outputs that are there already, judged again and again: each check by itself, nothing else is run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from repeat_eval.execution.grading import RemoteCheck
from repeat_eval.execution.prepare import Workshop
from repeat_eval.execution.run_trials import Lane, run_lanes, started
from repeat_eval.execution.stopping import Stop, signals_stop
from repeat_eval.execution.trials import PlannedCase
from repeat_eval.records.trial import Trial
from repeat_eval.suite.checks.base import Answer, Observation, Score
from repeat_eval.suite.spec import CaseSpec, ConfiguredCheck
from repeat_eval.targets.base import Call


class FixedOutput(msgspec.Struct, frozen=True, kw_only=True):
    """One output with everything that a check sees of it.

    Attributes:
        trace: its id, unique. case: the case that it answers, with that case's checks; `input` and `expected` of the
            trace stand in it already. answer: the output.
    """

    trace: str
    case: CaseSpec
    answer: Answer


class Unit(msgspec.Struct, frozen=True):
    """One check on one output."""

    output: FixedOutput
    check: ConfiguredCheck


class _Same:
    """A target that always gives one answer."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer

    async def start(self) -> None:
        """Nothing to do."""

    async def answer(self, call: Call) -> tuple[Answer, int]:
        """The answer."""
        return self._answer, 1

    async def close(self) -> None:
        """Nothing to do."""


def judge_outputs(
    units: Sequence[Unit],
    workshop: Workshop,
    *,
    runs: int,
    stop: Stop,
    on_trial: Callable[[str, Trial], None],
    on_start: Callable[[], None],
    say: Callable[[str], None],
) -> None:
    """Run every check on its output so many times, in rounds: all of them once before any a second time.

    Args:
        units: what to run; a trace has a check's name only once.
        workshop: binds checks to workers and models. runs: of each unit.
        stop: says when to stop. on_trial: takes the check's name and each run as a trial of the trace.
        on_start: called when workers and models are ready. say: takes what the user should hear.

    Raises:
        UserError: a check's function or model cannot be had; nothing was run.
    """
    outputs = {unit.output.trace: unit.output for unit in units}
    remote, to_start = workshop.prepare_checks(
        [msgspec.structs.replace(unit.output.case, checks=(unit.check,)) for unit in units]
    )
    judge = None if remote is None else _as_the_case(remote, outputs)
    settings = workshop.settings
    cases: dict[str, list[PlannedCase]] = {}
    for unit in units:
        spec = msgspec.structs.replace(unit.output.case, id=unit.output.trace, checks=(unit.check,))
        planned = PlannedCase(spec=spec, asked=runs, timeout=settings["timeout"], target=_Same(unit.output.answer))
        cases.setdefault(unit.check.name, []).append(planned)

    def lane(name: str) -> Lane:
        return Lane(
            cases=cases[name], seed=settings["seed"], on_trial=lambda trial: on_trial(name, trial), remote=judge
        )

    async def run() -> None:
        async with started(to_start):
            on_start()
            with signals_stop(stop, asyncio.get_running_loop(), say):
                await run_lanes(
                    [lane(name) for name in cases],
                    workers=settings["workers"],
                    stop=stop,
                    time_budget=settings["time_budget"],
                )

    asyncio.run(run())


def _as_the_case(remote: RemoteCheck, outputs: dict[str, FixedOutput]) -> RemoteCheck:
    """Checks are told the case's id and not the trace's; a duration that is not known is not that of doing nothing."""

    async def judge(configured: ConfiguredCheck, observation: Observation, call: Call) -> Score:
        case = outputs[observation.case].case.id
        changes: dict[str, Any] = {"case": case}
        if observation.answer.duration is None:
            changes["duration"] = None
        seen = msgspec.structs.replace(observation, **changes)
        return await remote(configured, seen, msgspec.structs.replace(call, case=case))

    return judge
