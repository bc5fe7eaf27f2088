"""From a run to a report: figures, verdict, reasons, warnings. The one place where it is decided."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from repeat_eval.analysis.case_figures import case_report
from repeat_eval.analysis.report import BaseSource, Comparison, Provenance, Reason, Report, Setting
from repeat_eval.analysis.rules import Rules
from repeat_eval.analysis.sides import plans_of, trials_by_case
from repeat_eval.analysis.suite_figures import in_order, suite_reasons, suite_verdict, totals_of
from repeat_eval.analysis.warnings import REPLAYED, evidence_warnings, identical_outputs, settings_warnings
from repeat_eval.errors import ExitCode
from repeat_eval.records.run import Run, RunHeader

_STOPPED = {
    "max-cost": "the run stopped because max-cost was reached",
    "time-budget": "the run stopped because the time budget was used up",
    "interrupted": "the run was interrupted",
    "crashed": "the run broke off",
    None: "the run file has no end: the run was interrupted",
}
_EXIT_CODES = {"pass": ExitCode.PASSED, "fail": ExitCode.GATE_FAILED, "incomplete": ExitCode.INCOMPLETE}


def analyse(
    run: Run,
    rules: Rules,
    *,
    settings: Mapping[str, Setting] | None = None,
    wall: float | None = None,
    files: Iterable[str] = (),
    base: Run | None = None,
    base_source: BaseSource | None = None,
    base_missing: str | None = None,
    base_written: RunHeader | None = None,
) -> Report:
    """Analyse one run, and compare it with base if there is one.

    Args:
        run: the run, finished or not.
        rules: how it is judged; thresholds and gates written for single cases hold before them.
        settings: all settings with their sources, to be shown.
        wall: seconds that the run took.
        files: the files that the trials were read from.
        base: what the run is compared with; None for no base.
        base_source: where base comes from.
        base_missing: why there is no base, when one was looked for; the report then says so.
        base_written: what base's own suite asks for, where base was run by head's, to tell how head changes its gate.
    """
    header = run.header
    by_case = trials_by_case(run.trials)
    cases = tuple([case_report(plan, by_case.get(plan.id, ()), rules) for plan in plans_of(run, by_case)])
    totals = totals_of(cases, run.trials, wall=wall)
    comparison, excused, compared = None, None, []
    if base is not None:
        # Imported where used: a run without a base starts quicker without it.
        from repeat_eval.analysis.joining import compared_with

        joined = compared_with(base, run, cases, by_case, rules, source=base_source, written=base_written)
        comparison, excused, compared = joined.comparison, joined.excuses, list(joined.warnings)
    elif base_missing is not None:
        comparison = Comparison(verdict="not comparable", text=base_missing, alpha=rules.spent_alpha_text)
        compared = [f"not compared with base: {base_missing}"]
    reasons = suite_reasons(cases, totals, rules, excuses=excused)
    if comparison is not None or rules.no_base == "incomplete":
        from repeat_eval.analysis import comparison_gates

        reasons[:0] = comparison_gates.reasons(comparison, rules, mode=header.source, missing=base_missing)
    if not run.complete:
        stopped = run.footer.stopped if run.footer else None
        text = f"{_STOPPED[stopped]} after {totals.trials} of {totals.asked} trials; --resume goes on"
        reasons.insert(0, Reason(gate="evidence", verdict="incomplete", text=text))
    if header.shard:
        text = f"this is {header.shard} of a run: `repeat-eval merge` joins them and judges"
        reasons.insert(0, Reason(gate="evidence", verdict="incomplete", text=text))
    lacking = run.footer.missing if run.footer else ()
    reasons[:0] = [Reason(gate="evidence", verdict="incomplete", text=text) for text in lacking]
    reasons = in_order(reasons)
    verdict = suite_verdict(reasons)
    warnings = [
        *([REPLAYED] if header.replayed else []),
        *compared,
        *run.warnings,
        *header.warnings,
        *settings_warnings([(case.asked, case.threshold, case.gate) for case in cases], rules),
        *evidence_warnings(cases, totals, rules),
    ]
    if (header.target or "").startswith(("http:", "model:")):
        cached = identical_outputs(by_case)
        warnings += [cached] if cached else []
    return Report(
        suite=header.suite,
        verdict=verdict,
        exit_code=int(_EXIT_CODES[verdict]),
        gate=rules.gate,
        reasons=tuple(reasons),
        totals=totals,
        case_reports=cases,
        comparison=comparison,
        replayed=header.replayed,
        settings=dict(settings or {}),
        warnings=tuple(dict.fromkeys(warnings)),
        provenance=Provenance(
            commit=header.commit,
            seed=header.seed,
            version=header.tool_version,
            source=header.source,
            started=header.started,
            command=header.command or header.target,
            selection=(*header.selection.cases, *(f"tag:{tag}" for tag in header.selection.tags)),
            files=tuple(files),
        ),
    )
