"""A small, seeded part of the second look's calibration."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import write_calibration_docs
from benchmarks.calibration import __main__ as calibration
from benchmarks.calibration import fast, second_look, second_look_run
from benchmarks.calibration.second_look import NO_CHANGE
from page_parts import part

from repeat_eval.statistics.comparison import stratified_exact
from repeat_eval.statistics.multiplicity import holm_testable
from repeat_eval.statistics.second_look import SecondLookSettings

SEED = 11
CELLS = [cell for cell in second_look.grid(alphas=(0.05,)) if cell.cases == 24]


@pytest.mark.parametrize("change", list(second_look.ABOUT))
def test_the_quick_path_looks_twice_as_the_program_does(change: str) -> None:
    cells = [cell for cell in second_look.grid(changes=(change,)) if cell.cases in (8, 50)]
    for cell in cells[::3]:
        found = second_look.measure(cell, seed=SEED, replicates=25, sample=25)
        assert found.checked == 75


def test_a_quick_path_that_is_wrong_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(second_look, "holm", lambda p, smallest, level: smallest <= 2 * level)
    cell = next(cell for cell in CELLS if cell.change == "b.5")
    with pytest.raises(fast.CalibrationBroken, match="differs from the program"):
        second_look.measure(cell, seed=SEED, replicates=50, sample=50)


def test_holm_on_many_rows_is_holm_on_each() -> None:
    random = np.random.default_rng(SEED)
    p, smallest = random.random((200, 5)) ** 4, random.random((200, 5)) / 20
    found = second_look.holm(p, smallest, 0.025)
    for row in range(200):
        assert np.flatnonzero(found[row]).tolist() == list(holm_testable(p[row], smallest[row], 0.025).rejected)
    assert found.any()


def test_the_one_sided_suite_test_is_the_programs() -> None:
    random = np.random.default_rng(SEED)
    base, head = random.binomial(5, 0.9, (50, 12)), random.binomial(7, 0.8, (50, 12))
    found = fast.suite_p_down(base, 5, head, 7)
    for run in range(50):
        rows = [(int(b), 5, int(h), 7) for b, h in zip(base[run], head[run], strict=True)]
        assert found[run] == pytest.approx(stratified_exact(rows).p_mid_less, abs=1e-12)


@pytest.mark.parametrize("cell", [cell for cell in CELLS if cell.change == NO_CHANGE], ids=lambda cell: cell.population)
def test_unchanged_pull_requests_are_blocked_and_healthy_cases_named_in_at_most_alpha(cell: second_look.Cell) -> None:
    found = second_look.measure(cell, seed=SEED, replicates=2000, sample=3)
    for name in second_look.LOOKS:
        assert found.blocked[name] <= 0.05
        assert found.wrong[name] <= 0.03


def test_one_case_that_falls_to_half_is_found_at_the_promised_rate_and_cost() -> None:
    found = [second_look.measure(cell, seed=SEED, replicates=500, sample=3) for cell in CELLS if cell.change == "b.5"]
    assert np.mean([one.blocked["3+20"] for one in found]) >= second_look_run.MIN_FOUND
    unchanged = [
        second_look.measure(cell, seed=SEED, replicates=1000, sample=0) for cell in CELLS if cell.change == NO_CHANGE
    ]
    assert np.mean([one.cost["3+20"] for one in unchanged]) <= second_look_run.MAX_COST


def test_looking_twice_costs_no_more_than_its_bound() -> None:
    random = np.random.default_rng(SEED)
    base = np.full((300, 24), 0.7)
    found = second_look.look_twice(base, base, SecondLookSettings(), random)
    assert found.trials.max() <= 558
    assert found.trials.min() >= 144


def test_a_small_calibration_runs_and_keeps_what_it_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["second-look", "--replicates", "20", "--power-replicates", "20", "--alpha", "0.05", "--cases", "8"]
    calibration.main([*arguments, "--no-peers", "--out", str(tmp_path)])
    written = json.loads((tmp_path / "second_look.json").read_text(encoding="utf-8"))
    assert len(written["cells"]) == len(second_look.ABOUT) * len(second_look.SUITES)
    assert capsys.readouterr().out.strip() == (tmp_path / "second_look.md").read_text(encoding="utf-8").strip()


def test_the_tables_of_two_looks_in_the_documentation_are_those_that_were_measured() -> None:
    assert part(write_calibration_docs.PAGE, "calibration of two looks") == write_calibration_docs.second_look_tables()
    assert "**no**" not in write_calibration_docs.SECOND_LOOK.read_text("utf-8")
