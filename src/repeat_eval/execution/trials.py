"""One trial from start to end: the target is asked, its answer is graded, and all of it becomes a record."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import msgspec

from repeat_eval.execution.grading import Grade, RemoteCheck, grade
from repeat_eval.records.fingerprints import trial_seed
from repeat_eval.records.trial import CheckResult, Trial, bounded, clean, one_line, sha256_of
from repeat_eval.suite.checks.base import Observation
from repeat_eval.suite.spec import CaseSpec
from repeat_eval.targets.base import Call, Target, TargetError


class PlannedCase(msgspec.Struct, frozen=True, kw_only=True):
    """A case with everything decided that its trials need."""

    spec: CaseSpec
    asked: int
    timeout: float | None
    target: Target


def timed_out(case: PlannedCase, repetition: int, seconds: float) -> Trial:
    """The trial of a target that could not be stopped when its time was up."""
    return Trial(
        case=case.spec.id,
        repetition=repetition,
        outcome="error",
        error_kind="timeout",
        message=f"no answer within {case.timeout:g} s",
        duration=round(seconds, 6),
        attempts=1,
    )


async def run_trial(case: PlannedCase, repetition: int, run_seed: int, remote: RemoteCheck | None) -> Trial:
    """Run one trial. Whatever the target or a check does, the result is a trial with one outcome."""
    spec = case.spec
    started = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    call = Call(
        case=spec.id,
        input=spec.input,
        repetition=repetition,
        repeats=case.asked,
        seed=trial_seed(run_seed, spec.id, repetition),
        timeout=case.timeout,
        variables=spec.variables,
    )
    begin = time.perf_counter()
    try:
        answer, attempts = await case.target.answer(call)
    except TargetError as error:
        return Trial(
            case=spec.id,
            repetition=repetition,
            outcome="error",
            error_kind=error.kind,
            message=one_line(error.message) or error.kind,
            duration=round(time.perf_counter() - begin, 6),
            attempts=getattr(error, "attempts", 1),
            started=started,
        )
    measured = time.perf_counter() - begin
    duration = measured if answer.duration is None else answer.duration
    observation = Observation(
        case=spec.id,
        repetition=repetition,
        input=spec.input,
        answer=answer,
        duration=duration,
        expected=spec.expected,
        variables=spec.variables,
    )
    verdict = await grade(observation, call, spec.checks, remote) if answer.failure is None else _failed(answer.failure)
    text = clean(observation.text)
    return Trial(
        case=spec.id,
        repetition=repetition,
        outcome=verdict.outcome,
        error_kind=verdict.error_kind,
        score=verdict.score,
        checks=verdict.checks,
        message=_with_note(verdict, answer.note),
        output=bounded(text),
        output_sha256=sha256_of(text) if text else None,
        tool_calls=answer.tool_calls,
        turns=answer.turns,
        duration=round(duration, 6),
        cost=answer.cost,
        tokens=answer.tokens,
        attempts=attempts,
        cached=answer.cached,
        started=started,
        judge_cost=verdict.spent.cost if verdict.spent is not None else None,
        judge_tokens=verdict.spent.tokens if verdict.spent is not None else None,
    )


def _failed(why: str) -> Grade:
    """The grade of a trial that the target itself calls a failure; its checks are not asked."""
    return Grade("failed", None, 0.0, (CheckResult("target", False, 0.0, clean(why)),), one_line(why))


def _with_note(verdict: Grade, note: str | None) -> str | None:
    if note is None or verdict.message is None:
        return verdict.message
    return f"{verdict.message}; {note}"
