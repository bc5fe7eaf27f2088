"""What the HTML page's scripts get: the report's cases without what follows from counts, and every trial's detail.

Figures that follow from counts alone (intervals, pass^k, verdicts under other rules) are computed in the page, by
`statistics.js`. Trials are rows of a table whose texts, checks and tool calls each stand once, since most repeat.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from repeat_eval.analysis.failure_groups import FailureGroup, failure_groups, groups_of_messages
from repeat_eval.analysis.report import CaseComparison, CaseReport, Example, HistoryPoint, Interval, Report, SideOfCase
from repeat_eval.analysis.sides import trials_by_case
from repeat_eval.records.trial import OUTCOME_LETTERS, CheckResult, ToolCall, Trial
from repeat_eval.reports.comparison_wording import change_words
from repeat_eval.reports.format import reliability_of_case
from repeat_eval.reports.wording import blocked_by_comparison

MAX_TRIALS = 100_000
"""Trials, of both sides together, whose detail the page holds; cases that did not pass everything come first."""
MAX_TEXT = 8_000_000
"""Bytes that all texts of trials may take, about; longer ones are cut until they fit."""
TEXT_LIMITS = (24_000, 8_000, 3_000, 1_000, 400, 150)
"""Characters of a single text, tried one after the other."""


class PageSide(msgspec.Struct, frozen=True, omit_defaults=True):
    """Counts of one side of a case: what base's row shows beside head's. `n` is [passed, failed, errors, skipped,
    missing], `o` the letters of its trials.
    """

    n: tuple[int, int, int, int, int]
    o: str
    duration: float | None = None
    cost: float | None = None


class PageChange(msgspec.Struct, frozen=True, omit_defaults=True):
    """A case's comparison: figures as in the report, and what happened in words."""

    change: str
    words: str = ""
    delta: float | None = None
    interval: Interval | None = None
    p: float | None = None
    q: float | None = None
    watch: bool = False
    before: bool = False
    """It fails its threshold on base, too."""


class PageCase(msgspec.Struct, frozen=True, omit_defaults=True):
    """One case; short keys, since there may be thousands.

    `n`, `o`: counts and letters as in `PageSide`; `v`, `t`, `g`: verdict, threshold as written, gate; `own`: "t", "g" or
    "tg" where the case wrote its own threshold or gate. `score` is [mean, std, five bins or None, bimodal or None],
    `checks` [name, passed, failed, mean score], `time` [mean, median, slowest].
    """

    id: str
    n: tuple[int, int, int, int, int]
    o: str
    v: str
    t: str
    g: str
    asked: int
    text: str = ""
    own: str = ""
    blocks: str | None = None
    """Why the comparison turns the gate for this case."""
    rating: str | None = None
    score: tuple[float, float, tuple[int, ...] | None, bool | None] | None = None
    checks: tuple[tuple[str, int, int, float], ...] = ()
    time: tuple[float, float, float] | None = None
    cost: float | None = None
    judge_cost: float | None = None
    tokens: float | None = None
    turns: float | None = None
    retried: int = 0
    kinds: dict[str, int] = {}
    tags: tuple[str, ...] = ()
    at: str | None = None
    base: PageSide | None = None
    vs: PageChange | None = None
    examples: tuple[Example, ...] = ()
    """Only where no trials are known."""


class PageData(msgspec.Struct, frozen=True, omit_defaults=True):
    """All that the page shows but the trials. `threshold`, `gate` and `repeats` are the suite's defaults."""

    suite: str
    verdict: str
    gate: str
    threshold: str
    repeats: int
    cases: tuple[PageCase, ...]
    max_failing: int = 0
    cost: float | None = None
    rate: float | None = None
    interval: Interval | None = None
    commit: str | None = None
    compared: bool = False
    detectable: float | None = None
    groups: dict[str, tuple[FailureGroup, ...]] = {}
    history: tuple[HistoryPoint, ...] = ()


class TrialRow(msgspec.Struct, frozen=True, array_like=True):
    """One trial; `message` and `output` are places in the table of texts, `checks` and `calls` in theirs; -1 for none.

    The page's `trials.js` reads the fields by their order.
    """

    repetition: int
    outcome: str
    kind: str | None
    message: int
    output: int
    checks: int
    calls: int
    turns: int | None
    duration: float | None
    cost: float | None
    tokens: tuple[int | None, int | None] | None
    attempts: int | None
    cached: bool | None


