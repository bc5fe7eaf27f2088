"""The second look: worked examples, what order and sides may change, and what a verdict may rest on."""

from __future__ import annotations

import json
import random
from pathlib import Path
from statistics import NormalDist
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from repeat_eval.statistics.comparison import case_exact, stratified_exact
from repeat_eval.statistics.counts import Row
from repeat_eval.statistics.second_look import (
    SecondLook,
    SecondLookSettings,
    combine,
    first_look,
    low,
    second_look,
    suspects,
)

Entry = dict[str, Any]
GOLDEN: list[Entry] = [
    entry
    for entry in json.loads((Path(__file__).parents[1] / "golden" / "second-look.json").read_text("utf-8"))["entries"]
    if entry["function"] == "second_look"
]


def numbered(rows: dict[str, Any] | None) -> dict[int, Row] | None:
    return None if rows is None else {int(case): tuple(row) for case, row in rows.items()}  # type: ignore[misc]


def settings_of(entry: Entry) -> SecondLookSettings:
    given_ = entry["inputs"]["settings"]
    n1 = max(max(row[1] if given_["mode"] != "screen" else 0, row[3]) for row in entry["inputs"]["first"])
    return SecondLookSettings(
        alpha=given_["alpha"], n1=n1, n2=given_["n2"], cut=given_["cut"], alarm=given_["alarm"], mode=given_["mode"]
    )


def of(entry: Entry) -> SecondLook:
    inputs = entry["inputs"]
    return second_look(
        [tuple(row) for row in inputs["first"]],
        numbered(inputs["second"]) or {},
        settings_of(entry),
        fresh_suite=numbered(inputs["second_suite"]),
    )


def test_all_worked_examples_are_here() -> None:
    assert [entry["id"][12:15] for entry in GOLDEN] == [f"S{number:02}" for number in range(1, 15)]


@pytest.mark.parametrize("entry", GOLDEN, ids=lambda entry: entry["id"])
def test_a_worked_example_comes_out_as_written(entry: Entry) -> None:
    found, expected = of(entry), entry["expected"]
    assert settings_of(entry).n3 == entry["inputs"]["settings"]["n_suite"]
    assert list(found.first.down.suspects) == expected["suspects"]
    assert list(found.first.down.left_out) == expected["left_out_by_cap"]
    assert found.first.alarm == expected["alarm"]
    assert sorted(found.down.testable) == sorted(expected["testable"])
    assert sorted(found.down.rejected) == sorted(expected["cases_regressed"])
    assert found.down.suite == expected["suite_regressed"]
    assert found.down.claim == expected["suite_claim"]
    assert found.improved == expected["improved_first_look"]
    assert found.verdict == expected["verdict"]
    assert not found.incomplete
    for name, value in (
        ("suite_p1", found.first.down.suite_p1),
        ("suite_p2", found.down.suite_p2),
        ("z1", found.down.z1),
        ("z2", found.down.z2),
        ("suite_p_combined", found.down.combined),
        ("suite_p_deciding", found.down.deciding),
    ):
        assert value == pytest.approx(expected[name], abs=entry["tolerance"], rel=0), name
    for name, values in (
        ("p1_suspects", {case: found.first.down.p1[case] for case in found.first.down.suspects}),
        ("p2", found.down.p2),
        ("holm_adjusted", found.down.adjusted),
    ):
        assert {str(case): value for case, value in values.items()} == pytest.approx(expected[name], abs=1e-9, rel=0)


@pytest.mark.parametrize("entry", GOLDEN, ids=lambda entry: entry["id"])
def test_what_a_worked_example_ran_again_is_what_the_first_look_asks_for(entry: Entry) -> None:
    asked = first_look([tuple(row) for row in entry["inputs"]["first"]], settings_of(entry)).rerun
    given_ = numbered(entry["inputs"]["second"]) or {}
    assert asked.keys() == given_.keys()
    if "ragged" not in entry["id"]:
        assert {case: row[3] for case, row in given_.items()} == dict(asked)
        first_sides = (3,) if settings_of(entry).mode == "screen" else (1, 3)
        first = sum(row[side] for row in entry["inputs"]["first"] for side in first_sides)
        assert first + 2 * sum(asked.values()) == entry["expected"]["trials_run"]


