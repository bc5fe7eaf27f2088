"""The report: everything that any surface shows, decided once. Surfaces render it; `report.json` is it.

Rates and scores are floats in [0, 1]; durations are seconds; costs are US dollars; unknown is None, never 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, SupportsIndex, overload

import msgspec

from repeat_eval.analysis.comparison_model import CaseComparison, Change, Comparison, NewCases, Side, SideOfCase
from repeat_eval.analysis.look_model import Look, LookCase, LookKind, LookVerdict
from repeat_eval.analysis.looks_alone_model import LooksAlone, LowCase
from repeat_eval.analysis.vocabulary import (
    BaseSource,
    CaseChange,
    CaseVerdict,
    ComparisonVerdict,
    Gate,
    Interval,
    Level,
    Rating,
    ReasonGate,
    SuiteVerdict,
)

__all__ = [
    "REPORT_SCHEMA",
    "BaseSource",
    "CaseChange",
    "CaseComparison",
    "CaseList",
    "CaseReport",
    "CaseVerdict",
    "Change",
    "CheckFigures",
    "Comparison",
    "ComparisonVerdict",
    "DurationFigures",
    "Example",
    "Gate",
    "HistoryPoint",
    "Interval",
    "Level",
    "Look",
    "LookCase",
    "LookKind",
    "LookVerdict",
    "LooksAlone",
    "LowCase",
    "Majority",
    "NewCases",
    "Provenance",
    "Rating",
    "Reason",
    "ReasonGate",
    "Reliability",
    "Report",
    "ScoreFigures",
    "Setting",
    "Side",
    "SideOfCase",
    "SuiteVerdict",
    "Totals",
    "to_json",
]

REPORT_SCHEMA = "repeat-eval/report/1"


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
        judge_cost: sum of what judging is known to have cost; not part of `cost`. judge_cost_known: trials of which it
            is known.
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
    judge_cost: float | None = None
    judge_cost_known: int = 0


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
        judge_cost: sum of what judging is known to have cost; not part of `cost`.
        retried: trials that took more than one attempt. text: one sentence that explains the verdict.
        reported_rate: the pass rate as reported where the verdict is `incomplete`.
        own_threshold, own_gate: whether the case wrote its own, which no `--threshold` and `--gate` overrides.
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
    judge_cost: float | None = None
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
    own_threshold: bool = False
    own_gate: bool = False

    @property
    def verdicts(self) -> int:
        """Number of trials that gave a verdict: passed + failed."""
        return self.passed + self.failed


class Setting(msgspec.Struct, frozen=True):
    """A setting's value as written and where it came from: `option`, `variable`, `suite` or `default`."""

    value: Any
    source: Literal["option", "variable", "suite", "default", "run file"]


class Provenance(msgspec.Struct, frozen=True, kw_only=True):
    """Where the figures come from, so that they can be made again.

    `run` and `attempt` are the workflow run's, `head` is the commit that it belongs to, on pull requests the branch's
    own, and `key` tells reports of one pull request apart.
    """

    commit: str | None = None
    seed: int | None = None
    version: str | None = None
    attempt: int = 1
    source: str | None = None
    started: str | None = None
    command: str | None = None
    selection: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    run: int | None = None
    head: str | None = None
    key: str | None = None


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
    replayed: bool = False
    """Whether responses were read from recordings, so that the code under test did not run."""
    settings: dict[str, Setting] = {}
    warnings: tuple[str, ...] = ()
    history: tuple[HistoryPoint, ...] = ()
    """The default branch's last runs, oldest first, where there is a store."""
    provenance: Provenance = Provenance()
    looked_alone: LooksAlone | None = None
    """Two looks of a run without a base: figures above are then those of the first look."""
    looks: tuple[Look, ...] = ()
    """All looks at this commit so far, this one last, where alpha is kept back for further ones; see `extra_looks`."""

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
