"""What tests of two looks share: a suite of eight cases, targets that keep book, and a run of both sides."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from repeat_eval import Case, Suite
from repeat_eval.analysis.report import Report
from repeat_eval.analysis.second_look_model import SecondLook
from repeat_eval.execution.progress import Lines
from repeat_eval.records.run import Run
from repeat_eval.steps.finished import Finished
from repeat_eval.steps.request import Request
from repeat_eval.steps.run_suite import run_suite
from repeat_eval.suite.settings import settings_of
from repeat_eval.targets.function_target import FunctionTarget

CASES = tuple(f"case {number}" for number in range(1, 9))
Answer = Callable[[str, int], Any]


class Asked:
    """A target that keeps book of every call, and answers by case and repetition."""

    def __init__(self, answer: Answer = lambda case, repetition: "yes") -> None:
        self.calls: list[tuple[str, int]] = []
        self.repeats: dict[tuple[str, int], int] = {}
        self.seeds: dict[tuple[str, int], int] = {}
        self._answer = answer
        self._lock = threading.Lock()

    def __call__(self, value: Any, context: Any) -> Any:
        key = (context.case, context.repetition)
        with self._lock:
            self.calls.append(key)
            self.repeats[key], self.seeds[key] = context.repeats, context.seed
        return self._answer(*key)

    def by_case(self) -> Counter[str]:
        return Counter(case for case, _ in self.calls)


class Told(Lines):
    """Progress and what is said, in one list."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def start(self, total: int, done: int, unit: str = "trials") -> None:
        self.lines.append(f"start {total} {unit}, {done} done")

    def step(self, *, failed: bool = False, error: bool = False, cost: float | None = None) -> None:
        pass

    def stop(self) -> None:
        pass


def broken(*cases: str, since: int = 1) -> Answer:
    """These cases fail, from a repetition on."""
    return lambda case, repetition: "no" if case in cases and repetition >= since else "yes"


def once(case: str) -> Answer:
    """A case that fails its first trial, and none afterwards."""
    return lambda asked, repetition: "no" if asked == case and repetition == 1 else "yes"


def suite(
    cases: tuple[str, ...] = CASES,
    own: Mapping[str, int] | None = None,
    checks: Mapping[str, str] | None = None,
    **settings: Any,
) -> Suite:
    """A suite of these cases, some with repeats of their own, some that want another text than `yes`."""
    repeats, wanted = own or {}, checks or {}
    made = [
        Case(id=case, input=case, expect=[{"contains": wanted.get(case, "yes")}], repeats=repeats.get(case))
        for case in cases
    ]
    return Suite("looks", made, settings)


def run(
    head: Asked,
    base: Asked | None,
    *,
    of: Suite | None = None,
    kept: Run | None = None,
    told: Told | None = None,
    ready: Callable[[], None] | None = None,
    out: Path | None = None,
    resume: bool = False,
    **options: Any,
) -> Finished:
    """Run head, beside base if there is one, with options as settings; `kept` is a stored run of base."""
    told = told or Told()
    request = Request(
        options=settings_of(options),
        base_run=kept,
        ready_base=ready,
        progress=told,
        say=told.lines.append,
        out=out,
        resume=resume,
    )
    return run_suite(
        request,
        spec=(of or suite())._spec(),
        function=FunctionTarget(head, workers=4),
        base_function=None if base is None else FunctionTarget(base, workers=4),
    )


def looked(report: Report) -> SecondLook:
    """The second look of a report that has one."""
    assert report.comparison is not None
    assert report.comparison.second_look is not None
    return report.comparison.second_look