# Simulated pairs of runs, by hypothesis and by the seeded checks below.


def drawn(rates: list[tuple[float, float]], looks: SecondLookSettings, rng: random.Random) -> Any:
    """Both looks at cases with these true rates on base and head."""

    def passes(rate: float, n: int) -> int:
        return sum(rng.random() < rate for _ in range(n))

    rows: list[Row] = [(passes(b, looks.n1), looks.n1, passes(h, looks.n1), looks.n1) for b, h in rates]
    first = first_look(rows, looks)
    fresh: dict[int, Row] = {}
    suite: dict[int, Row] = {}
    for case, n in first.rerun.items():
        base, head = rates[case]
        b3, h3 = passes(base, looks.n3), passes(head, looks.n3)
        suite[case] = (b3, looks.n3, h3, looks.n3)
        fresh[case] = (b3 + passes(base, n - looks.n3), n, h3 + passes(head, n - looks.n3), n)
    return rows, fresh, suite if first.alarm else None


RATES = st.lists(
    st.tuples(st.sampled_from([0.0, 0.3, 0.6, 0.9, 1.0]), st.sampled_from([0.0, 0.3, 0.6, 0.9, 1.0])),
    min_size=1,
    max_size=14,
)
LOOKS = st.builds(
    SecondLookSettings,
    n1=st.sampled_from([3, 5]),
    n2=st.sampled_from([10, 20]),
    cap=st.sampled_from([None, 1, 14]),
    both=st.booleans(),
)
SEEDS = st.integers(0, 2**32)


def turned(rows: Any) -> Any:
    if rows is None or isinstance(rows, dict):
        return None if rows is None else {case: turned([row])[0] for case, row in rows.items()}
    return [(hc, hn, bc, bn) for bc, bn, hc, hn in rows]


@given(RATES, LOOKS, SEEDS)
@settings(max_examples=120, deadline=None)
def test_swapping_base_and_head_swaps_the_verdict_when_both_directions_are_re_run(
    rates: list[tuple[float, float]], looks: SecondLookSettings, seed: int
) -> None:
    assume(looks.both)
    rows, fresh, suite = drawn(rates, looks, random.Random(seed))
    one = second_look(rows, fresh, looks, fresh_suite=suite)
    other = second_look(turned(rows), turned(fresh), looks, fresh_suite=turned(suite))
    swapped = {"regressed": "improved", "improved": "regressed"}
    assert other.verdict == swapped.get(one.verdict, one.verdict)
    assert (one.down, one.up) == (other.up, other.down)
    assert dict(one.first.rerun) == dict(other.first.rerun)


@given(RATES, LOOKS, SEEDS, st.randoms(use_true_random=False))
@settings(max_examples=120, deadline=None)
def test_the_order_of_cases_changes_nothing_but_which_of_equal_candidates_the_cap_leaves_out(
    rates: list[tuple[float, float]], looks: SecondLookSettings, seed: int, shuffler: random.Random
) -> None:
    rows, fresh, suite = drawn(rates, looks, random.Random(seed))
    order = list(range(len(rows)))
    shuffler.shuffle(order)
    place = {case: position for position, case in enumerate(order)}
    moved_rows = [rows[case] for case in order]
    one, other = first_look(rows, looks), first_look(moved_rows, looks)
    assert one.down.suite_p1 == other.down.suite_p1
    for mine, theirs in ((one.down, other.down), (one.up, other.up)):
        if mine is not None and theirs is not None:
            assert [rows[case] for case in mine.suspects] == [moved_rows[case] for case in theirs.suspects]
            assert [rows[case] for case in mine.left_out] == [moved_rows[case] for case in theirs.left_out]
    if {place[case] for case in one.rerun} != set(other.rerun):
        return
    if any(other.rerun[place[case]] != n for case, n in one.rerun.items()):
        return
    moved = second_look(
        moved_rows,
        {place[case]: row for case, row in fresh.items()},
        looks,
        fresh_suite=None if suite is None else {place[case]: row for case, row in suite.items()},
    )
    before = second_look(rows, fresh, looks, fresh_suite=suite)
    assert moved.verdict == before.verdict
    assert {place[case] for case in before.down.rejected} == set(moved.down.rejected)
    assert moved.down.deciding == pytest.approx(before.down.deciding, abs=1e-12)


