"""Targets for tests of the loop of trials: they answer at once, or when they are told to."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from repeat_eval.execution.trials import PlannedCase
from repeat_eval.suite.checks.base import Answer
from repeat_eval.suite.spec import CaseSpec
from repeat_eval.targets.base import Call, Target


@dataclass
class Scripted:
    """Answers what `behave` gives; keeps book of who was asked, and how many calls were open at once."""

    behave: Callable[[Call], Any] = lambda call: "fine"
    cost: float | None = None
    calls: list[tuple[str, int]] = field(default_factory=list)
    open: Counter[str] = field(default_factory=Counter)
    most_open: int = 0
    most_open_of_one_case: int = 0
    overlaps: set[str] = field(default_factory=set)
    started: int = 0
    closed: int = 0

    async def start(self) -> None:
        self.started += 1

    async def answer(self, call: Call) -> tuple[Answer, int]:
        self.calls.append((call.case, call.repetition))
        self.open[call.case] += 1
        self.most_open = max(self.most_open, self.open.total())
        self.most_open_of_one_case = max(self.most_open_of_one_case, self.open[call.case])
        try:
            value = self.behave(call)
            if asyncio.iscoroutine(value):
                value = await value
            else:
                await asyncio.sleep(0)
        finally:
            self.open[call.case] -= 1
        return Answer(output=value, cost=self.cost), 1

    async def close(self) -> None:
        self.closed += 1


def planned(target: Target, asked: dict[str, int], **spec: Any) -> list[PlannedCase]:
    """Cases by id with the number of trials that each asks for."""
    return [
        PlannedCase(spec=CaseSpec(id=case, input=case, **spec), asked=count, timeout=None, target=target)
        for case, count in asked.items()
    ]
