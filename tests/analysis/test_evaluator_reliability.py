"""Figures of evaluators: worked examples, ratings at their borders, gates with errors, agreement and drift."""

from __future__ import annotations

import random
from fractions import Fraction

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from repeat_eval.analysis.evaluator_model import TraceReliability
from repeat_eval.analysis.evaluator_reliability import (
    Judged,
    Requirement,
    distribution,
    figures,
    judge_by,
    of_scores,
    summarise,
)
from repeat_eval.analysis.judge_agreement import Rated, against_labels, groups_of_raters
from repeat_eval.analysis.judge_drift import Baseline, baseline_of, drift_of
from repeat_eval.records.trial import Trial
from repeat_eval.statistics.reliability import rating_of


def counted(
    passed: int, failed: int, errors: int = 0, *, trace: str = "t", check: str = "judge", asked: int | None = None
) -> TraceReliability:
    verdicts = [(True, 1.0)] * passed + [(False, 0.0)] * failed
    found = of_scores(verdicts, errors=errors, asked=asked)
    return msgspec.structs.replace(found, trace=trace, check=check, fingerprint="0" * 16)


def test_eight_of_ten_runs() -> None:
    scores = [0.82, 0.91, 0.78, 0.85, 0.88, 0.79, 0.92, 0.84, 0.76, 0.87]
    found = of_scores([(score >= 0.79, score) for score in scores])
    assert (found.passed, found.failed, found.errors) == (8, 2, 0)
    assert found.mean == pytest.approx(0.842)
    assert found.std == pytest.approx(0.052, abs=5e-4)
    assert found.pass_at_k == pytest.approx({"1": 0.8, "3": 0.992, "5": 0.99968})
    assert found.pass_to_k == pytest.approx({"1": 0.8, "3": 0.512, "5": 0.32768})
    assert found.rating == "low"
    assert found.interval == pytest.approx((0.4901625**3, 0.9433178**3), abs=1e-6)
    assert (found.majority.verdict, found.majority.confidence) == ("pass", 0.8)
    assert found.recommendation == "Significant variance: use best of 5, or adjust the evaluator."


@pytest.mark.parametrize(
    ("value", "rating"),
    [
        (0.9, "moderate"),
        (0.9000001, "high"),
        (0.7, "moderate"),
        (0.6999999, "low"),
        (0.5, "low"),
        (0.4999, "unreliable"),
    ],
)
def test_ratings_at_their_borders(value: float, rating: str) -> None:
    assert rating_of(value) == rating


def test_scores_in_five_bins() -> None:
    scores = [0.5, 0.55, *[0.7] * 7, *[0.9] * 10, 1.0]
    found = distribution(scores)
    assert found.histogram == {"0.0-0.2": 0, "0.2-0.4": 0, "0.4-0.6": 2, "0.6-0.8": 7, "0.8-1.0": 11}
    assert found.bimodal is False
    assert found.recommendation == "Scores cluster in the 0.6-1.0 range. Evaluation is moderately stable."


def test_scores_at_both_ends_are_bimodal_and_the_advice_says_so() -> None:
    found = of_scores([(True, 0.95)] * 3 + [(False, 0.05)] * 3)
    assert found.distribution is not None
    assert found.distribution.bimodal is True
    assert "both ends" in found.distribution.recommendation
    assert "both ends" in found.recommendation


@pytest.mark.parametrize(
    ("scores", "words"),
    [
        ([0.9] * 9 + [0.1], "0.8-1.0 range. Evaluation is stable"),
        ([0.1, 0.3, 0.5, 0.7, 0.9], "spread over the whole range. Evaluation is not stable"),
        ([0.3, 0.5, 0.7], "0.2-0.8 range. Evaluation is not stable"),
    ],
)
def test_what_a_distribution_says(scores: list[float], words: str) -> None:
    assert words in distribution(scores).recommendation


def test_two_sorts_of_pass_or_fail_are_no_two_peaks() -> None:
    assert distribution([0.0] * 5 + [1.0] * 5).bimodal is None


def test_a_batch_of_a_hundred_traces() -> None:
    # 72 rated high, 21 moderate, 7 below: of five runs none can be moderate, so here are ten.
    found = [counted(10, 0)] * 72 + [counted(9, 1)] * 21 + [counted(6, 4)] * 7
    summary = summarise(found)
    assert (summary.total, summary.reliable, summary.moderate, summary.unreliable) == (100, 72, 21, 7)
    assert summary.overall == pytest.approx((72 + 21 * 0.729 + 7 * 0.216) / 100)
    assert summary.interval is not None
    assert summary.interval[0] < summary.overall < summary.interval[1]
    assert summary.recommendation == "Consider majority voting for 28 unstable traces."


def test_low_and_unreliable_count_together() -> None:
    summary = summarise([counted(8, 2), counted(5, 5)])
    assert (summary.unreliable, summary.unstable) == (2, 2)


