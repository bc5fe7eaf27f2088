"""The whole suite: totals over the cases, and the gates that look at all of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

import msgspec

from repeat_eval.analysis.rate_text import percent, percent1
from repeat_eval.analysis.report import CaseReport, Reason, ReasonGate, SuiteVerdict, Totals
from repeat_eval.analysis.rules import Rules, exact
from repeat_eval.records.trial import Trial
from repeat_eval.statistics import intervals, repeats, suite_rates

MIN_CASES_FOR_NEW_CASES = 10


def totals_of(cases: Sequence[CaseReport], trials: Sequence[Trial] = (), *, wall: float | None = None) -> Totals:
    """Figures of the whole suite; see `Totals`.

    Args:
        cases: the cases' figures. trials: all trials, for sums over them. wall: seconds that the run took.
    """
    tokens = [trial.tokens for trial in trials if trial.tokens is not None]
    counts = [(case.passed, case.verdicts) for case in cases if case.verdicts]
    rerun = suite_rates.rerun_interval(counts) if counts else None
    new_cases = suite_rates.new_cases_interval(counts) if len(counts) >= MIN_CASES_FOR_NEW_CASES else None
    repeated = [count for count in counts if count[1] > 1]
    scores = [case.score.mean for case in cases if case.score is not None]
    timed = [(case.duration.mean, case.trials) for case in cases if case.duration is not None]
    costs = [case.cost for case in cases if case.cost is not None]
    judging = [case.judge_cost for case in cases if case.judge_cost is not None]
    ratings = [case.reliability.rating for case in cases if case.reliability is not None]
    return Totals(
        cases=len(cases),
        asked=sum(case.asked for case in cases),
        trials=sum(case.trials for case in cases),
        passed=sum(case.passed for case in cases),
        failed=sum(case.failed for case in cases),
        errors=sum(case.errors for case in cases),
        skipped=sum(case.skipped for case in cases),
        missing=sum(case.missing for case in cases),
        flaky=sum(case.flaky for case in cases),
        stable=sum(1 for case in cases if case.verdicts > 1 and not case.flaky),
        broken=sum(case.broken for case in cases),
        within_noise=_having(cases, "within-noise"),
        failing=_having(cases, "fail"),
        incomplete=_having(cases, "incomplete"),
        stability=repeats.stability(repeated) if repeated else None,
        pass_rate=rerun.rate if rerun else None,
        interval=(rerun.low, rerun.high) if rerun else None,
        width=rerun.high - rerun.low if rerun else None,
        new_cases_interval=(new_cases.low, new_cases.high) if new_cases else None,
        pass_hat_k=_mean_pass_hat_k(cases),
        reliable=ratings.count("high"),
        moderate=ratings.count("moderate"),
        unreliable=ratings.count("low") + ratings.count("unreliable"),
        score=math.fsum(scores) / len(scores) if scores else None,
        duration=_weighted_mean(timed),
        cost=math.fsum(costs) if costs else None,
        cost_known=sum(trial.cost is not None for trial in trials),
        tokens_input=_sum_known([one.input for one in tokens]),
        tokens_output=_sum_known([one.output for one in tokens]),
        wall=wall,
        judge_cost=math.fsum(judging) if judging else None,
        judge_cost_known=sum(trial.judge_cost is not None for trial in trials),
    )


def _sum_known(numbers: list[int | None]) -> int | None:
    known = [number for number in numbers if number is not None]
    return sum(known) if known else None


def _having(cases: Sequence[CaseReport], verdict: str) -> int:
    return sum(case.verdict == verdict for case in cases)


def _weighted_mean(pairs: list[tuple[float, int]]) -> float | None:
    total = sum(weight for _, weight in pairs)
    return math.fsum(value * weight for value, weight in pairs) / total if total else None


def _mean_pass_hat_k(cases: Sequence[CaseReport]) -> dict[str, float | None]:
    judged = [case for case in cases if case.verdicts]
    means: dict[str, float | None] = {}
    for k in judged[0].pass_hat_k if judged else ():
        values = [case.pass_hat_k[k] for case in judged]
        known = [value for value in values if value is not None]
        means[k] = math.fsum(known) / len(known) if len(known) == len(values) else None
    return means


Excuses = Mapping[tuple[ReasonGate, str | None], str]
"""Why a gate that is missed does not block, by gate and case (None for the whole suite)."""


def suite_reasons(
    cases: Sequence[CaseReport], totals: Totals, rules: Rules, *, excuses: Excuses | None = None
) -> list[Reason]:
    """Every reason for which the suite does not simply pass, incomplete ones first.

    Args:
        cases: the cases. totals: their totals. rules: how they are judged.
        excuses: failures that do not block, with the reason why; they are told all the same.
    """
    excuses = excuses or {}
    reasons = [*_evidence(cases, totals, rules), *_failing_cases(cases, rules, excuses)]
    reasons += [
        _excused(reason, excuses)
        for reason in (
            _suite_threshold(cases, totals, rules),
            _stability(cases, totals, rules),
            *_reliability(cases, rules),
        )
        if reason is not None
    ]
    return in_order(reasons)


def in_order(reasons: Sequence[Reason]) -> list[Reason]:
    """Reasons by verdict: incomplete, fail, pass; otherwise in their own order."""
    order: dict[SuiteVerdict, int] = {"incomplete": 0, "fail": 1, "pass": 2}
    return sorted(reasons, key=lambda reason: order[reason.verdict])


def _evidence(cases: Sequence[CaseReport], totals: Totals, rules: Rules) -> list[Reason]:
    reasons: list[Reason] = []
    if not cases:
        return [Reason(gate="evidence", verdict="incomplete", text="no case was evaluated")]
    if totals.passed + totals.failed == 0:
        text = "every trial was skipped" if totals.skipped and not totals.errors else "no trial gave a verdict"
        return [Reason(gate="evidence", verdict="incomplete", text=text)]
    attempted = totals.trials - totals.skipped
    if attempted and Fraction(totals.errors, attempted) > exact(rules.max_error_rate):
        reasons.append(
            Reason(
                gate="max-error-rate",
                verdict="incomplete",
                observed=totals.errors / attempted,
                required=float(exact(rules.max_error_rate)),
                text=f"{totals.errors} of {attempted} trials ended in an error, allowed is a share of "
                f"{rules.max_error_rate}{_kinds(cases)}",
            )
        )
    reasons += [
        Reason(gate="case", verdict="incomplete", case=case.id, observed=case.pass_rate, text=case.text)
        for case in cases
        if case.verdict == "incomplete"
    ]
    return reasons


def _kinds(cases: Sequence[CaseReport]) -> str:
    kinds: dict[str, int] = {}
    for case in cases:
        for kind, count in case.error_kinds.items():
            kinds[kind] = kinds.get(kind, 0) + count
    listed = ", ".join(f"{kind} {count}" for kind, count in sorted(kinds.items(), key=lambda item: -item[1]))
    return f" ({listed})" if listed else ""


def _excused(reason: Reason, excuses: Excuses) -> Reason:
    excuse = excuses.get((reason.gate, reason.case))
    if excuse is None or reason.verdict != "fail":
        return reason
    return msgspec.structs.replace(reason, verdict="pass", text=f"{reason.text}; {excuse}")


def _failing_cases(cases: Sequence[CaseReport], rules: Rules, excuses: Excuses) -> list[Reason]:
    every = [case for case in cases if case.verdict == "fail"]
    failing = [case for case in every if ("case", case.id) not in excuses]
    reasons = [
        Reason(
            gate="case",
            verdict="pass",
            case=case.id,
            observed=case.pass_rate,
            required=float(exact(case.threshold)),
            text=f"{case.text}; {excuses['case', case.id]}",
        )
        for case in every
        if ("case", case.id) in excuses
    ]
    if not failing:
        return reasons
    allowed = len(failing) <= rules.max_failing_cases
    reasons += [
        Reason(
            gate="case",
            verdict="pass" if allowed else "fail",
            case=case.id,
            observed=case.pass_rate,
            required=float(exact(case.threshold)),
            text=case.text,
        )
        for case in failing
    ]
    if rules.max_failing_cases:
        word = "allowed" if allowed else "more than allowed"
        reasons.append(
            Reason(
                gate="max-failing-cases",
                verdict="pass" if allowed else "fail",
                observed=float(len(failing)),
                required=float(rules.max_failing_cases),
                text=f"{len(failing)} cases fail, {word} ({rules.max_failing_cases})",
            )
        )
    return reasons


def _suite_threshold(cases: Sequence[CaseReport], totals: Totals, rules: Rules) -> Reason | None:
    """The mean rate against the suite's threshold; trials without a verdict once all passed and once all failed."""
    if rules.suite_threshold is None or totals.pass_rate is None:
        return None
    threshold = exact(rules.suite_threshold)
    judged = [case for case in cases if case.verdicts]
    unknown = [_unknown(case) for case in judged]
    counts = [(case.passed, case.verdicts) for case in judged]
    verdict = suite_rates.suite_verdict(counts, threshold, rules.gate)
    observed = f"mean pass rate {percent1(totals.pass_rate)}"
    if any(unknown):
        worst = [(case.passed, case.verdicts + more) for case, more in zip(judged, unknown, strict=True)]
        best = [(case.passed + more, case.verdicts + more) for case, more in zip(judged, unknown, strict=True)]
        # What was seen is asked too: a bound may have the narrower interval, so that both fail where it does not.
        says = {suite_rates.suite_verdict(bound, threshold, rules.gate) == "fail" for bound in (worst, counts, best)}
        if len(says) > 1:
            return Reason(
                gate="suite-threshold",
                verdict="incomplete",
                observed=totals.pass_rate,
                required=float(threshold),
                text=f"{observed}: trials without a verdict could turn it either way at {rules.suite_threshold}",
            )
    if verdict != "fail":
        return None
    return Reason(
        gate="suite-threshold",
        verdict="fail",
        observed=totals.pass_rate,
        required=float(threshold),
        text=f"{observed} is below the suite threshold {rules.suite_threshold}"
        + (", beyond noise" if rules.gate == "wilson" else ""),
    )


