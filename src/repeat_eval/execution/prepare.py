"""From a plan to something that can run: targets built, wrapped in rate limit and retry, checks bound to workers."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from repeat_eval.errors import Problem, UserError
from repeat_eval.execution.grading import RemoteCheck, is_remote
from repeat_eval.execution.places import Places, place_of
from repeat_eval.execution.trials import PlannedCase, run_trial
from repeat_eval.records.run import CasePlan
from repeat_eval.records.trial import ErrorKind, Trial
from repeat_eval.suite.checks.base import Observation, Score
from repeat_eval.suite.settings import ResolvedSettings
from repeat_eval.suite.spec import CaseSpec, ConfiguredCheck, SuiteSpec, TargetSpec
from repeat_eval.targets.base import Call, Target
from repeat_eval.targets.run_as import RunAs

if TYPE_CHECKING:
    from repeat_eval.cassettes.session import Session
    from repeat_eval.execution.cluster.dask_cluster import DaskCluster
    from repeat_eval.execution.judges import BoundJudges
    from repeat_eval.execution.model_targets import ModelTargets
    from repeat_eval.models.call import AskModel
    from repeat_eval.models.provider import Asker, HowToAsk
    from repeat_eval.models.throttle import Throttle
    from repeat_eval.targets.function_target import FunctionTarget
    from repeat_eval.targets.rate_limit import Pace


class Prepared(msgspec.Struct, frozen=True):
    """Everything that a run needs.

    `to_start` must be started before and closed after; `remote` judges with the checks whose code is the user's.
    `blocking` is the function when all cases ask the same blocking one of this process, without a rate limit.
    `run` runs a trial, and `cluster` is where, when that is not in this process.
    """

    cases: tuple[PlannedCase, ...]
    to_start: tuple[Target, ...]
    remote: RemoteCheck | None
    blocking: FunctionTarget | None = None
    pool: Any = None
    run: Callable[..., Awaitable[Trial]] = run_trial
    cluster: DaskCluster | None = None

    def target_files(self) -> tuple[str | None, ...]:
        """Files that Python targets were loaded from, once they are started."""
        return () if self.pool is None else tuple(self.pool.target_files())

    def modules(self) -> tuple[str, ...]:
        """Files of everything that loading them loaded, but for installed packages and the standard library."""
        return () if self.pool is None else tuple(self.pool.loaded.modules)


class Workshop(msgspec.Struct):
    """Builds targets for one side of a run, each distinct one once.

    Attributes:
        spec: the suite. settings: the run's settings. environ: what children inherit, less what they must not see.
        on_log: takes what the user's code prints, line by line.
        function: a target that is in this process already (Python API); it stands for the suite's target.
        judge: judges with the user's checks, when the other side's workers do: both sides have the same judge.
        spare_interpreter: runs Python targets where the folder has no environment of its own.
        pace: keeps the rate of all targets together, also of the other side's; made when a rate is set.
        run_as: the user that children run as; None for our own.
        session: recordings of responses and of calls; None for none.
        wrap: put around whoever answers calls of models, outside of its retries; None for nothing.
        seed: the seed of this side, for scripted models; None for that of the settings.
    """

    spec: SuiteSpec
    settings: ResolvedSettings
    environ: Mapping[str, str]
    on_log: Callable[[str], None]
    function: FunctionTarget | None = None
    judge: RemoteCheck | None = None
    spare_interpreter: Path | None = None
    pace: Pace | None = None
    run_as: RunAs | None = None
    session: Session | None = None
    wrap: Callable[[AskModel], AskModel] | None = None
    seed: int | None = None
    interpreter: Path | None = None
    """The one that runs Python targets, once it is known."""
    throttles: dict[str, Throttle] = msgspec.field(default_factory=dict)
    """What endpoints of models were found to take, shared by targets and judges."""
    _pool: Any = None
    _bare: list[tuple[TargetSpec | None, Target]] = msgspec.field(default_factory=list)
    _wrapped: dict[tuple[int, int, frozenset[ErrorKind]], Target] = msgspec.field(default_factory=dict)
    _models: ModelTargets | None = None

    def prepare(self, cases: Sequence[CaseSpec], plans: Sequence[CasePlan]) -> Prepared:
        """Build everything for these cases.

        Raises:
            UserError: a case has no target, or a target's settings are wrong.
        """
        planned = []
        problems: list[Problem] = []
        for case, plan in zip(cases, plans, strict=True):
            try:
                target = self._target(case)
            except UserError as error:
                problems += [problem for problem in error.problems if problem not in problems]
                continue
            timeout = case.timeout or self.settings["timeout"]
            planned.append(PlannedCase(spec=case, asked=plan.asked, timeout=timeout, target=target))
        if problems:
            raise UserError(problems)
        remote, to_start = self.prepare_checks(cases)
        alone = [spec for spec, _ in self._bare] == [None] and self.settings["rate"] is None and remote is None
        alone = alone and not self._records_responses
        blocking = self.function if alone and self.function is not None and not self.function.is_async else None
        return Prepared(tuple(planned), tuple(to_start), remote, blocking, self._pool)

    def prepare_checks(self, cases: Sequence[CaseSpec]) -> tuple[RemoteCheck | None, list[Target]]:
        """Bind the checks of these cases, without their targets unless `prepare` built some before.

        Returns:
            What judges with checks that cannot judge by themselves, None when there are none; and what must be started
            before and closed after.

        Raises:
            UserError: a judge has no model, a model cannot be asked, or there is no interpreter for `python:` checks.
        """
        judges = None if self.judge is not None else self._judges(cases)
        remote = self.judge or self._remote(cases, judges)
        places = Places(self.spec, cases, named_in_suite=self.settings.source("interpreter") == "suite")
        to_start: list[Target] = [] if self._pool is None else [_Starter(self._pool, places.of_function)]
        to_start += [_Starter(target, partial(places.of_target, spec)) for spec, target in self._bare]
        to_start += [] if judges is None else [_Starter(asker, _as_it_is) for asker in judges.askers]
        return remote, to_start

    def _target(self, case: CaseSpec) -> Target:
        spec = case.target or self.spec.target
        if self.function is not None and case.target is None:
            spec = None
        elif spec is None:
            raise UserError(
                Places(self.spec, ()).of_suite(
                    f"the suite {self.spec.name!r} names no target: write `target:` into it, or give one with --target"
                )
            )
        retries = case.retries if case.retries is not None else self.settings["retries"]
        retry_on = case.retry_on if case.retry_on is not None else frozenset(self.settings["retry_on"])
        if spec is not None and spec.kind == "model":
            return self._model_target(case, spec, retries, retry_on)
        bare = self._bare_target(spec)
        key = (id(bare), retries, retry_on)
        if key not in self._wrapped:
            self._wrapped[key] = self._recorded(self._retrying(bare, retries, retry_on), spec)
        return self._wrapped[key]

    def _model_target(self, case: CaseSpec, spec: TargetSpec, retries: int, retry_on: frozenset[ErrorKind]) -> Target:
        """A model's calls are paced, tried again and recorded one by one, not the trial as a whole."""
        from repeat_eval.execution.model_targets import ModelTargets

        if self._models is None:
            self._models = ModelTargets(self)
        target, is_new = self._models.target(case, spec, retries, retry_on)
        if is_new:
            self._bare.append((spec, target))
        return target

    def shared_pace(self) -> Pace | None:
        """The rate that the user set for all calls together; None when none is set."""
        if self.pace is None and self.settings["rate"] is not None:
            from repeat_eval.targets.rate_limit import Pace, parse_rate

            self.pace = Pace(parse_rate(self.settings["rate"]))
        return self.pace

    @property
    def replays_calls(self) -> bool:
        """Whether no model may be asked live."""
        return self.session is not None and self.session.calls == "replay"

    @property
    def _records_responses(self) -> bool:
        return self.session is not None and self.session.responses is not None

    def _recorded(self, target: Target, spec: TargetSpec | None) -> Target:
        """The target with recordings around its retries; a model's calls are recorded one by one instead."""
        if self.session is None or not self._records_responses or (spec is not None and spec.kind == "model"):
            return target
        from repeat_eval.cassettes.responses import RecordedResponses

        kind, written = ("function", None) if spec is None else (spec.kind, spec.value)
        return RecordedResponses(target, self.session, kind=kind, written=written)

    def _retrying(self, target: Target, retries: int, retry_on: frozenset[ErrorKind]) -> Target:
        if not retries or not retry_on:
            return target
        from repeat_eval.targets.retrying import Retrying

        return Retrying(target, retries, retry_on, seed=self.settings["seed"])

    def _bare_target(self, spec: TargetSpec | None) -> Target:
        for known, target in self._bare:
            if known is spec or (known is not None and spec is not None and _same(known, spec)):
                return target
        if spec is None:
            assert self.function is not None  # noqa: S101 - see _target
            target = self.function
        else:
            target = _BUILDERS[spec.kind](self, spec)
        rate = self.settings["rate"]
        if rate is not None or (spec is not None and spec.kind == "http"):
            from repeat_eval.targets.rate_limit import Pace, RateLimited

            target = RateLimited(target, self.shared_pace() or Pace(None))
        self._bare.append((spec, target))
        return target

    def pool(self) -> Any:
        """The workers under the user's interpreter, made when something needs them."""
        if self._pool is None:
            from repeat_eval.targets.python_target import find_interpreter
            from repeat_eval.targets.worker_pool import WorkerPool

            try:
                interpreter = find_interpreter(self.spec.folder, self.settings["interpreter"])
            except UserError as error:
                places = Places(self.spec, (), named_in_suite=self.settings.source("interpreter") == "suite")
                raise UserError([places.of_function(problem) for problem in error.problems]) from None
            if self.spare_interpreter is not None and interpreter == Path(sys.executable):
                interpreter = self.spare_interpreter
            self.interpreter = interpreter
            self._pool = WorkerPool(
                interpreter,
                self.spec.folder,
                workers=self.settings["workers"],
                environ=self.environ,
                on_log=self.on_log,
                isolation="process" if self.settings["isolation"] == "process" else "worker",
                run_as=self.run_as,
            )
        return self._pool

    def _judges(self, cases: Sequence[CaseSpec]) -> BoundJudges | None:
        """Bind checks that ask models; None when there are none."""
        if not any(is_remote(check) and check.check.kind != "python" for case in cases for check in case.checks):
            return None
        from repeat_eval.execution.judges import bind_judges

        return bind_judges(cases, self.settings, self._asker_of_judge)

    def _asker_of_judge(
        self, model: str, url: str | None, api_key_env: str | None, *, embedding: bool, timeout: float | None
    ) -> Asker:
        from repeat_eval.models.embeddings import make_embedding_ask
        from repeat_eval.models.provider import make_ask

        how = self.how_to_ask(
            timeout=self.settings["timeout"] if timeout is None else timeout,
            retries=self.settings["retries"],
            retry_on=frozenset(self.settings["retry_on"]),
        )
        return (make_embedding_ask if embedding else make_ask)(model, how, url=url, api_key_env=api_key_env)

    def how_to_ask(self, *, timeout: float | None, retries: int, retry_on: frozenset[ErrorKind]) -> HowToAsk:
        """How this side asks models; `timeout` is in seconds, for one try of one call."""
        from repeat_eval.models.provider import HowToAsk

        return HowToAsk(
            environ=self.environ,
            timeout=timeout,
            throttles=self.throttles,
            pace=self.shared_pace(),
            retries=retries,
            retry_on=retry_on,
            seed=self.settings["seed"],
            wrap=self.wrap,
            offline=self.replays_calls,
        )

    def _remote(self, cases: Sequence[CaseSpec], judges: BoundJudges | None) -> RemoteCheck | None:
        """Bind `python:` checks to the workers, the others to the models; None when there are none."""
        remote = [check.check for case in cases for check in case.checks if is_remote(check)]
        if not remote:
            return None
        from repeat_eval.suite.checks.python import Python
        from repeat_eval.targets.python_target import PythonCheck

        wanted = {check.argument: check for check in remote if isinstance(check, Python)}

        bound = {reference: PythonCheck(check, self.pool()) for reference, check in wanted.items()}

        async def judge(configured: ConfiguredCheck, observation: Observation, call: Call) -> Score:
            if judges is not None and configured.check.kind != "python":
                return await judges.judge(configured, observation, call)
            return await bound[configured.check.argument].judge(observation, call)

        return judge


