"""The report: everything that any surface shows, decided once. Surfaces render it; `report.json` is it.

Rates and scores are floats in [0, 1]; durations are seconds; costs are US dollars; unknown is None, never 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, SupportsIndex, overload

import msgspec

REPORT_SCHEMA = "repeat-eval/report/1"

Gate = Literal["wilson", "strict", "none"]
CaseVerdict = Literal["pass", "within-noise", "fail", "incomplete", "skipped"]
SuiteVerdict = Literal["pass", "fail", "incomplete"]
Rating = Literal["high", "moderate", "low", "unreliable"]
ReasonGate = Literal[
    "case",
    "suite-threshold",
    "min-stability",
    "max-failing-cases",
    "min-reliability",
    "max-error-rate",
    "evidence",
    "suite-regression",
    "case-regression",
    "error-regression",
    "non-inferiority",
    "removed-cases",
    "no-base",
]
ComparisonVerdict = Literal["regressed", "improved", "mixed", "no detectable change", "not comparable"]
CaseChange = Literal[
    "regressed", "improved", "newly broken", "fixed", "newly flaky", "newly stable", "unchanged", "not judged"
]
Level = Literal["strong", "significant", "marginal", "noise"]
BaseSource = Literal["side-by-side", "file", "stored"]
Interval = tuple[float, float]


class Reason(msgspec.Struct, frozen=True, kw_only=True):
    """One reason for a suite verdict other than `pass`: which gate, what was observed, what is required.

    `text` is a whole sentence without a final stop; `verdict` is what this reason alone makes of the suite.
    """

    gate: ReasonGate
    verdict: SuiteVerdict
    text: str
    case: str | None = None
    observed: float | None = None
    required: float | None = None


class Totals(msgspec.Struct, frozen=True, kw_only=True):
    """Figures of the whole suite.

    Attributes:
        cases: number of cases. asked: trials asked for. trials: trials done, whatever their outcome.
        passed, failed, errors, skipped: trials by outcome; they add up to `trials`.
        missing: asked for and never done.
        flaky, stable, broken: cases that disagree, agree, never pass. within_noise, failing, incomplete: by verdict.
        stability: share of cases (with two verdicts or more) whose trials all agree.
        pass_rate: mean of the case rates over cases with a verdict. interval: its re-run 95 % interval.
        width: the interval's width. new_cases_interval: from 10 cases on, else None.
        pass_hat_k: mean of the cases' pass^k, by k; None where a case has fewer than k verdicts.
        reliable, moderate, unreliable: cases by reliability rating (unreliable counts low ones too).
        score: mean of the cases' mean scores.
        duration: mean seconds of a trial. cost: sum of known costs. cost_known: trials whose cost is known.
        tokens_input, tokens_output: sums of known tokens. wall: seconds that the run took.
    """

    cases: int
    asked: int
    trials: int
    passed: int
    failed: int
    errors: int
    skipped: int
    missing: int
    flaky: int
    stable: int
    broken: int
    within_noise: int
    failing: int
    incomplete: int
    stability: float | None
    pass_rate: float | None
    interval: Interval | None
    width: float | None
    new_cases_interval: Interval | None
    pass_hat_k: dict[str, float | None] = {}
    reliable: int = 0
    moderate: int = 0
    unreliable: int = 0
    score: float | None = None
    duration: float | None = None
    cost: float | None = None
    cost_known: int = 0
    tokens_input: int | None = None
    tokens_output: int | None = None
    wall: float | None = None


class Reliability(msgspec.Struct, frozen=True):
    """Plug-in pass-to-3 rating of a case with the interval [low^3, high^3] of its Wilson limits."""

    rating: Rating
    value: float
    interval: Interval
    insufficient: bool
    """True when a rating of `high` comes from fewer than 5 trials: print "insufficient" instead."""


class Majority(msgspec.Struct, frozen=True):
    """Majority vote over the verdicts: `pass`, `fail` or `tie`, and the share that agrees with it."""

    verdict: Literal["pass", "fail", "tie"]
    confidence: float


class ScoreFigures(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Scores of a case's trials: mean, population standard deviation, and five fixed bins over [0, 1].

    `histogram` and `bimodal` are None when a score lies outside [0, 1], or all scores are 0 or 1.
    """

    mean: float
    std: float
    histogram: tuple[int, ...] | None = None
    bimodal: bool | None = None


