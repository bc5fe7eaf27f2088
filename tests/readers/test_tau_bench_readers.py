"""Results of tau-bench and tau2-bench, read into trials."""

from __future__ import annotations

import json
import shutil
from collections import defaultdict
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from repeat_eval.readers import FileResults, ReadError, ReadOptions, collect, read_file
from repeat_eval.statistics.repeats import pass_hat_k

SAMPLES = Path(__file__).parent / "samples" / "tau2_bench"
PUBLISHED = Path(__file__).parents[3] / "shared" / "samples" / "tau_bench"
WORDS = {"pass": "passed", "fail": "failed", "error": "error"}


def outcomes(results: FileResults) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for trial in sorted(results.trials, key=lambda trial: trial.repetition or 0):
        found[trial.case].append(trial.outcome)
    return found


def tau(tmp_path: Path, *rows: dict[str, Any]) -> Path:
    path = tmp_path / "gpt.json"
    path.write_text(json.dumps(list(rows)), encoding="utf-8")
    return path


def row(task: int = 0, trial: int = 0, reward: object = 1.0, **info: object) -> dict[str, Any]:
    return {"task_id": task, "reward": reward, "info": info, "traj": [], "trial": trial}


@pytest.mark.skipif(not PUBLISHED.is_dir(), reason="the published run is not part of this repository")
def test_the_published_run_of_tau_bench_has_its_published_pass_hat_k() -> None:
    expected = json.loads((PUBLISHED / "expected.json").read_text(encoding="utf-8"))
    collected = collect([PUBLISHED / "gpt-4o-airline.trimmed.json"])
    passes: dict[str, int] = dict.fromkeys(collected.cases, 0)
    for trial in collected.trials:
        passes[trial.case] += trial.outcome == "passed"
    assert len(passes) == expected["tasks"]
    assert (sum(passes.values()), len(collected.trials)) == (expected["passes"], expected["runs"])
    assert set(collected.asked.values()) == {4}
    for k in range(1, 5):
        values = [pass_hat_k(count, 4, k) for count in passes.values()]
        mean = sum(Fraction(value) for value in values if value is not None) / len(values)
        assert float(mean) == pytest.approx(expected["pass^k"][str(k)], abs=1e-6)
        assert round(float(mean), 3) == expected["published pass^k for this run (project README)"][str(k)]


def test_a_reward_is_a_pass_within_the_benchmarks_tolerance(tmp_path: Path) -> None:
    results = read_file(tau(tmp_path, row(trial=0, reward=1 - 1e-7), row(trial=1, reward=0.99), row(trial=2, reward=0)))
    assert results.format == "tau-bench"
    assert outcomes(results) == {"task 0": ["passed", "failed", "failed"]}
    assert [trial.repetition for trial in results.trials] == [1, 2, 3]


def test_a_trial_that_raised_is_an_error_and_the_benchmarks_own_count_is_said(tmp_path: Path) -> None:
    raised = row(trial=1, reward=0.0, error="openai.RateLimitError: slow down", traceback="…")
    results = read_file(tau(tmp_path, row(), raised))
    error = results.trials[1]
    assert (error.outcome, error.error_kind, error.score) == ("error", "provider", None)
    assert error.message == "openai.RateLimitError: slow down"
    assert "counts them as failures" in results.warnings[0]


def test_a_reward_that_is_no_number_is_no_verdict(tmp_path: Path) -> None:
    path = tau(tmp_path, row(reward=None), row(trial=1, reward=float("nan")))
    assert [(trial.outcome, trial.error_kind) for trial in read_file(path).trials] == [("error", "judge")] * 2


def test_a_trial_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match=r"row 2: task 0 has trial 0 twice"):
        read_file(tau(tmp_path, row(), row()))


def test_the_sample_of_tau2_bench_is_read_as_expected() -> None:
    expected = json.loads((SAMPLES / "expected.json").read_text(encoding="utf-8"))["results.json"]
    results = read_file(SAMPLES / "results.json")
    assert results.format == "tau2-bench"
    assert outcomes(results) == {case["case"]: [WORDS[word] for word in case["outcomes"]] for case in expected}
    assert results.asked == {"update_task_1": 4}
    error = results.trials[2]
    assert (error.error_kind, error.score) == ("provider", None)
    assert "upstream closed the connection" in (error.message or "")
    assert results.trials[1].message == "reward 0 (DB 0)"
    assert (results.trials[0].cost, results.trials[0].turns) == (0.0, 3)


