"""Comparisons through the analysis against reference values that other libraries made."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from comparing import compared, judged_rows

GOLDEN = Path(__file__).parents[1] / "golden"
BORDERS: dict[str, Any] = json.loads((GOLDEN / "comparison_gates.json").read_text("utf-8"))
EXAMPLES: dict[str, dict[str, Any]] = {}
for entry in json.loads((GOLDEN / "statistics.json").read_text("utf-8"))["entries"]:
    function, _, name = entry["id"].partition("/")
    if function in ("suite_compare_exact", "suite_compare_difference", "population_paired_t"):
        EXAMPLES.setdefault(name, {})[function] = entry


def rows_of(entry: dict[str, Any]) -> list[Any]:
    return [tuple(row) for row in entry["inputs"]["cases"]]


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_worked_examples_come_out_of_whole_runs_to_nine_digits(name: str) -> None:
    entries = EXAMPLES[name]
    if "suite_compare_exact" not in entries:
        pytest.skip("an entry for the paired t alone")
    comparison = compared(*rows_of(entries["suite_compare_exact"]))
    exact = entries["suite_compare_exact"]["expected"]
    assert comparison.p == pytest.approx(exact["p_midp"], abs=1e-9)
    assert comparison.p_exact == pytest.approx(exact["p_exact"], abs=1e-9)
    assert comparison.level == exact["level"]
    if difference := entries.get("suite_compare_difference", {}).get("expected"):
        assert comparison.base and comparison.head and comparison.interval
        assert comparison.delta == pytest.approx(difference["delta"], abs=1e-9)
        assert comparison.base.pass_rate == pytest.approx(difference["base_rate"], abs=1e-9)
        assert comparison.head.pass_rate == pytest.approx(difference["head_rate"], abs=1e-9)
        assert comparison.interval == pytest.approx((difference["low"], difference["high"]), abs=1e-9)
    if comparison.common >= 10 and (paired := entries.get("population_paired_t", {}).get("expected")):
        assert comparison.new_cases
        assert comparison.new_cases.p == pytest.approx(paired["p"], abs=1e-9)
        assert comparison.new_cases.interval == pytest.approx((paired["low"], paired["high"]), abs=1e-9)


def test_all_fourteen_worked_examples_are_there() -> None:
    assert {name[:3] for name in EXAMPLES} >= {f"E{number:02}" for number in range(1, 15)}


@pytest.mark.parametrize("entry", BORDERS["entries"], ids=lambda entry: entry["shows"])
def test_decisions_at_their_borders(entry: dict[str, Any]) -> None:
    rows, expected = [tuple(row) for row in entry["rows"]], entry["expected"]
    comparison = compared(*rows, alpha=entry["alpha"])
    close = {"abs": BORDERS["tolerance"], "rel": 0}
    assert comparison.verdict == expected["verdict"]
    assert comparison.p == pytest.approx(expected["p"], **close)
    assert comparison.delta == pytest.approx(expected["delta"], **close)
    assert (comparison.suite_regressed, comparison.suite_improved) == (
        expected["suite_regressed"],
        expected["suite_improved"],
    )
    cases = comparison.cases
    assert [case.p for case in cases] == pytest.approx(expected["case_p"], **close)
    assert [case.q for case in cases] == pytest.approx(expected["q"], **close)
    assert [number for number, case in enumerate(cases) if case.testable] == expected["testable"]
    for direction, adjusted, rejected in (
        ("down", [case.adjusted_down for case in cases], [case.rejected_down for case in cases]),
        ("up", [case.adjusted_up for case in cases], [case.rejected_up for case in cases]),
    ):
        assert adjusted == pytest.approx(expected[direction]["adjusted"], **close), direction
        assert [number for number, yes in enumerate(rejected) if yes] == expected[direction]["rejected"], direction


@pytest.mark.parametrize("entry", BORDERS["entries"], ids=lambda entry: entry["shows"])
def test_gates_block_at_their_borders(entry: dict[str, Any]) -> None:
    rows = [tuple(row) for row in entry["rows"]]
    for fail_on, blocks in entry["expected"]["blocks"].items():
        report = judged_rows(*rows, alpha=entry["alpha"], fail_on=fail_on)
        assert (report.exit_code == 1) is blocks, fail_on
