"""Words about a comparison that terminal, comment and summary share. Nothing is decided here.

Names and sentences from outside go through the escape functions that the surface hands in. `base` in a sentence is the
other side's name as the surface writes it, already escaped: `main` in a comment, base in a terminal.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from repeat_eval.analysis.report import CaseComparison, Comparison, Level, Reason, Report, SideOfCase
from repeat_eval.analysis.second_look_model import SecondLook
from repeat_eval.reports import format as fmt
from repeat_eval.reports import looks_text, second_look_text, wording
from repeat_eval.reports.escape import cut, terminal, visible
from repeat_eval.reports.luck import level_among_all, unlikely
from repeat_eval.reports.wording import Escape

BROKE = frozenset({"regressed", "newly broken"})
BETTER = frozenset({"improved", "fixed"})
COMPARING_GATES = frozenset({"suite-regression", "case-regression", "error-regression", "non-inferiority"})

_SIGNIFICANCE: dict[Level, str] = {
    "strong": "✦✦ highly significant",
    "significant": "✦ significant",
    "marginal": "marginal, treat with caution",
    "noise": "not significant (likely noise)",
}
_SHORT: dict[Level, str] = {
    "strong": " ✦✦ highly significant",
    "significant": " ✦ significant",
    "marginal": ", marginal",
    "noise": ", likely noise",
}
_SOURCES = {"side-by-side": "run side by side", "file": "{base} read from a file", "stored": "{base} from the store"}


class Headline(NamedTuple):
    """The first line: a sign, the verdict in a word or two, and the rest of the sentence."""

    sign: str
    text: str


def comparable(report: Report) -> Comparison | None:
    """The report's comparison if there is one that compares anything."""
    comparison = report.comparison
    return None if comparison is None or comparison.verdict == "not comparable" else comparison


def headline(report: Report, base: str, *, name: Escape, prose: Escape) -> Headline:
    """The verdict in one line that is enough alone: what happened, to how many cases, whether luck explains it.

    Args:
        report: what is told, with or without a comparison.
        base: the other side's name, ready to be printed.
        name: escapes and quotes the name of a case.
        prose: escapes a sentence.
    """
    told = looks_text.headline(report, base, prose)
    return Headline(*told) if told is not None else _of_one_look(report, base, name, prose)


def _of_one_look(report: Report, base: str, name: Escape, prose: Escape) -> Headline:
    comparison = comparable(report)
    if report.verdict == "incomplete":
        worse = comparison is not None and comparison.verdict in ("regressed", "mixed")
        tail = f"; what ran is {_lower(claim(comparison, base))}" if comparison and worse else ""
        return Headline("⚠️", f"Incomplete: {wording.headline(report, prose, prose)}{tail}")
    if comparison is None:
        return _alone(report, name, prose)
    if report.verdict == "fail":
        causes = [reason for reason in report.reasons if reason.verdict == "fail" and reason.gate in COMPARING_GATES]
        absolute = f"Failed: {wording.headline(report, name, prose)}; {_lower(claim(comparison, base))}"
        return Headline("❌", _blocking(comparison, causes, base, prose) if causes else absolute)
    if comparison.verdict in ("regressed", "mixed"):
        return Headline("🟡", f"{claim(comparison, base)}, not blocking")
    if maybe_worse(comparison):
        return Headline("🟡", f"{claim(comparison, base)}, not enough to block")
    return Headline("✅", claim(comparison, base))


def _blocking(comparison: Comparison, causes: Sequence[Reason], base: str, prose: Escape) -> str:
    """Why the comparison blocks; what its verdict does not say comes from the reason."""
    if comparison.verdict in ("regressed", "mixed"):
        more = any(reason.gate == "error-regression" for reason in causes)
        return claim(comparison, base) + ("; more errors, too" if more else "")
    errors = comparison.errors
    if errors is not None and causes[0].gate == "error-regression":
        rates = f"{fmt.percent1(errors.base)} → {fmt.percent1(errors.head)} of trials"
        return f"More errors than {base}: {rates}, luck is {unlikely([errors.level])}"
    return f"Worse than {base}: {prose(causes[0].text)}"


def _alone(report: Report, name: Escape, prose: Escape) -> Headline:
    told = report.comparison.text if report.comparison is not None else ""
    why = prose(told) if told else "no base"
    if report.verdict == "fail":
        return Headline("❌", f"Failed: {wording.headline(report, name, prose)}; compared with nothing: {why}")
    if report.gate == "none" and not report.reasons:
        return Headline("✅", f"Measured, compared with nothing: {why}")
    return Headline("✅", f"Passed the thresholds, compared with nothing: {why}")


