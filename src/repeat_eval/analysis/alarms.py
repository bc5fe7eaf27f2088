"""Which gates would go red on two given sides of an unchanged system, on counts alone, quick enough for thousands.

The rules are those of `analyse` and of the comparison. What rightly alarms is no false alarm: cases that are below
their threshold already, and suite-wide gates that the seen figures do not reach, are left out of the gates they fail.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from repeat_eval.analysis.decision import blocking_levels, decide
from repeat_eval.analysis.rules import Rules, exact
from repeat_eval.analysis.suite_figures import reaches_reliability
from repeat_eval.analysis.unchanged import SeenCase
from repeat_eval.statistics import suite_rates
from repeat_eval.statistics.counts import Count, Row
from repeat_eval.statistics.gates import DECIMALS, gate_min_passes

RUN, PULL_REQUEST, COMPARISON = "run", "pull-request", "comparison"
"""Alarms of several gates together: of a run by itself, of a pull request with a base, and any claimed change."""
REGRESSION = ("suite-regression", "case-regression")

Judge = Callable[[list[Row], list[Row]], set[str]]


def observed_mean(cases: Sequence[SeenCase]) -> Fraction:
    """Mean of the seen case rates; every case needs a verdict."""
    return suite_rates.mean_rate((case.passed, case.verdicts) for case in cases)


def is_below(case: SeenCase) -> bool:
    """Whether a case's seen rate lies below its threshold, so that its alarms are deserved."""
    return case.gate != "none" and Fraction(case.passed, case.verdicts) < exact(case.threshold)


def suite_gates(cases: Sequence[SeenCase], rules: Rules) -> tuple[set[str], dict[str, str]]:
    """The suite-wide absolute gates whose alarms would be false, and the others with the reason.

    Args:
        cases: what was seen, each with a verdict. rules: the settings.
    """
    false: set[str] = set()
    deserved: dict[str, str] = {}

    def sort(gate: str, written: str | None, observed: Fraction | None, name: str) -> None:
        if written is None or observed is None:
            return
        if observed >= exact(written):
            false.add(gate)
        else:
            deserved[gate] = f"{name} is {float(observed):.1%} in this run, below {written}"

    repeated = [case for case in cases if case.verdicts > 1]
    stable = sum(case.passed in (0, case.verdicts) for case in repeated)
    sort(
        "suite-threshold",
        rules.suite_threshold,
        observed_mean(cases) if rules.gate != "none" else None,
        "the mean rate",
    )
    sort("min-stability", rules.min_stability, Fraction(stable, len(repeated)) if repeated else None, "stability")
    if rules.min_reliability is not None and rules.gate != "none":
        if any(_reliable_enough(case, rules) for case in cases):
            false.add("min-reliability")
        else:
            deserved["min-reliability"] = f"no case reaches a pass-to-3 of {rules.min_reliability} in this run"
    return false, deserved


def judge_of(cases: Sequence[SeenCase], rules: Rules) -> Judge:
    """A function that names the gates which would alarm on a draw.

    Gates by the names of a report's reasons; `error-regression` and the two halves of the regression gate are judged
    whatever `fail_on` says, and count for `pull-request` only as far as it does. `run` means that an absolute gate
    alarms on head. On a pull request a case that fails on both sides is not this change and does not count.

    Args:
        cases: what was seen, each with a verdict, in the order of the draws' rows. rules: the settings.
    """
    below = [is_below(case) for case in cases]
    allowed = max(0, rules.max_failing_cases - sum(below))
    thresholds = [exact(case.threshold) for case in cases]
    needs: dict[tuple[int, int], int] = {}
    false_gates, _ = suite_gates(cases, rules)
    reliable = [rules.min_reliability is not None and _reliable_enough(case, rules) for case in cases]

    def failing(position: int, passes: int, verdicts: int) -> bool:
        key = position, verdicts
        if key not in needs:
            needs[key] = gate_min_passes(verdicts, thresholds[position], cases[position].gate) if verdicts else 0
        return passes < needs[key]

    def judge(rows: list[Row], error_rows: list[Row]) -> set[str]:
        alarms: set[str] = set()
        failed = [i for i, row in enumerate(rows) if not below[i] and failing(i, row[2], row[3])]
        if len(failed) > allowed:
            alarms.add("case")
        head = [(row[2], row[3]) for row in rows]
        alarms |= _suite_alarms([count for count in head if count[1]], rules, false_gates)
        if "min-reliability" in false_gates and _unreliable(head, reliable, rules):
            alarms.add("min-reliability")
        red = bool(alarms - {"case"})
        if alarms:
            alarms.add(RUN)
        new = [i for i in failed if not failing(i, rows[i][0], rows[i][1])]
        alarms |= compare(rows, error_rows, rules)
        if red or len(new) > allowed or alarms & counted(rules):
            alarms.add(PULL_REQUEST)
        return alarms

    return judge


