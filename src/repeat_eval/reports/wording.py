"""Sentences about a report that several surfaces share, so that terminal, summary and comment say the same.

Nothing is decided here: verdicts, reasons and figures are the report's. Names and sentences that come from outside go
through the escape functions that the surface hands in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from repeat_eval.analysis.report import CaseReport, Example, LowCase, Reason, Report
from repeat_eval.analysis.second_look_model import ReRunCase, SecondLook
from repeat_eval.reports import format as fmt
from repeat_eval.reports.escape import cut, terminal

Escape = Callable[[str], str]

VERDICT_WORDS = {"pass": "PASSED", "fail": "FAILED", "incomplete": "INCOMPLETE"}
SEVERITY = {"fail": 0, "incomplete": 1, "within-noise": 2, "pass": 3, "skipped": 4}
NOISE_NOTE = "below the threshold, but the interval reaches it, so the gate lets it pass"
NOISE_NOTE_OF_LOOKS = "below the threshold, but within noise, or only in a first look, which fails no case alone"
SINGLE_NOTE = "One trial a case: whether a case is flaky, its pass^k, stability and rating need repeats (5 or more)"
WEAK_NOTE = "repeats < 5: wide interval"
NAMES_IN_HEADLINE = 3
CAUSE_LIMIT = 60
"""Characters of an error's cause in the first line."""


class Evidence(NamedTuple):
    """One trial that did not pass, as the reason of a case: its number, why, and how many failed in the same way."""

    repetition: int | None
    message: str
    alike: int
    failing: int

    @property
    def likeness(self) -> str:
        """`7 of 7 failures alike`; empty for a single failure."""
        if self.failing < 2 or not self.alike:
            return ""
        return f"{self.alike} of {self.failing} failures alike"


def second_look(report: Report) -> SecondLook | None:
    """Both looks, where there were two."""
    return report.comparison.second_look if report.comparison is not None else None


def looked_twice(report: Report) -> bool:
    """Whether the figures are those of a first look: beside a base, or without one."""
    return report.looked_alone is not None or second_look(report) is not None


def rerun_cases(report: Report) -> dict[str, ReRunCase | LowCase]:
    """The cases that a second look ran again, by id: suspects, or without a base those below their threshold."""
    if report.looked_alone is not None:
        return {case.id: case for case in report.looked_alone.cases}
    looks = second_look(report)
    return {} if looks is None else {case.id: case for case in looks.suspects}


def single_trial(report: Report) -> bool:
    """Whether every case was asked for one trial only, so that nothing about repeats can be said."""
    return bool(report.case_reports) and all(case.asked <= 1 for case in report.case_reports)


def noise_note(report: Report) -> str:
    """What "within noise" means in this report; empty where no case is."""
    if not report.totals.within_noise:
        return ""
    return NOISE_NOTE if second_look(report) is None else NOISE_NOTE_OF_LOOKS


def single_note(report: Report) -> str:
    """Why nothing is said about repeats, in the report's own words if it has some; empty where there are repeats."""
    if not single_trial(report):
        return ""
    return next((warning for warning in report.warnings if "pass^k" in warning), SINGLE_NOTE)


def repeats(report: Report) -> str:
    """`10 repeats each`, or `3–10 repeats each` when cases differ; `1 trial each` without repeats."""
    if single_trial(report):
        return "1 trial each"
    word = "trials each in the first look" if looked_twice(report) else "repeats each"
    return f"{fmt.span([case.asked for case in report.case_reports])} {word}"


def gate(report: Report) -> str:
    """The suite's gate in words."""
    return "no gate" if report.gate == "none" else f"{report.gate} gate"


def headline(report: Report, name: Escape, prose: Escape) -> str:
    """The verdict's reason in one line, without the verdict word: it alone must be enough.

    Args:
        report: what is told.
        name: escapes and quotes the name of a case.
        prose: escapes a sentence.
    """
    if report.verdict == "pass":
        return _passed(report)
    own = [reason for reason in report.reasons if reason.verdict == report.verdict]
    if report.verdict == "fail":
        failing = [case for case in failing_cases(report) if case.verdict == "fail"]
        suite_wide = [reason for reason in own if reason.case is None]
        parts = []
        if failing:
            total = fmt.count(report.totals.cases, "case")
            parts.append(f"{len(failing):,} of {total} below threshold: {names(failing, name)}")
        parts += [prose(reason.text) for reason in suite_wide[:2]]
        return "; ".join(parts) or "the gate failed"
    if told := _errors_told(report, own, prose):
        return told
    # A reason that names no case speaks for the whole suite, so it comes first.
    own.sort(key=lambda reason: reason.case is not None)
    text = f"no verdict: {prose(own[0].text)}" if own else "no verdict"
    if len(own) > 1:
        text += f" (and {fmt.count(len(own) - 1, 'more reason')})"
    return text


