"""From a target's answer to an outcome: all checks of the case, their scores, and why it did not pass."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Sequence

import msgspec

from repeat_eval.records.trial import CheckResult, ErrorKind, Outcome, clean, one_line
from repeat_eval.suite.checks.base import NoVerdict, Observation, Score
from repeat_eval.suite.spec import ConfiguredCheck
from repeat_eval.targets.base import Call

RemoteCheck = Callable[[ConfiguredCheck, Observation, Call], Awaitable[Score]]
"""Judges with a check whose code is not ours, for instance in a worker; raises NoVerdict."""


class Grade(msgspec.Struct, frozen=True):
    """What the checks of a case make of one answer."""

    outcome: Outcome
    error_kind: ErrorKind | None
    score: float | None
    checks: tuple[CheckResult, ...]
    message: str | None


PASSED_WITHOUT_CHECKS = Grade("passed", None, None, (), None)


async def grade(
    observation: Observation, call: Call, checks: Sequence[ConfiguredCheck], remote: RemoteCheck | None
) -> Grade:
    """Judge one answer.

    A trial passes when all its checks hold. A check that fails makes it fail, whatever the others do; a check without
    verdict makes it an error (kind `judge`) when no other failed. The score is the weighted mean of the checks'
    scores, None when one gave no verdict.
    """
    if not checks:
        return PASSED_WITHOUT_CHECKS
    results: list[CheckResult] = []
    broken: list[str] = []
    for configured in checks:
        try:
            if remote is not None and is_remote(configured):
                score = await remote(configured, observation, call)
            else:
                score = configured.check.evaluate(observation)
        except NoVerdict as error:
            broken.append(f"{configured.name}: {one_line(str(error))}")
        except Exception as error:
            broken.append(f"{configured.name}: {type(error).__name__}: {one_line(str(error))}")
        else:
            results.append(_result(configured, score))
    return _grade(results, checks, broken)


def is_remote(configured: ConfiguredCheck) -> bool:
    """Whether a check's code is the user's and has to be called in a worker."""
    return configured.check.kind == "python"


def _result(configured: ConfiguredCheck, score: Score) -> CheckResult:
    passed = score.passed if configured.pass_score is None else score.score >= configured.pass_score
    message = score.message
    if not passed and message is None:
        wanted = f", wanted {configured.pass_score:g}" if configured.pass_score is not None else ""
        message = f"scored {score.score:.3g}{wanted}"
    return CheckResult(configured.name, passed, score.score, None if message is None else clean(message))


def _grade(results: list[CheckResult], checks: Sequence[ConfiguredCheck], broken: list[str]) -> Grade:
    failing = [result for result in results if not result.passed]
    score = None
    if not broken:
        weight = math.fsum(configured.weight for configured in checks)
        score = math.fsum(r.score * c.weight for r, c in zip(results, checks, strict=True)) / weight
        score = min(1.0, max(0.0, score))
    if failing:
        more = f" (and {len(failing) - 1} more)" if len(failing) > 1 else ""
        message = one_line(failing[0].message or f"{failing[0].name} does not hold") + more
        return Grade("failed", None, score, tuple(results), message)
    if broken:
        return Grade("error", "judge", None, tuple(results), broken[0])
    return Grade("passed", None, score, tuple(results), None)