class PageTrials(msgspec.Struct, frozen=True):
    """Every trial's detail: rows by case in the order of `PageData.cases`, for head and for base.

    `checks` holds lists of [name text, passed, score, message text, judge model text, votes, confidence], `calls` lists
    of [name text, arguments as JSON text]. `limit` is the length that texts were cut to, `left_out` how many trials have
    no detail here.
    """

    texts: tuple[str, ...]
    checks: tuple[Any, ...]
    calls: tuple[Any, ...]
    head: tuple[tuple[TrialRow, ...], ...]
    base: tuple[tuple[TrialRow, ...], ...]
    limit: int
    left_out: int


def page_data(report: Report, trials: Sequence[Trial] | None = None) -> PageData:
    """The page's cases, groups and trend.

    Args:
        report: what is shown. trials: head's trials, for the groups of failures; None where only the report is known.
    """
    settings = {name: setting.value for name, setting in report.settings.items()}
    comparison = report.comparison
    compared = {case.id: case for case in comparison.cases} if comparison else {}
    blocks = blocked_by_comparison(report)
    cases = tuple(
        [_case(case, compared.get(case.id), blocks.get(case.id), lean=trials is not None) for case in report.cases]
    )
    return PageData(
        suite=report.suite,
        verdict=report.verdict,
        gate=report.gate,
        threshold=str(settings.get("threshold") or _most_common_threshold(report)),
        repeats=max((case.asked for case in report.case_reports if not case.own_threshold), default=0)
        or max((case.asked for case in report.case_reports), default=1),
        cases=cases,
        max_failing=int(settings.get("max_failing_cases") or 0),
        cost=report.totals.cost,
        rate=report.totals.pass_rate,
        interval=report.totals.interval,
        commit=report.provenance.commit,
        compared=bool(comparison and comparison.cases),
        detectable=comparison.detectable if comparison else None,
        groups=_groups(report, trials, frozenset(settings.get("count_as_failed") or ())),
        history=report.history,
    )


def _most_common_threshold(report: Report) -> str:
    own = [case.threshold for case in report.case_reports]
    return max(dict.fromkeys(own), key=own.count, default="0.8")


def _groups(
    report: Report, trials: Sequence[Trial] | None, count_as_failed: frozenset[str]
) -> dict[str, tuple[FailureGroup, ...]]:
    if trials is not None:
        found = failure_groups(trials_by_case(trials), count_as_failed)
        return {way: groups for way, groups in found.items() if groups}
    messages = [(case.id, message, number) for case in report.case_reports for message, number in case.failures]
    return {"message": groups_of_messages(messages)} if messages else {}


def _case(case: CaseReport, compared: CaseComparison | None, blocks: str | None, *, lean: bool) -> PageCase:
    score, time = case.score, case.duration
    rating = reliability_of_case(case)
    return PageCase(
        id=case.id,
        n=(case.passed, case.failed, case.errors, case.skipped, case.missing),
        o=case.outcomes,
        v=case.verdict,
        t=case.threshold,
        g=case.gate,
        asked=case.asked,
        text=case.text,
        own=("t" if case.own_threshold else "") + ("g" if case.own_gate else ""),
        blocks=blocks,
        rating=None if rating == "-" else rating,
        score=None if score is None else (_short(score.mean), _short(score.std), score.histogram, score.bimodal),
        checks=tuple([(check.name, check.passed, check.failed, _short(check.score)) for check in case.checks]),
        time=None if time is None else (_short(time.mean), _short(time.median), _short(time.max)),
        cost=case.cost,
        judge_cost=case.judge_cost,
        tokens=None if case.tokens is None else round(case.tokens, 1),
        turns=None if case.turns is None else round(case.turns, 2),
        retried=case.retried,
        kinds=case.error_kinds,
        tags=case.tags,
        at=None if case.file is None else f"{case.file}:{case.line}" if case.line else case.file,
        base=None if compared is None else _side(compared.base),
        vs=None if compared is None else _change(compared),
        examples=() if lean else case.examples,
    )


def _side(side: SideOfCase) -> PageSide:
    counts = (side.passed, side.failed, side.errors, side.skipped, side.missing)
    return PageSide(n=counts, o=side.outcomes, duration=side.duration, cost=side.cost)


def _change(compared: CaseComparison) -> PageChange:
    return PageChange(
        change=compared.change,
        words=change_words(compared, "base"),
        delta=compared.delta,
        interval=compared.interval,
        p=compared.p,
        q=compared.q,
        watch=compared.watch,
        before=compared.not_this_change,
    )


def _short(number: float) -> float:
    """Six decimals are more than anybody is shown, and half as many bytes."""
    return round(number, 6)