def claim(comparison: Comparison, base: str) -> str:
    """The comparison's verdict as a sentence without its final stop."""
    if comparison.second_look is not None:
        return _claim_of_looks(comparison, comparison.second_look, base)
    if comparison.verdict == "no detectable change":
        if fell := broke(comparison):
            q = min(case.q or 0.0 for case in fell)
            cases = fmt.count(comparison.common, "case")
            return f"Maybe worse than {base}: {len(fell):,} of {cases} fell, q {fmt.p_value(q)}"
        if maybe_worse(comparison):
            return f"Maybe worse than {base}: {moved(comparison)}, p {fmt.p_value(comparison.p)}"
        return (
            f"No detectable change against {base} ({fmt.count(comparison.common, 'case')}, {repeats(comparison, base)})"
        )
    down, up = broke(comparison), better(comparison)
    parts = []
    if down:
        parts.append(f"{len(down):,} of {fmt.count(comparison.common, 'case')} broke")
    elif comparison.suite_regressed:
        parts.append(f"{moved(comparison)} over {fmt.count(comparison.common, 'case')}")
    if up:
        word = "fixed" if all(case.change == "fixed" for case in up) else "improved"
        parts.append(f"{len(up):,} {word}" if parts else f"{fmt.count(len(up), 'case')} {word}")
    elif comparison.suite_improved:
        parts.append(f"{moved(comparison)} over {fmt.count(comparison.common, 'case')}")
    levels = [level_among_all(case) for case in (*down, *up)]
    if comparison.suite_regressed or comparison.suite_improved:
        levels.append(comparison.level)
    if comparison.verdict == "improved" and up:
        return f"Better than {base}: {', '.join(parts)}"
    word = {"regressed": "Worse than", "improved": "Better than"}.get(comparison.verdict, "Mixed against")
    return f"{word} {base}: {', '.join([*parts, f'luck is {unlikely(levels)}'])}"


def _claim_of_looks(comparison: Comparison, looks: SecondLook, base: str) -> str:
    """The claim of two looks: "the suite" is said only where all of it was run again."""
    if comparison.verdict == "no detectable change":
        return f"No detectable change against {base}: {second_look_text.unchanged(looks)}"
    parts, levels = second_look_text.claims(looks), second_look_text.levels(looks)
    up = better(comparison)
    if up:
        word = "fixed" if all(case.change == "fixed" for case in up) else "improved"
        parts.append(f"{fmt.count(len(up), 'case')} {word}")
        levels += [level_among_all(case) for case in up]
    elif comparison.suite_improved:
        parts.append(f"the suite got better, {moved(comparison)}")
        levels.append(second_look_text.level_of(looks.up.p if looks.up is not None else comparison.p_up))
    if comparison.verdict == "improved" and up:
        return f"Better than {base}: {', '.join(parts)}"
    word = {"regressed": "Worse than", "improved": "Better than"}.get(comparison.verdict, "Mixed against")
    return f"{word} {base}: {', '.join([*parts, f'luck is {unlikely(levels)}'])}"


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]


def maybe_worse(comparison: Comparison) -> bool:
    """Whether the suite fell at the marginal level, or cases are flagged that the gate does not count: no verdict.

    It is worth a different first line.
    """
    if comparison.second_look is not None:
        return False
    fell = comparison.level == "marginal" and comparison.delta is not None and comparison.delta < 0
    return comparison.verdict == "no detectable change" and (fell or bool(broke(comparison)))


def moved(comparison: Comparison) -> str:
    """`down 3.1 points`, `up 0.4 points`, `no difference`."""
    if not comparison.delta:
        return "no difference"
    return f"{'down' if comparison.delta < 0 else 'up'} {fmt.points(comparison.delta)[1:]}"


def same_commit(report: Report) -> bool:
    """Whether both sides stand at one commit: another target, folder or uncommitted change, not another revision."""
    base = report.comparison.base if report.comparison else None
    return base is not None and base.commit is not None and base.commit == report.provenance.commit


def repeats(comparison: Comparison, base: str) -> str:
    """`10 repeats a side`, or `10 repeats against 20 on main` when the sides differ."""
    mine = fmt.span([done(case.head) for case in comparison.cases])
    if comparison.second_look is not None:
        return second_look_text.sides(comparison.second_look, mine)
    theirs = fmt.span([done(case.base) for case in comparison.cases])
    word = "repeat" if mine == "1" else "repeats"
    return f"{mine} {word} a side" if mine == theirs else f"{mine} {word} against {theirs} on {base}"


def done(side: SideOfCase) -> int:
    """Trials that a side did; what is missing would only look like evidence."""
    return side.passed + side.failed + side.errors


def source(comparison: Comparison, base: str) -> str:
    """Where base's trials come from, with the day when they are not of now; empty when nobody said it."""
    side = comparison.base
    if side is None or side.source is None:
        return ""
    text = _SOURCES[side.source].format(base=base)
    return f"{text}, run on {side.started[:10]}" if side.started and side.source != "side-by-side" else text


