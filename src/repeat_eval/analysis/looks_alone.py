"""A run without a base in two looks: which cases are run again, and what their fresh trials make of them.

The first look never fails a case by itself (at its threshold one in ten would fail with 3 trials), and the looks are
never pooled. See `statistics.low_rule`.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from repeat_eval.analysis.case_figures import MAX_LETTERS, PASS_HAT_KS, outcome_letters
from repeat_eval.analysis.case_verdicts import Counts, judge
from repeat_eval.analysis.first_look import first_look_of, fresh_trials, too_many_errors
from repeat_eval.analysis.look_evidence import look_counts, look_evidence
from repeat_eval.analysis.looks_alone_model import LooksAlone, LowCase
from repeat_eval.analysis.report import CaseReport, CaseVerdict, Reason
from repeat_eval.analysis.rules import Rules, exact
from repeat_eval.analysis.second_look_model import LookCounts, Outcome
from repeat_eval.analysis.sides import trials_by_case
from repeat_eval.analysis.warnings import fresh_from_cache
from repeat_eval.records.run import CasePlan, Run
from repeat_eval.records.trial import Trial
from repeat_eval.records.two_looks import TwoLooks
from repeat_eval.statistics import repeats
from repeat_eval.statistics.gates import Gate
from repeat_eval.statistics.low_rule import FIXED_REPEATS, could_be_low, low_rule_applies


class Judged(msgspec.Struct, frozen=True):
    """Cases with the verdicts that two looks allow, and what there is to be said beside them."""

    cases: tuple[CaseReport, ...]
    looks: LooksAlone
    reasons: tuple[Reason, ...]
    warnings: tuple[str, ...]

    def once(self) -> list[CaseReport]:
        """The cases that were not run again: of those the trials above are all there is."""
        again = {case.id for case in self.looks.cases}
        return [case for case in self.cases if case.id not in again]

    @property
    def twice(self) -> frozenset[str]:
        """The cases that the rule holds for."""
        return frozenset(case.id for case in self.cases if looks_twice(case.threshold, case.gate))

    def observed(self, reasons: Sequence[Reason]) -> list[Reason]:
        """The reasons; what was observed of a case that was run again are its fresh trials."""
        rates = {case.id: case.fresh_head.pass_rate for case in self.looks.cases}
        return [
            msgspec.structs.replace(reason, observed=rates[reason.case])
            if reason.gate == "case" and reason.case in rates
            else reason
            for reason in reasons
        ]


def looks_twice(threshold: str, gate: Gate) -> bool:
    """Whether a case with this threshold, as written, and this gate may be judged by two looks."""
    return low_rule_applies(exact(threshold), gate)


def low_cases(run: Run, rules: Rules) -> dict[str, int]:
    """Fresh trials by case, in the suite's order, that a whole first look asks for.

    Args:
        run: a run whose header says how it looks twice. rules: how it is judged.
    """
    looks = run.header.second_look
    assert looks  # noqa: S101 - the caller looked
    by_case = trials_by_case(first_look_of(run).trials)
    return {
        plan.id: looks.fresh
        for plan in run.header.cases
        if _wanted(plan, _letters(by_case.get(plan.id, ()), rules), rules)
    }


def judged_alone(run: Run, cases: Sequence[CaseReport], rules: Rules) -> Judged:
    """Cases as two looks without a base judge them; their figures stay those of the first look.

    Args:
        run: with all its trials. cases: of its first look, judged by that alone. rules: how they are judged.
    """
    looks = run.header.second_look
    assert looks  # noqa: S101 - the caller looked
    trials = _asked_for(run, looks)
    by_case = trials_by_case(trials)
    found = {
        case.id: _low_case(case, by_case.get(case.id, ()), asked, rules)
        for case in cases
        if (asked := looks.fresh_trials(case.id)) and looks_twice(case.threshold, case.gate)
    }
    spent = [trial.spent for trial in run.trials]
    known = [cost for cost in spent if cost is not None]
    told = LooksAlone(
        first=looks.first,
        fresh=looks.fresh,
        cases=tuple([low for low, _, _ in found.values()]),
        looked=sum(looks_twice(case.threshold, case.gate) for case in cases),
        ended=looks.first_ended,
        first_trials=sum(case.trials for case in cases),
        fresh_trials=len(trials),
        asked=sum(looks.fresh_trials(case.id) for case in cases),
        cost=sum(known) if known and len(known) == len(spent) else None,
    )
    errors = too_many_errors(run, rules)
    return Judged(
        cases=tuple([_judged(case, found.get(case.id), looks) for case in cases]),
        looks=told,
        reasons=(Reason(gate="max-error-rate", verdict="incomplete", text=errors),) if errors else (),
        warnings=tuple(fresh_from_cache([("head", trials)])),
    )


def _asked_for(run: Run, looks: TwoLooks) -> tuple[Trial, ...]:
    """The fresh trials that were asked for: nobody can add others until a verdict pleases."""
    last = {plan.id: plan.asked + looks.fresh_trials(plan.id) for plan in run.header.cases}
    return tuple([one for one in fresh_trials(run.header, run.trials) if one.repetition <= last[one.case]])


def _wanted(plan: CasePlan, letters: str, rules: Rules) -> bool:
    threshold, gate = plan.threshold or rules.threshold, plan.gate or rules.gate
    if not looks_twice(threshold, gate) or not letters.strip("S"):
        return False
    passed, failed = letters.count("P"), letters.count("F")
    unknown = len(letters) - passed - failed
    return could_be_low(passed, passed + failed, unknown, exact(threshold))


def _letters(trials: Sequence[Trial], rules: Rules) -> str:
    return outcome_letters(sorted(trials, key=lambda trial: trial.repetition), rules.count_as_failed)


def _low_case(case: CaseReport, trials: Sequence[Trial], asked: int, rules: Rules) -> tuple[LowCase, CaseVerdict, str]:
    ordered = sorted(trials, key=lambda trial: trial.repetition)
    letters = outcome_letters(ordered, rules.count_as_failed)
    passed, failed = letters.count("P"), letters.count("F")
    counts = Counts(passed, failed, letters.count("E"), letters.count("S"), max(0, asked - len(letters)))
    verdict, text = judge(counts, case.threshold, case.gate)
    if verdict == "skipped":
        # Skipped trials tell nothing of a case that has failed before.
        verdict, text = "incomplete", "all fresh trials were skipped"
    outcome: Outcome = (
        "incomplete" if verdict == "incomplete" else "confirmed" if verdict == "fail" else "not confirmed"
    )
    first = _counts(_of(case))
    told = f"first {case.passed}/{case.verdicts}" if case.verdicts else "first no verdict"
    told += f" ({lacking})" if (lacking := _of(case).lacking) else ""
    low = LowCase(
        id=case.id,
        outcome=outcome,
        first_head=first,
        fresh_head=_counts(counts),
        pass_hat_k={str(k): repeats.pass_hat_k(passed, passed + failed, k) for k in PASS_HAT_KS},
        outcomes=letters[:MAX_LETTERS],
        evidence=look_evidence(zip(ordered, letters, strict=True)),
    )
    return low, verdict, f"{told}, re-run {text}"


def _of(case: CaseReport) -> Counts:
    return Counts(case.passed, case.failed, case.errors, case.skipped, case.missing)


def _counts(counts: Counts) -> LookCounts:
    return look_counts(
        counts.passed, counts.verdicts, errors=counts.errors, skipped=counts.skipped, missing=counts.missing
    )


def _judged(case: CaseReport, found: tuple[LowCase, CaseVerdict, str] | None, looks: TwoLooks) -> CaseReport:
    if found is not None:
        _, verdict, text = found
        return msgspec.structs.replace(case, verdict=verdict, text=text, needs=None)
    if not looks_twice(case.threshold, case.gate) or case.verdict in ("skipped", "incomplete"):
        return case
    if not could_be_low(case.passed, case.verdicts, case.errors + case.skipped + case.missing, exact(case.threshold)):
        return case
    if looks.first_ended and case.asked >= FIXED_REPEATS:
        # Judged by another threshold than it was run with, and by as many trials as a fixed number has.
        return case
    text = f"{case.passed}/{case.verdicts} may be below {case.threshold} in the first look, which fails no case alone"
    return msgspec.structs.replace(case, verdict="incomplete", text=f"{text}, and it was not run again", needs=None)
