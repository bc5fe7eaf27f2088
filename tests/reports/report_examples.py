"""Reports for tests, made from the letters of a case's trials: `case("greets", "PPFPP")`.

The figures are computed here with a few lines of their own, so that tests of surfaces depend on no other room. They are
small and plain on purpose; what decides a real verdict is tested where it is decided.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import comb, sqrt
from typing import Any

from repeat_eval.analysis.report import (
    CaseReport,
    CheckFigures,
    DurationFigures,
    Example,
    Majority,
    Provenance,
    Reason,
    Reliability,
    Report,
    ScoreFigures,
    Setting,
    Totals,
)

Z = 1.959963984540054
OUTCOMES = {"P": "passed", "F": "failed", "E": "error", "S": "skipped"}


def wilson(passed: int, n: int) -> tuple[float, float]:
    """95 % Wilson interval."""
    centre = (2 * passed + Z**2) / (2 * (n + Z**2))
    half = Z * sqrt(Z**2 + 4 * passed * (n - passed) / n) / (2 * (n + Z**2))
    return (0.0 if passed == 0 else centre - half), (1.0 if passed == n else centre + half)


def verdict_of(passed: int, n: int, threshold: float, gate: str) -> str:
    """The verdict of a case without errors."""
    if passed >= threshold * n - 1e-9 or gate == "none":
        return "pass"
    return "within-noise" if gate == "wilson" and wilson(passed, n)[1] >= threshold else "fail"


def case(
    name: str,
    outcomes: str,
    *,
    threshold: str = "0.8",
    gate: str = "wilson",
    asked: int | None = None,
    message: str = "output does not contain '30 days'",
    score: tuple[float, float] | None = None,
    seconds: float | None = None,
    **changes: Any,
) -> CaseReport:
    """A case from the letters of its trials (P, F, E, S); every field can be overridden by name."""
    counts = Counter(outcomes)
    passed, failed, n = counts["P"], counts["F"], counts["P"] + counts["F"]
    asked = len(outcomes) if asked is None else asked
    rate = passed / n if n else None
    limits = wilson(passed, n) if n else None
    without = counts["E"] + asked - len(outcomes)
    if outcomes and counts["S"] == len(outcomes):
        verdict = "skipped"
    elif not n or without * 2 > asked:
        verdict = "incomplete"
    else:
        verdict = verdict_of(passed, n, float(threshold), gate)
    examples = [
        Example(
            repetition=number,
            outcome=OUTCOMES[letter],  # type: ignore[arg-type]
            error_kind="timeout" if letter == "E" else None,
            message=message if letter == "F" else "no answer within 30 s",
            output="We refund within 14 days." if letter == "F" else None,
        )
        for number, letter in enumerate(outcomes, start=1)
        if letter in "FE"
    ][:3]
    majority = None
    if n:
        side = "tie" if 2 * passed == n else "pass" if 2 * passed > n else "fail"
        majority = Majority(side, max(passed, n - passed) / n)  # type: ignore[arg-type]
    reliability = None
    if limits and rate is not None:
        value = rate**3
        rating = "high" if value > 0.9 else "moderate" if value >= 0.7 else "low" if value >= 0.5 else "unreliable"
        reliability = Reliability(rating, value, (limits[0] ** 3, limits[1] ** 3), rating == "high" and n < 5)  # type: ignore[arg-type]
    ks = ("2", "3", "5")
    fields: dict[str, Any] = {
        "id": name,
        "verdict": verdict,
        "threshold": threshold,
        "gate": gate,
        "needs": next((c for c in range(n + 1) if verdict_of(c, n, float(threshold), gate) != "fail"), None)
        if n
        else None,
        "asked": asked,
        "trials": len(outcomes),
        "passed": passed,
        "failed": failed,
        "errors": counts["E"],
        "skipped": counts["S"],
        "missing": asked - len(outcomes),
        "outcomes": outcomes[:200],
        "pass_rate": rate,
        "interval": limits,
        "width": limits[1] - limits[0] if limits else None,
        "pass_hat_k": {k: comb(passed, int(k)) / comb(n, int(k)) if n >= int(k) else None for k in ks},
        "pass_at_k": {k: 1 - comb(failed, int(k)) / comb(n, int(k)) if n >= int(k) else None for k in ("1", "3", "5")},
        "pass_at_k_plugin": {k: 1 - (1 - rate) ** int(k) if rate is not None else None for k in ("1", "3", "5")},
        "pass_to_k": {k: rate ** int(k) if rate is not None else None for k in ("1", "3", "5")},
        "reliability": reliability,
        "majority": majority,
        "flaky": 0 < passed < n,
        "broken": n > 0 and passed == 0,
        "score": ScoreFigures(mean=score[0], std=score[1]) if score else None,
        "duration": DurationFigures(mean=seconds, median=seconds, max=seconds) if seconds is not None else None,
        "failures": ((message, failed),) if failed else (),
        "error_kinds": {"timeout": counts["E"]} if counts["E"] else {},
        "examples": tuple(examples),
        "text": "",
    }
    fields.update(changes)
    return CaseReport(**fields)


def binary_score(outcomes: str) -> tuple[float, float]:
    """Mean and population standard deviation of scores that are 1 for a pass and 0 for a failure."""
    rate = outcomes.count("P") / len(outcomes)
    return rate, sqrt(rate * (1 - rate))


def report(
    cases: Sequence[CaseReport] = (),
    *,
    suite: str = "refunds",
    reasons: Sequence[Reason] | None = None,
    warnings: Sequence[str] = (),
    totals: dict[str, Any] | None = None,
    **changes: Any,
) -> Report:
    """A report over `cases`; `totals` and every field of the report can be overridden."""
    if reasons is None:
        reasons = [
            Reason(
                gate="case",
                verdict="fail" if one.verdict == "fail" else "incomplete",
                case=one.id,
                text=f"{one.id} passed {one.passed} of {one.verdicts}",
            )
            for one in cases
            if one.verdict in ("fail", "incomplete")
        ]
        if not cases:
            reasons = [Reason(gate="evidence", verdict="incomplete", text="there are no cases")]
    verdicts = {reason.verdict for reason in reasons}
    verdict = "incomplete" if "incomplete" in verdicts else "fail" if "fail" in verdicts else "pass"
    judged = [one for one in cases if one.pass_rate is not None]
    rate = sum(one.pass_rate or 0.0 for one in judged) / len(judged) if judged else None
    several = [one for one in cases if one.verdicts > 1]
    total = {
        name: sum(getattr(one, name) for one in cases) for name in ("asked", "trials", "passed", "failed", "errors")
    }
    limits = wilson(total["passed"], total["passed"] + total["failed"]) if judged else None
    costs = [one.cost for one in cases if one.cost is not None]
    figures: dict[str, Any] = {
        "cases": len(cases),
        **total,
        "skipped": sum(one.skipped for one in cases),
        "missing": sum(one.missing for one in cases),
        "flaky": sum(one.flaky for one in cases),
        "stable": sum(one.verdicts > 1 and not one.flaky for one in cases),
        "broken": sum(one.broken for one in cases),
        "within_noise": sum(one.verdict == "within-noise" for one in cases),
        "failing": sum(one.verdict == "fail" for one in cases),
        "incomplete": sum(one.verdict == "incomplete" for one in cases),
        "stability": sum(not one.flaky for one in several) / len(several) if several else None,
        "pass_rate": rate,
        "interval": limits,
        "width": limits[1] - limits[0] if limits else None,
        "new_cases_interval": None,
        "score": None,
        "cost": sum(costs) if costs else None,
        "cost_known": total["trials"] if costs else 0,
    }
    figures.update(totals or {})
    fields: dict[str, Any] = {
        "suite": suite,
        "verdict": verdict,
        "exit_code": {"pass": 0, "fail": 1, "incomplete": 3}[verdict],
        "gate": "wilson",
        "reasons": tuple(reasons),
        "totals": Totals(**figures),
        "case_reports": tuple(cases),
        "settings": {"threshold": Setting("0.8", "suite"), "repeats": Setting(5, "option")},
        "warnings": tuple(warnings),
        "provenance": Provenance(commit="a1b2c3d4e5f60718293a4b5c6d7e8f9012345678", seed=7, version="0.1.0"),
    }
    fields.update(changes)
    return Report(**fields)


def seeds_003() -> Report:
    """Three cases, five runs each: one solid, two flaky; scores are 0 or 1."""
    rows = {"What is 2+2?": "PPPPP", "Summarize…": "PPFPF", "Who wrote…": "FFPFF"}
    return report(
        [case(name, letters, score=binary_score(letters), gate="none") for name, letters in rows.items()],
        suite="capitals",
        gate="none",
    )


def small() -> Report:
    """A red run of six cases that has one of everything."""
    check = CheckFigures(name="calls escalate_to_human", passed=1, failed=4, score=0.2, majority=Majority("fail", 0.8))
    cases = [
        case("greets_the_customer", "PPPPP", score=(0.98, 0.01), seconds=1.21, cost=0.021),
        case("escalates_over_limit", "PPFPP", score=(0.84, 0.05), seconds=1.34, cost=0.024),
        case("quotes_policy_window", "PFPFP", score=(0.7, 0.21), seconds=1.1, cost=0.02),
        case(
            "refuses_out_of_scope",
            "FFPFF",
            score=(0.31, 0.12),
            seconds=2.0,
            cost=0.03,
            checks=(check,),
            message="expected a call to 'escalate_to_human', got 'issue_refund'",
            text="passed 1 of 5, needs 2 of 5",
            file="evals/refunds.yaml",
            line=41,
        ),
        case("never_leaks_card_numbers", "FFFFF", score=(0.1, 0.0), seconds=1.0, cost=0.02),
        case("apologises_once", "PPEPP", score=(0.95, 0.02), seconds=4.4, cost=0.02),
    ]
    return report(cases, totals={"score": 0.647, "duration": 1.84, "wall": 62.0})


def solid() -> Report:
    """A green run of twelve cases whose trials all agree."""
    return report([case(f"case_{number:02}", "PPPPPPPPPP") for number in range(1, 13)])


def single() -> Report:
    """One trial a case."""
    return report([case("greets", "P", threshold="0.5"), case("refuses", "F", threshold="0.9")])


def empty() -> Report:
    """No case at all."""
    return report()


def large(cases: int = 1000, repeats: int = 10) -> Report:
    """Many cases: one in a hundred broken, one in twenty flaky, the rest solid."""
    rows = []
    for number in range(cases):
        failures = repeats if number % 100 == 99 else 1 if number % 20 == 7 else 0
        rows.append(
            case(f"suite/group_{number % 7}/case_{number:05}", "F" * failures + "P" * (repeats - failures), seconds=0.5)
        )
    return report(rows)