def document() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((SAMPLES / "results.json").read_text(encoding="utf-8"))
    return found


def as_folder(tmp_path: Path) -> Path:
    """The sample in the form that large runs have."""
    content = document()
    (tmp_path / "simulations").mkdir()
    index = []
    for simulation in content.pop("simulations"):
        index.append({key: simulation[key] for key in ("id", "task_id", "trial", "termination_reason")})
        (tmp_path / "simulations" / f"{simulation['id']}.json").write_text(json.dumps(simulation), encoding="utf-8")
    path = tmp_path / "results.json"
    path.write_text(json.dumps(content | {"simulation_index": index}), encoding="utf-8")
    return path


def test_a_run_in_a_folder_is_read_like_one_in_a_file(tmp_path: Path) -> None:
    assert read_file(as_folder(tmp_path)).trials == read_file(SAMPLES / "results.json").trials


def test_a_simulation_whose_file_is_lost_is_an_error(tmp_path: Path) -> None:
    path = as_folder(tmp_path)
    lost = document()["simulations"][0]["id"]
    (tmp_path / "simulations" / f"{lost}.json").unlink()
    results = read_file(path)
    assert outcomes(results) == {"update_task_1": ["error", "failed", "error", "passed"]}
    assert results.warnings == ("1 simulations of the index have no file; they are errors",)


def test_an_index_cannot_point_out_of_its_folder(tmp_path: Path) -> None:
    path = as_folder(tmp_path)
    content = json.loads(path.read_text(encoding="utf-8"))
    first = content["simulation_index"][0]
    shutil.move(tmp_path / "simulations" / f"{first['id']}.json", tmp_path / "outside.json")
    first["id"] = "../outside"
    path.write_text(json.dumps(content), encoding="utf-8")
    assert "the file of this simulation is missing" in [
        trial.message for trial in read_file(path, ReadOptions()).trials
    ]


def test_one_simulation_alone_is_refused_with_what_to_give_instead(tmp_path: Path) -> None:
    as_folder(tmp_path)
    with pytest.raises(ReadError, match=r"give the results\.json beside its folder instead"):
        read_file(next((tmp_path / "simulations").glob("*.json")))


@pytest.mark.parametrize(
    ("reason", "outcome", "kind"),
    [
        ("user_stop", "failed", None),
        ("agent_stop", "failed", None),
        ("max_steps", "failed", None),
        ("too_many_errors", "failed", None),
        ("agent_error", "error", "crash"),
        ("context_window_exceeded", "error", "crash"),
        ("timeout", "error", "timeout"),
        ("user_error", "error", "harness"),
        ("unexpected_error", "error", "harness"),
        ("infrastructure_error", "error", "provider"),
    ],
)
def test_how_a_simulation_ended_tells_errors_from_failures(
    tmp_path: Path, reason: str, outcome: str, kind: str | None
) -> None:
    content = document()
    simulation = content["simulations"][1] | {"termination_reason": reason}
    path = tmp_path / "results.json"
    path.write_text(json.dumps(content | {"simulations": [simulation]}), encoding="utf-8")
    (trial,) = read_file(path).trials
    assert (trial.outcome, trial.error_kind) == (outcome, kind)


def test_trials_that_were_asked_for_and_are_not_there_are_missed(tmp_path: Path) -> None:
    content = document()
    path = tmp_path / "results.json"
    path.write_text(json.dumps(content | {"simulations": content["simulations"][:2]}), encoding="utf-8")
    assert collect([path]).asked == {"update_task_1": 4}


def test_a_task_without_a_simulation_is_missing_evidence(tmp_path: Path) -> None:
    content = document()
    content["tasks"].append(content["tasks"][0] | {"id": "other_task"})
    path = tmp_path / "results.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    assert any("other_task has no simulation" in text for text in collect([path]).missing)
