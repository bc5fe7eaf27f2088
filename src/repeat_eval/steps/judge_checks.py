"""Which checks of a suite are evaluators that can be tested: those that may say different things of one output."""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence

import msgspec

from repeat_eval.errors import UserError
from repeat_eval.execution.grading import REMOTE_KINDS
from repeat_eval.suite.checks.registry import BUILT_IN
from repeat_eval.suite.judge_settings import model_name
from repeat_eval.suite.settings import ResolvedSettings
from repeat_eval.suite.spec import CaseSpec, ConfiguredCheck


def can_vary(configured: ConfiguredCheck) -> bool:
    """Whether a check may say different things about one output: it asks a model, or its code is the user's."""
    return configured.check.kind in REMOTE_KINDS or configured.check.kind not in BUILT_IN


def evaluators(case: CaseSpec, globs: Sequence[str], models: Sequence[str], settings: ResolvedSettings) -> CaseSpec:
    """The case with the checks that are to be tested, each judge once for each model.

    Args:
        globs: on names of checks; none for all. models: asked instead of the judges' own; none for those.

    Raises:
        UserError: a model is none, or the settings name one, too.
    """
    checks = [
        one
        for one in case.checks
        if can_vary(one) and (not globs or any(fnmatch.fnmatchcase(one.name, glob) for glob in globs))
    ]
    if models:
        checks = [each for one in checks for each in _by_model(one, models, settings)]
    return msgspec.structs.replace(case, checks=tuple(checks))


def _by_model(configured: ConfiguredCheck, models: Sequence[str], settings: ResolvedSettings) -> list[ConfiguredCheck]:
    if configured.check.kind != "judge":
        return [configured]
    if "model" in settings.judge("option", "variable"):
        raise UserError("--model and --set judge.model both say who grades: give one of them")
    written = configured.check.argument
    options = {"rubric": written} if isinstance(written, str) else dict(written)
    options.pop("judges", None)
    made = []
    for name in models:
        try:
            check = type(configured.check)({**options, "model": model_name(name)})
        except ValueError as error:
            raise UserError(f"--model {error}") from None
        made.append(msgspec.structs.replace(configured, name=f"{configured.name} [{name}]", check=check))
    return made


def refuse_nothing(cases: Sequence[CaseSpec], globs: Sequence[str], raters: Sequence[str]) -> None:
    """Complain where no check is left to test, or `raters` choose too few of them to agree.

    Raises:
        UserError: that is so.
    """
    if not cases:
        raise UserError("no case is selected")
    names = list(dict.fromkeys(check.name for case in cases for check in case.checks))
    if names:
        chosen = [name for name in names if any(fnmatch.fnmatchcase(name, glob) for glob in raters)]
        if raters and len(chosen) < 2:
            which = f"only {chosen[0]!r}" if chosen else "no check"
            raise UserError(
                f"--raters {' '.join(raters)} chooses {which}, and agreement needs two; tested are: "
                f"{', '.join(names[:20])}"
            )
        return
    if globs:
        raise UserError(f"no check that can vary has a name like {' or '.join(globs)}")
    raise UserError(
        "no check of the suite can vary: `judge`, `similar`, `python` and checks of your own can, all others say the "
        "same about the same output"
    )
