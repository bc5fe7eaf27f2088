"""The second look as a report holds it: what was suspected, what the fresh trials say, and what it cost.

Rates are floats in [0, 1], p-values are one-sided mid-p rounded to 12 decimals, costs are US dollars; unknown is None,
never 0. Rates of the first look and of fresh trials are never added or averaged: cases are re-run because their first
look was low, so pooled rates would be bent.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from repeat_eval.analysis.vocabulary import ComparisonVerdict, Interval

Direction = Literal["down", "up"]
Outcome = Literal["confirmed", "not confirmed", "incomplete"]
LookMode = Literal["side-by-side", "screen", "split"]
LookClaim = Literal["suite", "re-run cases"]
Wording = Literal[
    "incomplete",
    "case-regressed",
    "suite-regressed",
    "together-regressed",
    "case-improved",
    "suite-improved",
    "together-improved",
    "improved-at-first-look",
    "alarm-not-confirmed",
    "cleared",
    "nothing-suspected",
    "not-re-run",
    "alarm-off",
]
"""What there is to say, most important first. `together-…`: the re-run cases together, never the suite."""


class LookCounts(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One side of a case in one look: counts, pass rate and its 95 % Wilson interval, from this look alone.

    Attributes:
        passed: trials that passed. verdicts: trials that passed or failed.
        errors: trials that ended in an error. skipped: trials that were skipped.
        missing: trials that were asked for and not done.
    """

    passed: int
    verdicts: int
    errors: int = 0
    skipped: int = 0
    missing: int = 0
    pass_rate: float | None = None
    interval: Interval | None = None


