"""Which cases a further look takes, and what becomes of the verdict."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import msgspec
import pytest
from comparing import judged, judged_rows, sides
from hypothesis import given, settings
from hypothesis import strategies as st

from repeat_eval.analysis.look_model import Look, LookCase
from repeat_eval.analysis.look_verdicts import with_look
from repeat_eval.analysis.looks import FREE_LOOKS, FRESH, FRESH_OF_SUITE, LookPlan, first_look, spent, trials_of
from repeat_eval.analysis.report import Report, Setting

ALPHA, TENTH = Fraction(1, 20), Fraction(1, 10)


def first_of(*rows: tuple[int, int, int, int], **rules: Any) -> Look:
    return first_look(judged_rows(*rows, **rules), attempt=1, text="said", level=0.04)


def after(report: Report, *looks: Look, asked: dict[str, int] | None, kind: Any) -> Report:
    plan = LookPlan(number=len(looks), kind=kind, alpha=ALPHA, share=TENTH, asked=asked, looks=looks)
    return with_look(report, plan, attempt=len(looks) + 1)


def blaming(*cases: str, suite: bool = False) -> Look:
    listed = tuple(LookCase(id=case, base=(10, 10), head=(2, 10), regressed=True) for case in cases)
    return Look(number=0, attempt=1, kind="first", level=0.04, verdict="regressed", suite=suite, cases=listed)


def test_at_most_three_cases_that_fell_are_watched_the_least_likely_first() -> None:
    falls = [(10, 10, 8, 10), (10, 10, 7, 10), (10, 10, 9, 10), (9, 10, 10, 10), (10, 10, 8, 10), (10, 10, 6, 10)]
    look = first_of(*falls, fail_on="none")
    assert look.verdict == "no detectable change"
    assert [case.id for case in look.cases] == ["case 5", "case 1", "case 0"]
    assert trials_of([look], [f"case {number}" for number in range(6)]) == {
        "case 0": FRESH,
        "case 1": FRESH,
        "case 5": FRESH,
    }


def test_an_appeal_takes_what_was_blamed_and_every_case_when_the_suite_was() -> None:
    assert trials_of([blaming("b")], ["a", "b", "c"]) == {"b": FRESH}
    suite = trials_of([blaming("b", suite=True)], ["a", "b", "c"])
    assert suite == {"a": FRESH_OF_SUITE, "b": FRESH, "c": FRESH_OF_SUITE}


def test_nobody_clears_a_red_look_by_naming_other_cases_or_fewer_trials() -> None:
    assert trials_of([blaming("b")], ["a", "b"], wanted=["a"], repeats=1) == {"b": FRESH}


def test_more_than_regressions_or_a_blamed_case_that_is_gone_takes_the_whole_suite() -> None:
    other = Look(number=0, attempt=1, kind="first", verdict="regressed", others=("stability",))
    assert trials_of([other], ["a"]) is None
    assert trials_of([blaming("gone")], ["a"]) is None


def test_a_case_below_its_threshold_is_judged_again_and_one_that_must_always_pass_is_not() -> None:
    below = first_of((10, 10, 2, 10), gate="wilson")
    assert [(case.regressed, case.below) for case in below.cases] == [(True, True)]
    assert below.others == ()
    assert first_of((10, 10, 2, 10), gate="wilson", threshold="1.0").others != ()


def test_a_look_without_a_verdict_spends_nothing() -> None:
    base, _ = sides([(10, 10, 10, 10)])
    look = first_look(judged(None, base), attempt=1, text="", level=0.04)
    assert look.verdict == "incomplete"
    assert spent([look, blaming("a")], 2) == 1


def test_attempts_that_left_nothing_count_and_so_do_many_without_a_verdict() -> None:
    without = Look(number=0, attempt=1, kind="whole", verdict="incomplete")
    assert spent([], 2) == 2
    assert spent([blaming("a")], 2) == 2
    assert spent([blaming("a"), *[without] * FREE_LOOKS], FREE_LOOKS + 1) == 1
    assert spent([blaming("a"), *[without] * 5], 6) == 6 - FREE_LOOKS


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 2)), max_size=12))
def test_no_share_of_alpha_is_spent_twice(attempts: list[tuple[bool, int]]) -> None:
    """Each attempt: whether it gave a verdict, and how many attempts before it left nothing."""
    looks: list[Look] = []
    used: list[int] = []
    number = -1
    for decided, lost in attempts:
        number += 1 + lost
        index = spent(looks, number)
        verdict: Any = "no detectable change" if decided else "incomplete"
        looks.append(Look(number=number, attempt=number + 1, kind="whole", verdict=verdict))
        used += [index] if decided else []
    assert len(set(used)) == len(used)


def test_against_a_stored_base_alone_an_escalation_blocks_only_where_that_is_asked() -> None:
    def found(**rules: Any) -> Report:
        report = judged_rows((20, 20, 5, 20), **rules)
        assert report.comparison is not None and report.comparison.base is not None
        base = msgspec.structs.replace(report.comparison.base, source="stored")
        report = msgspec.structs.replace(report, comparison=msgspec.structs.replace(report.comparison, base=base))
        shown = {name: Setting(value, "option") for name, value in rules.items()}
        report = msgspec.structs.replace(report, settings=shown)
        return after(report, first_of((10, 10, 8, 10)), asked={"case 0": 20}, kind="escalation")

    assert found().verdict == "pass"
    assert found(gate_stored=True).verdict == "fail"


def test_an_escalation_blocks_by_its_fresh_trials_at_its_own_level() -> None:
    green = first_of((10, 10, 8, 10))
    found = after(judged_rows((20, 20, 11, 20)), green, asked={"case 0": 20}, kind="escalation")
    assert (found.verdict, found.looks[-1].level) == ("fail", 0.005)
    weak = after(judged_rows((20, 20, 15, 20)), green, asked={"case 0": 20}, kind="escalation")
    assert (weak.verdict, weak.exit_code, weak.looks[-1].verdict) == ("pass", 0, "no detectable change")


def test_an_appeal_keeps_blame_below_a_quarter_and_clears_at_it() -> None:
    kept = after(judged_rows((20, 20, 16, 20)), blaming("case 0"), asked={"case 0": 20}, kind="appeal")
    assert (kept.verdict, kept.looks[-1].verdict) == ("fail", "regressed")
    cleared = after(judged_rows((20, 20, 19, 20)), blaming("case 0"), asked={"case 0": 20}, kind="appeal")
    assert (cleared.verdict, cleared.looks[-1].verdict) == ("pass", "cleared")


def test_missing_fresh_trials_clear_nothing() -> None:
    report = judged_rows((20, 20, 20, 20))
    found = after(report, blaming("case 0", "case 7"), asked={"case 0": 20, "case 7": 20}, kind="appeal")
    assert (found.verdict, found.exit_code, found.looks[-1].verdict) == ("incomplete", 3, "incomplete")


def test_a_whole_run_after_red_judges_again_only_what_was_blamed() -> None:
    rows = [(10, 10, 10, 10), (10, 10, 0, 10)]
    cleared = after(judged_rows(*rows), blaming("case 0"), asked=None, kind="appeal")
    assert (cleared.verdict, cleared.looks[-1].verdict) == ("pass", "cleared")
    kept = after(judged_rows(*rows), blaming("case 1"), asked=None, kind="appeal")
    assert kept.verdict == "fail"


counts = st.tuples(st.just(20), st.integers(0, 20)).flatmap(lambda n: st.just((20, 20, n[1], 20)))


@settings(deadline=None, max_examples=40)
@given(st.lists(counts, min_size=1, max_size=4), st.data())
def test_what_is_red_after_an_appeal_was_blamed_before(
    rows: list[tuple[int, int, int, int]], data: st.DataObject
) -> None:
    cases = [f"case {number}" for number in range(len(rows))]
    blamed = data.draw(st.lists(st.sampled_from(cases), min_size=1, unique=True))
    found = after(judged_rows(*rows), blaming(*blamed), asked=dict.fromkeys(cases, 20), kind="appeal")
    assert {reason.case for reason in found.reasons if reason.verdict == "fail"} <= set(blamed)


@pytest.mark.parametrize(("fail_on", "verdict"), [("regression", "fail"), ("suite-regression", "fail")])
def test_the_half_of_the_gate_that_is_asked_for_decides(fail_on: str, verdict: str) -> None:
    report = judged_rows((20, 20, 5, 20), fail_on=fail_on)
    assert after(report, first_of((10, 10, 8, 10)), asked={"case 0": 20}, kind="escalation").verdict == verdict
