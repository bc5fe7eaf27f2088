"""The decision on rows of counts: did the suite change, and which single cases? Counts in, no runs and no reports."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import msgspec

from repeat_eval.analysis.report import ComparisonVerdict
from repeat_eval.statistics.comparison import CaseTest, ExactTest, case_exact, stratified_exact
from repeat_eval.statistics.counts import Row
from repeat_eval.statistics.difference import Difference, suite_difference
from repeat_eval.statistics.gates import DECIMALS
from repeat_eval.statistics.multiplicity import Adjusted, bh_testable, holm_testable

ERROR_SHARE = Fraction(1, 5)
"""What the test of error rates takes of the suite's half of the budget, where any trial ended in an error."""


class Decision(msgspec.Struct, frozen=True):
    """What a comparison decides, in the order of its rows.

    Attributes:
        verdict: `regressed` when `suite_regressed` or a case is rejected downwards, `improved` likewise upwards,
            `mixed` for both, else `no detectable change`.
        test: the suite's exact test. difference: its effect. p: two-sided mid-p, rounded to 12 decimals.
        suite_regressed, suite_improved: p < alpha, and the sign of the difference.
        cases: each case's own test. q: Benjamini-Hochberg at alpha, for the eye.
        down, up: Holm at alpha / 2 over the cases testable in that direction, for the gate.
    """

    verdict: ComparisonVerdict
    test: ExactTest
    difference: Difference
    p: float
    suite_regressed: bool
    suite_improved: bool
    cases: tuple[CaseTest, ...]
    q: Adjusted
    down: Adjusted
    up: Adjusted


def decide(rows: Sequence[Row], alpha: float) -> Decision:
    """Decide over common cases.

    A false-alarm budget alpha for "got worse" goes half to the suite (two-sided p < alpha with a fall is alpha / 2
    one-sided) and half to single cases (Holm 1979 over testable cases, Tarone 1990), so that an unchanged system is
    called regressed in at most alpha of all comparisons; the same holds for improvements.

    Args:
        rows: (base passes, base verdicts, head passes, head verdicts) a case, at least one; both sides need a verdict.
        alpha: in (0, 1).

    Raises:
        ValueError: no row, bad counts, or a bad alpha.
    """
    test, difference = stratified_exact(rows), suite_difference(rows)
    cases = tuple([case_exact(*row) for row in rows])
    q = bh_testable([case.p for case in cases], [case.smallest for case in cases], alpha)
    half = alpha / 2.0
    down = holm_testable([case.p_less for case in cases], [case.smallest_less for case in cases], half)
    up = holm_testable([case.p_greater for case in cases], [case.smallest_greater for case in cases], half)
    p = round(test.p_mid, DECIMALS)
    worse, better = p < alpha and difference.delta < 0, p < alpha and difference.delta > 0
    return Decision(
        verdict=verdict_of(regressed=worse or bool(down.rejected), improved=better or bool(up.rejected)),
        test=test,
        difference=difference,
        p=p,
        suite_regressed=worse,
        suite_improved=better,
        cases=cases,
        q=q,
        down=down,
        up=up,
    )


def blocking_levels(alpha: Fraction, *, any_error: bool) -> tuple[float, float]:
    """Two-sided levels below which a fall of the suite's rate and a rise of the error rate block.

    Three tests cannot spend two halves of a budget. Where any trial of either side ended in an error, errors take a
    fifth of the suite's half: 0.04 and 0.01 of an alpha of 0.05, one-sided 0.02 + 0.005, and single cases keep their
    0.025. How many trials ended in errors on both sides together is what the error test holds fixed, and the tests of
    passes take all errors as given, so choosing the levels by it biases no test.

    Args:
        alpha: one-sided budget of the regression gate, in (0, 1). any_error: whether any trial ended in an error.

    Returns:
        The suite's level and the errors' level.
    """
    share = ERROR_SHARE if any_error else Fraction(0)
    return float(alpha * (1 - share)), float(alpha * ERROR_SHARE)


def verdict_of(*, regressed: bool, improved: bool) -> ComparisonVerdict:
    """The verdict that the two directions make together."""
    if regressed and improved:
        return "mixed"
    return "regressed" if regressed else "improved" if improved else "no detectable change"
