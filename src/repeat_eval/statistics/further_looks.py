"""Looking again at one commit on request, without asking until the answer pleases.

The false-alarm budget alpha is divided over all looks beforehand. A look after one that was not red (an escalation)
spends its own share, on fresh trials alone; the chance that any look is red for an unchanged system is then at most the
sum of the shares, for any choice of cases and any reason to stop (Bonferroni's bound). A look after a red one (an
appeal) can only clear, so it needs no share: what is red at the end was red before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from repeat_eval.statistics.comparison import case_exact, stratified_exact
from repeat_eval.statistics.counts import Row
from repeat_eval.statistics.gates import DECIMALS
from repeat_eval.statistics.multiplicity import holm_testable

CASE_LIMIT = 0.25
"""A case that was blamed stays blamed when the one-sided p of its fresh trials is below this."""
SUITE_LIMIT = 0.5
"""A suite that was blamed stays blamed when the one-sided p of the fresh trials of every case is below this."""
MAX_EXTRA_LOOKS = 2
_SHARES: Mapping[int, tuple[Fraction, ...]] = {
    0: (Fraction(1),),
    1: (Fraction(9, 10), Fraction(1, 10)),
    2: (Fraction(8, 10), Fraction(1, 10), Fraction(1, 10)),
}


@dataclass(frozen=True, slots=True)
class Escalation:
    """What a further look after one that was not red finds, in the order of its rows.

    Attributes:
        p: one-sided mid-p of each case, "head is worse", rounded to 12 decimals.
        testable: positions of the cases that could have reached the level.
        adjusted: Holm's adjusted p of each case; 1 for a case that is not testable.
        rejected: positions of the cases that got worse.
        suite_p: one-sided mid-p of all rows together, rounded to 12 decimals; 1/2 when nothing varies.
        suite_rejected: the cases together got worse.
        level: what cases and suite may spend each: alpha times share, halved.
    """

    p: tuple[float, ...]
    testable: tuple[int, ...]
    adjusted: tuple[float, ...]
    rejected: tuple[int, ...]
    suite_p: float
    suite_rejected: bool
    level: float

    @property
    def red(self) -> bool:
        """Whether anything got worse."""
        return self.suite_rejected or bool(self.rejected)


@dataclass(frozen=True, slots=True)
class Appeal:
    """What an appeal leaves of the blame.

    Attributes:
        p: one-sided mid-p of each blamed case, in the order of its rows, rounded to 12 decimals.
        still_blamed: positions of the cases whose p is below `CASE_LIMIT`.
        suite_p: the same of the fresh trials of every case; None when the suite was not blamed.
        suite_still_blamed: the suite was blamed, and `suite_p` is below `SUITE_LIMIT`.
    """

    p: tuple[float, ...]
    still_blamed: tuple[int, ...]
    suite_p: float | None
    suite_still_blamed: bool

    @property
    def red(self) -> bool:
        """Whether any blame is left."""
        return self.suite_still_blamed or bool(self.still_blamed)


def alpha_shares(extra_looks: int) -> tuple[Fraction, ...]:
    """How alpha is divided over the first look and so many further ones; the shares add up to 1.

    With one further look it has the share that each of two has, and the first look gets what is left over: everybody
    takes the first look, and few ask for another.

    Args:
        extra_looks: further looks that may be asked for, from 0 to `MAX_EXTRA_LOOKS`.

    Raises:
        ValueError: any other number.
    """
    if type(extra_looks) is not int or extra_looks not in _SHARES:
        raise ValueError(f"there may be 0 to {MAX_EXTRA_LOOKS} further looks, not {extra_looks!r}")
    return _SHARES[extra_looks]


def escalation(rows: Sequence[Row], *, alpha: float | Fraction, share: float | Fraction) -> Escalation:
    """Judge fresh trials of watched cases at one look's share of alpha, half for single cases and half for all of them.

    Args:
        rows: fresh (base passes, base verdicts, head passes, head verdicts) a case; no row at all finds nothing.
        alpha: the whole one-sided budget, in (0, 1). share: of this look, in (0, 1].

    Raises:
        ValueError: bad counts, a side without a verdict, or a bad alpha or share.
    """
    if not 0 < alpha < 1 or not 0 < share <= 1:
        raise ValueError(f"alpha must lie between 0 and 1 and share above 0 up to 1, not {alpha!r} and {share!r}")
    # Rounded as the p-values are, so that 0.05 * 0.1 / 2 and a p of exactly 1/400 compare equal.
    level = round(float(alpha * share / 2), DECIMALS)
    cases = [case_exact(*row) for row in rows]
    p = tuple(_rounded(case.p_less) for case in cases)
    holm = holm_testable(p, [case.smallest_less for case in cases], level)
    suite_p = _rounded(stratified_exact(rows).p_mid_less)
    return Escalation(p, holm.testable, holm.adjusted, holm.rejected, suite_p, suite_p < level, level)


def appeal(
    blamed: Sequence[Row],
    *,
    suite: Sequence[Row] | None = None,
    case_limit: float = CASE_LIMIT,
    suite_limit: float = SUITE_LIMIT,
) -> Appeal:
    """Judge fresh trials of what an earlier look blamed. Nothing that was not blamed can turn red.

    Args:
        blamed: fresh rows of the cases that were blamed.
        suite: fresh rows of every case where the suite was blamed; None where it was not.
        case_limit, suite_limit: blame stays below these, each in (0, 1).

    Raises:
        ValueError: bad counts, a side without a verdict, or a limit out of range.
    """
    if not 0.0 < case_limit < 1.0 or not 0.0 < suite_limit < 1.0:
        raise ValueError(f"limits must lie between 0 and 1, not {case_limit!r} and {suite_limit!r}")
    p = tuple(_rounded(case_exact(*row).p_less) for row in blamed)
    suite_p = None if suite is None else _rounded(stratified_exact(suite).p_mid_less)
    return Appeal(
        p,
        tuple(position for position, value in enumerate(p) if value < case_limit),
        suite_p,
        suite_p is not None and suite_p < suite_limit,
    )


def _rounded(p: float) -> float:
    return round(p, DECIMALS)