def _unknown(case: CaseReport) -> int:
    """Trials that could have passed or failed and did neither."""
    return case.errors + case.missing + case.skipped


def _stability(cases: Sequence[CaseReport], totals: Totals, rules: Rules) -> Reason | None:
    """The share of stable cases; a trial without a verdict could have agreed with its case's others, or not."""
    judged = [case for case in cases if case.verdicts and case.verdicts + _unknown(case) > 1]
    if rules.min_stability is None or not judged:
        return None
    required = exact(rules.min_stability)
    best = Fraction(sum(not case.flaky for case in judged), len(judged))
    worst = Fraction(sum(not case.flaky and not _unknown(case) for case in judged), len(judged))
    if worst >= required:
        return None
    if best >= required:
        return Reason(
            gate="min-stability",
            verdict="incomplete",
            observed=totals.stability,
            required=float(required),
            text=f"stability lies between {percent(float(worst))} and {percent(float(best))}: trials without a verdict "
            f"could turn it either way at {rules.min_stability}",
        )
    return Reason(
        gate="min-stability",
        verdict="fail",
        observed=totals.stability,
        required=float(required),
        text=f"{totals.flaky} of {totals.stable + totals.flaky} cases are flaky: stability {percent(totals.stability)} "
        f"is below {rules.min_stability}",
    )