def broke(comparison: Comparison) -> list[CaseComparison]:
    """The cases that got worse with evidence, the surest first."""
    return _by_p([case for case in comparison.cases if case.change in BROKE])


def better(comparison: Comparison) -> list[CaseComparison]:
    """The cases that got better with evidence, the surest first."""
    return _by_p([case for case in comparison.cases if case.change in BETTER])


def watched(comparison: Comparison) -> list[CaseComparison]:
    """The cases that fell without evidence, and are not told elsewhere."""
    return _by_p(
        # After two looks they stand among those that the re-run did not confirm, with both looks' figures.
        [
            case
            for case in comparison.cases
            if comparison.second_look is None and case.watch and not case.not_this_change and case.change not in BROKE
        ]
    )


def not_this_change(comparison: Comparison) -> list[CaseComparison]:
    """The cases that fail their threshold on both sides; what got worse on top of it is told as broken."""
    return [case for case in comparison.cases if case.not_this_change and case.change not in BROKE]


def _by_p(cases: list[CaseComparison]) -> list[CaseComparison]:
    return sorted(cases, key=lambda case: (1.0 if case.p is None else case.p, case.delta or 0.0))


def in_order(comparison: Comparison) -> list[CaseComparison]:
    """All common cases: broke, better, watch, not this change, flaky, the rest; each part in head's order."""

    def rank(case: CaseComparison) -> int:
        if case.change in BROKE:
            return 0
        if case.change in BETTER:
            return 1
        if case.watch or case.second_look is not None:
            return 2
        if case.not_this_change or case.change == "not judged" or case.definition_changed:
            return 3
        return 4 if case.base.flaky or case.head.flaky else 5

    return sorted(comparison.cases, key=rank)


def says_something(case: CaseComparison) -> bool:
    """Whether a case differs from one that passes everything, or nothing, on both sides alike."""
    return (
        case.change != "unchanged"
        or case.watch
        or case.not_this_change
        or case.definition_changed
        or case.second_look is not None
        or case.base.flaky
        or case.head.flaky
    )


def counts(side: SideOfCase) -> str:
    """`7/10`, or `no verdict`."""
    return f"{side.passed}/{side.verdicts}" if side.verdicts else "no verdict"


def change_words(case: CaseComparison, base: str) -> str:
    """What happened to a case in a word or two, and whether its definition changed; empty when nothing did."""
    parts = (happened(case, base), "definition changed" if case.definition_changed else "")
    return ", ".join(part for part in parts if part)


def happened(case: CaseComparison, base: str) -> str:
    """What happened to a case in a word or two; empty when nothing did."""
    if case.change in BROKE or case.change in BETTER:
        return case.change
    if case.not_this_change:
        return f"fails on {base}, too"
    if case.second_look is not None and case.second_look != "confirmed":
        return "suspected, not re-run" if case.second_look == "not re-run" else f"re-run, {case.second_look}"
    if case.watch:
        return "watch, may be luck"
    if case.change == "unchanged":
        return "flaky" if case.head.flaky else ""
    return case.change if case.change == "not judged" else f"{case.change}, may be luck"


def difference(comparison: Comparison, together: Escape = str) -> str:
    """The suite's difference: `−5.0 points (−8.7 to −1.3), p 0.013 ✦ significant`.

    `together` keeps a part of it on one line.
    """
    if comparison.delta is None:
        return fmt.UNKNOWN
    limits = f" ({fmt.points_interval(comparison.interval)})" if comparison.interval else ""
    parts = [f"{fmt.points(comparison.delta)}{limits}"]
    parts += [] if comparison.p is None else short_p(comparison.p, comparison.level).split(", ")
    return ", ".join(map(together, parts))


def short_p(p: float, level: Level) -> str:
    """`p 0.013 ✦ significant`, `p 0.80, likely noise`."""
    return f"p {fmt.p_value(p)}{_SHORT[level]}"


def significance(p: float | None, level: Level) -> str:
    """The line of the terminal: `p=0.03 ✦ significant`, `p=0.29 not significant (likely noise)`."""
    if p is None:
        return "not tested"
    text = fmt.p_value(p)
    return f"p{text if text[0] in '<>' else '=' + text} {_SIGNIFICANCE[level]}"


def not_whole(looks: SecondLook | None) -> bool:
    """Whether evidence is missing, and what there is shows nothing: that is no verdict."""
    return looks is not None and looks.incomplete and looks.verdict == "no detectable change"


def verdict_of(comparison: Comparison) -> str:
    """The verdict for programs: `incomplete` where a second look is not whole: that is not "no change"."""
    return "incomplete" if not_whole(comparison.second_look) else comparison.verdict


