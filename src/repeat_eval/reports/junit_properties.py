"""The properties of junit.xml: our own `repeat-eval.*`, and `evals.*`, the convention for scores of evaluations.

In `evals.*` a dot separates levels, so dots in the names of checks become underscores; `evaluations` is a list counted
from 0 with one entry a trial that gave a verdict, written only where the trials disagree.
"""

from __future__ import annotations

from collections.abc import Iterator

from repeat_eval.analysis.report import CaseComparison, CaseReport, LowCase, Report
from repeat_eval.analysis.second_look_model import ReRunCase, SecondLook
from repeat_eval.reports import format as fmt
from repeat_eval.reports.comparison_wording import verdict_of
from repeat_eval.reports.escape import xml

MAX_EVALUATIONS = 20_000
"""Trials of a report above which the entries of single trials are left out: they would make most of a huge file."""
MAX_CHECKS = 50
"""Checks of a case that get properties."""

Pairs = Iterator[tuple[str, str]]


def number(value: float) -> str:
    """A number with six significant digits, without an exponent for the sizes that occur."""
    return f"{value:.6g}"


def truth(value: bool) -> str:
    """`true` or `false`."""
    return "true" if value else "false"


def suite_properties(report: Report) -> Pairs:
    """What the whole run says; unknown values are left out."""
    totals, origin = report.totals, report.provenance
    texts = {
        "verdict": report.verdict,
        "exit_code": str(report.exit_code),
        "gate": report.gate,
        "version": origin.version,
        "commit": origin.commit,
        "seed": None if origin.seed is None else str(origin.seed),
        "replayed": truth(True) if report.replayed else None,
    }
    yield from ((f"repeat-eval.{key}", value) for key, value in texts.items() if value is not None)
    counts = ("cases", "asked", "trials", "passed", "failed", "errors", "skipped", "missing", "flaky", "within_noise")
    yield from ((f"repeat-eval.{key}", str(getattr(totals, key))) for key in counts)
    figures = {"stability": totals.stability, "pass_rate": totals.pass_rate, "cost": totals.cost, "wall": totals.wall}
    if totals.judge_cost is not None:
        figures["judge_cost"] = totals.judge_cost
    if totals.interval is not None:
        figures |= {"interval_low": totals.interval[0], "interval_high": totals.interval[1]}
    yield from ((f"repeat-eval.{key}", number(value)) for key, value in figures.items() if value is not None)
    yield from _compared(report)
    for place, reason in enumerate(report.reasons[:20], start=1):
        yield f"repeat-eval.reason.{place}", reason.text
    if totals.trials > MAX_EVALUATIONS:
        yield "repeat-eval.left_out", "evals.scores.pass.evaluations: too many trials"
    yield "evals.run.name", report.suite
    yield "evals.run.dataset_name", report.suite
    if totals.cost is not None and totals.cost_known:
        yield "evals.run.cost_avg", number(totals.cost / totals.cost_known)
    if totals.duration is not None:
        yield "evals.run.time_avg", number(totals.duration)


def _compared(report: Report) -> Pairs:
    """The comparison with base; unknown values are left out."""
    comparison = report.comparison
    if comparison is None:
        return
    yield "repeat-eval.comparison", verdict_of(comparison)
    base, head = comparison.base, comparison.head
    if base is not None and base.commit:
        yield "repeat-eval.base_commit", base.commit
    if base is not None and base.source:
        yield "repeat-eval.base_source", base.source
    figures = {
        "base_rate": base.pass_rate if base else None,
        "head_rate": head.pass_rate if head else None,
        "difference": comparison.delta,
        "difference_low": comparison.interval[0] if comparison.interval else None,
        "difference_high": comparison.interval[1] if comparison.interval else None,
        "p": comparison.p,
        "p_exact": comparison.p_exact,
    }
    yield from ((f"repeat-eval.{key}", number(value)) for key, value in figures.items() if value is not None)
    yield "repeat-eval.common", str(comparison.common)
    yield "repeat-eval.testable", str(comparison.testable)
    yield from _looked_twice(comparison.second_look)


def _looked_twice(looks: SecondLook | None) -> Pairs:
    """How two looks were taken and what they took; nothing where there was one."""
    if looks is None:
        return
    yield "repeat-eval.second_look", f"{looks.first}+{looks.fresh}"
    counts = {
        "suspects": len(looks.suspects),
        "confirmed": len(looks.confirmed),
        "not_rerun": len(looks.not_rerun),
        "first_trials": looks.calls.first,
        "fresh_trials": looks.calls.fresh,
        "trials_saved": looks.calls.saved,
    }
    yield from ((f"repeat-eval.{key}", str(value)) for key, value in counts.items() if value is not None)
    yield "repeat-eval.alarm", truth(looks.down.alarm)
    figures = {"p_both_looks": looks.down.p}
    if looks.fresh_difference is not None:
        low, high = looks.fresh_difference.interval
        figures |= {
            "fresh_difference": looks.fresh_difference.delta,
            "fresh_difference_low": low,
            "fresh_difference_high": high,
        }
    yield from ((f"repeat-eval.{key}", number(value)) for key, value in figures.items())


