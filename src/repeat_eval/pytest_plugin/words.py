"""A test's verdict in a word, a sign and a line."""

from __future__ import annotations

from repeat_eval.analysis.report import CaseReport
from repeat_eval.reports import format as fmt

_SIGNS = {"pass": "✓", "within-noise": "~", "fail": "✗", "incomplete": "!", "skipped": "-"}


def sign(case: CaseReport) -> str:
    """`~` where trials disagree, else a sign for the verdict."""
    if case.broken and case.verdict == "pass":
        return _SIGNS["fail"]
    return "~" if case.flaky else _SIGNS[case.verdict]


def letter(case: CaseReport) -> str:
    """The letter in pytest's line of progress, for a test that passes."""
    return "~" if case.flaky or case.verdict == "within-noise" else "."


def figures(case: CaseReport) -> str:
    """Passes and verdict: `8/10 [49–94%] within noise`, with the trials that gave no verdict."""
    parts = [f"{case.passed}/{case.verdicts}"]
    if case.interval is not None:
        parts.append(f"[{fmt.interval(case.interval)}]")
    line = " ".join([*parts, fmt.verdict_words(case)])
    return f"{line}, {without}" if (without := fmt.errors_of_case(case)) else line


def word(case: CaseReport) -> str:
    """The same with its sign: `~ 8/10 [49–94%] within noise`."""
    return f"{sign(case)} {figures(case)}"


def line(case: CaseReport, name: str) -> str:
    """The line of a test: `~ test_x 8/10 [49–94%] within noise`."""
    return f"{sign(case)} {name} {figures(case)}"
