"""What the HTML page's scripts get: the report's cases without what follows from counts, and every trial's detail.

Figures that follow from counts alone (intervals, pass^k, verdicts under other rules) are computed in the page, by
`statistics.js`. Trials are rows of a table whose texts, checks and tool calls each stand once, since most repeat.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, TypeAlias, TypeVar

import msgspec

from repeat_eval.analysis.failure_groups import FailureGroup, failure_groups, groups_of_messages
from repeat_eval.analysis.report import CaseComparison, CaseReport, Example, HistoryPoint, Interval, Report, SideOfCase
from repeat_eval.analysis.second_look_model import ReRunCase
from repeat_eval.analysis.sides import trials_by_case
from repeat_eval.records.thresholds import parse_threshold
from repeat_eval.records.trial import OUTCOME_LETTERS, CheckResult, ToolCall, Trial
from repeat_eval.reports.comparison_wording import change_words
from repeat_eval.reports.format import reliability_of_case
from repeat_eval.reports.second_look_text import counts
from repeat_eval.reports.wording import blocked_by_comparison

_T = TypeVar("_T")
_encode = msgspec.json.Encoder().encode
MAX_DETAIL = 10_000_000
"""Bytes that the detail of all trials may take, about."""
SHORT_ARGUMENTS = 90
"""Bytes of a tool call's arguments up to which they stand in one line."""
ROW_BYTES = 75
"""What a trial takes besides its texts, about."""
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
    rerun: str | None = None
    """Passes of the fresh trials of a second look, from which the figures above then come."""
    watch: bool = False
    before: bool = False
    """It fails its threshold on base, too."""