def test_what_always_fails_is_rated_by_pass_to_3_and_not_called_unstable() -> None:
    found = counted(0, 10)
    assert (found.rating, found.pass_to_k["3"], found.agree_to_k["3"]) == ("unreliable", 0.0, 1.0)
    assert "every run fails" in found.recommendation
    summary = summarise([found, counted(10, 0)])
    assert (summary.unreliable, summary.always_fails, summary.unstable) == (1, 1, 0)
    assert "majority" not in summary.recommendation


def test_high_from_few_runs_is_insufficient() -> None:
    found = counted(3, 0)
    assert found.insufficient
    assert "says little" in found.recommendation
    summary = summarise([found])
    assert (summary.reliable, summary.insufficient) == (0, 1)


def test_runs_without_verdict_are_errors_and_never_failures() -> None:
    trials = [
        Trial(case="t", repetition=1, outcome="passed", score=1.0),
        Trial(case="t", repetition=2, outcome="error", error_kind="judge", message="overloaded"),
        Trial(case="t", repetition=3, outcome="passed", score=0.8),
    ]
    found = figures(Judged(trace="t", case="c", check="judge", asked=3, trials=tuple(trials)))
    assert (found.passed, found.failed, found.errors, found.error) == (2, 0, 1, "overloaded")
    assert found.pass_to_k["3"] == 1.0
    none = figures(Judged(trace="t", case="c", check="judge", asked=1, trials=(trials[1],)))
    assert (none.rating, none.mean, none.majority, none.pass_to_k) == (None, None, None, {})
    assert summarise([none]).overall is None
    assert summarise([none]).unknown == 1


PASS_TO_3 = Requirement("pass-to", 3, "0.9")


def test_a_gate_must_be_exceeded_exactly() -> None:
    # 9/10 to the first is 0.9, which is not greater than 0.9, whatever floats make of it.
    equal = Requirement("pass-to", 1, "0.9")
    assert judge_by(equal, "judge", [counted(9, 1)]).verdict == "fail"
    assert judge_by(equal, "judge", [counted(91, 9)]).verdict == "pass"
    assert judge_by(PASS_TO_3, "judge", [counted(10, 0), counted(10, 0)]).verdict == "pass"
    assert judge_by(PASS_TO_3, "judge", [counted(10, 0), counted(8, 2)]).verdict == "fail"


def test_errors_decide_a_gate_only_when_both_answers_are_the_same() -> None:
    unclear = judge_by(PASS_TO_3, "judge", [counted(9, 0, 1)])
    assert (unclear.verdict, unclear.observed) == ("incomplete", 1.0)
    assert "lies between 0.729 and 1.000" in unclear.text
    assert judge_by(PASS_TO_3, "judge", [counted(8, 1, 1)]).verdict == "fail"
    assert judge_by(PASS_TO_3, "judge", [counted(99, 0, 1)]).verdict == "pass"
    assert judge_by(PASS_TO_3, "judge", [counted(2, 0, asked=10)]).verdict == "incomplete"
    assert judge_by(PASS_TO_3, "judge", [counted(0, 0, 5)]).observed is None


@given(st.integers(0, 8), st.integers(0, 8), st.integers(0, 8), st.integers(1, 5), st.booleans())
def test_no_way_of_filling_in_errors_leaves_the_bounds(c: int, f: int, errors: int, k: int, agree: bool) -> None:
    n = c + f + errors
    if n == 0:
        return
    found = judge_by(Requirement("agree-to" if agree else "pass-to", k, "0.5"), "judge", [counted(c, f, errors)])
    for passed in range(c, c + errors + 1):
        value = Fraction(passed**k + ((n - passed) ** k if agree else 0), n**k)
        assert found.low - 1e-12 <= value <= found.high + 1e-12


def rated(check: str, labels: str, question: str | None = "q", truth: str | None = None) -> list[Rated]:
    """One letter a trace: P and F for what most runs say, T for a tie."""
    made = []
    for place, letter in enumerate(labels):
        counts = {"P": (2, 1), "F": (1, 2), "T": (1, 1)}[letter]
        one = counted(*counts, trace=f"t{place}", check=check)
        said = None if truth is None or truth[place] == "-" else truth[place] == "P"
        made.append(Rated(msgspec.structs.replace(one, truth=said), question))
    return made


def test_two_judges_of_one_question_have_kappa() -> None:
    (group,) = groups_of_raters([*rated("one", "PPPFFT"), *rated("two", "PPFFFP"), *rated("alone", "PPP", "other")])
    assert (group.raters, group.units, group.alpha) == (("one", "two"), 5, None)
    (pair,) = group.pairs
    assert (pair.both_pass, pair.pass_fail, pair.fail_pass, pair.both_fail) == (2, 1, 0, 2)
    assert pair.kappa == pytest.approx(8 / 13)


