"""From a target's answer to an outcome: all checks of the case, their scores, and why it did not pass."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Sequence

import msgspec

from repeat_eval.records.trial import CheckResult, ErrorKind, Outcome, Tokens, clean, one_line
from repeat_eval.suite.checks.base import NoVerdict, Observation, Score, Spent
from repeat_eval.suite.spec import ConfiguredCheck
from repeat_eval.targets.base import Call

RemoteCheck = Callable[[ConfiguredCheck, Observation, Call], Awaitable[Score]]
"""Judges with a check that cannot judge by itself: in a worker, or by asking a model; raises NoVerdict."""

REMOTE_KINDS = frozenset({"python", "judge", "similar"})


class _Broken(msgspec.Struct, frozen=True):
    """A check that gave no verdict, and why."""

    kind: ErrorKind
    message: str


class Grade(msgspec.Struct, frozen=True):
    """What the checks of a case make of one answer."""

    outcome: Outcome
    error_kind: ErrorKind | None
    score: float | None
    checks: tuple[CheckResult, ...]
    message: str | None
    spent: Spent | None = None
    """What models that judged cost; None where none was asked."""


PASSED_WITHOUT_CHECKS = Grade("passed", None, None, (), None)


async def grade(
    observation: Observation, call: Call, checks: Sequence[ConfiguredCheck], remote: RemoteCheck | None
) -> Grade:
    """Judge one answer.

    A trial passes when all its checks hold. A check that fails makes it fail, whatever the others do; a check without
    verdict makes it an error (kind `judge`) when no other failed. A missing recording makes it an error (kind
    `recording`) in any case: trials that are replayed need all of their recordings. The score is the weighted mean of
    the checks' scores, None when one gave no verdict.
    """
    if not checks:
        return PASSED_WITHOUT_CHECKS
    results: list[CheckResult] = []
    broken: list[_Broken] = []
    spent: list[Spent] = []
    for configured in checks:
        try:
            if remote is not None and is_remote(configured):
                score = await remote(configured, observation, call)
            else:
                score = configured.check.evaluate(observation)
        except NoVerdict as error:
            broken.append(_Broken(error.kind, f"{configured.name}: {one_line(str(error))}"))
            spent += [error.spent] if error.spent is not None else []
        except Exception as error:
            broken.append(_Broken("judge", f"{configured.name}: {type(error).__name__}: {one_line(str(error))}"))
        else:
            results.append(_result(configured, score))
            spent += [score.spent] if score.spent is not None else []
    graded = _grade(results, checks, broken)
    return msgspec.structs.replace(graded, spent=_together(spent)) if spent else graded


def is_remote(configured: ConfiguredCheck) -> bool:
    """Whether a check has to be called in a worker or has to ask a model."""
    return configured.check.kind in REMOTE_KINDS


def _together(spent: Sequence[Spent]) -> Spent:
    """All of it; a cost or count that is unknown for one check is unknown for all."""
    costs, tokens = [one.cost for one in spent], [one.tokens for one in spent]
    read = [one.input if one is not None else None for one in tokens]
    written = [one.output if one is not None else None for one in tokens]
    return Spent(
        cost=None if None in costs else math.fsum(cost for cost in costs if cost is not None),
        tokens=None if None in tokens else Tokens(input=_sum(read), output=_sum(written)),
    )


def _sum(numbers: Sequence[int | None]) -> int | None:
    return None if None in numbers else sum(number for number in numbers if number is not None)


def _result(configured: ConfiguredCheck, score: Score) -> CheckResult:
    # A judge applies its pass score to every vote; the mean of the votes must not overrule their majority.
    own_verdict = configured.pass_score is None or configured.check.kind == "judge"
    passed = score.passed if own_verdict else score.score >= (configured.pass_score or 0.0)
    message = score.message
    if not passed and message is None:
        wanted = f", wanted {configured.pass_score:g}" if configured.pass_score is not None else ""
        message = f"scored {score.score:.3g}{wanted}"
    return CheckResult(configured.name, passed, score.score, None if message is None else clean(message), score.judge)


def _grade(results: list[CheckResult], checks: Sequence[ConfiguredCheck], broken: list[_Broken]) -> Grade:
    failing = [result for result in results if not result.passed]
    score = None
    if not broken:
        weight = math.fsum(configured.weight for configured in checks)
        score = math.fsum(r.score * c.weight for r, c in zip(results, checks, strict=True)) / weight
        score = min(1.0, max(0.0, score))
    missing = next((one for one in broken if one.kind == "recording"), None)
    if missing is not None:
        return Grade("error", "recording", None, tuple(results), missing.message)
    if failing:
        more = f" (and {len(failing) - 1} more)" if len(failing) > 1 else ""
        message = one_line(failing[0].message or f"{failing[0].name} does not hold") + more
        return Grade("failed", None, score, tuple(results), message)
    if broken:
        return Grade("error", broken[0].kind, None, tuple(results), broken[0].message)
    return Grade("passed", None, score, tuple(results), None)
