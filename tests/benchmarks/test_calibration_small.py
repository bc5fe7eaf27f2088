"""A small, seeded part of the calibration, and whether what it found stands in the documentation as it was found."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import scipy.stats
import write_calibration_docs
from benchmarks.calibration import bench, cells, fast, peers, plots, populations, results, scenario, tables
from page_parts import part

from repeat_eval.analysis.decision import decide
from repeat_eval.statistics.difference import population_paired_t

ROOT = Path(__file__).resolve().parents[2]
SEED = 11
STATISTICS = (ROOT / "docs" / "statistics.md").read_text(encoding="utf-8")
CELLS = [cell for cell in cells.grid() if cell.kind is None and cell.cases == 20]
KINDS = populations.KINDS


def simulated(cases: int, base_n: int, head_n: int, runs: int) -> tuple[fast.Counts, int, fast.Counts, int]:
    random = np.random.default_rng(SEED)
    rates = populations.draw("solid", runs, cases, random)
    return random.binomial(base_n, rates), base_n, random.binomial(head_n, rates), head_n


def rows_of(base: np.ndarray, base_n: int, head: np.ndarray, head_n: int) -> list[tuple[int, int, int, int]]:
    return [(int(b), base_n, int(h), head_n) for b, h in zip(base, head, strict=True)]


@pytest.mark.parametrize("cell", CELLS[::3], ids=lambda cell: f"{cell.population}-{cell.base_n}-{cell.head_n}")
def test_unchanged_runs_raise_few_false_alarms(cell: cells.Cell) -> None:
    found = cells.measure(cell, seed=SEED, replicates=4000, sample=3)
    assert found.rates[results.SUITE] <= results.ALLOWED
    assert found.rates[results.GATE] <= results.ALLOWED


@pytest.mark.parametrize("kind", KINDS)
def test_the_suite_test_finds_more_than_other_tests_do(kind: str) -> None:
    grid = [cell for cell in cells.grid() if cell.kind == kind and cell.cases == 20 and cell.base_n == cell.head_n]
    found = [cells.measure(cell, seed=SEED, replicates=500, sample=0).rates for cell in grid]
    power = {method: np.mean([rates[method] for rates in found]) for method in cells.METHODS}
    assert power[results.SUITE] >= power["pooled z"]
    assert power[results.SUITE] >= power["paired t"]
    assert power[results.GATE] >= power[results.SUITE] - 0.01


@pytest.mark.parametrize(("repeats", "broken", "dropped"), [(3, 0.43, 0.32), (5, 0.99, 0.52), (10, 0.99, 0.83)])
def test_the_gate_sees_a_broken_case_and_a_fall_of_all_and_stays_quiet_otherwise(
    repeats: int, broken: float, dropped: float
) -> None:
    blocked = {
        change: scenario.measure(change, repeats, seed=SEED, replicates=4000, sample=10).rates[results.GATE]
        for change in scenario.CHANGES
    }
    assert blocked[results.NO_CHANGE] <= 0.05
    assert blocked[results.BROKEN] >= broken
    assert blocked["stable cases drop to 85 %"] >= dropped


@pytest.mark.parametrize(("base_n", "head_n"), [(1, 1), (3, 3), (5, 10), (20, 3)])
@pytest.mark.parametrize("cases", [1, 7, 60])
def test_the_quick_path_decides_as_the_program_does(cases: int, base_n: int, head_n: int) -> None:
    sides = simulated(cases, base_n, head_n, 20)
    assert fast.check(*sides, fast.decisions(*sides)) == 20


def test_a_quick_path_that_is_wrong_is_noticed() -> None:
    base, base_n, head, head_n = simulated(20, 5, 5, 5)
    wrong = fast.decisions(base, base_n, head[::-1], head_n)
    with pytest.raises(fast.CalibrationBroken, match="differs from the program"):
        fast.check(base, base_n, head, head_n, wrong)


def test_other_tests_are_those_of_the_libraries() -> None:
    base, base_n, head, head_n = simulated(12, 5, 10, 30)
    ours = peers.paired_t(base, base_n, head, head_n)
    majorities = peers.mcnemar_majority(base, base_n, head, head_n)
    pooled = peers.pooled_z(base, base_n, head, head_n)
    for run in range(30):
        rates = base[run] / base_n, head[run] / head_n
        assert ours[run] == pytest.approx(scipy.stats.ttest_rel(*rates).pvalue, abs=1e-12)
        mine = population_paired_t(rows_of(base[run], base_n, head[run], head_n))
        assert mine is not None
        assert ours[run] == pytest.approx(mine.p, abs=1e-9)
        before, after = rates[0] > 0.5, rates[1] > 0.5
        lost, won = int((before & ~after).sum()), int((~before & after).sum())
        exact = scipy.stats.binomtest(lost, lost + won).pvalue if lost + won else 1.0
        assert majorities[run] == pytest.approx(exact, abs=1e-12)
        table = [[base[run].sum(), 12 * base_n - base[run].sum()], [head[run].sum(), 12 * head_n - head[run].sum()]]
        assert pooled[run] == pytest.approx(scipy.stats.chi2_contingency(table, correction=False).pvalue, abs=1e-12)


def test_a_change_has_the_size_that_was_asked_for() -> None:
    random = np.random.default_rng(SEED)
    for kind in ("broad", "logit"):
        rates = populations.draw("flaky", 10, 50, random, kind)
        changed = populations.worsened(rates, kind, 5, 10, random)
        error = np.sqrt((rates * (1 - rates) / 5 + changed * (1 - changed) / 10).sum(axis=1))
        assert (rates - changed).sum(axis=1) / error == pytest.approx(populations.DROP)
        assert (changed <= rates).all()


def test_equal_seeds_give_equal_figures() -> None:
    first, second = (cells.measure(cells.grid()[200], seed=SEED, replicates=200, sample=0) for _ in range(2))
    assert first == second


def test_the_committed_results_keep_what_is_promised() -> None:
    found = results.read()
    assert len(found.null()) >= 60
    assert found.replicates["null"] >= 4000
    assert all(figure.met for figure in bench.claims(found))
    assert "regressgate" in found.versions


def test_the_table_and_the_pictures_are_those_of_the_committed_results() -> None:
    found = results.read()
    assert tables.PAGE.read_text(encoding="utf-8") == tables.page(found)
    for name, picture in plots.pictures(found).items():
        assert (plots.FOLDER / name).read_text(encoding="utf-8") == picture
        assert ElementTree.fromstring(picture).tag.endswith("svg")  # noqa: S314 - our own picture
        assert f"(images/{name})" in STATISTICS


def test_the_statistics_page_holds_the_table() -> None:
    assert part(write_calibration_docs.PAGE, "calibration") == write_calibration_docs.tables()


def test_the_worked_example_of_the_statistics_page_is_what_the_program_says() -> None:
    found = decide([(3, 3, 0, 3), (3, 3, 2, 3), (3, 3, 3, 3)], 0.05)
    assert f"**p = {found.p:.3f}**" in STATISTICS
    assert f"it is {found.test.p_exact:.2f} (`p_exact`" in STATISTICS
    assert f"downwards mid-p is {found.test.p_mid_less:.4f}" in STATISTICS
    difference = found.difference
    for value in (difference.delta, difference.low, difference.high):
        assert f"{value * 100:.1f}".replace("-", "−") in STATISTICS
    for side in (difference.base, difference.head):
        assert f"{side.low * 100:.1f}–{side.high * 100:.1f} %" in STATISTICS
    assert found.down.testable == found.down.rejected == (0,)
    assert found.cases[0].p_less == pytest.approx(1 / 40)


def test_results_survive_being_written_and_read(tmp_path: Path) -> None:
    found = results.read()
    results.write(found, tmp_path / "results.json")
    assert results.read(tmp_path / "results.json") == found


@pytest.mark.e2e
def test_the_calibration_runs_as_a_benchmark(tmp_path: Path) -> None:
    figures = list(bench.false_alarms_and_power(bench.Bench(tmp_path, rounds=1, scale=0.001)))
    assert {figure.unit for figure in figures} == {"s", "%", "x"}
    assert (tmp_path / "calibration" / "results.md").is_file()
