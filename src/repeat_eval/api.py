"""The Python API: build or load a suite, run it on a function of this process, look at the report."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from repeat_eval.analysis.report import Report
from repeat_eval.errors import Problem, RepeatEvalError, UserError
from repeat_eval.execution.progress import Progress, Silent
from repeat_eval.records.trial import one_line
from repeat_eval.steps.request import Request
from repeat_eval.steps.run_suite import run_suite
from repeat_eval.steps.write_reports import write_reports
from repeat_eval.suite.checks.base import Check, NoVerdict, Observation, Score
from repeat_eval.suite.checks.python import Python
from repeat_eval.suite.expect import make_checks
from repeat_eval.suite.load import load_suite as load_spec
from repeat_eval.suite.settings import Settings, setting_problems, settings_of
from repeat_eval.suite.spec import CaseSpec, ConfiguredCheck, SuiteSpec
from repeat_eval.targets.function_target import FunctionTarget

_T = TypeVar("_T")

CheckFunction = Callable[..., Any]
"""Takes the output (and, as a second argument, the observation); gives a bool, a score in [0, 1], or (…, message)."""


class GateFailed(RepeatEvalError):
    """The gate did not pass. `report` says why; `exit_code` is 1 when it failed and 3 when evidence is incomplete."""

    def __init__(self, report: Report) -> None:
        reasons = "; ".join(
            f"{reason.case}: {reason.text}" if reason.case else reason.text
            for reason in report.reasons[:5]
            if reason.verdict != "pass"
        )
        super().__init__(f"{report.suite}: {report.verdict}: {reasons}")
        self.report = report


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One case of a suite built in Python.

    Attributes:
        id: stable name, never an index. input: what the function is asked.
        expect: checks as in a suite file (`{"contains": "text"}`), Check objects, or functions of the output.
        expected: a reference answer for check functions.
        repeats, threshold, gate, timeout: this case's own; None leaves them to the suite.
    """

    id: str
    input: Any = None
    expect: Sequence[Mapping[str, Any] | Check | CheckFunction] = ()
    expected: Any = None
    tags: Sequence[str] = ()
    repeats: int | None = None
    threshold: str | float | None = None
    gate: str | None = None
    timeout: float | None = None


@dataclass(frozen=True, slots=True)
class Suite:
    """A suite of cases. Build it from cases, or load a suite file with `load_suite`.

    `Suite("greetings", [Case(id="hello", input="hi", expect=[{"contains": "hello"}])]).run(my_function, repeats=5)`
    """

    name: str
    cases: Sequence[Case] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    spec: SuiteSpec | None = None
    """The loaded suite file, when it comes from one."""

    def run(
        self,
        function: Callable[..., Any] | None = None,
        *,
        base: Callable[..., Any] | None = None,
        base_dir: str | Path | None = None,
        base_ref: str | None = None,
        base_target: str | None = None,
        gate_raises: bool = True,
        out: str | Path | None = None,
        cases: Sequence[str] = (),
        tags: Sequence[str] = (),
        progress: Progress | None = None,
        **settings: Any,
    ) -> Report:
        """Run the suite and judge it.

        Args:
            function: takes a case's input, or input and context; sync or async. None runs the target of the suite
                file.
            base: another such function, run beside this one and compared with it. From 6 cases on, where no repeats are
                set, there are two looks: 3 trials a side of each case, then fresh ones of what is suspected.
            base_dir, base_ref, base_target: the same for base's checkout, revision or target, as --base-dir and the
                others; at most one base.
            gate_raises: raise GateFailed when a gate among the settings does not pass. Without any gate among the
                settings nothing is raised, and the report says how it went.
            out: folder for run file and reports; None writes nothing.
            cases, tags: which cases, as --case and --tag.
            progress: follows the run.
            settings: repeats, workers, threshold, gate, suite_threshold, min_stability and all the others.

        Raises:
            UserError: suite or settings are wrong.
            GateFailed: see `gate_raises`.
        """
        options = _settings(settings)
        if sum(one is not None for one in (base, base_dir, base_ref, base_target)) > 1:
            raise UserError("there is one base: give one of base, base_dir, base_ref and base_target")
        request = Request(
            options=options,
            base_dir=None if base_dir is None else Path(base_dir),
            base_ref=base_ref,
            base_target=base_target,
            cases=tuple(cases),
            tags=tuple(tags),
            out=None if out is None else Path(out),
            fresh=True,
            progress=progress or Silent(),
        )
        spec = self.as_spec()
        workers = options.workers or spec.settings.workers or 4
        target = None if function is None else FunctionTarget(function, workers=workers)
        other = None if base is None else FunctionTarget(base, workers=workers)
        finished = outside_event_loop(lambda: run_suite(request, spec=spec, function=target, base_function=other))
        write_reports(finished.report, request, trials=finished.recording.trials)
        gated = _GATES & {name for name, value in {**self.settings, **settings}.items() if value is not None}
        if gate_raises and gated and finished.report.exit_code:
            raise GateFailed(finished.report)
        return finished.report

    def as_spec(self) -> SuiteSpec:
        """The suite as it is run; UserError with everything that is wrong with its cases."""
        return self.spec or self._spec()

    def _spec(self) -> SuiteSpec:
        problems: list[Problem] = []
        specs = []
        seen: set[str] = set()
        for case in self.cases:
            checks, faults = _checks(case.expect)
            problems += [Problem(f"case {case.id!r}: {fault}") for fault in faults]
            if case.id in seen:
                problems.append(Problem(f"two cases have the id {case.id!r}"))
            seen.add(case.id)
            own = _settings(
                {name: getattr(case, name) for name in ("repeats", "threshold", "gate", "timeout")}, case.id
            )
            specs.append(
                CaseSpec(
                    id=case.id,
                    input=case.input,
                    expected=case.expected,
                    tags=tuple(case.tags),
                    repeats=own.repeats,
                    threshold=own.threshold,
                    gate=own.gate,
                    timeout=own.timeout,
                    checks=tuple(checks),
                    expect_written=[_written(entry) for entry in case.expect],
                )
            )
        if problems:
            raise UserError(problems)
        return SuiteSpec(name=self.name, folder=Path.cwd(), cases=tuple(specs), settings=_settings(dict(self.settings)))