def comparison_properties(case: CaseComparison | None) -> Pairs:
    """How one case compares with base; nothing for a case that base does not have."""
    if case is None:
        return
    yield "repeat-eval.change", case.change
    yield "repeat-eval.base_n", str(case.base.verdicts)
    yield "repeat-eval.base_passes", str(case.base.passed)
    yield "repeat-eval.base_verdict", case.base.verdict
    yield "repeat-eval.not_this_change", truth(case.not_this_change)
    figures = {
        "base_rate": case.base.pass_rate,
        "difference": case.delta,
        "difference_low": case.interval[0] if case.interval else None,
        "difference_high": case.interval[1] if case.interval else None,
        "p": case.p,
        "q": case.q if case.testable else None,
    }
    yield from ((f"repeat-eval.{key}", number(value)) for key, value in figures.items() if value is not None)


def second_look_properties(case: ReRunCase | LowCase | None) -> Pairs:
    """Both looks at a suspect, apart; nothing for a case that was not run again."""
    if case is None:
        return
    yield "repeat-eval.second_look", case.outcome
    if isinstance(case, LowCase):
        for name, side in {"first": case.first_head, "rerun": case.fresh_head}.items():
            yield f"repeat-eval.{name}_passes", str(side.passed)
            yield f"repeat-eval.{name}_n", str(side.verdicts)
        if case.fresh_head.pass_rate is not None:
            yield "repeat-eval.rerun_rate", number(case.fresh_head.pass_rate)
        return
    sides = {
        "first_base": case.first_base,
        "first": case.first_head,
        "rerun_base": case.fresh_base,
        "rerun": case.fresh_head,
    }
    for name, side in sides.items():
        yield f"repeat-eval.{name}_passes", str(side.passed)
        yield f"repeat-eval.{name}_n", str(side.verdicts)
    figures = {
        "rerun_rate": case.fresh_head.pass_rate,
        "rerun_difference": case.delta,
        "rerun_difference_low": case.interval[0] if case.interval else None,
        "rerun_difference_high": case.interval[1] if case.interval else None,
        "rerun_p": case.p2,
        "rerun_p_adjusted": case.adjusted,
    }
    yield from ((f"repeat-eval.{key}", number(value)) for key, value in figures.items() if value is not None)


def case_properties(report: Report, case: CaseReport, suspect: ReRunCase | LowCase | None = None) -> Pairs:
    """What is known of one case; unknown values are left out. The score of a suspect is that of its fresh trials."""
    yield from own_properties(case)
    yield "evals.item.id", case.id
    if case.cost is not None:
        yield "evals.item.cost", number(case.cost)
    rate, passed, outcomes = case.pass_rate, case.passed, case.outcomes
    if suspect is not None:
        rate, passed, outcomes = suspect.fresh_head.pass_rate, suspect.fresh_head.passed, suspect.outcomes
    if rate is not None:
        yield from _score("pass", "boolean", rate, passed, truth(case.verdict in ("pass", "within-noise")))
        # Where all trials agree the sum has told everything, and most cases of most suites agree.
        if 0 < rate < 1 and report.totals.trials <= MAX_EVALUATIONS:
            verdicts = (letter for letter in outcomes if letter in "PF")
            for place, letter in enumerate(verdicts):
                yield f"evals.scores.pass.evaluations.{place}.value", truth(letter == "P")
    if case.score is not None:
        yield "evals.scores.score.type", "float"
        yield "evals.scores.score.value", number(case.score.mean)
        yield "evals.scores.score.avg", number(case.score.mean)
    for check in case.checks[:MAX_CHECKS]:
        name = f"check_{xml(check.name, 200).replace('.', '_')}"
        share = check.passed / (check.passed + check.failed) if check.passed + check.failed else 0.0
        yield from _score(name, "boolean", share, check.passed, truth(check.majority.verdict == "pass"))


def _score(name: str, kind: str, average: float, total: int, value: str) -> Pairs:
    yield f"evals.scores.{name}.type", kind
    yield f"evals.scores.{name}.value", value
    yield f"evals.scores.{name}.avg", number(average)
    yield f"evals.scores.{name}.sum", str(total)


def own_properties(case: CaseReport) -> Pairs:
    """The counts, the verdict and the figures of one case; unknown values are left out."""
    texts = {
        "n": str(case.verdicts),
        "passes": str(case.passed),
        "verdict": case.verdict,
        "flaky": truth(case.flaky),
        "threshold": case.threshold,
        "gate": case.gate,
        "needs": None if case.needs is None else str(case.needs),
        "asked": str(case.asked),
        "errors": str(case.errors) if case.errors else None,
        "skipped": str(case.skipped) if case.skipped else None,
        "missing": str(case.missing) if case.missing else None,
        "outcomes": case.outcomes,
        "reliability": None if case.verdicts < 2 or not case.reliability else fmt.reliability_of_case(case),
    }
    yield from ((f"repeat-eval.{key}", value) for key, value in texts.items() if value is not None)
    figures = {
        "rate": case.pass_rate,
        "interval_low": case.interval[0] if case.interval else None,
        "interval_high": case.interval[1] if case.interval else None,
        "pass_hat_2": case.pass_hat_k.get("2"),
        "pass_hat_3": case.pass_hat_k.get("3"),
        "score_mean": case.score.mean if case.score else None,
        "score_std": case.score.std if case.score else None,
        "duration_mean": case.duration.mean if case.duration else None,
        "cost": case.cost,
    }
    yield from ((f"repeat-eval.{key}", number(value)) for key, value in figures.items() if value is not None)
