"""One run in two files, written differently, is refused: its trials would count twice."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from repeat_eval.errors import UserError
from repeat_eval.readers import collect

SAMPLES = Path(__file__).parent / "samples"


def rewritten(sample: str, path: Path) -> Path:
    path.write_text(json.dumps(json.loads((SAMPLES / sample).read_text()), indent=7))
    return path


def test_both_files_that_promptfoo_writes_of_one_run_are_one_run() -> None:
    files = [SAMPLES / "promptfoo" / "results.json", SAMPLES / "promptfoo" / "results.jsonl"]
    with pytest.raises(UserError, match=r"holds 9 trials that .*results\.json holds too"):
        collect(files)


@pytest.mark.parametrize(
    "sample", ["pydantic_evals/report.json", "inspect_ai/capitals.json", "tau2_bench/results.json"]
)
def test_a_file_that_was_written_anew_is_the_same_run(tmp_path: Path, sample: str) -> None:
    with pytest.raises(UserError, match=r"run was handed over twice|holds .* trials that"):
        collect([SAMPLES / sample, rewritten(sample, tmp_path / "again.json")])


def test_an_inspect_log_that_took_up_an_earlier_one_holds_its_trials_again(tmp_path: Path) -> None:
    log: dict[str, Any] = json.loads((SAMPLES / "inspect_ai" / "capitals.json").read_text())
    log["samples"] = [sample for sample in log["samples"] if sample["epoch"] < 3]
    log["status"] = "error"
    (tmp_path / "earlier.json").write_text(json.dumps(log))
    with pytest.raises(UserError, match=r"holds 6 trials that .* holds too") as caught:
        collect([tmp_path / "earlier.json", SAMPLES / "inspect_ai" / "capitals.json"])
    assert "one of the two only" in str(caught.value)


def tau_bench(path: Path, orders: list[str], indent: int) -> Path:
    rows = [
        {"task_id": task, "reward": float(letter == "P"), "info": {}, "traj": [], "trial": trial}
        for task, letters in enumerate(orders)
        for trial, letter in enumerate(letters)
    ]
    path.write_text(json.dumps(rows, indent=indent))
    return path


def test_without_ids_and_times_two_runs_hardly_agree_in_the_order_of_passes(tmp_path: Path) -> None:
    orders = ["PFPF", "FFPP", "FPPF", "PPFF", "FPFP", "FPPF", "PFFP", "FFPP"]
    with pytest.raises(UserError, match="has the content of"):
        collect([tau_bench(tmp_path / "1.json", orders, 1), tau_bench(tmp_path / "2.json", orders, 2)])


@pytest.mark.parametrize("orders", [["PPPP"] * 50, ["PFPF", "FFPP"]])
def test_few_or_stable_cases_may_well_agree(tmp_path: Path, orders: list[str]) -> None:
    files = [tau_bench(tmp_path / "1.json", orders, 1), tau_bench(tmp_path / "2.json", orders, 2)]
    assert set(collect(files).asked.values()) == {8}


def test_short_ids_are_counters_and_prove_nothing(tmp_path: Path) -> None:
    row = {"success": True, "testIdx": 0, "promptIdx": 0, "id": "1", "vars": {"q": "a"}, "failureReason": 0}
    for name, latency in (("1.jsonl", 5), ("2.jsonl", 6)):
        (tmp_path / name).write_text(json.dumps({**row, "latencyMs": latency}) + "\n")
    assert len(collect([tmp_path / "1.jsonl", tmp_path / "2.jsonl"]).trials) == 2


def test_files_of_several_formats_are_pointed_out() -> None:
    files = [SAMPLES / "promptfoo" / "results.json", SAMPLES / "pytest-repeat.junit.xml"]
    assert any("several formats (junit, promptfoo)" in text for text in collect(files).warnings)