_GATES = frozenset(
    {
        "threshold",
        "gate",
        "suite_threshold",
        "min_stability",
        "max_failing_cases",
        "max_error_rate",
        "min_reliability",
        "fail_on",
        "alpha",
        "min_effect",
        "require",
    }
)


def load_suite(path: str | Path) -> Suite:
    """Load a suite file; UserError with everything that is wrong with it."""
    spec = load_spec(Path(path))
    return Suite(spec.name, spec=spec)


def _settings(values: Mapping[str, Any], case: str | None = None) -> Settings:
    given = {name: value for name, value in values.items() if value is not None}
    problems = setting_problems(given)
    if problems:
        where = f"case {case!r}: " if case is not None else ""
        raise UserError([Problem(where + text) for _, text in problems])
    return settings_of(given)


def _checks(expect: Sequence[Any]) -> tuple[list[ConfiguredCheck], list[str]]:
    checks: list[ConfiguredCheck] = []
    problems: list[str] = []
    for position, entry in enumerate(expect):
        if isinstance(entry, Check):
            checks.append(ConfiguredCheck(entry.kind, entry))
        elif callable(entry):
            name = getattr(entry, "__name__", f"check {position + 1}")
            try:
                checks.append(ConfiguredCheck(name, _FunctionCheck(entry)))
            except TypeError as error:
                problems.append(f"the check function {name!r} {error}")
        else:
            names = [check.name for check in checks]
            made, faults = make_checks([dict(entry) if isinstance(entry, Mapping) else entry], names)
            checks += made
            problems += [text for _, _, text in faults]
    return checks, problems


def _written(entry: Any) -> Any:
    if isinstance(entry, Mapping):
        return dict(entry)
    return getattr(entry, "__qualname__", type(entry).__name__)


class _FunctionCheck(Check):
    """A function of this process as a check; it gives what a `python:` check gives."""

    kind = "function"

    def __init__(self, function: CheckFunction) -> None:
        from repeat_eval.targets.worker import bind

        super().__init__(function)
        self._function = bind(function)
        self._reader = Python("a:function")

    def evaluate(self, observation: Observation) -> Score:
        try:
            value = self._function(observation.answer.output, observation)
        except Exception as error:
            raise NoVerdict(f"{type(error).__name__}: {one_line(str(error))}") from error
        return self._reader.interpret(value)


def outside_event_loop(work: Callable[[], _T]) -> _T:
    """Do `work` here, or in a thread where an event loop is running already (a notebook, for instance)."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return work()
    results: list[_T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run, name="repeat-eval")
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return results[0]
