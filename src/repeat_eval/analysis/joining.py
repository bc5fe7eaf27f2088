"""A run that is analysed already, and its base: the comparison, what it excuses, and what it warns about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from repeat_eval.analysis.comparison import compare_with_report
from repeat_eval.analysis.comparison_gates import excuses, gate_warnings
from repeat_eval.analysis.comparison_text import base_warnings
from repeat_eval.analysis.first_look import first_look_of, fresh_trials, same_looks
from repeat_eval.analysis.gate_changes import gate_changes
from repeat_eval.analysis.report import BaseSource, CaseReport, Comparison, Reason
from repeat_eval.analysis.rules import Rules
from repeat_eval.analysis.suite_figures import Excuses
from repeat_eval.analysis.warnings import fresh_from_cache
from repeat_eval.records.run import Run, RunHeader
from repeat_eval.records.trial import Trial


class Joined(msgspec.Struct, frozen=True):
    """A comparison with what follows from it for head's own cases, gates and warnings."""

    comparison: Comparison
    cases: Sequence[CaseReport]
    excuses: Excuses
    warnings: tuple[str, ...]
    reasons: tuple[Reason, ...] = ()
    """Why two looks give no verdict, beside what the comparison itself says."""


def compared_with(
    base: Run | None,
    head: Run,
    cases: Sequence[CaseReport],
    by_case: Mapping[str, Sequence[Trial]],
    rules: Rules,
    *,
    source: BaseSource | None = None,
    written: RunHeader | None = None,
    stored: Run | None = None,
) -> Joined:
    """Compare head with base.

    Args:
        base: the run compared against. Where a stored base screens, the fresh trials that were run on base; None when
            nothing was suspected.
        head: the run under test, with the fresh trials of a second look.
        cases: head's case figures. by_case: head's trials by case. Both of the first look where there were two.
        rules: head's rules.
        source: where base comes from.
        written: what base's own suite asks for, where base was run by head's suite.
        stored: the stored run whose counts are base's first look, for the modes `screen` and `split`.

    Raises:
        ValueError: neither `base` nor `stored` is given.
    """
    against = stored if stored is not None else base
    if against is None:
        raise ValueError("a comparison needs a base")
    first = first_look_of(head)
    comparison, side = compare_with_report(
        first_look_of(against), first, cases, by_case, rules, source="stored" if stored is not None else source
    )
    lacking: tuple[Reason, ...] = ()
    if comparison.verdict != "not comparable" and (stored is not None or same_looks(against.header, head.header)):
        from repeat_eval.analysis.looked_twice import decided_by_looks, judged_by_looks

        comparison, lacking = decided_by_looks(base, head, comparison, rules, stored=stored)
        if comparison.second_look is not None:
            cases = judged_by_looks(cases, comparison, comparison.second_look)
    if written is not None and comparison.verdict != "not comparable":
        comparison = msgspec.structs.replace(comparison, gate_changes=gate_changes(written, head.header))
    if head.header.recordings_changed:
        # Also where nothing can be compared, and before the gate's own changes: it is the evidence itself.
        changes = (*head.header.recordings_changed, *comparison.gate_changes)
        comparison = msgspec.structs.replace(comparison, gate_changes=changes)
    told = () if base is None else (*base.warnings, *(base.footer.missing if base.footer else ()))
    warnings = [
        *(f"base: {warning}" for warning in told),
        *base_warnings(comparison, side),
        *gate_warnings(comparison, rules, head.header.source),
        *fresh_from_cache(
            (name, fresh_trials(run.header, run.trials)) for name, run in (("base", base), ("head", head)) if run
        ),
    ]
    return Joined(comparison, cases, excuses(side, cases, comparison, rules), tuple(warnings), lacking)