def _errors_told(report: Report, own: Sequence[Reason], prose: Escape) -> str:
    """`no verdict, 12 of 240 trials gave none (provider: answered 429)`; empty when errors are not the reason."""
    totals = report.totals
    gates = {"case", "max-error-rate"}
    if not (totals.passed or totals.failed or totals.missing):
        gates.add("evidence")  # that no trial gave a verdict
    if not own or not totals.errors or any(reason.gate not in gates for reason in own):
        return ""
    causes = [
        message_of(example)
        for case in report.case_reports
        if case.errors
        for example in case.examples
        if example.outcome == "error"
    ]
    most = max(dict.fromkeys(causes), key=causes.count, default="")
    cause = f" ({prose(cut(most, CAUSE_LIMIT))})" if most else ""
    without = totals.errors + totals.missing
    return f"no verdict, {without:,} of {fmt.count(totals.asked, 'trial')} gave none{cause}"


def _passed(report: Report) -> str:
    totals = report.totals
    text = f"{fmt.count(totals.cases, 'case')}, {repeats(report)}, pass rate {fmt.percent1(totals.pass_rate)}"
    if totals.failing:
        text += f", {totals.failing:,} failing as allowed"
    if totals.flaky:
        text += f", {totals.flaky:,} flaky"
    if totals.within_noise:
        text += f", {totals.within_noise:,} within noise"
    if totals.errors:
        text += f", {fmt.count(totals.errors, 'error')}"
    return text


def names(cases: Sequence[CaseReport], name: Escape, limit: int = NAMES_IN_HEADLINE) -> str:
    """The names of some cases, at most `limit` of them: `a, b, c and 4 more`."""
    text = ", ".join(name(case.id) for case in cases[:limit])
    return f"{text} and {len(cases) - limit:,} more" if len(cases) > limit else text


def by_severity(cases: Sequence[CaseReport]) -> list[CaseReport]:
    """The cases in the order in which people want to see them: fail, incomplete, within noise, flaky, the rest."""
    return sorted(cases, key=lambda case: (SEVERITY[case.verdict], not case.flaky))


def failing_cases(report: Report) -> list[CaseReport]:
    """The cases that stand in the way of a green verdict: those that fail, then those without a verdict.

    With a base, a case that fails there as well is none of them, and one that got worse is, whatever its own verdict.
    """
    excused, blocked = broken_before(report), set(blocked_by_comparison(report))
    cases = [
        case
        for case in report.case_reports
        if case.id in blocked or (case.verdict in ("fail", "incomplete") and case.id not in excused)
    ]
    return by_severity(cases)


def blocked_by_comparison(report: Report) -> dict[str, str]:
    """The cases for which the comparison with base turns the gate, each with the reason."""
    return {
        reason.case: reason.text
        for reason in report.reasons
        if reason.case is not None and reason.gate != "case" and reason.verdict != "pass"
    }


def broken_before(report: Report) -> frozenset[str]:
    """The cases that fail their threshold on base, too: this change is not blamed for them."""
    if report.comparison is None:
        return frozenset()
    return frozenset(case.id for case in report.comparison.cases if case.not_this_change)


def suite_reasons(report: Report) -> list[Reason]:
    """The reasons that do not belong to one case."""
    return [reason for reason in report.reasons if reason.case is None]


def reasons_by_case(report: Report) -> dict[str, str]:
    """Why each case stands in the way that fails, has no verdict or blocks by comparison, as the report tells it."""
    told: dict[str, str] = {}
    for reason in report.reasons:
        if reason.case is not None:
            told.setdefault(reason.case, reason.text)
    blocked = blocked_by_comparison(report)
    return {
        case.id: blocked.get(case.id) or case.text or told.get(case.id) or fmt.needs(case) or fmt.case_line(case)
        for case in report.case_reports
        if case.verdict in ("fail", "incomplete") or case.id in blocked
    }