class LookDifference(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Rates of both sides over the same cases and trials of one look, head minus base, and its 95 % MOVER interval."""

    delta: float
    interval: Interval
    base: float
    head: float
    cases: int


class LookEvidence(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One of head's fresh trials that did not pass: its number, why, how many failed alike, of how many."""

    repetition: int
    message: str
    alike: int
    failing: int


class ReRunCase(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A suspect: both looks side by side, judged by the fresh trials alone.

    Attributes:
        id: the case. direction: what it was suspected of: down, worse on head; up, better.
        outcome: confirmed (rejected by Holm at alpha / 2), not confirmed, or incomplete: fewer than half of its fresh
            verdicts on a side.
        first_base, first_head: the first look. fresh_base, fresh_head: the re-run.
        p1: p of the first look. p2: p of the fresh trials, None without fresh verdicts on both sides.
        adjusted: p2 after Holm over the testable suspects; None when the case was not testable.
        delta, interval: fresh head rate minus fresh base rate, with its 95 % interval.
        pass_hat_k: head's pass^k from the fresh trials, by k.
        outcomes: letters of head's fresh trials (P, F, E, S), bounded to 200. evidence: one that did not pass.
    """

    id: str
    direction: Direction
    outcome: Outcome
    first_base: LookCounts
    first_head: LookCounts
    fresh_base: LookCounts
    fresh_head: LookCounts
    p1: float
    p2: float | None
    adjusted: float | None
    delta: float | None
    interval: Interval | None
    pass_hat_k: dict[str, float | None] = {}
    outcomes: str = ""
    evidence: LookEvidence | None = None


class LookRow(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A case that was run again for an alarm: (passes, verdicts) of its first fresh trials, `rest` of them, by side."""

    id: str
    base: tuple[int, int]
    head: tuple[int, int]


class SuiteHalf(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Both looks at all cases together, in one direction.

    Attributes:
        alarm: whether the first look had every case re-run.
        p1: the first look's p.
        p2: the fresh trials' p: of all cases after an alarm, else of the suspects; 0.5 where there are none.
        p: what decides: both looks combined; p2 where a stored base only screened.
        changed: whether this half rejects at alpha / 2. claim: what it may say then.
    """

    alarm: bool
    p1: float
    p2: float
    p: float
    changed: bool
    claim: LookClaim | None


class LookCalls(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What the looks cost, both sides together, and what a fixed number of repeats would have.

    Attributes:
        first: trials of the first look. fresh: fresh trials. trials: both.
        calls: calls of the target: tries of trials that did not come from a cache.
        asked: fresh trials that the first look asked for.
        most: the most trials that these looks could have taken.
        fixed_repeats: repeats a case and side that would have found a solid case that falls to half as often;
            None if there are none below 200. fixed_trials: the trials that they take.
        saved: fixed_trials less trials; None when nothing was saved, or fresh trials are missing.
        cost: of all trials, None unless all are known.
        cost_saved: the same share of that cost.
    """

    first: int
    fresh: int
    trials: int
    calls: int
    asked: int
    most: int
    fixed_repeats: int | None = None
    fixed_trials: int | None = None
    saved: int | None = None
    cost: float | None = None
    cost_saved: float | None = None


class SecondLook(msgspec.Struct, frozen=True, kw_only=True):
    """Two looks at a change: the result that a report shows.

    Attributes:
        mode: side-by-side; screen: base's first look came from a store and entered no verdict; split: both of base's.
        first, fresh, rest: trials a side: of the first look, of a suspect, and of other cases after an alarm.
        alpha: one-sided budget as written. cut, alarm_below, cap, both: as set; `cap` is what holds for these cases.
        cases: K, cases with verdicts on both sides.
        verdict: what changed. A regression rests on fresh trials, never on the first look alone.
        incomplete: evidence is missing: then no verdict is green.
        incomplete_cases: suspects without half of their fresh verdicts.
        alarm_cut_short: an alarm's re-run stopped early, or gave fewer than half of its verdicts on a side.
        suspects: in the order of their suspicion, down before up; `cleared` are those not confirmed.
        not_rerun: ids of candidates beyond the cap.
        rerun_others: other cases that were re-run for an alarm.
        down, up: all cases together; up is None unless improvements were looked for too.
        improved: None where a stored base only screened.
        first_difference: the first look's. fresh_difference: after an alarm the first `rest` fresh trials of all cases.
            After an alarm the first look is known to be too low, so the fresh one is the headline.
        whole: after an alarm the counts behind `fresh_difference`, suspects among them.
        together: the fresh trials of those suspected of a regression; what "the re-run cases together" means.
        calls: what it cost. chance_half: chance that a case that always passed and fell to half is found by itself.
        wording: what there is to say, most important first.
    """

    mode: LookMode
    first: int
    fresh: int
    rest: int
    alpha: str
    cut: float
    alarm_below: float
    cap: int
    both: bool
    cases: int
    verdict: ComparisonVerdict
    incomplete: bool
    incomplete_cases: tuple[str, ...]
    alarm_cut_short: bool
    suspects: tuple[ReRunCase, ...]
    not_rerun: tuple[str, ...]
    rerun_others: int
    down: SuiteHalf
    up: SuiteHalf | None
    improved: bool | None
    first_difference: LookDifference
    fresh_difference: LookDifference | None
    together: LookDifference | None
    calls: LookCalls
    chance_half: float
    wording: tuple[Wording, ...]
    whole: tuple[LookRow, ...] = ()

    @property
    def cleared(self) -> tuple[ReRunCase, ...]:
        """Re-run, not confirmed."""
        return tuple(case for case in self.suspects if case.outcome == "not confirmed")

    @property
    def confirmed(self) -> tuple[ReRunCase, ...]:
        """Suspects of a regression whose fresh trials confirm it."""
        return tuple(case for case in self.suspects if case.outcome == "confirmed" and case.direction == "down")

    @property
    def regressed(self) -> bool:
        """Whether the regression gate is red."""
        return self.verdict in ("regressed", "mixed")

    @property
    def headline(self) -> LookDifference:
        """The difference to show large."""
        return self.fresh_difference or self.first_difference
