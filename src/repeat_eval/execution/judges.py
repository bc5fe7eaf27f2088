"""Checks that ask a model, bound to whoever answers: judges with a rubric, and comparisons by meaning."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from repeat_eval.errors import Problem, UserError
from repeat_eval.execution.grading import RemoteCheck
from repeat_eval.suite.checks.base import Observation, Score
from repeat_eval.suite.settings import ResolvedSettings
from repeat_eval.suite.spec import CaseSpec, ConfiguredCheck
from repeat_eval.targets.base import Call

if TYPE_CHECKING:
    from repeat_eval.models.provider import Asker
    from repeat_eval.suite.checks.judge import Panel

MODEL_KINDS = frozenset({"judge", "similar"})


class MakeAsk(Protocol):
    """Makes whoever answers the calls of one model at one endpoint."""

    def __call__(
        self, model: str, url: str | None, api_key_env: str | None, *, embedding: bool, timeout: float | None
    ) -> Asker:
        """`timeout` is in seconds; None is the run's own.

        Raises:
            UserError: it cannot be asked, for instance since its key is missing.
        """


class BoundJudges(msgspec.Struct, frozen=True):
    """`judge` gives the verdicts; `askers` must be started before and closed after."""

    judge: RemoteCheck
    askers: tuple[Asker, ...]


def asks_model(configured: ConfiguredCheck) -> bool:
    """Whether a check has to ask a model."""
    return configured.check.kind in MODEL_KINDS


def judge_identities(case: CaseSpec, settings: ResolvedSettings) -> list[Any]:
    """What the verdicts of a case's judges depend on beside what its checks say: for the case's fingerprint."""
    return [
        [configured.name, panel_of(configured, settings).identity()]
        for configured in case.checks
        if configured.check.kind == "judge"
    ]


def panel_of(configured: ConfiguredCheck, settings: ResolvedSettings) -> Panel:
    """Who grades by a `judge` check's rubric, under these settings."""
    panel: Callable[..., Panel] = configured.check.panel  # type: ignore[attr-defined]
    return panel(settings, configured.pass_score)


def key_variables(checks: Iterable[ConfiguredCheck], settings: ResolvedSettings) -> frozenset[str]:
    """The environment variables that checks which ask models name for their keys, by `api_key_env`."""
    names: set[str | None] = set()
    for configured in checks:
        if configured.check.kind == "judge":
            names |= {grader.api_key_env for grader in panel_of(configured, settings).graders}
        elif configured.check.kind == "similar":
            names.add(configured.check.api_key_env)  # type: ignore[attr-defined]
    return frozenset(name for name in names if name)


def bind_judges(cases: Sequence[CaseSpec], settings: ResolvedSettings, make_ask: MakeAsk) -> BoundJudges | None:
    """Bind every check of these cases that asks a model; None when there is none.

    Args:
        cases: the cases. settings: the run's settings.
        make_ask: is called once for each model and endpoint.

    Raises:
        UserError: a judge has no model, a comparison has nothing to compare with, or a model cannot be asked.
    """
    wanted = [(case, check) for case in cases for check in case.checks if asks_model(check)]
    if not wanted:
        return None
    desk = _Desk(settings, make_ask)
    problems: list[Problem] = []
    for case, configured in wanted:
        try:
            desk.take(case, configured)
        except UserError as error:
            # Whoever cannot be asked for one check cannot be asked for the others; once is enough.
            known = {problem.message for problem in problems}
            problems += [
                problem if problem.file else Problem(problem.message, case.file, case.line)
                for problem in error.problems
                if problem.message not in known
            ]
    if problems:
        raise UserError(problems)
    return BoundJudges(desk.judge, tuple(desk.askers.values()))


class _Desk:
    """Knows for each check who is asked."""

    def __init__(self, settings: ResolvedSettings, make_ask: MakeAsk) -> None:
        self._settings = settings
        self._make_ask = make_ask
        self.askers: dict[tuple[str, str | None, str | None, bool, float | None], Asker] = {}
        self._bound: dict[int, Callable[[Observation], Any]] = {}

    def take(self, case: CaseSpec, configured: ConfiguredCheck) -> None:
        if id(configured) in self._bound and configured.check.kind == "judge":
            return
        if configured.check.kind == "judge":
            self._bound[id(configured)] = self._panel(configured)
        else:
            self._bound[id(configured)] = self._comparison(case, configured)

    async def judge(self, configured: ConfiguredCheck, observation: Observation, call: Call) -> Score:
        score: Score = await self._bound[id(configured)](observation)
        return score

    def _panel(self, configured: ConfiguredCheck) -> Callable[[Observation], Any]:
        from repeat_eval.models.judging import judge

        panel = panel_of(configured, self._settings)
        if any(grader.model is None for grader in panel.graders):
            raise UserError(
                "a `judge` check names no model: write `judge: {model: …}` into the suite or the check, for instance "
                "openai:gpt-5-mini, or give one with --set judge.model=…"
            )
        asks = [
            self._asker(str(one.model), one.url, one.api_key_env, embedding=False, timeout=one.timeout)
            for one in panel.graders
        ]
        for ask, grader in zip(asks, panel.graders, strict=True):
            ask.check_settings(grader.settings)
        return lambda observation: judge(asks, panel, configured.name, observation)

    def _comparison(self, case: CaseSpec, configured: ConfiguredCheck) -> Callable[[Observation], Any]:
        from repeat_eval.models.embeddings import compare

        check: Any = configured.check
        if check.reference(case.expected) is None:
            raise UserError(
                f"the check {configured.name!r} of case {case.id!r} compares with the case's `expected:`, which is no "
                "text: write one, or give the check `to:`"
            )
        ask = self._asker(check.model, check.url, check.api_key_env, embedding=True)
        return lambda observation: compare(ask, check, configured.name, observation)

    def _asker(
        self, model: str, url: str | None, api_key_env: str | None, *, embedding: bool, timeout: float | None = None
    ) -> Asker:
        key = (model, url, api_key_env, embedding, timeout)
        if key not in self.askers:
            self.askers[key] = self._make_ask(model, url, api_key_env, embedding=embedding, timeout=timeout)
        return self.askers[key]
