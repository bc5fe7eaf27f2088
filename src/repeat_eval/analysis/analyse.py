"""From a run to a report: figures, verdict, reasons, warnings. The one place where it is decided."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from repeat_eval.analysis.case_figures import case_report
from repeat_eval.analysis.report import Provenance, Reason, Report, Setting
from repeat_eval.analysis.rules import Rules
from repeat_eval.analysis.suite_figures import suite_reasons, suite_verdict, totals_of
from repeat_eval.analysis.warnings import evidence_warnings, identical_outputs, settings_warnings
from repeat_eval.errors import ExitCode
from repeat_eval.records.run import CasePlan, Run
from repeat_eval.records.trial import Trial

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
) -> Report:
    """Analyse one run.

    Args:
        run: the run, finished or not.
        rules: how it is judged; thresholds and gates written for single cases hold before them.
        settings: all settings with their sources, to be shown.
        wall: seconds that the run took.
        files: the files that the trials were read from.
    """
    header = run.header
    by_case: dict[str, list[Trial]] = {}
    for trial in run.trials:
        by_case.setdefault(trial.case, []).append(trial)
    plans = header.cases or tuple(CasePlan(id=case, asked=header.repeats) for case in by_case)
    cases = tuple(case_report(plan, by_case.get(plan.id, ()), rules) for plan in plans)
    totals = totals_of(cases, run.trials, wall=wall)
    reasons = suite_reasons(cases, totals, rules)
    if not run.complete:
        stopped = run.footer.stopped if run.footer else None
        text = f"{_STOPPED[stopped]} after {totals.trials} of {totals.asked} trials; --resume goes on"
        reasons.insert(0, Reason(gate="evidence", verdict="incomplete", text=text))
    lacking = run.footer.missing if run.footer else ()
    reasons[:0] = [Reason(gate="evidence", verdict="incomplete", text=text) for text in lacking]
    verdict = suite_verdict(reasons)
    warnings = [
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
