"""A run that is analysed already, and its base: the comparison, what it excuses, and what it warns about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
from msgspec import UnsetType

from repeat_eval.analysis.comparison import compare_with_report
from repeat_eval.analysis.comparison_gates import excuses, gate_warnings
from repeat_eval.analysis.comparison_text import base_warnings
from repeat_eval.analysis.first_look import first_look_of, fresh_trials, same_looks, too_many_errors
from repeat_eval.analysis.gate_changes import gate_changes
from repeat_eval.analysis.report import BaseSource, CaseReport, Comparison, Reason
from repeat_eval.analysis.rules import Rules
from repeat_eval.analysis.sides import plans_of
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
        comparison, lacking = _looked_twice(base, head, comparison, rules, stored)
        if comparison.second_look is not None:
            from repeat_eval.analysis.looked_twice import judged_by_looks

            cases = judged_by_looks(cases, comparison, comparison.second_look)
    if written is not None and comparison.verdict != "not comparable":
        comparison = msgspec.structs.replace(comparison, gate_changes=gate_changes(written, head.header))
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


def _looked_twice(
    base: Run | None, head: Run, comparison: Comparison, rules: Rules, stored: Run | None
) -> tuple[Comparison, tuple[Reason, ...]]:
    """The comparison decided by both looks, and what is missing for that."""
    from repeat_eval.analysis.looked_twice import with_looks
    from repeat_eval.analysis.second_look import StoredBase, look_twice

    looks = head.header.second_look
    if isinstance(looks, UnsetType):
        return comparison, ()
    counts = None
    if stored is not None:
        # A case that asked for something else when it was stored says nothing about this one.
        left_out = frozenset(comparison.changed)
        kept = {case.id: (case.base.passed, case.base.verdicts) for case in comparison.cases if case.id not in left_out}
        counts = StoredBase(commit=stored.header.commit or "", counts=kept)
    found = look_twice(
        base,
        head,
        looks.settings(float(rules.spent_alpha)),
        alpha=rules.spent_alpha_text,
        count_as_failed=rules.count_as_failed,
        stored=counts,
    )
    if found is None:
        text = "fewer than 6 cases have verdicts on both sides in the first look: too few to look twice"
        return comparison, (Reason(gate="evidence", verdict="incomplete", text=text),)
    plans = {plan.id: plan for plan in plans_of(head, {})}
    errors = too_many_errors(head, rules)
    lacking = (Reason(gate="max-error-rate", verdict="incomplete", text=errors),) if errors else ()
    return with_looks(comparison, found, plans, rules), lacking
