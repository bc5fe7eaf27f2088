"""Numbers into words: the one place that decides how an interval, a time or an amount of money reads.

Rates are `analysis.rate_text`'s, since reasons name them too, and are found here as well.

Case rates are whole per cents; suite rates and differences have one decimal. A rate that is not exactly 0 or 1 never
prints as 0% or 100%. Halves are rounded up. What is not known prints as "-", never as 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import floor, log10

from repeat_eval.analysis import rate_text
from repeat_eval.analysis.rate_text import half_up
from repeat_eval.analysis.report import CaseReport, Interval

UNKNOWN, percent, percent1 = rate_text.UNKNOWN, rate_text.percent, rate_text.percent1
STATUS = {"pass": "PASS", "within-noise": "NOISE", "fail": "FAIL", "incomplete": "INCOMPLETE", "skipped": "SKIPPED"}
_LEVELS = (0.01, 0.05, 0.10)


def interval(limits: Interval | None) -> str:
    """An interval of rates: `38–96%`; `95% to >99%` where a dash and the sign after it would look like an arrow."""
    if limits is None:
        return UNKNOWN
    low, high = percent(limits[0]), percent(limits[1])
    return f"{low} to {high}" if high.startswith(">") else f"{low.removesuffix('%')}–{high}"


def width_points(width: float | None) -> str:
    """The width of an interval in percentage points: `59 points wide`."""
    if width is None:
        return UNKNOWN
    points = percent(width).removesuffix("%")
    return f"{points} {'point' if points in ('1', '<1') else 'points'} wide"


def _signed(difference: float, decimals: int) -> str:
    """Points of a difference with a true minus sign; a difference that is not 0 never prints as 0."""
    points = abs(difference) * 100
    shown = f"{half_up(points, decimals):.{decimals}f}"
    if points and not float(shown):
        shown = f"{points:.{1 - floor(log10(points))}f}" if points >= 1e-4 else "<0.0001"
    sign = "−" if difference < 0 else "+" if difference > 0 else ""
    return f"{sign}{shown}"


def points(difference: float | None, decimals: int = 1) -> str:
    """A difference of rates in percentage points: `−5.0 points`, `+1 point`."""
    if difference is None:
        return UNKNOWN
    shown = _signed(difference, decimals)
    return f"{shown} {'point' if shown[1:] == '1' else 'points'}"


def points_interval(limits: Interval | None, decimals: int = 1) -> str:
    """The interval of a difference, in points: `−8.7 to −1.3`."""
    if limits is None:
        return UNKNOWN
    return f"{_signed(limits[0], decimals)} to {_signed(limits[1], decimals)}"


def p_value(p: float | None) -> str:
    """A p-value with two significant digits, down to `<0.001`; 0, which means "below what was computed", is `<1e-12`.

    More digits are shown where two would put it on the other side of a level that is used for marks (0.01, 0.05, 0.10).
    """
    if p is None:
        return UNKNOWN
    if p < 0.001:
        return "<0.001" if p else "<1e-12"
    if p >= 1:
        return "1"
    if p >= 0.995:
        return ">0.99"
    first = -floor(log10(p))
    for digits in range(first + 1, 13):
        text = f"{p:.{digits}f}"
        if all((float(text) < level) == (round(p, 12) < level) for level in _LEVELS):
            return text
    return f"{p:.12f}"


def duration(seconds: float | None) -> str:
    """A time: `120 ms`, `1.2 s`, `3 min 05 s`, `2 h 05 min`."""
    if seconds is None:
        return UNKNOWN
    if 0 < seconds < 0.001:
        return "<1 ms"
    if seconds < 0.9995:
        return f"{half_up(seconds * 1000):.0f} ms"
    if seconds < 59.95:
        return f"{half_up(seconds, 1):.1f} s"
    minutes, rest = divmod(int(half_up(seconds)), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours:,} h {minutes:02d} min"


def money(dollars: float | None) -> str:
    """US dollars: `$0.84`, `$1,234`; amounts below a cent with two significant digits: `$0.0042`."""
    if dollars is None:
        return UNKNOWN
    if dollars == 0:
        return "$0"
    if dollars < 0.0001:
        return "<$0.0001"
    if dollars < 0.00995:
        return f"${dollars:.{1 - floor(log10(dollars))}f}"
    if dollars < 1000:
        return f"${half_up(dollars, 2):.2f}"
    return f"${half_up(dollars):,.0f}"


def count(number: int, singular: str, plural: str | None = None) -> str:
    """A number with its noun: `1 case`, `1,000 cases`."""
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def span(numbers: Sequence[int]) -> str:
    """The range of some whole numbers: `5`, or `3–10` when they differ."""
    if not numbers:
        return "0"
    low, high = min(numbers), max(numbers)
    return f"{low:,}" if low == high else f"{low:,}–{high:,}"


def needs(case: CaseReport) -> str:
    """What the gate asks of the verdicts there are: `needs 3 of 3`; empty where no number of passes is known."""
    return "" if case.needs is None else f"needs {case.needs} of {case.verdicts}"


def rate_of_case(case: CaseReport) -> str:
    """Pass rate with its counts: `80% (4/5)`; `-` when no trial gave a verdict."""
    return UNKNOWN if case.pass_rate is None else f"{percent(case.pass_rate)} ({case.passed}/{case.verdicts})"


def errors_of_case(case: CaseReport) -> str:
    """The trials without a verdict: `2 errors, 1 missing`; empty when there are none."""
    parts = []
    if case.errors:
        parts.append(count(case.errors, "error"))
    if case.skipped:
        parts.append(f"{case.skipped:,} skipped")
    if case.missing:
        parts.append(f"{case.missing:,} missing")
    return ", ".join(parts)


def score_of_case(case: CaseReport) -> str:
    """Mean score with its population standard deviation: `0.84±0.05`."""
    return UNKNOWN if case.score is None else f"{case.score.mean:.2f}±{case.score.std:.2f}"


def stability_of_case(case: CaseReport) -> str:
    """`flaky` (trials disagree), `broken` (none passes) or `stable` (all pass); `-` below two verdicts."""
    if case.verdicts < 2:
        return UNKNOWN
    if case.flaky:
        return "flaky"
    return "broken" if case.broken else "stable"


def reliability_of_case(case: CaseReport) -> str:
    """The pass-to-3 rating; `insufficient` where a rating of high comes from fewer than 5 trials; `-` for one trial."""
    if case.reliability is None or case.verdicts < 2:
        return UNKNOWN
    return "insufficient" if case.reliability.insufficient else case.reliability.rating


def status(case: CaseReport) -> str:
    """The verdict in a word: PASS, NOISE, FAIL, INCOMPLETE, SKIPPED.

    Without a gate nothing was judged, so a case that would read PASS reads FLAKY or BROKEN if its trials say so.
    """
    if case.verdict == "pass" and case.gate == "none" and case.verdicts > 1 and (case.flaky or case.broken):
        return "FLAKY" if case.flaky else "BROKEN"
    return STATUS[case.verdict]


def verdict_words(case: CaseReport) -> str:
    """The status for running text: `pass`, `within noise`, `fail`, `incomplete`, `skipped`, `flaky`, `broken`."""
    return "within noise" if case.verdict == "within-noise" else status(case).lower()


def case_line(case: CaseReport) -> str:
    """The line of a case in the order people know.

    `80% (4/5) pass^2 60% pass^3 40% [95% CI 38–96%] PASS`. Without pass^k for a single trial; `PASS (within noise)`
    where the rate is below the threshold and the interval reaches it; trials without a verdict are named at the end.
    """
    parts = ["no verdict" if case.pass_rate is None else rate_of_case(case)]
    if case.verdicts > 1:
        parts += [f"pass^{k} {percent(case.pass_hat_k.get(k))}" for k in ("2", "3")]
    if case.interval is not None:
        parts.append(f"[95% CI {interval(case.interval)}]")
    parts.append("PASS (within noise)" if case.verdict == "within-noise" else status(case))
    line = " ".join(parts)
    return f"{line}, {without}" if (without := errors_of_case(case)) else line


def setting(value: object) -> str:
    """A setting's value as people write it: lists with commas, whole numbers without a fraction."""
    if isinstance(value, list | tuple):
        return ", ".join(map(setting, value)) or "none"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)