def _reliability(cases: Sequence[CaseReport], rules: Rules) -> list[Reason]:
    """Pass-to-3 of every case; trials without a verdict once all passed and once all failed."""
    if rules.min_reliability is None or rules.gate == "none":
        return []
    required = exact(rules.min_reliability)
    reasons = []
    for case in cases:
        unknown = _unknown(case)
        asked = case.verdicts + unknown
        if not case.verdicts or asked < 2:
            continue
        worst, best = (
            reaches_reliability(passed, asked, required, rules) for passed in (case.passed, case.passed + unknown)
        )
        if worst:
            continue
        value = float(Fraction(case.passed, case.verdicts) ** 3)
        turn = "; trials without a verdict could turn it either way" if best else ""
        below = "could be below" if best else "is below"
        reasons.append(
            Reason(
                gate="min-reliability",
                verdict="incomplete" if best else "fail",
                case=case.id,
                observed=value,
                required=float(required),
                text=f"pass-to-3 {percent(value)} {below} {rules.min_reliability}{turn}",
            )
        )
    return reasons


def reaches_reliability(passed: int, verdicts: int, required: Fraction, rules: Rules) -> bool:
    """Whether a case's pass-to-3 reaches what is required, or under the wilson gate could."""
    if Fraction(passed, verdicts) ** 3 >= required:
        return True
    return rules.gate == "wilson" and round(intervals.wilson_interval(passed, verdicts)[1] ** 3, 12) >= required


def suite_verdict(reasons: Sequence[Reason]) -> SuiteVerdict:
    """Incomplete before fail before pass."""
    verdicts = {reason.verdict for reason in reasons}
    return "incomplete" if "incomplete" in verdicts else "fail" if "fail" in verdicts else "pass"
