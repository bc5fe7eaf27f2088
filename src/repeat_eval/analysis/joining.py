"""A run that is analysed already, and its base: the comparison, what it excuses, and what it warns about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from repeat_eval.analysis.comparison import compare_with_report
from repeat_eval.analysis.comparison_gates import excuses, gate_warnings
from repeat_eval.analysis.comparison_text import base_warnings
from repeat_eval.analysis.gate_changes import gate_changes
from repeat_eval.analysis.report import BaseSource, CaseReport, Comparison
from repeat_eval.analysis.rules import Rules
from repeat_eval.analysis.suite_figures import Excuses
from repeat_eval.records.run import Run, RunHeader
from repeat_eval.records.trial import Trial


class Joined(msgspec.Struct, frozen=True):
    """A comparison with what follows from it for head's own gates and warnings."""

    comparison: Comparison
    excuses: Excuses
    warnings: tuple[str, ...]


def compared_with(
    base: Run,
    head: Run,
    cases: Sequence[CaseReport],
    by_case: Mapping[str, Sequence[Trial]],
    rules: Rules,
    *,
    source: BaseSource | None = None,
    written: RunHeader | None = None,
) -> Joined:
    """Compare head with base.

    Args:
        base: the run compared against. head: the run under test.
        cases: head's case figures. by_case: head's trials by case.
        rules: head's rules.
        source: where base comes from.
        written: what base's own suite asks for, where base was run by head's suite.
    """
    comparison, side = compare_with_report(base, head, cases, by_case, rules, source=source)
    if written is not None and comparison.verdict != "not comparable":
        comparison = msgspec.structs.replace(comparison, gate_changes=gate_changes(written, head.header))
    warnings = [
        *(f"base: {warning}" for warning in (*base.warnings, *(base.footer.missing if base.footer else ()))),
        *base_warnings(comparison, side),
        *gate_warnings(comparison, rules, head.header.source),
    ]
    return Joined(comparison, excuses(side, cases, comparison, rules), tuple(warnings))