@given(RATES, LOOKS, SEEDS)
@settings(max_examples=150, deadline=None)
def test_no_regression_rests_on_the_first_look_alone(
    rates: list[tuple[float, float]], looks: SecondLookSettings, seed: int
) -> None:
    rows, fresh, suite = drawn(rates, looks, random.Random(seed))

    def flat(found: Any) -> Any:
        return None if found is None else {case: (bn, bn, hn, hn) for case, (_, bn, _, hn) in found.items()}

    for answer, whole in ((flat(fresh), flat(suite)), ({}, None if suite is None else {})):
        found = second_look(rows, answer, looks, fresh_suite=whole)
        assert not found.down.changed
        assert found.verdict in ("improved", "no detectable change")
        if looks.both:
            assert found.verdict == "no detectable change"


@given(RATES, LOOKS, SEEDS)
@settings(max_examples=100, deadline=None)
def test_suspects_are_the_strongest_candidates_up_to_the_cap(
    rates: list[tuple[float, float]], looks: SecondLookSettings, seed: int
) -> None:
    rows, _, _ = drawn(rates, looks, random.Random(seed))
    p1 = [round(case_exact(*row).p_less, 12) for row in rows]
    chosen, left_out = suspects(rows, p1, looks.cut, looks.cap_of(len(rows)))
    candidates = {case for case, row in enumerate(rows) if row[0] > row[2] and p1[case] <= looks.cut}
    assert len(chosen) == min(looks.cap_of(len(rows)), len(candidates))
    assert set(chosen) | set(left_out) == candidates
    ranks = [(p1[case], -rows[case][0], case) for case in (*chosen, *left_out)]
    assert ranks == sorted(ranks)


@given(st.floats(1e-15, 1.0), st.floats(1e-15, 1.0))
def test_two_suite_ps_are_combined_by_the_inverse_normal_with_equal_weights(p1: float, p2: float) -> None:
    z1, z2, combined = combine(p1, p2)
    assert abs(z1) < 7.04 and abs(z2) < 7.04
    assert combined == pytest.approx(1.0 - NormalDist().cdf((z1 + z2) / 2.0**0.5), abs=1e-12)
    assert combine(p2, p1) == (z2, z1, combined)


def test_halves_say_nothing_when_nothing_varies() -> None:
    assert low([]) == low([(3, 3, 3, 3), (0, 5, 0, 2)]) == 0.5
    assert combine(0.5, 0.5)[2] == 0.5


# Evidence that is missing.

BROKEN: list[Row] = [(3, 3, 3, 3)] * 7 + [(3, 3, 1, 3)]


@pytest.mark.parametrize("row", [None, (0, 0, 0, 0), (20, 20, 9, 9), (9, 9, 20, 20), (20, 20, 0, 0)])
def test_a_suspect_with_fewer_than_half_of_its_fresh_verdicts_on_a_side_is_incomplete(row: Row | None) -> None:
    found = second_look(BROKEN, {} if row is None else {7: row}, SecondLookSettings())
    assert found.incomplete
    assert found.incomplete_cases == (7,)


def test_half_of_the_fresh_verdicts_are_enough() -> None:
    found = second_look(BROKEN, {7: (10, 10, 10, 20)}, SecondLookSettings())
    assert not found.incomplete
    assert found.down.p2[7] < 0.01


FALLEN: list[Row] = [(3, 3, 2, 3)] * 8


def test_an_alarm_that_was_cut_short_is_incomplete() -> None:
    looks = SecondLookSettings()
    first = first_look(FALLEN, looks)
    assert first.alarm
    fresh: dict[int, Row] = {case: (n, n, n, n) for case, n in first.rerun.items()}
    suite: dict[int, Row] = dict.fromkeys(range(8), (7, 7, 7, 7))
    assert not second_look(FALLEN, fresh, looks, fresh_suite=suite).incomplete
    assert second_look(FALLEN, fresh, looks, fresh_suite=suite, cut_short=True).incomplete
    with pytest.raises(ValueError, match="after an alarm"):
        second_look(FALLEN, fresh, looks)


