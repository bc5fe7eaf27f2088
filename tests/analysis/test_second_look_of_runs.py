"""Two runs in two waves: what is re-run, what both looks say, what is never said, and what it cost."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from analysis_runs import run_of

from repeat_eval.analysis.second_look import ReRunPlan, StoredBase, look_twice, plan_rerun
from repeat_eval.analysis.second_look_model import SecondLook
from repeat_eval.records.run import Run
from repeat_eval.statistics.intervals import wilson_interval
from repeat_eval.statistics.second_look import SecondLookSettings

LOOKS = SecondLookSettings()
GOLDEN: list[dict[str, Any]] = [
    entry
    for entry in json.loads((Path(__file__).parents[1] / "golden" / "second-look.json").read_text("utf-8"))["entries"]
    if entry["function"] == "second_look"
    and entry["inputs"]["settings"]["mode"] == "side-by-side"
    # Runs hold trials in their order; the worked example of missing verdicts has its own test.
    and "ragged" not in entry["id"]
]


def letters(passed: int, n: int) -> str:
    return "P" * passed + "F" * (n - passed)


def healthy(number: int, *, first: str = "PPP") -> dict[str, str]:
    return {f"healthy {place}": first for place in range(number)}


def looked(base: Mapping[str, str], head: Mapping[str, str], looks: SecondLookSettings = LOOKS, **more: Any) -> Any:
    found = look_twice(run_of(base), run_of(head), looks, **more)
    assert isinstance(found, SecondLook)
    return found


def golden_side(entry: dict[str, Any], side: int, n1: int) -> Run:
    cases = {}
    for case, row in enumerate(entry["inputs"]["first"]):
        fresh = entry["inputs"]["second"].get(str(case))
        text = letters(row[2 * side], n1)
        if fresh is not None:
            suite = (entry["inputs"]["second_suite"] or {}).get(str(case), (0, 0, 0, 0))
            begun = letters(suite[2 * side], suite[2 * side + 1])
            rest_n = fresh[2 * side + 1] - suite[2 * side + 1]
            text += begun + letters(fresh[2 * side] - suite[2 * side], rest_n)
        cases[f"case {case}"] = text
    return run_of(cases)


@pytest.mark.parametrize("entry", GOLDEN, ids=lambda entry: entry["id"])
def test_runs_with_the_counts_of_a_worked_example_come_out_as_it_does(entry: dict[str, Any]) -> None:
    given, expected = entry["inputs"]["settings"], entry["expected"]
    n1 = entry["inputs"]["first"][0][1]
    looks = SecondLookSettings(alpha=given["alpha"], n1=n1, n2=given["n2"], cut=given["cut"], alarm=given["alarm"])
    found = look_twice(golden_side(entry, 0, n1), golden_side(entry, 1, n1), looks)
    assert found is not None
    assert [case.id for case in found.suspects] == [f"case {case}" for case in expected["suspects"]]
    assert {case.id for case in found.confirmed} == {f"case {case}" for case in expected["cases_regressed"]}
    assert found.verdict == expected["verdict"]
    assert found.down.claim == expected["suite_claim"]
    assert found.down.alarm == expected["alarm"]
    assert found.calls.trials == expected["trials_run"]
    assert found.calls.trials <= found.calls.most
    assert not found.incomplete
    assert found.down.p == pytest.approx(expected["suite_p_deciding"], abs=1e-9)


def test_nothing_suspected_is_nothing_re_run() -> None:
    found = looked(healthy(8), healthy(8))
    assert plan_rerun(run_of(healthy(8)), run_of(healthy(8)), LOOKS) == ReRunPlan(
        trials={}, suspects=(), not_rerun=(), alarm=False
    )
    assert found.wording == ("nothing-suspected",)
    assert (found.calls.first, found.calls.fresh) == (48, 0)


BASE = {"breaks": "PPP" + "P" * 20, **healthy(7)}


def test_a_confirmed_suspect_shows_its_fresh_rates_and_the_first_look_apart() -> None:
    found = looked(BASE, {"breaks": "PFF" + letters(9, 20), **healthy(7)})
    (suspect,) = found.confirmed
    assert (suspect.first_head.passed, suspect.first_head.verdicts) == (1, 3)
    assert (suspect.fresh_base.passed, suspect.fresh_base.verdicts) == (20, 20)
    assert suspect.fresh_head.pass_rate == 9 / 20
    assert suspect.fresh_head.interval == wilson_interval(9, 20)
    assert suspect.delta == pytest.approx(9 / 20 - 1)
    assert suspect.p2 == suspect.adjusted == pytest.approx(3.632665e-05, abs=1e-10)
    assert found.wording == ("case-regressed", "together-regressed")
    assert found.regressed


def test_a_suspect_that_the_fresh_trials_do_not_confirm_is_cleared() -> None:
    found = looked(BASE, {"breaks": "PFF" + letters(19, 20), **healthy(7)})
    assert [case.id for case in found.cleared] == ["breaks"]
    assert found.wording == ("cleared",)
    assert found.verdict == "no detectable change"


def test_suite_figures_are_those_of_the_first_look() -> None:
    found = looked(BASE, {"breaks": "PFF" + letters(9, 20), **healthy(7)})
    assert found.first_difference.delta == pytest.approx(-2 / 24)
    assert found.fresh_difference is None
    assert found.headline == found.first_difference


def test_after_an_alarm_the_fresh_difference_of_all_cases_is_the_headline() -> None:
    base = {f"case {number}": "P" * 23 for number in range(8)}
    head = {f"case {number}": "PFF" + letters(6, 7) + "P" * 13 for number in range(8)}
    plan = plan_rerun(run_of(base), run_of(head), LOOKS)
    assert plan is not None and plan.alarm
    assert sorted(plan.trials.values()) == [7] * 5 + [20] * 3
    found = looked(base, head)
    assert found.headline == found.fresh_difference
    assert found.fresh_difference.delta == pytest.approx(-1 / 7)
    assert found.fresh_difference.cases == 8
    assert found.rerun_others == 5
    assert "suite-regressed" in found.wording
    assert found.not_rerun == ()


def test_candidates_beyond_the_cap_are_listed_as_not_re_run() -> None:
    base = {**{f"case {number}": "PPP" + "P" * 20 for number in range(4)}, **healthy(30), "up": "FFF", "up 2": "FFF"}
    head = {**{f"case {number}": "PPF" + "P" * 20 for number in range(4)}, **healthy(30), "up": "PPP", "up 2": "PPP"}
    looks = SecondLookSettings(cap=3)
    plan = plan_rerun(run_of(base), run_of(head), looks)
    assert plan is not None
    assert plan.not_rerun == looked(base, head, looks).not_rerun == ("case 3",)
    assert "not-re-run" in looked(base, head, looks).wording


def test_trials_that_nobody_asked_for_change_nothing() -> None:
    head = {"breaks": "PFF" + letters(19, 20), **healthy(7)}
    more_base = {"breaks": "PPP" + "P" * 50, **healthy(7, first="PPPPPPPP")}
    more_head = {"breaks": "PFF" + letters(19, 20) + "F" * 30, **healthy(7, first="PPPFFFFF")}
    assert looked(more_base, more_head) == looked(BASE, head)


def test_a_suspect_whose_fresh_trials_ended_in_errors_is_incomplete_and_never_green() -> None:
    found = looked(BASE, {"breaks": "PFF" + "P" * 9 + "E" * 11, **healthy(7)})
    assert found.incomplete
    assert found.incomplete_cases == ("breaks",)
    assert found.suspects[0].outcome == "incomplete"
    assert found.suspects[0].fresh_head.errors == 11
    assert found.wording == ("incomplete",)


def test_errors_that_count_as_failures_are_fresh_failures() -> None:
    head = {"breaks": "PFF" + "P" * 9 + "E" * 11, **healthy(7)}
    found = looked(BASE, head, count_as_failed=frozenset({"provider"}))
    assert found.verdict == "regressed"
    assert not found.incomplete


def test_a_first_look_whose_re_run_never_came_is_incomplete() -> None:
    found = looked({"breaks": "PPP", **healthy(7)}, {"breaks": "PFF", **healthy(7)})
    assert found.incomplete
    assert found.suspects[0].p2 is None
    assert found.suspects[0].fresh_head.missing == 20


def test_an_alarm_whose_re_run_was_cut_short_is_incomplete() -> None:
    base = {f"case {number}": "P" * 23 for number in range(8)}
    head = {f"case {number}": "PFF" + "P" * 20 for number in range(7)} | {"case 7": "PFF" + "P" * 3}
    found = looked(base, head)
    assert found.alarm_cut_short
    assert found.incomplete
    assert found.wording[0] == "incomplete"
    assert "alarm-not-confirmed" not in found.wording


def test_fewer_than_six_common_cases_get_a_fixed_number_of_repeats() -> None:
    few = healthy(5)
    assert look_twice(run_of(few), run_of(few), LOOKS) is None
    assert plan_rerun(run_of(few), run_of({**few, "only head has it": "PPP"}), LOOKS) is None


def test_a_repaired_case_is_improved_at_the_first_look_unless_both_are_re_run() -> None:
    looks = SecondLookSettings(n1=5)
    base, head = {"mends": "FFFFF", **healthy(7, first="PPPPP")}, {"mends": "PPPPP", **healthy(7, first="PPPPP")}
    found = looked(base, head, looks)
    assert (found.verdict, found.wording) == ("improved", ("improved-at-first-look", "nothing-suspected"))
    both = SecondLookSettings(n1=5, both=True)
    assert looked(base, head, both).incomplete
    more = looked({**base, "mends": "F" * 25}, {**head, "mends": "P" * 25}, replace(both, alarm=0.0))
    assert more.verdict == "improved"
    assert "case-improved" in more.wording
    assert more.suspects[0].direction == "up"


def test_calls_and_money_are_counted_against_the_fixed_repeats_that_would_have_been_needed() -> None:
    head = {"breaks": "PFF" + letters(9, 20), **healthy(7)}

    def priced(run: Run) -> Run:
        trials = tuple(msgspec.structs.replace(trial, cost=0.01, attempts=2) for trial in run.trials)
        return msgspec.structs.replace(run, trials=trials)

    found = look_twice(priced(run_of(BASE)), priced(run_of(head)), LOOKS)
    assert found is not None
    calls = found.calls
    assert (calls.first, calls.fresh, calls.trials, calls.calls) == (48, 40, 88, 176)
    assert calls.fixed_repeats is not None and calls.fixed_repeats >= 11
    assert calls.fixed_trials == 16 * calls.fixed_repeats
    assert calls.saved == calls.fixed_trials - 88
    assert calls.cost == pytest.approx(0.88)
    assert calls.cost_saved == pytest.approx(0.01 * calls.saved)
    unpriced = looked(BASE, head)
    assert unpriced.calls.cost is unpriced.calls.cost_saved is None


# A stored base.


STORED = StoredBase(commit="abc", counts={"breaks": (20, 20), **dict.fromkeys(healthy(7), (20, 20))})
SCREEN = SecondLookSettings(mode="screen", alarm=0.0)


def test_a_stored_base_only_screens_and_base_runs_for_suspects_alone() -> None:
    head = run_of({"breaks": "PFF" + letters(9, 20), **healthy(7)})
    plan = plan_rerun(None, run_of({"breaks": "PFF", **healthy(7)}), SCREEN, stored=STORED)
    assert plan is not None and plan.trials == {"breaks": 20}
    base = run_of({"breaks": "..." + "P" * 20})
    found = look_twice(base, head, SCREEN, stored=STORED)
    assert found is not None
    assert found.verdict == "regressed"
    assert (found.calls.first, found.calls.fresh) == (24, 40)
    assert found.improved is None
    drifted = run_of({"breaks": "..." + letters(9, 20)})
    clean = look_twice(drifted, head, SCREEN, stored=STORED)
    assert clean is not None and clean.verdict == "no detectable change"


def test_without_a_suspect_base_is_not_run_at_all() -> None:
    found = look_twice(None, run_of({"breaks": "PPP", **healthy(7)}), SCREEN, stored=STORED)
    assert found is not None
    assert not found.incomplete
    assert found.wording == ("nothing-suspected", "alarm-off")


def test_a_base_that_cannot_be_run_is_split_and_head_alone_is_run() -> None:
    looks = SecondLookSettings(mode="split", alarm=0.0)
    head = {"breaks": "PFF" + letters(6, 20), **healthy(7), "hardly stored": "PPP"}
    stored = StoredBase(commit="abc", counts={**STORED.counts, "hardly stored": (2, 2)})
    found = look_twice(None, run_of(head), looks, stored=stored)
    assert found is not None
    assert found.cases == 8
    (suspect,) = found.confirmed
    assert (suspect.first_base.verdicts, suspect.fresh_base.verdicts) == (6, 14)
    assert (found.calls.first, found.calls.fresh) == (24, 20)
    assert not found.incomplete


def test_base_comes_from_where_the_mode_says() -> None:
    head = run_of(healthy(8))
    with pytest.raises(ValueError, match="comes from the store"):
        plan_rerun(head, head, SCREEN)
    with pytest.raises(ValueError, match="comes from its run"):
        plan_rerun(head, head, LOOKS, stored=STORED)
    with pytest.raises(ValueError, match="base has a run"):
        plan_rerun(None, head, LOOKS)


def test_the_result_survives_being_written_and_read() -> None:
    found = looked(BASE, {"breaks": "PFF" + letters(9, 20), **healthy(7)})
    assert msgspec.json.decode(msgspec.json.encode(found), type=SecondLook) == found
