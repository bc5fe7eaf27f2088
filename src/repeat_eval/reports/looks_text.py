"""Words about the looks at one commit, that terminal, comment and summary share. Nothing is decided here."""

from __future__ import annotations

from repeat_eval.analysis.report import Look, LookCase, Report
from repeat_eval.reports import format as fmt
from repeat_eval.reports.wording import Escape

MAX_NAMED = 3
TITLES = ("look", "what was run", "found", "spends of alpha")
_KINDS = {
    "first": "every case",
    "whole": "every case again",
    "escalation": "cases to watch, fresh trials",
    "appeal": "what was blamed, fresh trials",
}
_VERDICTS = {
    "regressed": "❌ red",
    "no detectable change": "✅ not red",
    "cleared": "✅ cleared",
    "incomplete": "⚠️ no verdict",
}


def further(report: Report) -> Look | None:
    """The look that this report is about, when it is a further one."""
    return report.looks[-1] if len(report.looks) > 1 or any(look.number for look in report.looks) else None


def headline(report: Report, base: str, prose: Escape) -> tuple[str, str] | None:
    """Sign and first line of a further look; None where the usual one says it, as without a verdict.

    Args:
        report: what is told. base: the other side's name, ready to be printed. prose: escapes a sentence.
    """
    look = further(report)
    if look is None or look.kind == "whole" or report.verdict == "incomplete" or look.others:
        return None
    text = prose(look.text)
    if look.kind == "appeal":
        if report.verdict == "pass":
            return "✅", f"Cleared on appeal against {base}: {text}"
        return "❌", f"Still worse than {base} on appeal: {text}"
    if report.verdict == "pass":
        return "✅", f"Still no detectable change against {base}: {text}"
    return "❌", f"Worse than {base} in a further look: {text}"


def rows(report: Report, name: Escape, prose: Escape) -> list[list[str]]:
    """One row a look, in the order of `TITLES`; none where there was only the first.

    Args:
        report: whose looks. name: escapes and quotes the name of a case. prose: escapes a sentence.
    """
    if further(report) is None:
        return []
    return [
        [
            f"{look.number} (attempt {look.attempt})",
            _KINDS[look.kind],
            f"{_VERDICTS[look.verdict]}{_told(look, name, prose)}",
            "nothing" if look.level is None or look.verdict == "incomplete" else f"{look.level:g}",
        ]
        for look in report.looks
    ]


def kept_back(report: Report) -> str:
    """How much of alpha this look spends, in words; empty where nothing is kept back."""
    look = report.looks[-1] if report.looks else None
    if look is None:
        return ""
    if look.level is None:
        return f"look {look.number}: an appeal, which can only clear and spends nothing of alpha"
    return f"look {look.number} spends {look.level:g} of alpha, the rest is for the other looks at this commit"


def _told(look: Look, name: Escape, prose: Escape) -> str:
    shown = [_case(case, name) for case in look.cases if case.blamed or look.number][:MAX_NAMED]
    more = sum(case.blamed or bool(look.number) for case in look.cases) + look.more - len(shown)
    cases = ", ".join([*shown, *([f"and {more:,} more"] if more else [])])
    return "".join(f": {text}" for text in (prose(look.text) if look.number else "", cases) if text)


def _case(case: LookCase, name: Escape) -> str:
    p = f", p {fmt.p_value(case.p)}" if case.p is not None else ""
    return f"{name(case.id)} {case.base[0]}/{case.base[1]} → {case.head[0]}/{case.head[1]}{p}"
