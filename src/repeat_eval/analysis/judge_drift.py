"""Did an evaluator change? Its verdicts on fixed outputs now, against those of a baseline on the same outputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec

from repeat_eval.analysis.evaluator_model import Drift, TraceDrift, TraceReliability
from repeat_eval.statistics.comparison import case_exact, stratified_exact
from repeat_eval.statistics.counts import Row
from repeat_eval.statistics.difference import suite_difference
from repeat_eval.statistics.gates import DECIMALS
from repeat_eval.statistics.multiplicity import bh_testable

BASELINE_SCHEMA = "repeat-eval/judge-baseline/1"
ALPHA = 0.05
"""How often one look finds drift where there is none, at most, over all checks together."""

Count = Annotated[int, msgspec.Meta(ge=0, le=100_000)]


class BaselineTrace(msgspec.Struct, frozen=True, kw_only=True):
    """How often a check passed and failed one output. `fingerprint` is of what was judged."""

    trace: str
    check: str
    fingerprint: str
    passed: Count
    failed: Count


class Baseline(msgspec.Struct, frozen=True, kw_only=True):
    """What an evaluator said about fixed outputs, to be held against later: counts only, never what a model said."""

    schema: str = BASELINE_SCHEMA
    suite: str
    traces: tuple[BaselineTrace, ...]
    started: str | None = None


def baseline_of(suite: str, found: Sequence[TraceReliability], started: str | None = None) -> Baseline:
    """The baseline that these figures make; checks without verdict on a trace are left out."""
    return Baseline(
        suite=suite,
        started=started,
        traces=tuple(
            BaselineTrace(
                trace=one.trace, check=one.check, fingerprint=one.fingerprint, passed=one.passed, failed=one.failed
            )
            for one in found
            if one.verdicts and one.fingerprint is not None
        ),
    )


def drift_of(baseline: Baseline, found: Sequence[TraceReliability]) -> tuple[Drift, ...]:
    """Compare every check with the baseline, over the outputs that both judged.

    The tests are those of base against head: the stratified exact test with mid-p over all outputs, and mid-p by
    output, flagged by Benjamini and Hochberg. Each has the same part of 0.05, so that all of them together find drift
    where there is none at most once in twenty times, however much checks depend on each other (Bonferroni).
    """
    before = {(one.check, one.trace): one for one in baseline.traces if one.passed + one.failed}
    by_check: dict[str, list[TraceReliability]] = {}
    for one in found:
        by_check.setdefault(one.check, []).append(one)
    tested = {one.check for one in found if one.verdicts and _same(before.get((one.check, one.trace)), one)}
    level = ALPHA / (2 * max(1, len(tested)))
    return tuple(_drift(check, before, several, level) for check, several in by_check.items())


def _same(old: BaselineTrace | None, new: TraceReliability) -> bool:
    return old is not None and old.fingerprint == new.fingerprint


def _drift(
    check: str, before: dict[tuple[str, str], BaselineTrace], found: Sequence[TraceReliability], level: float
) -> Drift:
    here = {one.trace: one for one in found}
    earlier = {trace: one for (name, trace), one in before.items() if name == check}
    shared = [name for name in earlier if name in here]
    same = [name for name in shared if _same(earlier[name], here[name])]
    names = [name for name in same if here[name].verdicts]
    counted = Drift(check=check, common=len(names), changed=len(shared) - len(same), gone=len(earlier) - len(shared))
    if not names:
        text = "No output of the baseline was judged again: nothing to compare."
        return msgspec.structs.replace(counted, text=text)
    rows: list[Row] = []
    for name in names:
        old, new = earlier[name], here[name]
        rows.append((old.passed, old.passed + old.failed, new.passed, new.verdicts))
    test, difference = stratified_exact(rows), suite_difference(rows)
    single = [case_exact(*row) for row in rows]
    flagged = bh_testable([one.p for one in single], [one.smallest for one in single], level)
    traces = tuple(
        TraceDrift(trace=names[at], before=rows[at][:2], now=rows[at][2:], q=flagged.adjusted[at])
        for at in flagged.rejected
    )
    whole = round(test.p_mid, DECIMALS) < level
    return msgspec.structs.replace(
        counted,
        before=difference.base.rate,
        now=difference.head.rate,
        delta=difference.delta,
        interval=(difference.low, difference.high),
        p=test.p_mid,
        p_exact=test.p_exact,
        level=level,
        traces=traces,
        drifted=whole or bool(traces),
        text=_words(whole, difference.delta, len(traces)),
    )


def _words(whole: bool, delta: float, traces: int) -> str:
    if whole:
        text = "It has become stricter" if delta < 0 else "It has become more lenient"
        return text + (f"; single traces that changed: {traces:,}." if traces else ".")
    if traces:
        return f"On the whole no change is seen, but single traces changed: {traces:,}."
    return "No detectable change."