class CheckFigures(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One check over all trials of a case: how often it held, its mean score, its majority."""

    name: str
    passed: int
    failed: int
    score: float
    majority: Majority


class DurationFigures(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Seconds a trial took: mean, median and slowest over the trials whose duration is known."""

    mean: float
    median: float
    max: float


class Example(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One trial shown as evidence; every text is at most 2 KB."""

    repetition: int
    outcome: Literal["passed", "failed", "error", "skipped"]
    error_kind: str | None = None
    message: str | None = None
    output: str | None = None
    checks: tuple[str, ...] = ()
    """Messages of the checks that failed."""


class CaseReport(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Figures and verdict of one case.

    Attributes:
        id: the case. verdict: what the gate makes of it. threshold: as written. gate: the rule that was used.
        needs: passes needed of the verdicts there are, for the gate to pass.
        asked, trials, passed, failed, errors, skipped, missing: counts of trials.
        outcomes: one letter a trial in order of repetition (P, F, E, S), bounded to 200.
        pass_rate: passed / (passed + failed). interval: its 95 % Wilson interval. width: the interval's width.
        pass_hat_k: unbiased "k drawn trials all pass", None for k above the verdicts there are; pass_at_k likewise
            "at least one of k"; pass_at_k_plugin and pass_to_k are the plug-in forms.
        flaky: some trials pass and some do not. broken: no trial passes.
        error_kinds: error trials by kind. failures: failure messages with how many trials share them.
        turns: mean turns. tokens: mean tokens a trial, input and output together. cost: sum of known costs.
        retried: trials that took more than one attempt. text: one sentence that explains the verdict.
        reported_rate: the pass rate as reported where the verdict is `incomplete`.
    """

    id: str
    verdict: CaseVerdict
    threshold: str
    gate: Gate
    needs: int | None
    asked: int
    trials: int
    passed: int
    failed: int
    errors: int
    skipped: int
    missing: int
    outcomes: str
    pass_rate: float | None
    interval: Interval | None
    width: float | None
    pass_hat_k: dict[str, float | None]
    pass_at_k: dict[str, float | None]
    pass_at_k_plugin: dict[str, float | None]
    pass_to_k: dict[str, float | None]
    reliability: Reliability | None
    majority: Majority | None
    flaky: bool
    broken: bool
    score: ScoreFigures | None = None
    checks: tuple[CheckFigures, ...] = ()
    duration: DurationFigures | None = None
    cost: float | None = None
    tokens: float | None = None
    turns: float | None = None
    retried: int = 0
    error_kinds: dict[str, int] = {}
    failures: tuple[tuple[str, int], ...] = ()
    examples: tuple[Example, ...] = ()
    text: str = ""
    tags: tuple[str, ...] = ()
    file: str | None = None
    line: int | None = None

    @property
    def verdicts(self) -> int:
        """Number of trials that gave a verdict: passed + failed."""
        return self.passed + self.failed


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


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """One side of a comparison over the common cases.

    Attributes:
        pass_rate: weighted rate over common cases, so that head minus base is the difference. interval: its
            variance-ratio Wilson interval.
        passed, verdicts: counts over common cases. errors, trials: over all cases that both sides have, judged or not.
        flaky: cases that disagree.
        rerun_rate, rerun_interval: plain mean of the case rates with the re-run interval, and its width.
        pass_hat_k: mean pass^k over common cases. duration: mean seconds a trial. cost: sum of known costs.
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
    """How head's own settings weaken its gate, a sentence each."""


class Setting(msgspec.Struct, frozen=True):
    """A setting's value as written and where it came from: `option`, `variable`, `suite` or `default`."""

    value: Any
    source: Literal["option", "variable", "suite", "default", "run file"]


class Provenance(msgspec.Struct, frozen=True, kw_only=True):
    """Where the figures come from, so that they can be made again."""

    commit: str | None = None
    seed: int | None = None
    version: str | None = None
    attempt: int = 1
    source: str | None = None
    started: str | None = None
    command: str | None = None
    selection: tuple[str, ...] = ()
    files: tuple[str, ...] = ()


class HistoryPoint(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An earlier run of the default branch: its pass rate with the re-run 95 % interval, and the suite's verdict."""

    commit: str
    started: str
    pass_rate: float | None
    interval: Interval | None
    verdict: SuiteVerdict


class CaseList(tuple[CaseReport, ...]):
    """The cases of a report in suite order; `report.cases["id"]` finds one by its id."""

    __slots__ = ()

    @overload
    def __getitem__(self, key: SupportsIndex) -> CaseReport: ...
    @overload
    def __getitem__(self, key: slice) -> tuple[CaseReport, ...]: ...
    @overload
    def __getitem__(self, key: str) -> CaseReport: ...
    def __getitem__(self, key: SupportsIndex | slice | str) -> CaseReport | tuple[CaseReport, ...]:
        """Find by position, slice or id; an unknown id raises KeyError."""
        if isinstance(key, str):
            for case in self:
                if case.id == key:
                    return case
            raise KeyError(key)
        return super().__getitem__(key)


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What one run says, decided. The spine of `report.json` (schema `repeat-eval/report/1`)."""

    schema: str = REPORT_SCHEMA
    suite: str
    verdict: SuiteVerdict
    exit_code: int
    gate: Gate
    reasons: tuple[Reason, ...]
    totals: Totals
    case_reports: tuple[CaseReport, ...] = msgspec.field(name="cases")
    comparison: Comparison | None = None
    settings: dict[str, Setting] = {}
    warnings: tuple[str, ...] = ()
    history: tuple[HistoryPoint, ...] = ()
    """The default branch's last runs, oldest first, where there is a store."""
    provenance: Provenance = Provenance()

    @property
    def cases(self) -> CaseList:
        """The cases in suite order; also by id: `report.cases["greets"]`."""
        return CaseList(self.case_reports)

    @property
    def flaky_count(self) -> int:
        """How many cases passed inconsistently."""
        return self.totals.flaky

    @property
    def stability(self) -> float | None:
        """Share of cases whose trials all agree: 1.0 all stable, 0.0 all flaky; None when no case has two verdicts."""
        return self.totals.stability

    @property
    def pass_rate(self) -> float | None:
        """Mean of the cases' pass rates."""
        return self.totals.pass_rate

    def flaky_cases(self) -> Iterator[CaseReport]:
        """The cases that passed inconsistently."""
        return (case for case in self.case_reports if case.flaky)


def to_json(report: Report) -> bytes:
    """The report as the bytes of `report.json`: two-space indented UTF-8 JSON with a final newline."""
    return msgspec.json.format(msgspec.json.encode(report), indent=2) + b"\n"