def page_trials(
    report: Report, head: Sequence[Trial], base: Sequence[Trial] = (), *, max_text: int = MAX_TEXT
) -> PageTrials:
    """Every trial's detail, bounded: long texts are cut, and beyond `MAX_TRIALS` cases that pass everything have none.

    Args:
        report: tells the cases and their order. head, base: the trials of both sides; those of other cases are left out.
        max_text: bytes that all texts may take, about.
    """
    sides = trials_by_case(head), trials_by_case(base)
    kept = _kept(report, *sides)
    table = _Table()
    rows = [
        tuple([table.rows(side.get(case.id, ())) if case.id in kept else () for case in report.case_reports])
        for side in sides
    ]
    texts, limit = _within(list(table.texts), max_text)
    held = sum(len(trials) for side in rows for trials in side)
    known = sum(len(side.get(case.id, ())) for side in sides for case in report.case_reports)
    return PageTrials(
        texts=texts,
        checks=tuple(table.checks),
        calls=tuple(table.calls),
        head=rows[0],
        base=rows[1],
        limit=limit,
        left_out=known - held,
    )


def _kept(report: Report, head: Mapping[str, Sequence[Trial]], base: Mapping[str, Sequence[Trial]]) -> set[str]:
    """The cases whose trials are held, those that did not pass everything first."""
    room, kept = MAX_TRIALS, set()
    for case in sorted(report.case_reports, key=lambda case: case.passed == case.asked):
        room -= len(head.get(case.id, ())) + len(base.get(case.id, ()))
        if room < 0:
            break
        kept.add(case.id)
    return kept


def _within(texts: list[str], most: int) -> tuple[tuple[str, ...], int]:
    """Texts cut to the largest limit with which they fit, and that limit."""
    limit = TEXT_LIMITS[-1]
    for tried in TEXT_LIMITS:
        if sum([_bytes(text[:tried]) for text in texts]) <= most:
            limit = tried
            break
    cut = [text if len(text) <= limit else f"{text[:limit]}… [{len(text) - limit:,} more characters]" for text in texts]
    return tuple(cut), limit


def _bytes(text: str) -> int:
    """What a text takes in the page, about: `<` is written as an escape of six characters."""
    return len(text) * (1 if text.isascii() else 3) + 5 * text.count("<")


class _Table:
    """Texts, lists of checks and lists of tool calls, each once, in the order of their numbers."""

    def __init__(self) -> None:
        self.texts: dict[str, int] = {}
        self._checks: dict[tuple[CheckResult, ...], int] = {}
        self._calls: dict[bytes, int] = {}
        self.checks: list[Any] = []
        self.calls: list[Any] = []

    def rows(self, trials: Sequence[Trial]) -> tuple[TrialRow, ...]:
        """The trials of a case as rows, in order of repetition."""
        return tuple([self._row(trial) for trial in sorted(trials, key=_repetition)])

    def _row(self, trial: Trial) -> TrialRow:
        tokens, duration = trial.tokens, trial.duration
        return TrialRow(
            repetition=trial.repetition,
            outcome=OUTCOME_LETTERS[trial.outcome],
            kind=trial.error_kind,
            message=self._text(trial.message),
            output=self._text(trial.output),
            checks=self._checks_of(trial.checks) if trial.checks else -1,
            calls=-1 if trial.tool_calls is None else self._calls_of(trial.tool_calls),
            turns=trial.turns,
            duration=None if duration is None else round(duration, 4),
            cost=trial.cost,
            tokens=None if tokens is None else (tokens.input, tokens.output),
            attempts=trial.attempts,
            cached=trial.cached,
        )

    def _text(self, text: str | None) -> int:
        return -1 if text is None else self.texts.setdefault(text, len(self.texts))

    def _checks_of(self, checks: tuple[CheckResult, ...]) -> int:
        place = self._checks.get(checks)
        if place is None:
            place = self._checks[checks] = len(self.checks)
            self.checks.append([self._check(check) for check in checks])
        return place

    def _check(self, check: CheckResult) -> list[Any]:
        row: list[Any] = [self._text(check.name), int(check.passed), _short(check.score)]
        judge = check.judge
        if check.message is not None or judge is not None:
            row.append(self._text(check.message))
        if judge is not None:
            row += [self._text(judge.model), judge.votes, judge.confidence]
        return row

    def _calls_of(self, calls: tuple[ToolCall, ...]) -> int:
        # Arguments are any JSON, which cannot be a key; its bytes can.
        key = msgspec.json.encode(calls)
        place = self._calls.get(key)
        if place is None:
            place = self._calls[key] = len(self.calls)
            self.calls.append([[self._text(call.name), self._arguments(call)] for call in calls])
        return place

    def _arguments(self, call: ToolCall) -> int:
        if call.arguments is None:
            return -1
        return self._text(msgspec.json.format(msgspec.json.encode(call.arguments), indent=2).decode())


def _repetition(trial: Trial) -> int:
    return trial.repetition
