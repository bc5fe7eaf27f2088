"""The second look: a short first look at every case, then fresh trials on both sides for the few suspects.

Names follow the method: n1 trials a side in the first look; n2 fresh ones for a suspect; n3 for every other case after
an alarm of the whole suite. K cases have verdicts on both sides. All p-values are one-sided mid-p of the exact tests in
`comparison`, rounded to 12 decimals where they meet a level.

Why it is valid: given the first look, suspects and re-run set are fixed and the fresh trials are new, so Holm over the
suspects keeps alpha / 2 whatever rule chose them. Under "no case got worse" the fresh trials' suite p is, given the
first look, as good as uniform, so the sum of both looks' normal scores over the root of 2 is at most standard normal
(inverse normal combination: Bauer and Koehne 1994; Lehmacher and Wassmer 1999). The two halves add up to alpha. That a
red suite half needs P2 < 1/2 only removes rejections.

"Down" is head worse than base. With `both`, the same procedure is held up a second time with base and head swapped.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias

from repeat_eval.statistics.comparison import case_exact, stratified_exact
from repeat_eval.statistics.counts import Row
from repeat_eval.statistics.gates import DECIMALS
from repeat_eval.statistics.multiplicity import Adjusted, holm_testable

Mode: TypeAlias = Literal["side-by-side", "screen", "split"]
Claim: TypeAlias = Literal["suite", "re-run cases"]
Verdict: TypeAlias = Literal["regressed", "improved", "mixed", "no detectable change"]

CLAMP = 1e-12
"""Suite p-values are kept this far from 0 and 1 before they become normal scores: |z| is at most 7.03."""
MIN_CASES = 6
"""Below so many cases a fixed number of repeats is used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SecondLookSettings:
    """How two looks are taken.

    Attributes:
        alpha: one-sided budget of the regression gate, in (0, 1); half for single cases, half for the suite.
        n1: trials a side of every case in the first look, at least 1.
        n2: fresh trials a side of a suspect, at least 1.
        cut: largest one-sided p of the first look with which a case is a candidate, in (0, 1).
        alarm: every other case is re-run too when the first look's suite p is below it; in [0, 0.5], 0: never.
        cap: most suspects; None: max(3, K / 10 rounded up).
        both: suspected improvements are re-run too, and `improved` then rests on fresh trials as well.
        mode: `side-by-side`: both looks on both sides. `screen`: base's first look are all trials of a stored base,
            which enter no verdict. `split`: base cannot be run, both its looks come from the store (see `stored_base`).
    """

    alpha: float = 0.05
    n1: int = 3
    n2: int = 20
    cut: float = 0.30
    alarm: float = 0.10
    cap: int | None = None
    both: bool = False
    mode: Mode = "side-by-side"

    def __post_init__(self) -> None:
        if not 0.0 < self.alpha < 1.0:
            raise ValueError(f"alpha must lie between 0 and 1, not {self.alpha!r}")
        if not 0.0 < self.cut < 1.0:
            raise ValueError(f"cut must lie between 0 and 1, not {self.cut!r}")
        if not 0.0 <= self.alarm <= 0.5:
            raise ValueError(f"alarm must lie between 0 and 0.5, not {self.alarm!r}")
        if self.n1 < 1 or self.n2 < 1:
            raise ValueError(f"each look needs at least one trial, not {self.n1} and {self.n2}")
        if self.cap is not None and self.cap < 1:
            raise ValueError(f"cap must be at least 1, not {self.cap}")
        if self.mode not in ("side-by-side", "screen", "split"):
            raise ValueError(f"mode must be side-by-side, screen or split, not {self.mode!r}")

    @property
    def n3(self) -> int:
        """Fresh trials a side of a case that is re-run for an alarm alone: min(n2, max(n1, 10 - n1))."""
        return min(self.n2, max(self.n1, 10 - self.n1))

    def cap_of(self, cases: int) -> int:
        """Most suspects (in each direction) among so many cases."""
        return self.cap if self.cap is not None else max(3, -(-cases // 10))


@dataclass(frozen=True, slots=True)
class Screened:
    """What the first look makes of one direction. Cases are positions in the rows.

    Attributes:
        p1: one-sided p of each case.
        suspects: re-run with n2 trials a side, the strongest suspicion first.
        left_out: candidates beyond the cap, in the same order: "not re-run".
        suite_p1: P1, one-sided p of all cases together; 1/2 when nothing varies.
        alarm: whether P1, rounded, is below the alarm.
    """

    p1: tuple[float, ...]
    suspects: tuple[int, ...]
    left_out: tuple[int, ...]
    suite_p1: float
    alarm: bool


@dataclass(frozen=True, slots=True)
class FirstLook:
    """What is to be re-run, and why.

    Attributes:
        down: suspected of having got worse. up: of having improved, None unless `both` was set.
        rerun: fresh trials a side of each case that is re-run; empty when nothing is.
    """

    down: Screened
    up: Screened | None
    rerun: Mapping[int, int]

    @property
    def alarm(self) -> bool:
        """Whether every case is re-run."""
        return self.down.alarm or (self.up is not None and self.up.alarm)


@dataclass(frozen=True, slots=True)
class Judged:
    """What the fresh trials make of one direction. Cases are positions in the rows.

    Attributes:
        p2: one-sided p of each suspect's fresh trials; a suspect without fresh verdicts on both sides has none.
        testable: suspects that could have reached alpha / 2.
        adjusted: Holm's adjusted p of the testable suspects.
        rejected: suspects that are named, at alpha / 2.
        suite_p2: P2. z1, z2: normal scores of P1 and P2, clamped.
        combined: Pc, from both looks. deciding: Pc; P2 where a stored base only screened.
        suite: whether the suite half is red.
        claim: what a red suite half says: "suite" after an alarm, otherwise only "re-run cases" together.
    """

    p2: Mapping[int, float]
    testable: tuple[int, ...]
    adjusted: Mapping[int, float]
    rejected: tuple[int, ...]
    suite_p2: float
    z1: float
    z2: float
    combined: float
    deciding: float
    suite: bool
    claim: Claim | None

    @property
    def changed(self) -> bool:
        """Whether either half rejects."""
        return self.suite or bool(self.rejected)


@dataclass(frozen=True, slots=True)
class SecondLook:
    """Both looks together.

    Attributes:
        first: the first look. down: the fresh trials, downwards. up: upwards, None unless `both` was set.
        improved: with `both` by fresh trials, otherwise by the first look; None where a stored base only screened.
        verdict: what changed.
        incomplete_cases: suspects with fewer than n2 / 2 fresh verdicts on a side.
        alarm_cut_short: an alarm asked for the whole suite and not all of it was re-run.
    """

    first: FirstLook
    down: Judged
    up: Judged | None
    improved: bool | None
    verdict: Verdict
    incomplete_cases: tuple[int, ...]
    alarm_cut_short: bool

    @property
    def incomplete(self) -> bool:
        """Whether evidence is missing: then a verdict without a regression is not green."""
        return bool(self.incomplete_cases) or self.alarm_cut_short


def low(rows: Sequence[Row]) -> float:
    """One-sided stratified exact mid-p for "head is worse": P(T < t) + P(T = t) / 2; 1/2 when nothing varies."""
    return stratified_exact(rows).p_mid_less


def suspects(rows: Sequence[Row], p1: Sequence[float], cut: float, cap: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The cases that are suspected of having got worse, the strongest suspicion first.

    Candidates have a lower rate on head than on base and p1 <= cut. They are ordered by p1, equal ones by the higher
    rate on base, and those equal in both by their place.

    Args:
        rows: the first look. p1: its p-values, rounded to 12 decimals.
        cut: see `SecondLookSettings`. cap: most suspects.

    Returns:
        The first `cap` of them, and the others.
    """
    candidates = [
        (p, -Fraction(base_c, base_n), position)
        for position, ((base_c, base_n, head_c, head_n), p) in enumerate(zip(rows, p1, strict=True))
        if base_c * head_n > head_c * base_n and p <= cut
    ]
    order = tuple([position for _, _, position in sorted(candidates)])
    return order[:cap], order[cap:]


def first_look(rows: Sequence[Row], settings: SecondLookSettings) -> FirstLook:
    """Decide what is re-run.

    Args:
        rows: the first look's counts of the cases with verdicts on both sides; with a stored base that screens, base's
            counts are all that it has.
        settings: see there.

    Raises:
        ValueError: bad counts, or a side without a verdict.
    """
    down = _screen(rows, settings)
    up = _screen(_swapped(rows), settings) if settings.both else None
    rerun: dict[int, int] = {}
    for screened in (down, up):
        if screened is not None:
            rerun |= dict.fromkeys(screened.suspects, settings.n2)
    if down.alarm or (up is not None and up.alarm):
        rerun = dict.fromkeys(range(len(rows)), settings.n3) | rerun
    return FirstLook(down, up, rerun)


def second_look(
    rows: Sequence[Row],
    fresh: Mapping[int, Row],
    settings: SecondLookSettings,
    *,
    fresh_suite: Mapping[int, Row] | None = None,
    cut_short: bool = False,
) -> SecondLook:
    """Decide by both looks.

    Args:
        rows: as for `first_look`.
        fresh: counts of the fresh trials, by position in `rows`: everything that was asked for of each re-run case.
            A case without fresh verdicts on a side may be left out or have zeros.
        settings: as for `first_look`.
        fresh_suite: after an alarm the first n3 fresh trials of every case, by position.
        cut_short: whether the re-run stopped before all its trials were done, for want of budget or time.

    Raises:
        ValueError: bad counts, or an alarm without `fresh_suite`.
    """
    first = first_look(rows, settings)
    if first.alarm and fresh_suite is None:
        raise ValueError("after an alarm the first fresh trials of every case are needed")
    whole = fresh_suite or {}
    down = _judge(first.down, fresh, whole, settings)
    up = None
    if first.up is not None:
        up = _judge(first.up, _swapped_map(fresh), _swapped_map(whole), settings)
    improved = up.changed if up is not None else _improved_at_first(rows, first, settings)
    watched = [*first.down.suspects, *(first.up.suspects if first.up is not None else ())]
    return SecondLook(
        first=first,
        down=down,
        up=up,
        improved=improved,
        verdict=_verdict(regressed=down.changed, improved=bool(improved)),
        incomplete_cases=tuple([case for case in watched if _too_few(fresh.get(case), settings.n2)]),
        alarm_cut_short=first.alarm and cut_short,
    )


def combine(p1: float, p2: float) -> tuple[float, float, float]:
    """Inverse normal combination with equal weights: z = -Phi^-1(P) with P clamped, Pc = 1 - Phi((z1 + z2) / root 2).

    Args:
        p1: the first look's one-sided p. p2: that of the fresh trials.

    Returns:
        z1, z2 and Pc.
    """
    from statistics import NormalDist

    normal = NormalDist()
    z1, z2 = (-normal.inv_cdf(min(max(p, CLAMP), 1.0 - CLAMP)) for p in (p1, p2))
    # (z1 + z2) / root 2 divided by root 2 again, as erfc has it.
    return z1, z2, math.erfc((z1 + z2) / 2.0) / 2.0


def _screen(rows: Sequence[Row], settings: SecondLookSettings) -> Screened:
    p1 = tuple([round(case_exact(*row).p_less, DECIMALS) for row in rows])
    chosen, left_out = suspects(rows, p1, settings.cut, settings.cap_of(len(rows)))
    suite_p1 = low(rows)
    return Screened(p1, chosen, left_out, suite_p1, round(suite_p1, DECIMALS) < settings.alarm)


def _judge(
    screened: Screened, fresh: Mapping[int, Row], whole: Mapping[int, Row], settings: SecondLookSettings
) -> Judged:
    half = settings.alpha / 2.0
    rows = {case: fresh[case] for case in screened.suspects if case in fresh and _has_verdicts(fresh[case])}
    p2, holm = _holm(rows, half)
    cases = tuple(rows)
    together = [row for row in whole.values() if _has_verdicts(row)] if screened.alarm else list(rows.values())
    suite_p2 = low(together)
    z1, z2, combined = combine(screened.suite_p1, suite_p2)
    deciding = suite_p2 if settings.mode == "screen" else combined
    suite = round(deciding, DECIMALS) < half and round(suite_p2, DECIMALS) < 0.5
    return Judged(
        p2=p2,
        testable=tuple([cases[position] for position in holm.testable]),
        adjusted={cases[position]: round(holm.adjusted[position], DECIMALS) for position in holm.testable},
        rejected=tuple([cases[position] for position in holm.rejected]),
        suite_p2=suite_p2,
        z1=z1,
        z2=z2,
        combined=combined,
        deciding=deciding,
        suite=suite,
        claim=("suite" if screened.alarm else "re-run cases") if suite else None,
    )


def _holm(rows: Mapping[int, Row], level: float) -> tuple[dict[int, float], Adjusted]:
    tests = [case_exact(*row) for row in rows.values()]
    p = [round(test.p_less, DECIMALS) for test in tests]
    return dict(zip(rows, p, strict=True)), holm_testable(p, [test.smallest_less for test in tests], level)


def _improved_at_first(rows: Sequence[Row], first: FirstLook, settings: SecondLookSettings) -> bool | None:
    if settings.mode == "screen":
        return None
    half = settings.alpha / 2.0
    if round(1.0 - first.down.suite_p1, DECIMALS) < half:
        return True
    return bool(_holm(dict(enumerate(_swapped(rows))), half)[1].rejected)


def _too_few(row: Row | None, asked: int) -> bool:
    return row is None or 2 * min(row[1], row[3]) < asked


def _has_verdicts(row: Row) -> bool:
    return row[1] > 0 and row[3] > 0


def _swapped(rows: Sequence[Row]) -> list[Row]:
    return [(head_c, head_n, base_c, base_n) for base_c, base_n, head_c, head_n in rows]


def _swapped_map(rows: Mapping[int, Row]) -> dict[int, Row]:
    return dict(zip(rows, _swapped(list(rows.values())), strict=True))


def _verdict(*, regressed: bool, improved: bool) -> Verdict:
    if regressed and improved:
        return "mixed"
    return "regressed" if regressed else "improved" if improved else "no detectable change"
