"""pass^k, pass@k, flakiness, majority and stability of repeated trials."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repeat_eval.statistics.repeats import (
    is_flaky,
    majority_vote,
    pass_at_k,
    pass_at_k_plugin,
    pass_hat_k,
    pass_to_k,
    stability,
)


@st.composite
def counts(draw: st.DrawFn, least: int = 1, most: int = 60) -> tuple[int, int]:
    verdicts = draw(st.integers(least, most))
    return draw(st.integers(0, verdicts)), verdicts


def test_four_of_five_has_pass_hat_2_of_60_and_pass_hat_3_of_40_percent() -> None:
    assert pass_hat_k(4, 5, 2) == 0.6
    assert pass_hat_k(4, 5, 3) == 0.4


def test_eight_of_ten_has_the_documented_plug_in_figures() -> None:
    assert pass_at_k_plugin(8, 10, 3) == 0.992
    assert pass_to_k(8, 10, 3) == 0.512
    assert pass_hat_k(8, 10, 3) == pytest.approx(7 / 15, abs=1e-15)


@given(counts(most=7), st.integers(1, 7))
def test_unbiased_figures_are_shares_of_all_draws(case: tuple[int, int], k: int) -> None:
    passes, verdicts = case
    if k <= verdicts:
        draws = list(combinations([True] * passes + [False] * (verdicts - passes), k))
        assert pass_hat_k(passes, verdicts, k) == pytest.approx(sum(map(all, draws)) / len(draws), abs=1e-15)
        assert pass_at_k(passes, verdicts, k) == pytest.approx(sum(map(any, draws)) / len(draws), abs=1e-15)


@given(counts(), st.integers(1, 100))
def test_more_trials_drawn_than_there_are_is_unknown_not_zero(case: tuple[int, int], k: int) -> None:
    known = k <= case[1]
    assert (pass_hat_k(*case, k) is not None) == known
    assert (pass_at_k(*case, k) is not None) == known


@given(counts())
def test_one_trial_drawn_gives_the_pass_rate(case: tuple[int, int]) -> None:
    rate = case[0] / case[1]
    for figure in (pass_hat_k, pass_at_k, pass_at_k_plugin, pass_to_k):
        assert figure(*case, 1) == pytest.approx(rate, abs=1e-15)


@given(counts(), st.integers(1, 60))
def test_figures_are_ordered(case: tuple[int, int], k: int) -> None:
    rate = case[0] / case[1]
    to, at = pass_to_k(*case, k), pass_at_k_plugin(*case, k)
    assert to is not None
    assert at is not None
    assert 0 <= to <= rate <= at <= 1
    hat = pass_hat_k(*case, k)
    if hat is not None:
        assert hat <= to + 1e-15


def test_without_a_verdict_everything_is_unknown() -> None:
    for figure in (pass_hat_k, pass_at_k, pass_at_k_plugin, pass_to_k):
        assert figure(0, 0, 3) is None


@pytest.mark.parametrize("k", [0, -1, 1.0, True])
def test_k_must_be_a_whole_number_from_1(k: int) -> None:
    for figure in (pass_hat_k, pass_at_k, pass_at_k_plugin, pass_to_k):
        with pytest.raises(ValueError, match="k must be"):
            figure(4, 5, k)


@pytest.mark.parametrize(("passes", "verdicts", "flaky"), [(0, 5, False), (5, 5, False), (1, 5, True), (0, 0, False)])
def test_flaky_means_that_trials_disagree(passes: int, verdicts: int, flaky: bool) -> None:
    assert is_flaky(passes, verdicts) is flaky


def test_two_votes_of_three_pass_with_confidence_two_thirds() -> None:
    vote = majority_vote(2, 3)
    assert vote.verdict == "pass"
    assert round(vote.confidence, 2) == 0.67


def test_a_tie_is_a_tie() -> None:
    assert majority_vote(5, 10).verdict == "tie"


def test_no_votes_have_no_majority() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        majority_vote(0, 0)


def test_one_stable_case_of_three_is_a_stability_of_33_percent() -> None:
    assert stability([(5, 5), (3, 5), (1, 5)]) == pytest.approx(1 / 3)


def test_a_broken_case_is_stable() -> None:
    assert stability([(0, 5)]) == 1.0


def test_cases_that_cannot_disagree_do_not_count() -> None:
    assert stability([(1, 1), (0, 0), (1, 2)]) == 0.0
    assert stability([(1, 1), (0, 0)]) is None


@given(st.lists(counts(least=2), min_size=1), st.randoms())
def test_stability_is_a_share_that_ignores_order(cases: list[tuple[int, int]], rnd: object) -> None:
    value = stability(cases)
    assert value is not None
    assert 0 <= value <= 1
    assert value == stability(sorted(cases))
