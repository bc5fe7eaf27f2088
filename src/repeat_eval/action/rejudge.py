"""A report that somebody else made, judged again from its counts: what it says about itself is not believed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, get_args

import msgspec

from repeat_eval.action.rejudge_looks import looked_alone, with_two_looks
from repeat_eval.analysis.report import CaseReport, Comparison, Report, SideOfCase
from repeat_eval.errors import UserError
from repeat_eval.records.run import CasePlan, Run, RunFooter, RunHeader, RunSource
from repeat_eval.records.trial import ErrorKind, Outcome, Trial
from repeat_eval.steps.bases import Base
from repeat_eval.steps.judging import report_of, settings_of_run
from repeat_eval.suite.settings import resolve

CASES = 2000
TRIALS_OF_A_CASE = 1000
TRIALS = 100_000
"""Bounds of a report that is judged again: beyond them the exact tests would take minutes."""
_NAME = 500
_TEXTS = 5
_SENTENCE = 500
_IN_NO_COUNT = ("evidence", "no-base")
_LETTERS: dict[str, Outcome] = {"P": "passed", "F": "failed", "E": "error", "S": "skipped"}


def rejudged(report: Report, *, attempt: int = 1) -> Report:
    """The report with verdict, reasons and every figure made anew from its counts, by the settings it was made with.

    What counts cannot say is taken over only where it makes the verdict worse or tells on its author: evidence that is
    missing, and how head weakens its own gate. Messages of failures are kept as they are, bounded. Commits, commands
    and paths are dropped: what the report is about, others must know.

    Args:
        report: as it was read. attempt: of the run that uploaded it, from 1.

    Raises:
        UserError: the counts contradict each other or are beyond the bounds, or the settings are not valid.
    """
    _check_cases([(case.id, case) for case in report.case_reports], "head")
    comparison = report.comparison
    if comparison is not None:
        _check_cases([(case.id, case.base) for case in comparison.cases], "base")
        if len(comparison.removed) > CASES or any(not 0 < len(case) <= _NAME for case in comparison.removed):
            raise UserError("the uploaded report names too many removed cases")
    try:
        judged = _judged(report)
    except UserError:
        raise
    except Exception as error:  # whatever a made-up report can break, it is the report that is wrong
        raise UserError(f"the uploaded report cannot be judged: {type(error).__name__}") from None
    origin = msgspec.structs.replace(judged.provenance, attempt=attempt)
    return msgspec.structs.replace(judged, provenance=origin)


def _judged(report: Report) -> Report:
    comparison = report.comparison
    head = _head(report)
    base = _base(report, comparison) if comparison is not None else None
    stored = None
    if comparison is not None and comparison.second_look is not None and base is not None:
        head, base, stored = with_two_looks(head, base, comparison.second_look)
    elif report.looked_alone is not None:
        head = looked_alone(head, report.looked_alone)
    missing: str | None = None
    if comparison is not None and base is None:
        missing = comparison.text[:_SENTENCE] or "the report gives no reason"
    settings = resolve(("run file", settings_of_run(head)))
    compared: dict[str, Any] = {"base": base, "base_stored": stored, "base_missing": missing}
    judged = report_of(head, settings, wall=report.totals.wall, **compared)
    # Evidence that lacks as a whole, such as a run that broke off or a base that tells nothing, is in no count.
    known = {reason.text for reason in judged.reasons}
    lacking = [
        reason.text[:_SENTENCE]
        for reason in report.reasons
        if reason.gate in _IN_NO_COUNT and reason.text[:_SENTENCE] not in known
    ][:_TEXTS]
    if lacking:
        footer = RunFooter(complete=True, trials=len(head.trials), missing=tuple(lacking))
        head = msgspec.structs.replace(head, footer=footer)
        judged = report_of(head, settings, wall=report.totals.wall, **compared)
    return _with_texts(judged, report)


def _check_cases(cases: Sequence[tuple[str, CaseReport | SideOfCase]], side: str) -> None:
    names = [name for name, _ in cases]
    if len(names) > CASES or len(set(names)) != len(names) or any(not 0 < len(name) <= _NAME for name in names):
        raise UserError(f"the uploaded report's cases of {side} are too many, or have names that cannot be")
    total = 0
    for _, case in cases:
        counts = _counts(case)
        done = sum(counts.values())
        total += done
        asked = done + case.missing
        if min(*counts.values(), case.missing) < 0 or asked > TRIALS_OF_A_CASE:
            raise UserError(f"the uploaded report's counts of {side} cannot be")
        if isinstance(case, CaseReport) and (case.trials != done or not 0 <= case.asked <= TRIALS_OF_A_CASE):
            raise UserError(f"the uploaded report's counts of {side} contradict each other")
    if total > TRIALS:
        raise UserError(f"the uploaded report has more than {TRIALS:,} trials")


def _counts(case: CaseReport | SideOfCase) -> dict[str, int]:
    return {"P": case.passed, "F": case.failed, "E": case.errors, "S": case.skipped}


def _head(report: Report) -> Run:
    changed = set(report.comparison.changed) if report.comparison is not None else set()
    plans = tuple(
        CasePlan(
            id=case.id,
            asked=max(case.asked, 1),
            threshold=case.threshold[:_NAME],
            gate=case.gate,
            case_fingerprint="head" if case.id in changed else None,
        )
        for case in report.case_reports
    )
    trials = [
        trial
        for case in report.case_reports
        for trial in _trials(case.id, case, case.duration.mean if case.duration else None)
    ]
    header = RunHeader(
        suite=report.suite[:_NAME],
        source=_source(report.provenance.source),
        repeats=max((plan.asked for plan in plans), default=1),
        cases=plans,
        settings={name: setting.value for name, setting in report.settings.items()},
        seed=report.provenance.seed or 0,
    )
    return _run(header, trials)


def _source(text: str | None) -> RunSource:
    return next((source for source in get_args(RunSource) if source == text), "suite")


def _base(report: Report, comparison: Comparison) -> Base | None:
    """The base behind a comparison, as far as it tells; None when there was none."""
    if not comparison.cases and not comparison.removed:
        return None
    changed = set(comparison.changed)
    plans = [
        CasePlan(
            id=case.id,
            asked=max(sum(_counts(case.base).values()) + case.base.missing, 1),
            case_fingerprint="base" if case.id in changed else None,
        )
        for case in comparison.cases
    ]
    known = {plan.id for plan in plans}
    plans += [CasePlan(id=case, asked=1) for case in dict.fromkeys(comparison.removed) if case not in known]
    # A stored base is not compared in cases that changed since; they are no new ones.
    left_out = [case.id for case in report.case_reports if case.id in changed - known]
    plans += [CasePlan(id=case, asked=1, case_fingerprint="base") for case in left_out]
    trials = [trial for case in comparison.cases for trial in _trials(case.id, case.base, case.base.duration)]
    header = RunHeader(
        suite=report.suite[:_NAME],
        source=_source(report.provenance.source),
        repeats=max(plan.asked for plan in plans),
        cases=tuple(plans),
    )
    side = comparison.base
    return Base(_run(header, trials), (side.source if side is not None else None) or "file")


def _run(header: RunHeader, trials: Iterable[Trial]) -> Run:
    kept = tuple(trials)
    return Run(header=header, trials=kept, footer=RunFooter(complete=True, trials=len(kept)))


def _trials(name: str, case: CaseReport | SideOfCase, duration: float | None) -> list[Trial]:
    counts = _counts(case)
    letters = case.outcomes
    if Counter(letters) != Counter(counts):
        letters = "".join(letter * number for letter, number in counts.items())
    kinds = iter(_error_kinds(case))
    done = len(letters)
    cost = case.cost / done if case.cost is not None and done else None
    return [
        Trial(
            case=name,
            repetition=number,
            outcome=_LETTERS[letter],
            error_kind=next(kinds) if letter == "E" else None,
            duration=duration,
            cost=cost,
        )
        for number, letter in enumerate(letters, start=1)
    ]


def _error_kinds(case: CaseReport | SideOfCase) -> list[ErrorKind]:
    """A kind for each error; `harness` where the report does not tell it."""
    told = case.error_kinds if isinstance(case, CaseReport) else {}
    known = {kind: told[kind] for kind in get_args(ErrorKind) if told.get(kind, 0) > 0}
    if sum(known.values()) != case.errors:
        return ["harness"] * case.errors
    return [kind for kind, number in known.items() for _ in range(number)]


def _with_texts(judged: Report, told: Report) -> Report:
    """What failed trials said, and how head weakens its own gate, as the report tells it."""
    texts = {case.id: case for case in told.case_reports}
    cases = tuple(
        msgspec.structs.replace(
            case, failures=texts[case.id].failures[:_TEXTS], examples=texts[case.id].examples[:_TEXTS]
        )
        for case in judged.case_reports
        if case.id in texts
    )
    comparison = judged.comparison
    if comparison is not None and told.comparison is not None:
        weakened = tuple(text[:_SENTENCE] for text in told.comparison.gate_changes[:_TEXTS])
        comparison = msgspec.structs.replace(comparison, gate_changes=weakened)
    return msgspec.structs.replace(judged, case_reports=cases, comparison=comparison)