class PageCase(msgspec.Struct, frozen=True, omit_defaults=True):
    """One case; short keys, since there may be thousands.

    `n`, `o`: counts and letters as in `PageSide`; `v`, `t`, `g`: verdict, threshold as written, gate; `own`: "t", "g"
    or "tg" where the case wrote its own threshold or gate. `score` is [mean, std, five bins or None, bimodal or None],
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


Row: TypeAlias = tuple[
    int, str, str | None, int, int, int, int, int | None, float | None, float | None, Any, int | None, bool | None
]
"""One trial: repetition, outcome's letter, error kind, places of message, output, checks and tool calls in their tables
(-1 for none), turns, seconds, dollars, [tokens read, written], attempts, whether cached. `trials.js` reads it.
"""


class PageTrials(msgspec.Struct, frozen=True):
    """Every trial's detail: rows by case in the order of `PageData.cases`, for head and for base.

    `checks` holds lists of [name text, passed, score, message text, judge model text, votes, confidence], `calls`
    lists of [name text, arguments as JSON text]. `limit` is the length that texts were cut to,
    `left_out` how many trials have no detail here.
    """

    texts: Sequence[str]
    checks: Sequence[Any]
    calls: Sequence[Any]
    head: Sequence[tuple[Row, ...]]
    base: Sequence[tuple[Row, ...]]
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
    looks = comparison.second_look if comparison else None
    suspects = {case.id: case for case in looks.suspects} if looks else {}
    blocks = blocked_by_comparison(report)
    cases = tuple(
        [
            _case(
                case,
                compared.get(case.id),
                blocks.get(case.id),
                suspect=suspects.get(case.id),
                lean=trials is not None,
            )
            for case in report.cases
        ]
    )
    return PageData(
        suite=report.suite,
        verdict=report.verdict,
        gate=report.gate,
        threshold=_rate(settings.get("threshold")) or _usual([case.threshold for case in report.case_reports], "0.8"),
        repeats=_usual([case.asked for case in report.case_reports], 1),
        cases=cases,
        max_failing=_count(settings.get("max_failing_cases")),
        cost=report.totals.cost,
        rate=report.totals.pass_rate,
        interval=report.totals.interval,
        commit=report.provenance.commit,
        compared=bool(comparison and comparison.cases),
        detectable=comparison.detectable if comparison else None,
        groups=_groups(report, trials, _kinds(settings.get("count_as_failed"))),
        history=report.history,
    )


def _rate(value: object) -> str | None:
    """A setting as a rate; None where it is none: settings of a report file may be anything."""
    try:
        parse_threshold(str(value))
    except ValueError:
        return None
    return str(value).strip()


def _count(value: object) -> int:
    text = str(value)
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0


def _kinds(value: object) -> frozenset[str]:
    several = value if isinstance(value, list | tuple | set | frozenset) else ()
    return frozenset(kind for kind in several if isinstance(kind, str))


def _usual(values: Sequence[_T], default: _T) -> _T:
    """What most cases have; the earlier one of two."""
    return Counter(values).most_common(1)[0][0] if values else default


def _groups(
    report: Report, trials: Sequence[Trial] | None, count_as_failed: frozenset[str]
) -> dict[str, tuple[FailureGroup, ...]]:
    if trials is not None:
        found = failure_groups(trials_by_case(trials), count_as_failed)
        return {way: groups for way, groups in found.items() if groups}
    messages = [(case.id, message, number) for case in report.case_reports for message, number in case.failures]
    return {"message": groups_of_messages(messages)} if messages else {}


def _case(
    case: CaseReport, compared: CaseComparison | None, blocks: str | None, *, suspect: ReRunCase | None, lean: bool
) -> PageCase:
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
        vs=None if compared is None else _change(compared, suspect),
        examples=() if lean else case.examples,
    )


def _side(side: SideOfCase) -> PageSide:
    counts = (side.passed, side.failed, side.errors, side.skipped, side.missing)
    return PageSide(n=counts, o=side.outcomes, duration=side.duration, cost=side.cost)


def _change(compared: CaseComparison, suspect: ReRunCase | None) -> PageChange:
    # After a second look its trials decide: the first look's difference and p would contradict the verdict.
    if suspect is not None and suspect.delta is not None:
        return PageChange(
            change=compared.change,
            words=change_words(compared, "base"),
            delta=suspect.delta,
            interval=suspect.interval,
            p=suspect.p2,
            rerun=f"{counts(suspect.fresh_base)} → {counts(suspect.fresh_head)}",
            watch=compared.watch,
            before=compared.not_this_change,
        )
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
    report: Report, head: Sequence[Trial], base: Sequence[Trial] = (), *, most: int = MAX_DETAIL
) -> PageTrials:
    """Every trial's detail, bounded: long texts are cut, and cases that pass everything are left out where it must be.

    Args:
        report: tells the cases and their order. head, base: the trials of both sides.
        most: bytes that all of it may take, about.
    """
    by_case = trials_by_case(head), trials_by_case(base)
    limit = _limit([text for text in {trial.output for trial in (*head, *base)} if text], most // 2)
    table = _Table(limit)
    rows: tuple[list[tuple[Row, ...]], ...] = tuple([()] * len(report.case_reports) for _ in by_case)
    left_out = 0
    for place, case in _most_telling_first(report):
        for trials, shown in zip(by_case, rows, strict=True):
            found = trials.get(case, ())
            if table.size > most:
                left_out += len(found)
            elif found:
                shown[place] = table.rows(found)
    return PageTrials(
        texts=table.texts,
        checks=table.checks,
        calls=table.calls,
        head=rows[0],
        base=rows[1],
        limit=limit,
        left_out=left_out,
    )


def _most_telling_first(report: Report) -> list[tuple[int, str]]:
    """Places and ids of the cases, those that pass everything on both sides last."""
    other = (
        {case.id for case in report.comparison.cases if case.base.flaky or case.change != "unchanged"}
        if (report.comparison)
        else set()
    )
    places = [(place, case.id) for place, case in enumerate(report.case_reports)]
    solid = [case.passed == case.asked and case.id not in other for case in report.case_reports]
    return sorted(places, key=lambda found: solid[found[0]])


def _limit(texts: Sequence[str], most: int) -> int:
    """The length that texts are cut to, so that together they take no more than `most` bytes, about."""
    sizes = [_bytes(text) for text in texts]
    for limit in TEXT_LIMITS:
        if sum([min(size, limit) for size in sizes]) <= most:
            return limit
    return TEXT_LIMITS[-1]


def _bytes(text: str) -> int:
    """What a text takes in the page, about: `<` is written as an escape of six characters."""
    return len(text) * (1 if text.isascii() else 3) + 5 * text.count("<")


class _Table:
    """Texts, lists of checks and lists of tool calls, each once, and how many bytes they and the rows take, about."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._text_places: dict[str | None, int] = {None: -1}
        self._check_places: dict[tuple[CheckResult, ...], int] = {(): -1}
        self._call_places: dict[bytes | None, int] = {None: -1}
        self.texts: list[str] = []
        self.checks: list[Any] = []
        self.calls: list[Any] = []
        self.size = 0

    def rows(self, trials: Sequence[Trial]) -> tuple[Row, ...]:
        """The trials of a case as rows, in order of repetition."""
        self.size += ROW_BYTES * len(trials)
        return tuple([self._row(trial) for trial in sorted(trials, key=_repetition)])

    def _row(self, trial: Trial) -> Row:
        tokens, calls, checks = trial.tokens, trial.tool_calls, trial.checks
        message = self._text_places.get(trial.message)
        output = self._text_places.get(trial.output)
        checked = self._check_places.get(checks)
        # Arguments are any JSON, which cannot be a key; its bytes can.
        key = None if calls is None else _encode(calls)
        called = self._call_places.get(key)
        return (
            trial.repetition,
            OUTCOME_LETTERS[trial.outcome],
            trial.error_kind,
            self._text(trial.message) if message is None else message,
            self._text(trial.output) if output is None else output,
            self._checks_of(checks) if checked is None else checked,
            self._calls_of(key, calls or ()) if called is None else called,
            trial.turns,
            None if trial.duration is None else round(trial.duration, 4),
            trial.cost,
            None if tokens is None else (tokens.input, tokens.output),
            trial.attempts,
            trial.cached,
        )

    def _text(self, text: str | None) -> int:
        place = self._text_places.get(text)
        if place is not None or text is None:
            return -1 if place is None else place
        place = self._text_places[text] = len(self.texts)
        limit = self._limit
        shown = text if len(text) <= limit else f"{text[:limit]}… [{len(text) - limit:,} more characters]"
        self.texts.append(shown)
        self.size += _bytes(shown) + 3
        return place

    def _checks_of(self, checks: tuple[CheckResult, ...]) -> int:
        place = self._check_places[checks] = len(self.checks)
        self.checks.append([self._check(check) for check in checks])
        self.size += 20 * len(checks)
        return place

    def _check(self, check: CheckResult) -> list[Any]:
        row: list[Any] = [self._text(check.name), int(check.passed), _short(check.score)]
        judge = check.judge
        if check.message is not None or judge is not None:
            row.append(self._text(check.message))
        if judge is not None:
            row += [self._text(judge.model), judge.votes, judge.confidence]
        return row

    def _calls_of(self, key: bytes | None, calls: Sequence[ToolCall]) -> int:
        place = self._call_places[key] = len(self.calls)
        self.calls.append([[self._text(call.name), self._arguments(call)] for call in calls])
        self.size += 12 * len(calls)
        return place

    def _arguments(self, call: ToolCall) -> int:
        if call.arguments is None:
            return -1
        text = _encode(call.arguments)
        return self._text(msgspec.json.format(text, indent=2 if len(text) > SHORT_ARGUMENTS else 0).decode())


def _repetition(trial: Trial) -> int:
    return trial.repetition