def over_both_looks(looks: SecondLook) -> str:
    """`Over both looks, the re-run cases together: p<0.001 ✦✦ highly significant`; empty when nothing was run again."""
    if not_whole(looks) or (not looks.suspects and not looks.down.alarm):
        return ""
    two_sided = min(1.0, 2.0 * looks.down.p)
    one = sum(case.direction == "down" for case in looks.suspects) == 1
    whose = "all cases" if looks.down.alarm else "the re-run case" if one else "the re-run cases together"
    return f"Over both looks, {whose}: {significance(two_sided, second_look_text.level_of(looks.down.p))}"


def decided(comparison: Comparison) -> list[str]:
    """The verdict and what it rests on, as sentences; the first look decides nothing where there were two."""
    verdict = f"{comparison.verdict[:1].upper()}{comparison.verdict[1:]}"
    looks = comparison.second_look
    if not_whole(looks):
        verdict = f"No verdict: {visible(comparison.text)}"
    if looks is None:
        return [f"{verdict}: {significance(comparison.p, comparison.level)}."]
    fresh = looks.fresh_difference
    # The fresh difference stands large above.
    told = [f"First look: {second_look_text.rate_difference(looks.first_difference)}."] if fresh is not None else []
    over = over_both_looks(looks)
    return [*told, f"{verdict}.", *([f"{over}."] if over else [])]


def rates(comparison: Comparison) -> str:
    """`84.0% → 91.0% ↑ +7.0 points`."""
    base, head = comparison.base, comparison.head
    if base is None or head is None or comparison.delta is None:
        return fmt.UNKNOWN
    arrow = "↓" if comparison.delta < 0 else "↑" if comparison.delta > 0 else "="
    return f"{fmt.percent1(base.pass_rate)} → {fmt.percent1(head.pass_rate)} {arrow} {fmt.points(comparison.delta)}"


def verdict_words(comparison: Comparison) -> str:
    """`IMPROVED — pass rate up 7.0 points`; without evidence it is said that it may be luck."""
    if comparison.second_look is not None:
        verdict = "no verdict" if not_whole(comparison.second_look) else comparison.verdict
        return f"{verdict.upper()} — {terminal(comparison.text)}"
    text = f"{comparison.verdict.upper()} — pass rate {moved(comparison)}"
    if comparison.delta is None:
        return comparison.verdict.upper()
    if comparison.verdict == "no detectable change" and comparison.delta:
        return f"{text}, may be luck"
    return text.replace("pass rate no difference", "pass rate unchanged")


def hidden(comparison: Comparison) -> str:
    """What could have happened without being seen."""
    if comparison.second_look is not None:
        return second_look_text.hidden(comparison, comparison.second_look)
    if comparison.detectable is None and comparison.detectable_case is None:
        return "nearly any change: one of the sides has too few trials to tell"
    parts = []
    if comparison.detectable is not None:
        points = comparison.detectable * 100
        shown = f"{points:.0f}" if points >= 1 else f"{points:.1f}"
        parts.append(f"a fall of less than about {shown} {'point' if shown == '1' else 'points'} over the suite")
    if comparison.detectable_case is not None:
        passes, of = comparison.detectable_case
        parts.append(f"one solid case still passing {passes + 1} of {of}")
    elif comparison.detectable is not None:
        parts.append("any change of a single case, which needs more repeats to be seen alone")
    return ", or ".join(parts)


def shown(report: Report, comparison: Comparison, base: str) -> str:
    """What the non-inferiority gate has shown, where it was asked for and held; else empty."""
    require, margin = report.settings.get("require"), report.settings.get("margin")
    asked_for = require is not None and require.value == "non-inferior" and margin is not None
    if not asked_for or margin is None or any(reason.gate == "non-inferiority" for reason in report.reasons):
        return ""
    low = fmt.points(comparison.interval[0] if comparison.interval else None)
    return f"at most {margin.value} points worse than {base} (the interval begins at {low})"


def tested(comparison: Comparison) -> str:
    """How much of the comparison could be tested at these numbers."""
    if comparison.second_look is not None:
        return second_look_text.measured(comparison, comparison.second_look)
    return (
        f"{comparison.testable:,} of {fmt.count(comparison.common, 'case')} could be tested alone at these numbers of "
        f"repeats, {comparison.varied:,} varied"
    )


def verdict_line(report: Report) -> str:
    """The verdict in words, in one line for the terminal."""
    word = wording.VERDICT_WORDS[report.verdict]
    text = wording.headline(report, wording.quoted, terminal)
    if comparable(report):
        told = headline(report, "base", name=wording.quoted, prose=terminal).text
        text = _lower(told.removeprefix("Failed: ").removeprefix("Incomplete: "))
    elif report.comparison is not None and (why := terminal(report.comparison.text or "no base")) not in text:
        text = f"{text}; compared with nothing: {why}"
    return cut(f"{word} {text}", 1000)
