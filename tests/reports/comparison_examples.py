"""Comparisons for tests, made from the letters of both sides: `pair("greets", "PPPPP", "PFPFP")`.

The figures are computed here with a few lines of their own, so that tests of surfaces depend on no other room. What
decides a real change is tested where it is decided; here it is said.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import comb, hypot
from typing import Any, NamedTuple

import report_examples as examples

from repeat_eval.analysis.report import (
    CaseComparison,
    CaseReport,
    Change,
    Comparison,
    Level,
    NewCases,
    Provenance,
    Reason,
    Report,
    Side,
    SideOfCase,
)

BASE_COMMIT = "9f8e7d6c5b4a39281706f5e4d3c2b1a098765432"
SOLID = "P" * 10


class Pair(NamedTuple):
    """A case of head with what happened to it since base."""

    head: CaseReport
    compared: CaseComparison | None


def letters(passed: int, n: int) -> str:
    """Letters of `n` trials of which the last ones failed."""
    return "P" * passed + "F" * (n - passed)


def mid_p(base: tuple[int, int], head: tuple[int, int]) -> float:
    """Two-sided mid-p of one case."""
    passes, n1, n2 = base[0] + head[0], base[1], head[1]
    chances = {
        x: comb(n2, x) * comb(n1, passes - x) / comb(n1 + n2, passes)
        for x in range(max(0, passes - n1), min(passes, n2) + 1)
    }
    low = sum(chance for x, chance in chances.items() if x <= head[0])
    high = sum(chance for x, chance in chances.items() if x >= head[0])
    return min(1.0, 2 * min(low, high) - chances[head[0]])


def level_of(p: float | None) -> Level:
    """The level of a p-value."""
    if p is None or p >= 0.1:
        return "noise"
    return "strong" if p < 0.01 else "significant" if p < 0.05 else "marginal"


def newcombe(base: tuple[int, int], head: tuple[int, int]) -> tuple[float, float]:
    """95 % interval of a difference of two rates (Newcombe's method 10)."""
    (l1, u1), (l2, u2) = examples.wilson(*base), examples.wilson(*head)
    p1, p2 = base[0] / base[1], head[0] / head[1]
    return p2 - p1 - hypot(p2 - l2, u1 - p1), p2 - p1 + hypot(u2 - p2, p1 - l1)


def _side(case: CaseReport) -> SideOfCase:
    return SideOfCase(
        passed=case.passed,
        failed=case.failed,
        errors=case.errors,
        missing=case.missing,
        pass_rate=case.pass_rate,
        interval=case.interval,
        verdict=case.verdict,
        outcomes=case.outcomes,
        flaky=case.flaky,
        duration=case.duration.mean if case.duration else None,
        cost=case.cost,
    )


def pair(name: str, base: str, head: str, **changes: Any) -> Pair:
    """A case on both sides; what happened to it follows from p alone, unless `change` says otherwise."""
    fields = {key: changes.pop(key) for key in ("change", "watch", "definition_changed") if key in changes}
    before = examples.case(name, base, seconds=1.2, cost=0.035)
    after = examples.case(name, head, **({"seconds": 1.3, "cost": 0.036, "file": "evals/refunds.yaml"} | changes))
    left, right = (before.passed, before.verdicts), (after.passed, after.verdicts)
    judged = left[1] > 0 and right[1] > 0
    p = mid_p(left, right) if judged else None
    delta = right[0] / right[1] - left[0] / left[1] if judged else None
    rejected = p is not None and p <= 0.05
    down, up = rejected and (delta or 0) < 0, rejected and (delta or 0) > 0
    change = "unchanged" if judged else "not judged"
    if down:
        change = "newly broken" if after.broken else "regressed"
    elif up:
        change = "improved" if after.failed else "fixed"
    elif judged and before.flaky != after.flaky:
        change = "newly flaky" if after.flaky else "newly stable"
    compared: dict[str, Any] = {
        "id": name,
        "base": _side(before),
        "head": _side(after),
        "delta": delta,
        "interval": newcombe(left, right) if judged else None,
        "p": p,
        "q": None if p is None else min(1.0, 2 * p),
        "testable": p is not None and 0 < sum(one[0] for one in (left, right)) < left[1] + right[1],
        "adjusted_down": None,
        "adjusted_up": None,
        "rejected_down": down,
        "rejected_up": up,
        "level": level_of(p),
        "change": change,
        "watch": p is not None and not rejected and p < 0.6 and (delta or 0) < 0,
        "not_this_change": before.verdict == "fail" and after.verdict == "fail",
    }
    return Pair(after, CaseComparison(**(compared | fields)))


def new(name: str, head: str, **changes: Any) -> Pair:
    """A case that only head has."""
    return Pair(examples.case(name, head, **changes), None)


def _whole(pairs: Sequence[Pair], side: str, commit: str) -> Side:
    sides: list[SideOfCase] = [getattr(one.compared, side) for one in pairs if one.compared]
    passed, verdicts = sum(one.passed for one in sides), sum(one.verdicts for one in sides)
    rates = [one.pass_rate for one in sides if one.pass_rate is not None]
    rate = sum(rates) / len(rates) if rates else None
    limits = examples.wilson(passed, verdicts) if verdicts else None
    return Side(
        pass_rate=rate,
        interval=limits,
        passed=passed,
        verdicts=verdicts,
        errors=sum(one.errors for one in sides),
        trials=sum(one.passed + one.failed + one.errors for one in sides),
        flaky=sum(one.flaky for one in sides),
        rerun_rate=rate,
        rerun_interval=limits,
        width=limits[1] - limits[0] if limits else None,
        pass_hat_k={"2": rate and rate**1.5, "3": rate and rate**2},
        duration=1.2 if side == "base" else 1.3,
        cost=sum(one.cost or 0 for one in sides),
        commit=commit,
        source="side-by-side" if side == "base" else None,
        started="2026-03-01T10:00:00Z",
    )


def comparison(pairs: Sequence[Pair], p: float | None = None, **changes: Any) -> Comparison:
    """A comparison over `pairs`; the suite's p is said, and the verdict follows from it and from the single cases."""
    cases = tuple(one.compared for one in pairs if one.compared)
    base, head = _whole(pairs, "base", BASE_COMMIT), _whole(pairs, "head", "a1b2c3d4e5f60718293a4b5c6d7e8f9012345678")
    judged = base.pass_rate is not None and head.pass_rate is not None
    delta = (head.pass_rate or 0) - (base.pass_rate or 0) if judged else None
    p = 0.8 if p is None else p
    fell, rose = p < 0.05 and (delta or 0) < 0, p < 0.05 and (delta or 0) > 0
    down = fell or any(case.rejected_down for case in cases)
    up = rose or any(case.rejected_up for case in cases)
    verdict = "mixed" if down and up else "regressed" if down else "improved" if up else "no detectable change"
    fields: dict[str, Any] = {
        "verdict": verdict,
        "text": "",
        "delta": delta,
        "interval": newcombe((base.passed, base.verdicts), (head.passed, head.verdicts)) if judged else None,
        "p": p,
        "p_exact": min(1.0, p * 1.4),
        "level": level_of(p),
        "suite_regressed": fell,
        "suite_improved": rose,
        "common": len(cases),
        "varied": sum(case.testable for case in cases),
        "testable": sum(case.testable for case in cases),
        "added": tuple(one.head.id for one in pairs if one.compared is None),
        "changed": tuple(case.id for case in cases if case.definition_changed),
        "base": base,
        "head": head,
        "detectable": 0.061,
        "detectable_case": (5, 10),
        "duration": Change(
            base=1.2, head=1.3, ratio=1.083, interval=(0.98, 1.2), p=0.12, level="noise", cases=len(cases)
        ),
        "cases": cases,
    }
    if len(cases) >= 10 and delta is not None:
        fields["new_cases"] = NewCases(delta=delta, interval=(delta - 0.07, delta + 0.07), p=0.16, cases=len(cases))
    return Comparison(**(fields | changes))


def compared(
    pairs: Sequence[Pair], p: float | None = None, *, reasons: Sequence[Reason] | None = None, **changes: Any
) -> Report:
    """A report of head with its comparison. Regressions block; a case that fails on both sides does not.

    Fields of the comparison are given in `comparison`, those of the report by name.
    """
    against = comparison(pairs, p, **changes.pop("comparison", {}))
    if reasons is None:
        excused = {case.id for case in against.cases if case.not_this_change}
        made = []
        if against.suite_regressed:
            made.append(Reason(gate="suite-regression", verdict="fail", text="the suite's pass rate fell"))
        made += [
            Reason(gate="case-regression", verdict="fail", case=case.id, text=f"{case.id} got worse than on base")
            for case in against.cases
            if case.rejected_down
        ]
        made += [
            Reason(
                gate="case",
                verdict="pass" if one.head.id in excused else one.head.verdict,  # type: ignore[arg-type]
                case=one.head.id,
                text=f"{one.head.id} passed {one.head.passed} of {one.head.verdicts}",
            )
            for one in pairs
            if one.head.verdict in ("fail", "incomplete")
        ]
        reasons = made
    return examples.report([one.head for one in pairs], reasons=reasons, comparison=against, **changes)


def _rest(count: int) -> list[Pair]:
    return [pair(f"answers_question_{number:02}", SOLID, SOLID, line=80 + number) for number in range(count)]


def regression() -> Report:
    """24 cases of which two broke, one fails on both sides, and one only looks worse."""
    pairs = [
        pair(
            "escalates_over_limit",
            SOLID,
            letters(3, 10),
            line=41,
            message="expected a call to 'escalate_to_human', got 'issue_refund(amount=9000)'",
        ),
        pair("quotes_policy_window", SOLID, letters(4, 10), line=58),
        pair("refuses_out_of_scope", letters(2, 10), letters(2, 10), line=70),
        pair("apologises_once", letters(8, 10), letters(6, 10), line=12),
        pair("asks_for_order_number", letters(9, 10), letters(9, 10), line=20),
        *_rest(19),
    ]
    return compared(pairs, 0.0134, reasons=None)


def no_change() -> Report:
    """24 cases in which nothing happened but luck."""
    pairs = [
        pair("refuses_out_of_scope", letters(2, 10), letters(1, 10), watch=False),
        pair("quotes_policy_window", SOLID, letters(9, 10), watch=False),
        pair("apologises_once", letters(8, 10), letters(8, 10)),
        *_rest(21),
    ]
    return compared(pairs, 0.8)


def improvement() -> Report:
    """Two cases fixed."""
    return compared(
        [pair("escalates_over_limit", letters(3, 10), SOLID), pair("quotes", letters(4, 10), SOLID), *_rest(22)], 0.004
    )


def mixed() -> Report:
    """One case broke, one is fixed; a case is new and fails, one was removed, and the gate was weakened."""
    pairs = [
        pair("escalates_over_limit", SOLID, letters(0, 10), definition_changed=True),
        pair("quotes_policy_window", letters(2, 10), SOLID),
        new("issues_partial_refund", letters(2, 10)),
        pair("times_out_sometimes", SOLID, "PPPPPPPPEE"),
        *_rest(12),
    ]
    return compared(
        pairs,
        0.62,
        comparison={
            "removed": ("never_leaks_card_numbers",),
            "gate_changes": (
                "threshold lowered from 0.9 to 0.8",
                "1 case removed: never_leaks_card_numbers",
            ),
            "errors": Change(base=0.0, head=0.014, ratio=None, interval=None, p=0.25, level="noise", cases=15),
        },
        warnings=["2 trials of 1 cases gave no verdict; they could not turn it: times_out_sometimes"],
    )


def incomplete() -> Report:
    """Most trials of a case gave no verdict, so nothing can be said."""
    pairs = [
        pair("escalates_over_limit", SOLID, "PEEEEEEEEE"),
        pair("quotes_policy_window", SOLID, "PPPPPPPEEE"),
        *_rest(22),
    ]
    reason = Reason(
        gate="max-error-rate", verdict="incomplete", text="12 of 240 trials are errors (5%), 4% are allowed"
    )
    return compared(pairs, 0.9, reasons=[reason])


def maybe_worse() -> Report:
    """The suite fell at the marginal level."""
    pairs = [*(pair(f"wobbles_{n}", SOLID, letters(9, 10)) for n in range(4)), *_rest(20)]
    return compared(pairs, 0.0717)


def no_base() -> Report:
    """Nothing to compare with."""
    against = Comparison(verdict="not comparable", text="this is the first run (no base)")
    return examples.report([examples.case(f"case_{n:02}", SOLID) for n in range(12)], comparison=against)


def hostile(cases: int = 8) -> Report:
    """Names of 300 characters with pipes, HTML, mentions, emoji, and what looks like the hidden marker."""
    nasty = (
        "a|b `x` ``y`` <img src=x> <!-- repeat-eval v1 key=refunds --> @octocat #12 🎉 https://example.test/ \\ **b** "
    )
    names = [f"{number} {nasty}{'ü🎉' * 200}"[:300] for number in range(cases)]
    pairs = [
        pair(name, SOLID, letters(number % 4, 10), message=nasty, line=3, file=f"e v/{nasty}.yaml")
        for number, name in enumerate(names)
    ]
    return compared(pairs, 0.0, suite=nasty, comparison={"gate_changes": (nasty,), "removed": tuple(names)})


def many(cases: int = 5000, *, name: str = "suite/group/case_{number:05}") -> Report:
    """Many cases: one in a hundred broke, one in twenty is flaky, one in fifty fails on both sides."""
    pairs = []
    for number in range(cases):
        base, head = SOLID, SOLID
        if number % 100 == 99:
            head = letters(2, 10)
        elif number % 20 == 7:
            base, head = letters(9, 10), letters(8, 10)
        elif number % 50 == 3:
            base = head = letters(1, 10)
        pairs.append(pair(name.format(number=number), base, head, line=number + 1))
    return compared(pairs, 0.0)


def with_commits(report: Report, **changes: Any) -> Report:
    """The report with another provenance."""
    origin = {name: getattr(report.provenance, name) for name in Provenance.__struct_fields__}
    fields = {name: getattr(report, name) for name in Report.__struct_fields__}
    return Report(**(fields | {"provenance": Provenance(**(origin | changes))}))
