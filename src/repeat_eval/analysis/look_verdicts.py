"""The verdict of a further look, from its fresh trials and from what the looks before it found."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import msgspec

from repeat_eval.analysis.comparison_text import p_text
from repeat_eval.analysis.look_model import MAX_CASES, MAX_TEXT, Look, LookVerdict
from repeat_eval.analysis.looks import FRESH_OF_SUITE, REGRESSIONS, LookPlan, case_of, first_look, row_of
from repeat_eval.analysis.report import CaseComparison, Comparison, Reason, Report, SideOfCase
from repeat_eval.analysis.suite_figures import in_order, suite_verdict
from repeat_eval.errors import ExitCode
from repeat_eval.statistics.counts import Row
from repeat_eval.statistics.further_looks import Appeal, Escalation, appeal, escalation

_EXIT_CODES = {"pass": ExitCode.PASSED, "fail": ExitCode.GATE_FAILED, "incomplete": ExitCode.INCOMPLETE}


def with_look(report: Report, plan: LookPlan, *, attempt: int, text: str = "") -> Report:
    """The report of a further look, with the verdict that all looks together make.

    Args:
        report: of the fresh trials alone, as any run's. plan: what was asked. attempt: of the workflow run.
        text: one line for a look at the whole suite.
    """
    if plan.asked is not None:
        report, look = _of_fresh_trials(report, plan, attempt)
    elif plan.blame is not None:
        report, look = _whole_appeal(report, plan, attempt, text)
    else:
        look = first_look(report, attempt=attempt, text=text, level=plan.level, number=plan.number, whole=True)
    return msgspec.structs.replace(
        report, looks=(*plan.looks, look), warnings=tuple(dict.fromkeys((*plan.notes, *report.warnings)))
    )


def _of_fresh_trials(report: Report, plan: LookPlan, attempt: int) -> tuple[Report, Look]:
    """Judge fresh trials of chosen cases: nothing but an escalation or an appeal says anything here."""
    asked = plan.asked or {}
    cases, lacking = _fresh(report.comparison, asked)
    kept = [reason for reason in report.reasons if reason.verdict == "incomplete" and reason.gate != "case"]
    blame = plan.blame
    if lacking or (kept and not cases):
        text = f"fresh trials are missing of {lacking[0] if len(lacking) == 1 else f'{len(lacking):,} cases'}"
        kept += [Reason(gate="evidence", verdict="incomplete", text=text)] if lacking else []
        look = _look(plan, attempt, "incomplete", cases, text="no verdict: fresh trials are missing")
        return _judged(report, [*kept, *_still_red(plan)]), look
    if kept:
        return _judged(report, kept), _look(plan, attempt, "incomplete", cases, text="no verdict")
    if blame is not None:
        reasons, look = _appealed(report, plan, blame, cases, attempt)
    else:
        reasons, look = _escalated(report, plan, cases, attempt)
    return _judged(report, reasons), look


def _fresh(comparison: Comparison | None, asked: Mapping[str, int]) -> tuple[list[CaseComparison], list[str]]:
    """The cases with enough fresh verdicts on both sides, and the names of those without."""
    known = {case.id: case for case in comparison.cases} if comparison is not None else {}
    enough = [
        known[case]
        for case, number in asked.items()
        if case in known and 2 * min(known[case].base.verdicts, known[case].head.verdicts) >= max(number, 1)
    ]
    named = {case.id for case in enough}
    return enough, [case for case in asked if case not in named]


def _escalated(
    report: Report, plan: LookPlan, cases: Sequence[CaseComparison], attempt: int
) -> tuple[list[Reason], Look]:
    found = escalation([row_of(case) for case in cases], alpha=plan.alpha, share=plan.share)
    limits = _Limits(report)
    rejected = {cases[at].id for at in found.rejected if limits.cases and limits.far(-(cases[at].delta or 0.0))}
    fell = -((report.comparison.delta if report.comparison else None) or 0.0)
    together = found.suite_rejected and limits.suite and limits.far(fell)
    reasons = [
        Reason(
            gate="case-regression",
            verdict="fail",
            case=case.id,
            observed=case.delta,
            text=f"{_counts(case)} in fresh trials: luck is unlikely (one-sided {p_text(found.adjusted[at])} after "
            f"correction, at this look's level)",
        )
        for at, case in enumerate(cases)
        if case.id in rejected
    ]
    if together:
        text = f"the {len(cases):,} cases of this look together got worse in fresh trials ({p_text(found.suite_p)})"
        reasons.insert(0, Reason(gate="suite-regression", verdict="fail", text=text))
    verdict: LookVerdict = "regressed" if reasons else "no detectable change"
    shown = _sum_up_escalation(found, cases, rejected, together=together)
    look = _look(plan, attempt, verdict, cases, p=found.suite_p, text=shown, regressed=rejected, each=found.p)
    # Blame for all of them together is blame for each: an appeal runs just these again.
    if together and not rejected:
        look = msgspec.structs.replace(
            look, cases=tuple(msgspec.structs.replace(case, regressed=True) for case in look.cases)
        )
    return reasons, look


def _sum_up_escalation(
    found: Escalation, cases: Sequence[CaseComparison], rejected: Collection[str], *, together: bool
) -> str:
    many = f"{len(cases):,} watched case{'s' if len(cases) != 1 else ''}"
    if rejected:
        return f"{len(rejected):,} of {many} got worse"
    return f"{many} together {'got worse' if together else 'show no detectable change'} ({p_text(found.suite_p)})"


def _appealed(
    report: Report, plan: LookPlan, blame: Look, cases: Sequence[CaseComparison], attempt: int
) -> tuple[list[Reason], Look]:
    told = {case.id: case for case in blame.blamed}
    blamed = [case for case in cases if case.id in told]
    rows = [_first(case, FRESH_OF_SUITE) for case in cases] if blame.suite and plan.asked else []
    suite = [row for row in rows if row[1] and row[3]] if blame.suite else None
    found = appeal([row_of(case) for case in blamed], suite=suite)
    regressed = {blamed[at].id for at in found.still_blamed if told[blamed[at].id].regressed}
    failing = {reason.case: reason for reason in report.reasons if reason.gate == "case" and reason.verdict == "fail"}
    below = {case.id for case in blamed if told[case.id].below and case.id in failing}
    reasons = _still_blamed(found, blamed, regressed)
    reasons += [failing[case.id] for case in blamed if case.id in below]
    text = _sum_up_appeal(found, blame, blamed, regressed | below)
    look = _look(
        plan,
        attempt,
        "regressed" if reasons else "cleared",
        blamed,
        p=found.suite_p,
        text=text,
        regressed=regressed,
        below=below,
        suite=found.suite_still_blamed,
        each=found.p,
    )
    return reasons, look


def _still_blamed(found: Appeal, blamed: Sequence[CaseComparison], regressed: Collection[str]) -> list[Reason]:
    reasons = [
        Reason(
            gate="case-regression",
            verdict="fail",
            case=case.id,
            observed=case.delta,
            text=f"{_counts(case)} in fresh trials: they do not clear it (one-sided {p_text(p)})",
        )
        for case, p in zip(blamed, found.p, strict=True)
        if case.id in regressed
    ]
    if found.suite_still_blamed:
        text = f"fresh trials do not clear the suite (one-sided {p_text(found.suite_p or 0.0)})"
        reasons.insert(0, Reason(gate="suite-regression", verdict="fail", text=text))
    return reasons


def _sum_up_appeal(found: Appeal, blame: Look, blamed: Sequence[CaseComparison], left: Collection[str]) -> str:
    parts = [f"{len(left):,} of {len(blamed):,} blamed case{'s' if len(blamed) != 1 else ''} still blamed"] * bool(
        blamed
    )
    if blame.suite:
        parts.append(f"the suite {'still blamed' if found.suite_still_blamed else 'cleared'}")
    return ", ".join(parts) or "nothing was blamed"


def _whole_appeal(report: Report, plan: LookPlan, attempt: int, text: str) -> tuple[Report, Look]:
    """Judge a run of every case after a red look: of regressions only the blame is judged again, the rest as ever."""
    blame = plan.blame
    comparison = report.comparison
    if blame is None or comparison is None or comparison.verdict == "not comparable" or report.verdict == "incomplete":
        look = _look(plan, attempt, "incomplete", [], text=text[:MAX_TEXT])
        return _judged(report, [*report.reasons, *_still_red(plan)]), look
    told = {case.id: case for case in blame.blamed}
    cases = [case for case in comparison.cases if case.base.verdicts and case.head.verdicts]
    # Which cases were blamed beyond those listed is not known: each may be.
    blamed = [case for case in cases if case.id in told or blame.more]
    gone = [case for case in told if case not in {one.id for one in cases}]
    found = appeal([row_of(case) for case in blamed], suite=[row_of(case) for case in cases] if blame.suite else None)
    regressed = {blamed[at].id for at in found.still_blamed if blame.more or told[blamed[at].id].regressed}
    reasons = [reason for reason in report.reasons if reason.gate not in REGRESSIONS or reason.verdict != "fail"]
    reasons += _still_blamed(found, blamed, regressed)
    if gone:
        what = f"{len(gone):,} blamed case{'s have' if len(gone) != 1 else ' has'} no fresh verdicts"
        reasons.append(Reason(gate="evidence", verdict="incomplete", text=what))
    report = _judged(report, reasons)
    as_first = first_look(report, attempt=attempt, text="", level=0.0)
    verdict: LookVerdict = "incomplete" if gone else "regressed" if as_first.red else "cleared"
    return report, msgspec.structs.replace(
        as_first,
        number=plan.number,
        kind="appeal",
        level=None,
        verdict=verdict,
        p=found.suite_p,
        text=_sum_up_appeal(found, blame, blamed, regressed | {case.id for case in as_first.cases if case.below}),
    )


def _still_red(plan: LookPlan) -> list[Reason]:
    """What was blamed before stays blamed while fresh trials say nothing."""
    blame = plan.blame
    if blame is None:
        return []
    return [Reason(gate="suite-regression", verdict="fail", text=f"attempt {blame.attempt} was red: {blame.text}")]


def _judged(report: Report, reasons: Sequence[Reason]) -> Report:
    ordered = in_order(reasons)
    verdict = suite_verdict(ordered)
    return msgspec.structs.replace(report, reasons=tuple(ordered), verdict=verdict, exit_code=int(_EXIT_CODES[verdict]))


def _look(
    plan: LookPlan,
    attempt: int,
    verdict: LookVerdict,
    cases: Sequence[CaseComparison],
    *,
    text: str,
    p: float | None = None,
    regressed: Collection[str] = (),
    below: Collection[str] = (),
    suite: bool = False,
    each: Sequence[float] = (),
) -> Look:
    values: list[float | None] = list(each) or [None] * len(cases)
    listed = [
        case_of(case, regressed=case.id in regressed, below=case.id in below, p=value)
        for case, value in zip(cases, values, strict=True)
        if case.base.verdicts and case.head.verdicts
    ]
    first = [case for case in listed if case.blamed] + [case for case in listed if not case.blamed]
    return Look(
        number=plan.number,
        attempt=attempt,
        kind=plan.kind,
        level=None if plan.kind == "appeal" else plan.level,
        verdict=verdict,
        p=p,
        suite=suite,
        cases=tuple(first[:MAX_CASES]),
        more=sum(case.blamed for case in first[MAX_CASES:]),
        text=text[:MAX_TEXT],
    )


def _counts(case: CaseComparison) -> str:
    return f"passed {_of(case.base)} on base and {_of(case.head)} on head"


def _of(side: SideOfCase) -> str:
    return f"{side.passed}/{side.verdicts}"


def _first(case: CaseComparison, number: int) -> Row:
    """The counts of a case's first fresh trials: each case weighs the same in the suite."""
    return (*_first_of(case.base, number), *_first_of(case.head, number))


def _first_of(side: SideOfCase, number: int) -> tuple[int, int]:
    letters = [letter for letter in side.outcomes if letter in "PF"][:number]
    return letters.count("P"), len(letters)


class _Limits:
    """Which halves of the regression gate block, and how large a fall must be: by the settings of the report."""

    def __init__(self, report: Report) -> None:
        fail_on = self._value(report, "fail_on") or "regression"
        base = report.comparison.base if report.comparison is not None else None
        if base is not None and base.source == "stored" and self._value(report, "gate_stored") is not True:
            fail_on = "none"  # the provider may have changed since
        self.cases = fail_on in ("regression", "case-regression")
        self.suite = fail_on in ("regression", "suite-regression")
        least = self._value(report, "min_effect")
        self._least = float(least) if isinstance(least, (int, float)) else None

    @staticmethod
    def _value(report: Report, name: str) -> object:
        setting = report.settings.get(name)
        return None if setting is None else setting.value

    def far(self, fall: float) -> bool:
        """Whether a fall, in rate, is as large as the gate asks."""
        return self._least is None or round(100.0 * fall, 9) >= self._least
