"""Evaluator reliability for people: in a terminal and as Markdown, from one list of sections."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import msgspec

from repeat_eval.analysis.evaluator_model import (
    Drift,
    EvaluatorReliability,
    RaterGroup,
    RaterPair,
    Summary,
    TraceReliability,
)
from repeat_eval.reports import format as fmt
from repeat_eval.reports.escape import markdown, terminal

if TYPE_CHECKING:
    from rich.console import Console

    from repeat_eval.analysis.vocabulary import Interval

MAX_TRACES = 20
MAX_WARNINGS = 20
_RANK = {None: -1, "unreliable": 0, "low": 1, "moderate": 2, "high": 3}
_VERDICT_STYLES = {"pass": "green", "fail": "red", "incomplete": "yellow"}
Clean = Callable[[str, int], str]


class Section(msgspec.Struct, frozen=True):
    """A part of the report: its heading, a table with its head, and sentences below it. All texts are safe to show."""

    heading: str
    head: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    left: int = 1
    sentences: tuple[str, ...] = ()


def render_reliability(found: EvaluatorReliability, console: Console) -> None:
    """Print what was found about evaluators."""
    from repeat_eval.reports.text_table import Paper, table

    paper = Paper(console)
    paper.paragraph(_title(found, terminal), style="bold")
    for section in _sections(found, terminal):
        paper.heading(section.heading)
        if section.rows:
            paper.table(table(section.head, section.rows, left=section.left))
        for sentence in section.sentences:
            paper.paragraph(sentence, indent="  ")
    if found.warnings:
        console.print()
    for warning in _bounded(found.warnings):
        paper.paragraph(terminal(warning, 600), indent="! ", style="yellow")
    console.print()
    paper.paragraph(verdict_of(found), style=f"bold {_VERDICT_STYLES[found.verdict]}")


def markdown_of(found: EvaluatorReliability) -> str:
    """The same as Markdown."""
    lines = [f"## {_title(found, markdown)}", "", f"**{verdict_of(found)}**", ""]
    for section in _sections(found, markdown):
        lines += [f"### {section.heading}", ""]
        if section.rows:
            numbers = len(section.head) - section.left
            lines.append("| " + " | ".join(section.head) + " |")
            lines.append("|" + "---|" * section.left + "---:|" * numbers)
            lines += ["| " + " | ".join(row) + " |" for row in section.rows]
            lines.append("")
        lines += [f"- {sentence}" for sentence in section.sentences]
        lines += [""] if section.sentences else []
    lines += [f"> {markdown(warning, 600)}\n" for warning in _bounded(found.warnings)]
    return "\n".join(lines).rstrip() + "\n"


def verdict_of(found: EvaluatorReliability) -> str:
    """The verdict in one line."""
    if not found.gates and found.verdict == "pass":
        return "PASS: no gate was asked for" if found.drift is None else "PASS"
    return found.verdict.upper()


def _title(found: EvaluatorReliability, clean: Clean) -> str:
    some = fmt.count(found.sampled, "trace")
    of = f" of {found.available:,} (seed {found.seed})" if found.sampled < found.available else ""
    each = fmt.count(found.runs, "run")
    return f"{clean(found.suite, 80)}: reliability of evaluators, {some}{of}, {each} of each check"


def _sections(found: EvaluatorReliability, clean: Clean) -> list[Section]:
    sections = [_evaluators(found, clean), _traces(found.traces, clean)]
    if found.gates:
        marks = {"pass": "holds", "fail": "does not hold", "incomplete": "cannot be told"}
        sentences = tuple(f"{marks[gate.verdict]}: {clean(gate.text, 400)}" for gate in found.gates)
        sections.append(Section("Gates", sentences=sentences))
    sections += [_group(group, clean) for group in found.agreement]
    if found.labels:
        sections.append(_pairs("Judges against labels", found.labels, clean))
    if found.drift is not None:
        sections.append(_drift(found.drift, clean))
    return sections


def _evaluators(found: EvaluatorReliability, clean: Clean) -> Section:
    head = ("check", "traces", "high", "moderate", "low or worse", "pass-to-3", "95% interval", "agree-to-3", "errors")
    summaries = [*found.checks, *([found.summary] if len(found.checks) > 1 else [])]
    sentences = [f"{clean(one.check, 80)}: {one.recommendation}" for one in found.checks if one.check is not None]
    if found.judge_cost is not None:
        sentences.append(f"Judging cost {fmt.money(found.judge_cost)}.")
    if any(one.insufficient or one.unknown for one in summaries):
        sentences.append(
            "Traces that are in no column: rated high by fewer than 5 runs "
            f"({found.summary.insufficient:,}), or without any verdict ({found.summary.unknown:,})."
        )
    return Section("Evaluators", head, tuple(_summary_row(one, clean) for one in summaries), sentences=tuple(sentences))


def _summary_row(one: Summary, clean: Clean) -> tuple[str, ...]:
    return (
        "all" if one.check is None else clean(one.check, 60),
        f"{one.total:,}",
        f"{one.reliable:,}",
        f"{one.moderate:,}",
        f"{one.unreliable:,}",
        _number(one.overall),
        _limits(one.interval),
        _number(one.agreement),
        f"{one.errors:,}",
    )


def _traces(traces: Sequence[TraceReliability], clean: Clean) -> Section:
    """The least steady first; those in which all runs agree are only counted."""
    mixed = [one for one in traces if not one.verdicts or one.errors or 0 < one.passed < one.verdicts]
    mixed.sort(key=lambda one: (_RANK[one.rating], one.agree_to_k.get("3", -1.0)))
    head = ("trace", "check", "passed", "score", "pass@3", "pass-to-3", "95% interval", "rating", "majority")
    rows = tuple(_trace_row(one, clean) for one in mixed[:MAX_TRACES])
    sentences = [
        f"{clean(one.trace, 60)}, {clean(one.check, 60)}: {clean(one.recommendation, 300)}"
        for one in mixed[:MAX_TRACES]
        if one.distribution is not None and one.distribution.bimodal
    ]
    if len(mixed) > MAX_TRACES:
        sentences.append(f"and {len(mixed) - MAX_TRACES:,} more, in the JSON report.")
    steady = len(traces) - len(mixed)
    if steady:
        sentences.append(f"{fmt.count(steady, 'trace')}{'' if mixed else ' in all'}: every run says the same.")
    return Section("Traces whose runs disagree" if mixed else "Traces", head, rows, 2, tuple(sentences))


def _trace_row(one: TraceReliability, clean: Clean) -> tuple[str, ...]:
    errors = f" +{one.errors:,} errors" if one.errors else ""
    score = fmt.UNKNOWN if one.mean is None or one.std is None else f"{one.mean:.2f} ± {one.std:.2f}"
    vote = one.majority
    rating = "insufficient" if one.insufficient else one.rating
    return (
        clean(one.trace, 60),
        clean(one.check, 40),
        f"{one.passed:,}/{one.verdicts:,}{errors}",
        score,
        _number(one.pass_at_k.get("3")),
        _number(one.pass_to_k.get("3")),
        _limits(one.interval),
        fmt.UNKNOWN if rating is None else rating,
        fmt.UNKNOWN if vote is None else f"{vote.verdict} {vote.confidence:.2f}",
    )


def _group(group: RaterGroup, clean: Clean) -> Section:
    section = _pairs("Agreement between judges", group.pairs, clean)
    if group.alpha is None and len(group.raters) == 2:
        return section
    text = (
        f"All {len(group.raters)} judges on {fmt.count(group.units, 'trace')}: agreement {_share(group.share)} "
        f"({_limits(group.share_interval)}), Krippendorff's alpha {_number(group.alpha)} ({_limits(group.interval)})."
    )
    return msgspec.structs.replace(section, sentences=(text, *section.sentences))


def _pairs(heading: str, pairs: Sequence[RaterPair], clean: Clean) -> Section:
    head = (
        "first",
        "second",
        "traces",
        "agree",
        "95% interval",
        "kappa",
        "95% interval",
        "both pass",
        "pass/fail",
        "fail/pass",
        "both fail",
    )
    rows = tuple(
        (
            clean(one.first, 60),
            clean(one.second, 60),
            f"{one.units:,}",
            _share(one.share),
            _limits(one.share_interval),
            _number(one.kappa),
            _limits(one.interval),
            f"{one.both_pass:,}",
            f"{one.pass_fail:,}",
            f"{one.fail_pass:,}",
            f"{one.both_fail:,}",
        )
        for one in pairs
    )
    sentences: tuple[str, ...] = ()
    if any(one.kappa is None and one.units for one in pairs):
        sentences = ("Kappa is unknown where both always say the same: chance alone would agree as often.",)
    return Section(heading, head, rows, 2, sentences)


def _drift(drift: Sequence[Drift], clean: Clean) -> Section:
    head = ("check", "traces", "before", "now", "difference", "95% interval", "p")
    rows = tuple(
        (
            clean(one.check, 60),
            f"{one.common:,}",
            _share(one.before),
            _share(one.now),
            fmt.points(one.delta),
            fmt.points_interval(one.interval),
            fmt.p_value(one.p),
        )
        for one in drift
    )
    sentences = []
    for level in {one.level for one in drift if one.level is not None}:
        sentences.append(f"Drift is a p or q below {level:.3g}: 0.05, shared by all tests of this look.")
    for one in drift:
        sentences.append(f"{clean(one.check, 80)}: {one.text}")
        sentences += [
            f"{clean(each.trace, 60)}: {each.before[0]}/{each.before[1]} before, {each.now[0]}/{each.now[1]} now "
            f"(q = {fmt.p_value(each.q)})"
            for each in one.traces[:MAX_TRACES]
        ]
        if one.changed or one.gone:
            sentences.append(
                f"not compared: {one.changed:,} outputs that are others now, {one.gone:,} traces that are not here."
            )
    return Section("Drift against the baseline", head, rows, sentences=tuple(sentences))


def _bounded(warnings: Sequence[str]) -> list[str]:
    shown = list(warnings[:MAX_WARNINGS])
    return shown if len(shown) == len(warnings) else [*shown, f"and {len(warnings) - len(shown):,} more warnings"]


def _number(value: float | None) -> str:
    """Two decimals; what is not exactly 0 or 1 never prints as that."""
    if value is None:
        return fmt.UNKNOWN
    text = f"{value:.2f}"
    if text == "1.00" and value < 1:
        return ">0.99"
    return "<0.01" if text == "0.00" and value > 0 else text.replace("-0.00", "0.00")


def _share(value: float | None) -> str:
    return fmt.UNKNOWN if value is None else fmt.percent1(value)


def _limits(interval: Interval | None) -> str:
    return fmt.UNKNOWN if interval is None else f"{_number(interval[0])} to {_number(interval[1])}"