def test_an_alarm_of_zero_never_rings() -> None:
    first = first_look([(3, 3, 0, 3)] * 30, SecondLookSettings(alarm=0.0))
    assert not first.alarm
    assert sorted(first.rerun) == [0, 1, 2]


def test_a_stored_base_that_screens_enters_no_verdict() -> None:
    looks = SecondLookSettings(mode="screen")
    stored: list[Row] = [(20, 20, 1, 3)] + [(20, 20, 3, 3)] * 9 + [(0, 20, 3, 3)] * 2
    found = second_look(stored, {0: (20, 20, 20, 20)}, SecondLookSettings(mode="screen", alarm=0.0))
    assert found.improved is None
    assert found.verdict == "no detectable change"
    worse = second_look(stored, {0: (20, 20, 9, 20)}, SecondLookSettings(mode="screen", alarm=0.0))
    assert worse.down.deciding == worse.down.suite_p2 == stratified_exact([(20, 20, 9, 20)]).p_mid_less
    assert worse.verdict == "regressed"
    assert first_look(stored, looks).rerun[0] == 20


@pytest.mark.parametrize(
    "wrong",
    [
        {"alpha": 0.0},
        {"alpha": 1.0},
        {"cut": 0.0},
        {"cut": 1.0},
        {"alarm": 0.6},
        {"alarm": -0.1},
        {"n1": 0},
        {"n2": 0},
        {"cap": 0},
        {"mode": "stored"},
    ],
)
def test_settings_out_of_range_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"must|needs"):
        SecondLookSettings(**wrong)


@pytest.mark.parametrize(("n1", "n2", "n3"), [(3, 20, 7), (3, 10, 7), (5, 20, 5), (5, 3, 3), (12, 20, 12), (3, 3, 3)])
def test_other_cases_get_as_many_trials_in_an_alarm_as_make_ten(n1: int, n2: int, n3: int) -> None:
    assert SecondLookSettings(n1=n1, n2=n2).n3 == n3


@pytest.mark.parametrize(("cases", "cap"), [(1, 3), (24, 3), (30, 3), (31, 4), (50, 5), (100, 10), (101, 11)])
def test_at_most_a_tenth_of_the_cases_and_at_least_three_are_suspected(cases: int, cap: int) -> None:
    assert SecondLookSettings().cap_of(cases) == cap


# Small and seeded: how often is a healthy case named, or an unchanged suite blocked?


@pytest.mark.parametrize("rates", [[0.8] * 12, [1.0] * 8 + [0.95] * 4, [0.9, 0.5, 0.3, 0.7] * 3])
def test_an_unchanged_suite_is_blocked_and_a_healthy_case_named_in_at_most_alpha_of_all_runs(
    rates: list[float],
) -> None:
    looks, rng, runs = SecondLookSettings(both=False), random.Random(5), 800
    blocked = named = 0
    for _ in range(runs):
        rows, fresh, suite = drawn([(rate, rate) for rate in rates], looks, rng)
        found = second_look(rows, fresh, looks, fresh_suite=suite)
        blocked += found.down.changed
        named += bool(found.down.rejected)
    # Three standard errors above the level.
    assert blocked / runs <= 0.05 + 3 * (0.05 * 0.95 / runs) ** 0.5
    assert named / runs <= 0.025 + 3 * (0.025 * 0.975 / runs) ** 0.5


def test_a_healthy_case_is_not_named_because_another_one_broke() -> None:
    looks, rng, runs = SecondLookSettings(), random.Random(6), 600
    rates = [(1.0, 0.2), *[(0.8, 0.8)] * 11]
    wrong = found_it = 0
    for _ in range(runs):
        rows, fresh, suite = drawn(rates, looks, rng)
        rejected = second_look(rows, fresh, looks, fresh_suite=suite).down.rejected
        found_it += 0 in rejected
        wrong += any(case != 0 for case in rejected)
    assert wrong / runs <= 0.025 + 3 * (0.025 * 0.975 / runs) ** 0.5
    assert found_it / runs >= 0.95
