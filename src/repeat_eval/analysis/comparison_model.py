"""The comparison of base and head as a report holds it: both sides, single cases, what changed and how surely.

Rates are floats in [0, 1]; durations are seconds; costs are US dollars; unknown is None, never 0.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from repeat_eval.analysis.second_look_model import SecondLook
from repeat_eval.analysis.vocabulary import BaseSource, CaseChange, CaseVerdict, ComparisonVerdict, Interval, Level


class SideOfCase(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One side of a case in a comparison: counts, rate with its 95 % Wilson interval, and the side's own verdict."""

    passed: int
    failed: int
    errors: int
    missing: int
    pass_rate: float | None
    interval: Interval | None
    verdict: CaseVerdict
    outcomes: str
    flaky: bool
    skipped: int = 0
    duration: float | None = None
    """Mean seconds a trial."""
    cost: float | None = None
    """Sum of known costs, US dollars."""
    judge_cost: float | None = None
    """Sum of what judging is known to have cost, US dollars; not part of `cost`."""

    @property
    def verdicts(self) -> int:
        """Number of trials that gave a verdict."""
        return self.passed + self.failed


class CaseComparison(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One case that both sides have.

    Attributes:
        id: the case. base, head: its two sides.
        delta: head rate minus base rate. interval: its 95 % interval (MOVER; Newcombe's method 10).
        p: two-sided mid-p. q: Benjamini-Hochberg over the testable cases, 1 when untestable; for the eye.
            All p and q are rounded to 12 decimals: 3/3 against 0/3 is exactly 0.05.
        testable: whether any outcome at these numbers could be significant.
        adjusted_down, adjusted_up: one-sided mid-p after Holm over the cases testable in that direction; for the gate.
        rejected_down, rejected_up: whether Holm rejects at alpha / 2.
        level: significance level of p.
        change: what happened to the case. `regressed`, `newly broken` (no pass left) and `improved`, `fixed` (passes
            everything again) need significance (Holm, or q <= alpha); `newly flaky` and `newly stable` (passes
            everything now, did not always on base) tell what is seen without claiming a change.
            `not judged`: a side has no verdict.
        watch: it fell without evidence (one-sided p at most 0.3): may be luck.
        not_this_change: it fails its threshold and did on base, or was below it there, and it did not get significantly
            worse.
        definition_changed: input or checks differ between the sides.
        second_look: what the second look made of it: confirmed, not confirmed, incomplete, or not re-run though
            suspected; None for a case that nobody suspected, and where there was one look. With two looks the counts,
            delta, interval, p and q are of the first; adjusted, rejected, change and watch (at most three suspects)
            come from the fresh trials, which are in the comparison's `second_look`.
    """

    id: str
    base: SideOfCase
    head: SideOfCase
    delta: float | None
    interval: Interval | None
    p: float | None
    q: float | None
    testable: bool
    adjusted_down: float | None
    adjusted_up: float | None
    rejected_down: bool
    rejected_up: bool
    level: Level
    change: CaseChange
    watch: bool
    not_this_change: bool
    definition_changed: bool = False
    second_look: Literal["confirmed", "not confirmed", "incomplete", "not re-run"] | None = None


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """One side of a comparison over the common cases.

    Attributes:
        pass_rate: weighted rate over common cases, so that head minus base is the difference. interval: its
            variance-ratio Wilson interval.
        passed, verdicts: counts over common cases. errors, trials: over all cases that both sides have, judged or not.
        flaky: cases that disagree.
        rerun_rate, rerun_interval: plain mean of the case rates with the re-run interval, and its width.
        pass_hat_k: mean pass^k over common cases. duration: mean seconds a trial. cost: sum of known costs, without
            what judging cost, which is judge_cost.
        commit, source, started, target_fingerprint: where the side comes from.
    """

    pass_rate: float | None
    interval: Interval | None
    passed: int
    verdicts: int
    errors: int
    trials: int
    flaky: int
    rerun_rate: float | None = None
    rerun_interval: Interval | None = None
    width: float | None = None
    pass_hat_k: dict[str, float | None] = {}
    duration: float | None = None
    cost: float | None = None
    judge_cost: float | None = None
    commit: str | None = None
    source: BaseSource | None = None
    started: str | None = None
    target_fingerprint: str | None = None


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """A change of latency, cost or error rate.

    Attributes:
        base, head: the two figures: mean over cases of seconds or dollars a trial, or share of attempted trials
            that were errors.
        ratio: head / base, geometric mean over cases for latency and cost; None when base is 0.
        interval: the ratio's 95 % interval; None for error rates and below five cases.
        p: two-sided, None below five cases of latency or cost. level: of p. cases: how many cases entered.
    """

    base: float
    head: float
    ratio: float | None
    interval: Interval | None
    p: float | None
    level: Level
    cases: int


class NewCases(msgspec.Struct, frozen=True, kw_only=True):
    """Would new cases like these change? Paired t over the differences of case rates, from 10 common cases on."""

    delta: float
    interval: Interval
    p: float
    cases: int


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """Base and head side by side.

    Attributes:
        verdict: from p and the sign of delta, and from single cases (Holm). text: why it is not comparable, or the
            claim in one sentence.
        delta: weighted difference head - base in rate. interval: its 95 % MOVER interval.
        p: two-sided mid-p of the stratified exact test, rounded to 12 decimals (0 means below 1e-12). p_exact: the
            conservative one.
        p_down, p_up: one-sided mid-p. level: of p. suite_regressed, suite_improved: two-sided p < alpha and its sign.
        common, varied, testable: numbers of cases with verdicts on both sides, which alone enter the figures; of those
            where not every trial agrees over both sides; that could be tested alone at these numbers.
        added, removed, changed: ids of cases only head has, only base has, or whose definition differs. Cases that one
            side was told not to run are in none of them.
        new_cases: the secondary question; None below 10 common cases.
        detectable: smallest change of the suite found with 80 % power, in rate. detectable_case: (passes, of) of a
            case that passed everything on base and would just be found regressed by itself, beside the cases that can
            be tested here; None if none would.
        errors: error rates by the same exact test; None without any error. duration, cost: changes on case means.
        alpha: false-alarm budget as written.
        second_look: both looks, where there were two: then the figures here are those of the first look, and the
            verdict, suite_regressed (all cases together, or the re-run ones: see its claim) and what happened to cases
            come from both. None where a fixed number of repeats was used.
        cases: the cases that both sides have, in head's order, those without a verdict too.
    """

    verdict: ComparisonVerdict
    text: str
    delta: float | None = None
    interval: Interval | None = None
    p: float | None = None
    p_exact: float | None = None
    p_down: float | None = None
    p_up: float | None = None
    level: Level = "noise"
    suite_regressed: bool = False
    suite_improved: bool = False
    common: int = 0
    varied: int = 0
    testable: int = 0
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    base: Side | None = None
    head: Side | None = None
    new_cases: NewCases | None = None
    detectable: float | None = None
    detectable_case: tuple[int, int] | None = None
    errors: Change | None = None
    duration: Change | None = None
    cost: Change | None = None
    alpha: str = "0.05"
    cases: tuple[CaseComparison, ...] = ()
    gate_changes: tuple[str, ...] = ()
    """How head's own settings weaken its gate, and where its recordings answer otherwise than base's own; a sentence
    each."""
    second_look: SecondLook | None = None