def test_three_judges_have_alpha_and_each_pair_kappa() -> None:
    (group,) = groups_of_raters([*rated("one", "PPFF"), *rated("two", "PPFF"), *rated("three", "PFFF")])
    assert len(group.pairs) == 3
    assert group.alpha == pytest.approx(1 - 11 / (5 * 7))


def test_checks_that_answer_no_common_question_are_not_compared() -> None:
    assert groups_of_raters([*rated("one", "PP", "a"), *rated("two", "PP", "b"), *rated("three", "PP", None)]) == ()


def test_judges_against_what_humans_said() -> None:
    (pair,) = against_labels([*rated("one", "PPFF", truth="PFF-"), *rated("two", "PPFF")])
    assert (pair.first, pair.second, pair.units) == ("labels", "one", 3)
    assert (pair.both_pass, pair.fail_pass, pair.both_fail) == (1, 1, 1)


def traces(counts: list[tuple[int, int]]) -> list[TraceReliability]:
    return [counted(*both, trace=f"t{place}") for place, both in enumerate(counts)]


def test_the_same_evaluator_has_not_drifted() -> None:
    before = baseline_of("desk", traces([(10, 0), (9, 1), (5, 5)]))
    (drift,) = drift_of(before, traces([(10, 0), (9, 1), (6, 4)]))
    assert (drift.drifted, drift.common, drift.text) == (False, 3, "No detectable change.")


def test_a_stricter_evaluator_has_drifted_and_its_traces_are_named() -> None:
    before = baseline_of("desk", traces([(10, 0)] * 5))
    (drift,) = drift_of(before, traces([(10, 0)] * 4 + [(1, 9)]))
    assert drift.drifted
    assert drift.delta == pytest.approx(-0.18)
    assert [(one.trace, one.before, one.now) for one in drift.traces] == [("t4", (10, 10), (1, 10))]
    assert drift.text.startswith("It has become stricter")


def test_changes_in_both_directions_are_seen_trace_by_trace() -> None:
    before = baseline_of("desk", traces([(10, 0), (0, 10)]))
    (drift,) = drift_of(before, traces([(0, 10), (10, 0)]))
    assert (drift.drifted, drift.p, len(drift.traces)) == (True, pytest.approx(1.0), 2)


def test_all_tests_of_one_look_share_what_a_single_one_may_spend() -> None:
    # Over one trace, 10/10 against 5/10 has a mid-p of 0.016: drift of one check, and luck among four.
    before, now = traces([(10, 0)]), traces([(5, 5)])
    (alone,) = drift_of(baseline_of("desk", before), now)
    assert (alone.drifted, alone.level) == (True, 0.025)

    def fourfold(found: list[TraceReliability]) -> list[TraceReliability]:
        return [msgspec.structs.replace(one, check=f"check {number}") for number in range(4) for one in found]

    first, *_ = drift_of(baseline_of("desk", fourfold(before)), [*fourfold(now)[:1], *fourfold(before)[1:]])
    assert (first.p, first.level) == (alone.p, 0.00625)
    assert (first.drifted, first.traces, first.text) == (False, (), "No detectable change.")
    assert [one.q for one in alone.traces] == [alone.p]


def test_checks_without_a_common_output_take_no_share() -> None:
    new = [msgspec.structs.replace(one, check="new") for one in traces([(1, 1)])]
    known, other = drift_of(baseline_of("desk", traces([(10, 0)])), [*traces([(10, 0)]), *new])
    assert (known.level, other.level, other.drifted) == (0.025, None, None)


def test_unchanged_evaluators_drift_at_most_once_in_twenty_looks() -> None:
    draw = random.Random(3)
    rates = [[draw.choice((1, 1, 0.9, 0.6, 0.5)) for _ in range(10)] for _ in range(5)]

    def look() -> list[TraceReliability]:
        found = []
        for check, its in enumerate(rates):
            for trace, rate in enumerate(its):
                passed = sum(draw.random() < rate for _ in range(10))
                found.append(counted(passed, 10 - passed, trace=f"t{trace}", check=f"check {check}"))
        return found

    looks = [drift_of(baseline_of("desk", look()), look()) for _ in range(100)]
    assert sum(any(one.drifted for one in look) for look in looks) <= 7


def test_outputs_that_changed_are_not_compared() -> None:
    before = baseline_of("desk", traces([(10, 0), (10, 0), (10, 0)]))
    other = msgspec.structs.replace(counted(0, 10, trace="t0"), fingerprint="1" * 16)
    (drift,) = drift_of(before, [other])
    assert (drift.common, drift.changed, drift.gone, drift.drifted) == (0, 1, 2, None)


def test_a_baseline_holds_counts_only() -> None:
    baseline = baseline_of("desk", [counted(1, 0), counted(0, 0, 3, trace="broken")])
    assert [one.trace for one in baseline.traces] == ["t"]
    assert msgspec.json.decode(msgspec.json.encode(baseline), type=Baseline) == baseline
