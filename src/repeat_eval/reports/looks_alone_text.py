"""Words about two looks of a run without a base, which all surfaces share. Nothing is decided here."""

from __future__ import annotations

from repeat_eval.analysis.looks_alone_model import LooksAlone, LowCase
from repeat_eval.analysis.second_look_model import LookCounts
from repeat_eval.reports import format as fmt
from repeat_eval.reports.second_look_text import counts

TITLES = ("case", "first look", "re-run", "95% CI", "outcome")
MAX_LISTED = 20
OUTCOMES = {
    "confirmed": "below its threshold, confirmed",
    "not confirmed": "re-run, not confirmed",
    "incomplete": "re-run, incomplete",
}


def intro(looks: LooksAlone) -> str:
    """What was run again, and what decides, in a sentence without a final stop, to stand after "second look"."""
    if not looks.ended:
        return "the first look has not ended, so nothing was run again"
    if not looks.cases:
        return f"none of {fmt.count(looks.looked, 'case')} is below its threshold, nothing was run again"
    low = fmt.count(len(looks.cases), "case")
    hidden = any(case.first_head.errors + case.first_head.skipped for case in looks.cases)
    return (
        f"{low} below the threshold in the first look{', or maybe' if hidden else ''}, each run {looks.fresh:,} more "
        "times; these fresh trials alone decide"
    )


def both(case: LowCase) -> str:
    """`first 2/3, re-run 9/20`."""
    return f"first {_first(case)}, re-run {counts(case.fresh_head)}"


def outcome(case: LowCase) -> str:
    """What the re-run made of a case, with the fresh trials that gave no verdict."""
    return ", ".join([OUTCOMES[case.outcome], *_lacking(case.fresh_head)])


def line(case: LowCase) -> str:
    """`first 2/3, re-run 18/20 (70–97%): re-run, not confirmed`."""
    limits = f" ({fmt.interval(case.fresh_head.interval)})" if case.fresh_head.interval else ""
    return f"{both(case)}{limits}: {outcome(case)}"


def row(case: LowCase, name: str) -> tuple[str, ...]:
    """A case in the order of `TITLES`; `name` is ready to be shown."""
    return (name, _first(case), counts(case.fresh_head), fmt.interval(case.fresh_head.interval), outcome(case))


def listed(looks: LooksAlone, limit: int | None = MAX_LISTED) -> tuple[LowCase, ...]:
    """The cases to list, those that matter most first."""
    order = ("confirmed", "incomplete", "not confirmed")
    found = sorted(looks.cases, key=lambda case: order.index(case.outcome))
    return tuple(found if limit is None else found[:limit])


def _first(case: LowCase) -> str:
    lacking = _lacking(case.first_head)
    return counts(case.first_head) + (f" ({', '.join(lacking)})" if lacking else "")


def _lacking(look: LookCounts) -> list[str]:
    """The trials of a look without a verdict, in words."""
    parts = [fmt.count(look.errors, "error")] if look.errors else []
    parts += [f"{look.missing:,} missing"] if look.missing else []
    return [*parts, f"{look.skipped:,} skipped"] if look.skipped else parts
