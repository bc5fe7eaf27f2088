"""Samples of lm-evaluation-harness, read into trials."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from repeat_eval.readers import ReadError, ReadOptions, collect, read_file

SAMPLES = Path(__file__).parent / "samples" / "lm_eval"
SAMPLE = SAMPLES / "samples_capitals_2026-11-30T20-53-04.812943.jsonl"


def samples(tmp_path: Path, *rows: dict[str, Any], time: int = 1) -> Path:
    path = tmp_path / f"samples_sums_2026-11-30T20-53-0{time}.000001.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def row(doc: int, value: object, *, name: str = "none", metric: str = "acc") -> dict[str, Any]:
    return {
        "doc_id": doc, "doc": {}, "resps": [["4"]], "filtered_resps": ["4"], "filter": name,
        "metrics": [metric], metric: value,
    }  # fmt: skip


def test_a_document_is_a_trial_and_filters_are_no_repetitions() -> None:
    expected = json.loads((SAMPLES / "expected.json").read_text(encoding="utf-8"))[SAMPLE.name]
    results = read_file(SAMPLE)
    assert results.format == "lm-eval"
    assert len(results.trials) == expected["documents"]
    assert [trial.case for trial in results.trials] == ["capitals::doc 0 [cc986d88]", "capitals::doc 1 [4a44f3d6]"]
    assert [trial.score for trial in results.trials] == expected["exact_match"]["first"]
    assert [trial.output for trial in results.trials] == [" Paris", " Rome"]
    assert {trial.repetition for trial in results.trials} == {None}


def test_what_the_file_cannot_tell_is_said() -> None:
    first, second = read_file(SAMPLE).warnings
    assert "exact_match,first decides; there are the filters first, all" in first
    assert "up to 3 texts a document share one score" in second


def test_several_files_are_repetitions(tmp_path: Path) -> None:
    first = samples(tmp_path, row(0, 1.0), row(1, 0.0))
    second = samples(tmp_path, row(0, 0.0), row(1, 0.0), time=2)
    collected = collect([second, first])
    assert [(trial.case, trial.repetition, trial.outcome) for trial in collected.trials] == [
        ("sums::doc 0", 1, "passed"),
        ("sums::doc 1", 1, "failed"),
        ("sums::doc 0", 2, "failed"),
        ("sums::doc 1", 2, "failed"),
    ]


def test_files_of_different_models_are_told_apart_by_the_totals_beside_them(tmp_path: Path) -> None:
    files = []
    for time, model in ((1, "small"), (2, "large"), (3, "small")):
        path = samples(tmp_path, {**row(0, 1.0), "filtered_resps": [str(time)]}, time=time)
        totals = {"config": {"model": "hf", "model_args": {"pretrained": model}}, "results": {}}
        path.with_name(path.name.replace("samples_sums", "results")).with_suffix(".json").write_text(
            json.dumps(totals), encoding="utf-8"
        )
        files.append(path)
    collected = collect(files)
    large, small = sorted(collected.cases)
    assert ("large" in large, "small" in small) == (True, True)
    assert [trial.case for trial in collected.trials] == [small, large, small]


def test_the_first_metric_that_is_a_verdict_decides(tmp_path: Path) -> None:
    path = samples(tmp_path, row(0, 0.5, name="mean"), row(0, 1, name="strict"))
    (trial,) = read_file(path).trials
    assert (trial.outcome, trial.score) == ("passed", 1.0)


def test_the_user_can_name_metric_and_filter(tmp_path: Path) -> None:
    path = samples(tmp_path, row(0, 1, name="strict"), row(0, 0, name="loose"))
    (trial,) = read_file(path, ReadOptions(scorer="acc,loose")).trials
    assert trial.outcome == "failed"
    with pytest.raises(ReadError, match="has no metric 'f1'; there are acc,strict, acc,loose"):
        read_file(path, ReadOptions(scorer="f1"))
    with pytest.raises(ReadError, match="values other than 0 and 1"):
        read_file(SAMPLE, ReadOptions(scorer="exact_match,all"))


def test_a_score_between_0_and_1_is_no_verdict(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match="no metric is 0 or 1 throughout"):
        read_file(samples(tmp_path, row(0, 0.5)))


@pytest.mark.parametrize("value", [None, float("nan"), "1"])
def test_a_document_without_a_value_is_an_error(tmp_path: Path, value: object) -> None:
    trials = read_file(samples(tmp_path, row(0, value), row(1, 1.0))).trials
    assert [(trial.outcome, trial.error_kind) for trial in trials] == [("error", "judge"), ("passed", None)]


def test_a_document_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match=r":2: sums::doc 0 is there twice for the filter 'none'"):
        read_file(samples(tmp_path, row(0, 1), row(0, 1)))


def test_a_torn_line_is_named(tmp_path: Path) -> None:
    path = samples(tmp_path, row(0, 1), row(1, 1))
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(ReadError, match=r"\.jsonl:2: is no JSON"):
        read_file(path)
