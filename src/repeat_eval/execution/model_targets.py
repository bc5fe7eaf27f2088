"""Builds `model:` targets: who answers the model's calls, and the loop around it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from repeat_eval.errors import Problem, UserError
from repeat_eval.execution.places import place_of
from repeat_eval.models.call import AskModel
from repeat_eval.models.model_target import Asking, ModelTarget, Plain, functions_of
from repeat_eval.models.script import SCRIPT, ScriptedModel
from repeat_eval.records.trial import ErrorKind
from repeat_eval.suite.model_target import ModelTarget as Written
from repeat_eval.suite.model_target import model_problems, model_target
from repeat_eval.suite.spec import CaseSpec, TargetSpec
from repeat_eval.targets.base import Call

if TYPE_CHECKING:
    from repeat_eval.execution.prepare import Workshop


class ModelTargets:
    """The model targets of one side, each distinct one once: by what is written, time limit and retries."""

    def __init__(self, workshop: Workshop) -> None:
        """Build with the settings, the workers and the recordings of `workshop`."""
        self._workshop = workshop
        self._built: list[tuple[tuple[object, ...], ModelTarget]] = []

    def target(
        self, case: CaseSpec, spec: TargetSpec, retries: int, retry_on: frozenset[ErrorKind]
    ) -> tuple[ModelTarget, bool]:
        """The target that a case asks, and whether it was built just now.

        Raises:
            UserError: the model cannot be asked, for instance without its key, or the case's input is no conversation.
        """
        timeout = case.timeout or self._workshop.settings["timeout"]
        key = (spec.value, timeout, retries, retry_on)
        target = next((built for known, built in self._built if known == key), None)
        is_new = target is None
        if target is None:
            target = self._build(spec, timeout, retries, retry_on)
            self._built.append((key, target))
        about = Call(
            case=case.id, input=case.input, repetition=1, repeats=1, seed=0, timeout=None, variables=case.variables
        )
        if problem := target.check(about):
            raise UserError(Problem(f"case {case.id!r}: {problem}", case.file, case.line))
        return target, is_new

    def _build(
        self, spec: TargetSpec, timeout: float | None, retries: int, retry_on: frozenset[ErrorKind]
    ) -> ModelTarget:
        if problems := model_problems(spec.value):  # a suite that was made in Python
            raise UserError([place_of(spec, text, ("model", *path)) for path, _, text in problems])
        written = model_target(spec.value)
        workshop = self._workshop
        pool = workshop.pool() if functions_of(written.tools) else None
        try:
            asking = self._asking(written, timeout, retries, retry_on)
            return ModelTarget(written, asking, folder=workshop.spec.folder, pool=pool)
        except UserError as error:
            key = "settings" if isinstance(error, _SettingsRefused) else "name"
            raise UserError([place_of(spec, one.message, ("model", key)) for one in error.problems]) from None
        except ValueError as error:
            key = "prompt" if written.system is None or "placeholder" in str(error) else "system"
            raise UserError(place_of(spec, str(error), ("model", key))) from None

    def _asking(self, written: Written, timeout: float | None, retries: int, retry_on: frozenset[ErrorKind]) -> Asking:
        workshop = self._workshop
        if written.script is not None:
            seed = workshop.settings["seed"] if workshop.seed is None else workshop.seed
            ask: AskModel = ScriptedModel(written.script, seed)
            if workshop.replays_calls:
                from repeat_eval.models.provider import make_ask

                return make_ask(SCRIPT, workshop.how_to_ask(timeout=timeout, retries=retries, retry_on=retry_on))
            return Plain(ask if workshop.wrap is None else workshop.wrap(ask))
        assert written.name is not None  # noqa: S101 - either a name or a script
        from repeat_eval.models.provider import make_ask

        how = workshop.how_to_ask(timeout=timeout, retries=retries, retry_on=retry_on)
        asker = make_ask(written.name, how, url=written.url, api_key_env=written.api_key_env)
        try:
            asker.check_settings(written.settings)
        except UserError as error:
            raise _SettingsRefused(error.problems) from None
        return asker


class _SettingsRefused(UserError):
    """The model is right, and its settings are not."""