def counted(rules: Rules) -> frozenset[str]:
    """The gates on a comparison that block under these rules."""
    blocking = {
        "regression": {*REGRESSION, "error-regression"},
        "suite-regression": {"suite-regression", "error-regression"},
        "case-regression": {"case-regression", "error-regression"},
        "none": set(),
    }[rules.fail_on]
    return frozenset(blocking | ({"non-inferiority"} if rules.require else set()))


def compare(rows: Sequence[Row], error_rows: Sequence[Row], rules: Rules) -> set[str]:
    """The alarms of a comparison: both halves of the regression gate, error rates, non-inferiority, any claim.

    Args:
        rows: (base passes, base verdicts, head passes, head verdicts) a case; cases without a verdict on a side drop.
        error_rows: the same with trials that gave a verdict among attempted ones; empty without errors.
        rules: alpha, minimum effect and margin.
    """
    alpha = rules.spent_alpha
    any_error = any(row[0] < row[1] or row[2] < row[3] for row in error_rows)
    suite_level, error_level = blocking_levels(alpha, any_error=any_error)
    both = [row for row in rows if row[1] and row[3]]
    alarms: set[str] = set()
    if both:
        found = decide(both, float(alpha))
        if found.verdict != "no detectable change":
            alarms.add(COMPARISON)
        if found.suite_regressed and found.p < suite_level and _far(-found.difference.delta, rules):
            alarms.add("suite-regression")
        falls = [both[i][0] / both[i][1] - both[i][2] / both[i][3] for i in found.down.rejected]
        if any(_far(fall, rules) for fall in falls):
            alarms.add("case-regression")
        if rules.require and (rules.margin is None or round(found.difference.low, DECIMALS) <= -rules.margin / 100.0):
            alarms.add("non-inferiority")
    if any_error and decide(error_rows, error_level).suite_regressed:
        alarms.add("error-regression")
    return alarms


def _far(fall: float, rules: Rules) -> bool:
    """Whether a fall, in rate, is as large as the minimum effect asks."""
    return rules.min_effect is None or round(100.0 * fall, 9) >= rules.min_effect


def _suite_alarms(head: list[Count], rules: Rules, false_gates: set[str]) -> set[str]:
    alarms: set[str] = set()
    if "suite-threshold" in false_gates and rules.suite_threshold is not None and head:
        verdict = suite_rates.suite_verdict(head, exact(rules.suite_threshold), rules.gate)
        if verdict == "fail":
            alarms.add("suite-threshold")
    if "min-stability" in false_gates and rules.min_stability is not None:
        repeated = [(c, n) for c, n in head if n > 1]
        stable = sum(c in (0, n) for c, n in repeated)
        if repeated and Fraction(stable, len(repeated)) < exact(rules.min_stability):
            alarms.add("min-stability")
    return alarms


def _reliable_enough(case: SeenCase, rules: Rules) -> bool:
    return Fraction(case.passed, case.verdicts) ** 3 >= exact(rules.min_reliability or "0")


def _unreliable(head: Sequence[Count], reliable: Sequence[bool], rules: Rules) -> bool:
    required = exact(rules.min_reliability or "0")
    return any(
        good and n > 1 and not reaches_reliability(c, n, required, rules)
        for (c, n), good in zip(head, reliable, strict=True)
    )
