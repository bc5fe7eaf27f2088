"""Further looks at one commit: golden examples, and what must hold for any counts."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from repeat_eval.statistics.further_looks import MAX_EXTRA_LOOKS, alpha_shares, appeal, escalation

_GOLDEN = json.loads((Path(__file__).parents[1] / "golden/second-look.json").read_text())["entries"]
GOLDEN = {entry["id"].rpartition("/")[2]: entry for entry in _GOLDEN}


@st.composite
def one_row(draw: st.DrawFn) -> tuple[int, int, int, int]:
    base_n, head_n = draw(st.integers(1, 20)), draw(st.integers(1, 20))
    return draw(st.integers(0, base_n)), base_n, draw(st.integers(0, head_n)), head_n


rows = st.lists(one_row(), max_size=6)


@pytest.mark.parametrize("name", ["L01_escalation", "L02_escalation_none"])
def test_escalations_of_the_golden_file(name: str) -> None:
    entry = GOLDEN[name]
    given, expected, within = entry["inputs"], entry["expected"], entry["tolerance"]
    names = list(given["rows"])
    found = escalation([tuple(row) for row in given["rows"].values()], alpha=given["alpha"], share=given["share"])
    assert dict(zip(names, found.p, strict=True)) == pytest.approx(expected["p"], abs=within)
    assert [int(names[at]) for at in found.testable] == expected["testable"]
    adjusted = {names[at]: found.adjusted[at] for at in found.testable}
    assert adjusted == pytest.approx(expected["holm_adjusted"], abs=within)
    assert [int(names[at]) for at in found.rejected] == expected["cases_regressed"]
    assert found.suite_p == pytest.approx(expected["suite_p"], abs=within)
    assert found.suite_rejected is expected["suite_regressed"]
    assert found.red is (expected["verdict"] == "regressed")


def test_the_appeal_of_the_golden_file_clears_a_case_at_exactly_a_quarter() -> None:
    entry = GOLDEN["L03_appeal"]
    given, expected = entry["inputs"], entry["expected"]
    names = list(given["blamed"])
    found = appeal([tuple(row) for row in given["blamed"].values()], case_limit=given["case_limit"])
    assert dict(zip(names, found.p, strict=True)) == pytest.approx(expected["p"], abs=entry["tolerance"])
    assert [int(names[at]) for at in found.still_blamed] == expected["still_blamed"]
    assert found.red is (expected["verdict"] == "regressed")


@pytest.mark.parametrize("looks", range(MAX_EXTRA_LOOKS + 1))
def test_the_levels_of_all_looks_add_up_to_alpha(looks: int) -> None:
    shares = alpha_shares(looks)
    assert len(shares) == looks + 1
    assert sum(shares) == 1
    spent = sum(2 * escalation([], alpha=0.05, share=share).level for share in shares)
    assert spent <= 0.05 + 1e-12


@pytest.mark.parametrize("looks", [-1, 3, True, 1.0])
def test_any_other_number_of_looks_is_refused(looks: int) -> None:
    with pytest.raises(ValueError, match="further looks"):
        alpha_shares(looks)


@settings(deadline=None)
@given(rows, st.randoms(use_true_random=False))
def test_the_order_of_cases_does_not_matter(cases: list[tuple[int, int, int, int]], random: object) -> None:
    order = list(range(len(cases)))
    random.shuffle(order)  # type: ignore[attr-defined]
    one = escalation(cases, alpha=0.05, share=0.1)
    other = escalation([cases[at] for at in order], alpha=0.05, share=0.1)
    assert sorted(order[at] for at in other.rejected) == list(one.rejected)
    assert (other.suite_p, other.suite_rejected) == (one.suite_p, one.suite_rejected)
    assert [other.p[order.index(at)] for at in range(len(cases))] == list(one.p)


@settings(deadline=None)
@given(rows)
def test_a_larger_share_finds_at_least_as_much_of_a_single_case_or_suite(
    cases: list[tuple[int, int, int, int]],
) -> None:
    small, large = (escalation(cases, alpha=0.05, share=share) for share in (Fraction(1, 10), Fraction(8, 10)))
    assert small.suite_rejected <= large.suite_rejected
    assert set(small.testable) <= set(large.testable)


@settings(deadline=None)
@given(rows, st.booleans())
def test_an_appeal_blames_nothing_that_was_not_blamed(
    cases: list[tuple[int, int, int, int]], suite_blamed: bool
) -> None:
    found = appeal(cases, suite=cases if suite_blamed else None)
    assert set(found.still_blamed) <= set(range(len(cases)))
    assert suite_blamed or not found.suite_still_blamed
    assert not appeal([]).red


def test_cases_in_which_nothing_varies_are_never_blamed() -> None:
    still = [(20, 20, 20, 20), (0, 5, 0, 7)]
    assert not escalation(still, alpha=0.5, share=1).red
    assert not appeal(still, suite=still).red


@pytest.mark.parametrize(("alpha", "share"), [(0.0, 0.1), (1.0, 0.1), (0.05, 0.0), (0.05, 1.1)])
def test_levels_out_of_range_are_refused(alpha: float, share: float) -> None:
    with pytest.raises(ValueError, match="alpha must lie"):
        escalation([], alpha=alpha, share=share)
