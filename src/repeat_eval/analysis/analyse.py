"""From a run to a report: figures, verdict, reasons, warnings. The one place where it is decided."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from repeat_eval.analysis.case_figures import case_report
from repeat_eval.analysis.report import (
    BaseSource,
    CaseReport,
    Comparison,
    Provenance,
    Reason,
    Report,
    Setting,
    Totals,
)
from repeat_eval.analysis.rules import Rules
from repeat_eval.analysis.sides import plans_of, trials_by_case
from repeat_eval.analysis.suite_figures import in_order, suite_reasons, suite_verdict, totals_of
from repeat_eval.analysis.warnings import REPLAYED, evidence_warnings, identical_outputs, settings_warnings
from repeat_eval.errors import ExitCode
from repeat_eval.records.run import Run, RunHeader

if TYPE_CHECKING:
    from repeat_eval.analysis.looks_alone import Judged

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
    base_stored: Run | None = None,
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
        base_stored: a stored run that is base's first look; `base` then holds the fresh trials that were run on base,
            and is None when nothing was suspected.
    """
    header = run.header
    first = run
    if header.second_look:
        from repeat_eval.analysis.first_look import first_look_of

        first = first_look_of(run)
    by_case = trials_by_case(first.trials)
    cases: Sequence[CaseReport] = [
        case_report(plan, by_case.get(plan.id, ()), rules) for plan in plans_of(first, by_case)
    ]
    comparison, excused, compared = None, None, []
    lacking_looks: tuple[Reason, ...] = ()
    alone: Judged | None = None
    if header.second_look and header.second_look.mode == "alone":
        from repeat_eval.analysis.looks_alone import judged_alone

        alone = judged_alone(run, cases, rules)
        cases, lacking_looks, compared = alone.cases, alone.reasons, list(alone.warnings)
    if base is not None or base_stored is not None:
        # Imported where used: a run without a base starts quicker without it.
        from repeat_eval.analysis.joining import compared_with

        joined = compared_with(
            base, run, cases, by_case, rules, source=base_source, written=base_written, stored=base_stored
        )
        comparison, excused = joined.comparison, joined.excuses
        compared = list(dict.fromkeys([*compared, *joined.warnings]))
        cases, lacking_looks = joined.cases, (*lacking_looks, *joined.reasons)
    elif base_missing is not None:
        comparison = Comparison(verdict="not comparable", text=base_missing, alpha=rules.spent_alpha_text)
        compared.insert(0, f"not compared with base: {base_missing}")
    totals = totals_of(cases, first.trials, wall=wall)
    reasons = suite_reasons(cases, totals, rules, excuses=excused)
    if alone is not None:
        reasons = alone.observed(reasons)
    if comparison is not None or rules.no_base == "incomplete":
        from repeat_eval.analysis import comparison_gates

        reasons[:0] = comparison_gates.reasons(comparison, rules, mode=header.source, missing=base_missing)
    reasons[:0] = lacking_looks
    if not run.complete:
        reasons = _stopped(run, totals, comparison, reasons, alone)
    if header.shard:
        text = f"this is {header.shard} of a run: `repeat-eval merge` joins them and judges"
        reasons.insert(0, Reason(gate="evidence", verdict="incomplete", text=text))
    lacking = run.footer.missing if run.footer else ()
    reasons[:0] = [Reason(gate="evidence", verdict="incomplete", text=text) for text in lacking]
    reasons = in_order(reasons)
    verdict = suite_verdict(reasons)
    left_out = len(run.trials) - len(first.trials) if alone is None else 0
    warnings = [
        *([REPLAYED] if header.replayed else []),
        *([_one_look(left_out)] if left_out and alone is None and not _looked_twice(comparison) else []),
        *compared,
        *run.warnings,
        *header.warnings,
        *settings_warnings(_weighed(cases, comparison, alone), rules),
        *evidence_warnings(cases if alone is None else alone.once(), totals, rules),
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
        case_reports=tuple(cases),
        comparison=comparison,
        looked_alone=alone.looks if alone is not None else None,
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


def _looked_twice(comparison: Comparison | None) -> bool:
    return comparison is not None and comparison.second_look is not None


def _one_look(fresh: int) -> str:
    trials = "one fresh trial says" if fresh == 1 else f"{fresh:,} fresh trials say"
    return (
        f"only the first look of this run is judged: its {trials} nothing without the base that ran beside it "
        "(`repeat-eval compare BASE HEAD` takes both)"
    )


def _stopped(
    run: Run, totals: Totals, comparison: Comparison | None, reasons: Sequence[Reason], alone: Judged | None
) -> list[Reason]:
    """The reasons, and before them why the run is not whole."""
    stopped = run.footer.stopped if run.footer else None
    text = f"{_STOPPED[stopped]} after {_done(run, totals)} trials"
    looks = comparison.second_look if comparison is not None else None
    fresh, asked = (looks.calls.fresh, looks.calls.asked) if looks is not None else (0, 0)
    if alone is not None:
        fresh, asked = alone.looks.fresh_trials, alone.looks.asked
    if fresh < asked and totals.trials == totals.asked:
        why = _STOPPED[stopped].removeprefix("the run stopped because ")
        text = f"the second look was cut short after {fresh} of {asked} fresh trials: {why}"
        # One reason, not two, for what was cut.
        reasons = [reason for reason in reasons if reason.gate != "evidence" or "was cut short" not in reason.text]
    # What another tool ran cannot be gone on with here.
    text += "" if run.header.source == "results" else "; --resume goes on"
    return [Reason(gate="evidence", verdict="incomplete", text=text), *reasons]


def _done(run: Run, totals: Totals) -> str:
    """How many of the trials that were asked for are done, fresh ones among them: `140 of 240`."""
    looks = run.header.second_look
    if not looks or totals.trials < totals.asked:
        return f"{totals.trials} of {totals.asked}"
    asked = totals.asked + sum(run.header.most_asked(plan) - plan.asked for plan in run.header.cases)
    return f"{len(run.trials)} of {asked}"


def _weighed(
    cases: Sequence[CaseReport], comparison: Comparison | None, alone: Judged | None
) -> list[tuple[int, str, str]]:
    """Repeats, threshold and gate of the cases whose repeats may be too few: a first look is short on purpose."""
    if alone is not None:
        # What decides about a case is what is run again.
        return [
            (alone.looks.fresh if case.id in alone.twice else case.asked, case.threshold, case.gate) for case in cases
        ]
    looked = comparison.cases if comparison is not None and comparison.second_look is not None else ()
    twice = frozenset(case.id for case in looked)
    return [(case.asked, case.threshold, case.gate) for case in cases if case.id not in twice]