def _as_it_is(problem: Problem) -> Problem:
    return problem


def _same(one: TargetSpec, other: TargetSpec) -> bool:
    return one.kind == other.kind and bool(one.value == other.value)


class _Starter:
    """Starts and closes a target or the pool; what cannot start is a fault at the place where it is written."""

    def __init__(self, target: Any, place: Callable[[Problem], Problem]) -> None:
        self._target = target
        self._place = place

    async def start(self) -> None:
        try:
            await self._target.start()
        except UserError as error:
            raise UserError([self._place(problem) for problem in error.problems]) from None

    async def answer(self, call: Call) -> Any:
        raise NotImplementedError

    async def close(self) -> None:
        await self._target.close()


def _python(workshop: Workshop, spec: TargetSpec) -> Target:
    from repeat_eval.targets.python_target import PythonTarget

    return PythonTarget(spec.value, workshop.pool())


def _command(workshop: Workshop, spec: TargetSpec) -> Target:
    from repeat_eval.targets.command_target import CommandTarget

    return CommandTarget(
        spec.value,
        folder=workshop.spec.folder,
        environ=workshop.environ,
        workdir=workshop.settings["workdir"],
        on_log=workshop.on_log,
        run_as=workshop.run_as,
    )


def _http(workshop: Workshop, spec: TargetSpec) -> Target:
    from repeat_eval.targets.http_settings import HttpSettings, HttpSettingsError
    from repeat_eval.targets.http_target import HttpTarget

    environ = workshop.environ
    if workshop.session is not None and workshop.session.responses == "replay":
        # Nobody is asked, so nobody has to have the keys.
        named = re.findall(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}", json.dumps(spec.value, default=str))
        environ = {**environ, **{name: "not-asked" for name in named if not environ.get(name, "").strip()}}
    try:
        settings = HttpSettings.from_mapping(spec.value, environ)
    except HttpSettingsError as error:
        problems = [
            place_of(spec, f"`{'.'.join(('http', *path))}` {message}", ("http", *path))
            for path, message in error.problems
        ]
        raise UserError(problems) from None
    return HttpTarget(settings, workers=workshop.settings["workers"])


_BUILDERS: Mapping[str, Callable[[Workshop, TargetSpec], Target]] = {
    "python": _python,
    "command": _command,
    "http": _http,
}
