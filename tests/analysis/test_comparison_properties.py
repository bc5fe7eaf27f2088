"""What holds for every comparison, whatever the trials say."""

from __future__ import annotations

import random

import msgspec
import pytest
from analysis_runs import run_of
from comparing import Row, compared, sides
from hypothesis import given, settings
from hypothesis import strategies as st

from repeat_eval.analysis.analyse import analyse
from repeat_eval.analysis.comparison import compare_runs
from repeat_eval.analysis.report import Comparison, Report, to_json
from repeat_eval.analysis.rules import Rules
from repeat_eval.records.run import Run


@st.composite
def rows(draw: st.DrawFn) -> Row:
    base_n, head_n = draw(st.integers(1, 12)), draw(st.integers(1, 12))
    return draw(st.integers(0, base_n)), base_n, draw(st.integers(0, head_n)), head_n


CALM = settings(deadline=None)
some_rows = st.lists(rows(), min_size=1, max_size=12)
outcomes = st.dictionaries(st.sampled_from("abcdefgh"), st.text("PFES.", min_size=1, max_size=8), max_size=8)
MIRROR = {"regressed": "improved", "improved": "regressed"}


@CALM
@given(some_rows)
def test_swapping_the_sides_turns_the_sign_and_keeps_p(cases: list[Row]) -> None:
    there = compared(*cases)
    back = compared(*[(head_c, head_n, base_c, base_n) for base_c, base_n, head_c, head_n in cases])
    assert there.delta == pytest.approx(-(back.delta or 0.0), abs=1e-12)
    assert there.p == pytest.approx(back.p, abs=1e-11)
    assert (there.p_down, there.p_up) == pytest.approx((back.p_up, back.p_down), abs=1e-11)
    assert there.verdict == MIRROR.get(back.verdict, back.verdict)
    assert [case.rejected_down for case in there.cases] == [case.rejected_up for case in back.cases]
    assert [case.q for case in there.cases] == pytest.approx([case.q for case in back.cases], abs=1e-11)


@CALM
@given(some_rows, st.integers(0, 2**32))
def test_the_order_of_cases_changes_nothing(cases: list[Row], seed: int) -> None:
    base, head = sides(cases)
    shuffled = list(head.header.cases)
    random.Random(seed).shuffle(shuffled)
    trials = list(head.trials)
    random.Random(seed + 1).shuffle(trials)
    other = msgspec.structs.replace(
        head, header=msgspec.structs.replace(head.header, cases=tuple(shuffled)), trials=tuple(trials)
    )
    one, two = figures(compare_runs(base, head, Rules())), figures(compare_runs(base, other, Rules()))
    by_id = {case.id: case for case in one.cases}
    assert two == msgspec.structs.replace(one, cases=tuple(by_id[plan.id] for plan in shuffled))


@CALM
@given(some_rows)
def test_a_comparison_of_a_run_with_itself_is_no_detectable_change(cases: list[Row]) -> None:
    run, _ = sides(cases)
    comparison = compare_runs(run, run, Rules())
    assert (comparison.verdict, comparison.delta, comparison.p) == ("no detectable change", 0.0, 1.0)
    assert all(case.change == "unchanged" and not case.watch for case in comparison.cases)


@CALM
@given(some_rows, st.sampled_from(["0.001", "0.01", "0.05", "0.1", "0.5"]))
def test_every_p_lies_between_0_and_1_and_the_verdict_follows_the_stated_rule(cases: list[Row], alpha: str) -> None:
    comparison = compared(*cases, alpha=alpha)
    level, delta, p = float(alpha), comparison.delta or 0.0, comparison.p
    assert p is not None
    numbers = [p, comparison.p_exact, comparison.p_down, comparison.p_up]
    numbers += [value for case in comparison.cases for value in (case.p, case.q, case.adjusted_down, case.adjusted_up)]
    assert all(number is not None and 0.0 <= number <= 1.0 for number in numbers)
    assert comparison.interval and -1 <= comparison.interval[0] <= delta <= comparison.interval[1] <= 1
    down = (p < level and delta < 0) or any(case.rejected_down for case in comparison.cases)
    up = (p < level and delta > 0) or any(case.rejected_up for case in comparison.cases)
    assert comparison.verdict == (
        "mixed" if down and up else "regressed" if down else "improved" if up else "no detectable change"
    )
    for case in comparison.cases:
        assert case.adjusted_down is not None and case.q is not None and case.delta is not None
        assert case.rejected_down == (case.adjusted_down <= level / 2)
        worse = case.rejected_down or (case.q <= level and case.delta < 0)
        assert (case.change in ("regressed", "newly broken")) == worse
        assert not (case.watch and worse)


@CALM
@given(some_rows, some_rows)
def test_cases_of_one_side_alone_never_count(cases: list[Row], others: list[Row]) -> None:
    base, head = sides(cases)
    more_base = run_of({f"base {number}": "P" * row[0] + "F" * (row[1] - row[0]) for number, row in enumerate(others)})
    more_head = run_of({f"head {number}": "P" * row[2] + "F" * (row[3] - row[2]) for number, row in enumerate(others)})
    wide = compare_runs(joined(base, more_base), joined(head, more_head), Rules())
    assert len(wide.added) == len(wide.removed) == len(others)
    assert figures(wide) == figures(compare_runs(base, head, Rules()))


@CALM
@given(some_rows)
def test_trials_that_are_there_twice_never_count(cases: list[Row]) -> None:
    base, head = sides(cases)
    doubled = msgspec.structs.replace(head, trials=(*head.trials, *reversed(head.trials)))
    assert figures(compare_runs(base, doubled, Rules())) == figures(compare_runs(base, head, Rules()))
    assert analyse(doubled, Rules(), base=base).comparison == analyse(head, Rules(), base=base).comparison


@settings(max_examples=150, deadline=None)
@given(outcomes, outcomes)
def test_any_two_runs_can_be_reported_and_the_report_can_be_read_again(
    before: dict[str, str], now: dict[str, str]
) -> None:
    base, head = run_of(before), run_of(now)
    report = analyse(
        head, Rules(require="non-inferior", margin=5.0, suite_threshold="0.9"), base=base, base_source="file"
    )
    assert report.comparison is not None
    assert msgspec.json.decode(to_json(report), type=Report) == report
    if report.exit_code == 0 and report.comparison.verdict != "not comparable":
        assert report.comparison.verdict not in ("regressed", "mixed")


@settings(max_examples=150, deadline=None)
@given(outcomes, outcomes)
def test_head_from_its_report_and_head_from_its_run_give_one_comparison(
    before: dict[str, str], now: dict[str, str]
) -> None:
    base, head = run_of(before), run_of(now)
    assert analyse(head, Rules(), base=base).comparison == compare_runs(base, head, Rules())


def joined(one: Run, other: Run) -> Run:
    header = msgspec.structs.replace(one.header, cases=(*one.header.cases, *other.header.cases))
    return msgspec.structs.replace(one, header=header, trials=(*one.trials, *other.trials))


def figures(comparison: Comparison) -> Comparison:
    return msgspec.structs.replace(comparison, added=(), removed=(), gate_changes=())
