"""Reports for the tests of what is published: small, and decided by hand."""

from __future__ import annotations

from typing import Any

from repeat_eval.analysis.report import (
    CaseChange,
    CaseComparison,
    CaseReport,
    CaseVerdict,
    Comparison,
    ComparisonVerdict,
    Example,
    Report,
    SideOfCase,
    SuiteVerdict,
    Totals,
)

PASSED = {"pass": 10, "within-noise": 7, "fail": 2, "incomplete": 2, "skipped": 0}


def case_report(
    name: str,
    verdict: CaseVerdict,
    *,
    file: str | None = None,
    line: int | None = None,
    message: str | None = None,
) -> CaseReport:
    """A case of ten trials; `message` is why its second one failed, like all that failed."""
    passed = PASSED[verdict]
    return CaseReport(
        id=name,
        verdict=verdict,
        threshold="0.8",
        gate="wilson",
        needs=None,
        asked=10,
        trials=10,
        passed=passed,
        failed=10 - passed,
        errors=0,
        skipped=0,
        missing=0,
        outcomes="P" * passed + "F" * (10 - passed),
        pass_rate=passed / 10,
        interval=None,
        width=None,
        pass_hat_k={},
        pass_at_k={},
        pass_at_k_plugin={},
        pass_to_k={},
        reliability=None,
        majority=None,
        flaky=0 < passed < 10,
        broken=passed == 0,
        failures=((message, 10 - passed),) if message else (),
        examples=(Example(repetition=2, outcome="failed", message=message),) if message else (),
        text=f"{passed} of 10 passed",
        file=file,
        line=line,
    )


def compared(
    *cases: str,
    verdict: ComparisonVerdict = "regressed",
    change: CaseChange = "regressed",
    not_this_change: bool = False,
    **more: Any,
) -> Comparison:
    """A comparison in which these cases fell from 10 of 10 to 5 of 10."""

    def side(passed: int) -> SideOfCase:
        return SideOfCase(
            passed=passed,
            failed=10 - passed,
            errors=0,
            missing=0,
            pass_rate=passed / 10,
            interval=None,
            verdict="pass",
            outcomes="",
            flaky=False,
        )

    rows = tuple(
        CaseComparison(
            id=name,
            base=side(10),
            head=side(5),
            delta=-0.5,
            interval=None,
            p=0.01,
            q=0.01,
            testable=True,
            adjusted_down=0.01,
            adjusted_up=1.0,
            rejected_down=True,
            rejected_up=False,
            level="significant",
            change=change,
            watch=False,
            not_this_change=not_this_change,
        )
        for name in cases
    )
    return Comparison(verdict=verdict, text="", cases=rows, **more)


def report(*cases: CaseReport, verdict: SuiteVerdict = "fail", comparison: Comparison | None = None) -> Report:
    """A report of these cases."""
    passed = sum(case.passed for case in cases)
    return Report(
        suite="refunds",
        verdict=verdict,
        exit_code={"pass": 0, "fail": 1, "incomplete": 3}[verdict],
        gate="wilson",
        reasons=(),
        totals=Totals(
            cases=len(cases),
            asked=10 * len(cases),
            trials=10 * len(cases),
            passed=passed,
            failed=10 * len(cases) - passed,
            errors=0,
            skipped=0,
            missing=0,
            flaky=0,
            stable=0,
            broken=0,
            within_noise=0,
            failing=sum(case.verdict == "fail" for case in cases),
            incomplete=0,
            stability=None,
            pass_rate=None,
            interval=None,
            width=None,
            new_cases_interval=None,
        ),
        case_reports=cases,
        comparison=comparison,
    )