def evidence(case: CaseReport, suspect: ReRunCase | LowCase | None = None) -> Evidence | None:
    """One trial that shows why the case did not pass; None when no message is known.

    Of a case that was run again it is a fresh one.

    A failed trial is preferred to one in error when the case fails, and the other way round when it is incomplete; then
    one whose message most trials share.
    """
    if suspect is not None and suspect.evidence is not None:
        fresh = suspect.evidence
        return Evidence(fresh.repetition, fresh.message, fresh.alike, fresh.failing)
    failing = case.failed + case.errors
    wanted = "error" if case.verdict == "incomplete" else "failed"
    examples = [one for one in case.examples if one.outcome in ("failed", "error") and message_of(one)]
    shares = dict(case.failures)
    examples.sort(key=lambda one: (one.outcome != wanted, -shares.get(one.message or message_of(one), 0)))
    if examples:
        message = message_of(examples[0])
        return Evidence(examples[0].repetition, message, shares.get(examples[0].message or message, 0), failing)
    if case.failures:
        message, alike = case.failures[0]
        return Evidence(None, message, alike, failing)
    return None


def message_of(example: Example) -> str:
    """Why a trial did not pass: its message, else its first failed check; an error's kind goes before it."""
    text = example.message or next(iter(example.checks), "")
    return f"{example.error_kind}: {text}" if example.error_kind and text else text or example.error_kind or ""


def flaky_intro(report: Report) -> str:
    """`2 flaky case(s) — passed inconsistently across 5 runs:`."""
    flaky = list(report.flaky_cases())
    return f"{len(flaky):,} flaky case(s) — passed inconsistently across {fmt.span([c.verdicts for c in flaky])} runs:"


def warnings(report: Report) -> Iterator[str]:
    """The report's warnings but for `single_note`, and the note on few repeats if nothing said it yet."""
    note = single_note(report)
    yield from (warning for warning in report.warnings if warning != note)
    weak = not looked_twice(report) and any(1 < case.asked < 5 for case in report.case_reports)
    if weak and not any("wide interval" in warning for warning in report.warnings):
        yield WEAK_NOTE


def trials_done(report: Report) -> str:
    """`15 of 15 trials: 11 passed, 4 failed, 0 errors`, then skipped and missing ones where there are any."""
    totals = report.totals
    text = (
        f"{totals.trials:,} of {fmt.count(totals.asked, 'trial')}: {totals.passed:,} passed, {totals.failed:,} failed, "
        f"{fmt.count(totals.errors, 'error')}"
    )
    if totals.skipped:
        text += f", {totals.skipped:,} skipped"
    if totals.missing:
        text += f", {totals.missing:,} missing"
    if looks := second_look(report):
        text += f"; {looks.calls.fresh:,} of {fmt.count(looks.calls.asked, 'fresh trial')} in the second look"
    elif alone := report.looked_alone:
        text += f"; {alone.fresh_trials:,} of {fmt.count(alone.asked, 'fresh trial')} in the second look"
    return text


def suite_interval(report: Report) -> str:
    """The re-run interval of the suite with its width: `60–83% (23 points wide)`."""
    totals = report.totals
    if totals.interval is None:
        return fmt.UNKNOWN
    return f"{fmt.interval(totals.interval)} ({fmt.width_points(totals.width)})"


def _tokens(report: Report) -> tuple[tuple[int | None, str], ...]:
    return (report.totals.tokens_input, "in"), (report.totals.tokens_output, "out")


def time_and_cost(report: Report) -> list[str]:
    """What is known of time and money: `1.2 s a trial`, `18 s in all`, `$0.84`."""
    totals = report.totals
    parts = []
    if totals.duration is not None:
        parts.append(f"{fmt.duration(totals.duration)} a trial")
    if totals.wall is not None:
        parts.append(f"{fmt.duration(totals.wall)} in all")
    if totals.cost is not None:
        known = "" if totals.cost_known >= totals.trials else f" (known for {totals.cost_known:,} trials)"
        parts.append(fmt.money(totals.cost) + known)
        if (looks := second_look(report)) is not None:
            whole = looks.calls.cost
            parts[-1] += " in the first look"
            parts += [f"{fmt.money(whole)} for both looks and sides"] if whole is not None else []
        elif (alone := report.looked_alone) is not None:
            parts[-1] += " in the first look"
            parts += [f"{fmt.money(alone.cost)} for both looks"] if alone.cost is not None else []
    if totals.judge_cost is not None:
        parts.append(f"{fmt.money(totals.judge_cost)} for judges")
    tokens = [f"{known:,} {way}" for known, way in _tokens(report) if known is not None]
    if tokens:
        parts.append(f"tokens {', '.join(tokens)}")
    return parts


def quoted(case: str) -> str:
    """The name of a case in a sentence for the terminal."""
    return f"'{terminal(case, 120)}'"
