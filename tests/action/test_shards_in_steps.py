"""A matrix of shards and the job after it, as the steps of docs/workflows/shards.yml."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

SUITE = """name: shop
target: {python: "agent:answer"}
repeats: 10
cases:
  - {id: greets, input: hello, expect: [{contains: hello}]}
"""
ROOT = Path(__file__).parents[2]
JOBS = yaml.safe_load((ROOT / "docs/workflows/shards.yml").read_text("utf-8"))["jobs"]
SHARDS = JOBS["shard"]["strategy"]["matrix"]["shard"]


def inputs_of(job: str) -> dict[str, str]:
    """What the workflow gives our action in a job, but for the suite, which is the test's own."""
    (step,) = [step for step in JOBS[job]["steps"] if step["uses"].startswith("org/repeat-eval")]
    return {name: text for name, text in step["with"].items() if name != "suite"}


def run_shard(step: Any, number: int, **inputs: str) -> int:
    """A job of the matrix, with its artifact where the last job downloads it to."""
    shard = inputs_of("shard")["shard"].replace("${{ matrix.shard }}", str(number))
    out = step.workspace / "repeat-eval-report"
    shutil.rmtree(out, ignore_errors=True)
    code: int = step.run(shard=shard, **inputs)
    place = step.root / "artifacts" / f"evals-shard-{number}"
    place.mkdir(parents=True)
    for file in out.glob("*.jsonl"):
        shutil.copy(file, place)
    return code


def run_merge(step: Any, **inputs: str) -> int:
    """The last job: nothing is checked out, and the artifacts are there."""
    shutil.rmtree(step.workspace)
    step.workspace.mkdir()
    shutil.copytree(step.root / "artifacts", step.workspace / "shards")
    code: int = step.run(**inputs_of("evals"), **inputs)
    return code


def test_all_shards_and_the_job_after_them_say_what_one_job_says(broken) -> None:
    for number in SHARDS:
        assert run_shard(broken, number) == 0
        assert broken.errors == []
        assert broken.outputs["verdict"] == "shard"
    assert not Path(broken.environ["GITHUB_STEP_SUMMARY"]).exists()
    assert run_merge(broken) == 1
    assert broken.outputs["verdict"] == "fail"
    assert broken.outputs["comparison"] == "regressed"
    assert (broken.outputs["base-commit"], broken.outputs["commit"]) == (broken.base, broken.merge)
    assert broken.outputs["trials"] == "30"
    assert broken.summary.startswith("### ❌ Worse than `main`: 1 of 3 cases broke")
    report = json.loads((broken.workspace / "repeat-eval-report/report.json").read_text())
    assert report["suite"] == "shop"
    assert report["comparison"]["base"]["source"] == "side-by-side"


def test_a_shard_that_is_missing_makes_the_last_job_incomplete(harmless) -> None:
    for number in SHARDS[1:]:
        assert run_shard(harmless, number) == 0
    assert run_merge(harmless) == 3
    assert f"shard 1 of {len(SHARDS)} is missing" in harmless.summary
    assert harmless.outputs["verdict"] == "incomplete"


def test_without_any_shard_there_is_no_verdict(harmless) -> None:
    (harmless.root / "artifacts").mkdir()
    assert run_merge(harmless) == 2
    assert "no file matches" in harmless.errors[0]


def test_why_base_did_not_run_is_said_by_the_last_job(new_suite) -> None:
    for number in SHARDS:
        assert run_shard(new_suite, number) == 0
    assert run_merge(new_suite) == 0
    assert "base has no folder evals" in new_suite.summary


def test_a_threshold_that_the_pull_request_lowers_is_told_by_the_last_job(step_between, tmp_path) -> None:
    suite = SUITE.replace("repeats: 10", "repeats: 10\nthreshold: 0.9")
    head = {"evals/suite.yaml": suite.replace("0.9", "0.5")}
    (tmp_path / "step").mkdir()
    step = step_between({"evals/suite.yaml": suite, "evals/agent.py": "def answer(input):\n    return input\n"}, head)
    for number in SHARDS:
        assert run_shard(step, number) == 0
    assert run_merge(step) == 0
    assert "0.9" in step.summary
    assert "0.5" in step.summary


def test_settings_of_the_last_job_judge_the_trials(broken) -> None:
    for number in SHARDS:
        assert run_shard(broken, number, base="none") == 0
    assert run_merge(broken, gate="none") == 0


@pytest.mark.parametrize(
    ("inputs", "said"),
    [
        ({"shard": "5/4"}, "for instance 2/8; found '5/4'"),
        ({"shard": "1/4", "check": "true"}, "`check` does nothing with `shard`"),
        ({"shard": "1/4", "ctrf": "true"}, "`ctrf` does nothing with `shard`"),
        ({"shard": "1/4", "base": "stored", "store": "read"}, "`base` is 'stored', and a shard judges nothing"),
        ({"shard": "1/4", "extra-looks": "1"}, "`extra-looks` does nothing with `shard`"),
        ({"shard": "1/4", "results": "a.xml"}, "`shard` does nothing with `results`"),
        ({"durations": "a.json"}, "`durations` does nothing without `shard`"),
        ({"mode": "merge", "suite": "evals/suite.yaml"}, "`mode: merge` needs `results`"),
        ({"mode": "merge", "results": "a", "shard": "1/4"}, "`shard` does nothing with `mode: merge`"),
        ({"mode": "merge", "results": "a", "repeats": "4"}, "`repeats` does nothing with `mode: merge`"),
        ({"mode": "merge", "results": "a", "base": "stored"}, "`base: stored` needs `store: read`"),
    ],
)
def test_inputs_without_effect_are_refused(harmless, inputs: dict[str, str], said: str) -> None:
    assert harmless.run(**inputs) == 2
    assert any(said in error for error in harmless.errors), harmless.log
