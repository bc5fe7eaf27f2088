"""What a file should have held and does not is missing in full: nobody gains by handing in less."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from repeat_eval.readers import Collected, collect

SAMPLES = Path(__file__).parent / "samples"


def promptfoo(path: Path, tests: dict[str, str]) -> Path:
    rows = [
        {
            "success": letter == "P",
            "failureReason": 0 if letter == "P" else 1,
            "testIdx": place,
            "promptIdx": 0,
            "testCase": {"description": name},
        }
        for place, (name, letter) in enumerate((name, letter) for name, letters in tests.items() for letter in letters)
    ]
    document: dict[str, Any] = {"version": 3, "results": {"results": rows}, "runtimeOptions": {"repeat": 3}}
    path.write_text(json.dumps({"evalId": path.name, **document}))
    return path


def outcomes(collected: Collected, case: str) -> Counter[str]:
    return Counter(trial.outcome for trial in collected.trials if trial.case == case)


def test_a_file_of_several_repetitions_that_is_cut_off_lacks_all_of_them(tmp_path: Path) -> None:
    cut = tmp_path / "cut.eval"
    cut.write_bytes((SAMPLES / "inspect_ai" / "capitals.eval").read_bytes()[:9_000])
    collected = collect([SAMPLES / "inspect_ai" / "capitals.json", cut])
    assert set(collected.asked.values()) == {8}
    assert outcomes(collected, "capitals::stable-capital") == {"passed": 4, "error": 4}


def test_a_case_that_one_of_two_files_lacks_lacks_the_repetitions_of_that_file(tmp_path: Path) -> None:
    first = promptfoo(tmp_path / "1.json", {"a": "PPP", "b": "PPP"})
    second = promptfoo(tmp_path / "2.json", {"a": "PPF"})
    collected = collect([first, second])
    assert collected.asked == {"a": 6, "b": 6}
    assert any("1 of 2 cases have fewer trials" in text for text in collected.warnings)


def test_files_without_a_case_in_common_ask_for_their_own_only(tmp_path: Path) -> None:
    first, second = promptfoo(tmp_path / "1.json", {"a": "PPP"}), promptfoo(tmp_path / "2.json", {"b": "PPP"})
    assert collect([first, second]).asked == {"a": 3, "b": 3}


def test_samples_that_an_inspect_log_declares_and_lacks_are_missing_beside_a_short_one(tmp_path: Path) -> None:
    log: dict[str, Any] = json.loads((SAMPLES / "inspect_ai" / "capitals.json").read_text())
    log["samples"] = [s for s in log["samples"] if s["id"] == "stable-capital" and s["epoch"] < 4]
    log["eval"]["config"]["limit"] = 3
    path = tmp_path / "log.json"
    path.write_text(json.dumps(log))
    assert any("declares 12 samples" in text for text in collect([path]).missing)


def test_a_file_cannot_ask_for_any_number_of_trials(tmp_path: Path) -> None:
    path = promptfoo(tmp_path / "1.json", {"a": "P"})
    path.write_text(path.read_text().replace('"repeat": 3', f'"repeat": {2**53}'))
    assert collect([path]).asked == {"a": 10_000}


def test_a_task_without_a_simulation_in_one_of_two_runs_lacks_that_runs_trials(tmp_path: Path) -> None:
    run: dict[str, Any] = json.loads((SAMPLES / "tau2_bench" / "results.json").read_text())
    run["tasks"] = [{"id": "other"}, {"id": "update_task_1"}]
    run["simulations"] += [{**s, "task_id": "other", "id": s["id"] + "-other"} for s in run["simulations"]]
    (tmp_path / "1.json").write_text(json.dumps(run))
    run["simulations"] = [
        {**s, "id": s["id"] + "-second", "start_time": "2026-11-30T22:00:00.5"}
        for s in run["simulations"]
        if s["task_id"] != "other"
    ]
    (tmp_path / "2.json").write_text(json.dumps(run))
    collected = collect([tmp_path / "1.json", tmp_path / "2.json"])
    assert collected.asked == {"update_task_1": 8, "other": 8}
    assert outcomes(collected, "other")["error"] == 1 + 4
    assert not collected.missing
