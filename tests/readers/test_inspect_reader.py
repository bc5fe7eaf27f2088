"""Logs of Inspect: epochs are repetitions, one scorer decides, and what a log lacks is missing."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from repeat_eval.readers import FileResults, ReadError, ReadOptions, collect, read_file


def sample(name: str | int = "a", epoch: int = 1, value: Any = "C", **fields: Any) -> dict[str, Any]:
    scores = {} if value is ... else {"scores": {"match": {"value": value, "explanation": "because"}}}
    return {"id": name, "epoch": epoch, "total_time": 1.5, **scores} | fields


def header(ids: list[str | int] | None = None, epochs: int = 1, **fields: Any) -> dict[str, Any]:
    spec = {"task": "task", "task_id": "t", "run_id": "r", "eval_id": "e", "model": "m/one"}
    spec |= {"dataset": {"sample_ids": ids or ["a"]}, "config": {"epochs": epochs}}
    return {"version": 2, "status": "success", "eval": spec} | fields


def read(folder: Path, samples: list[dict[str, Any]], options: ReadOptions | None = None, **fields: Any) -> FileResults:
    path = folder / "log.json"
    path.write_text(json.dumps(header(**fields) | {"samples": samples}))
    return read_file(path, options)


def archive(path: Path, entries: dict[str, Any], method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as file:
        for name, content in entries.items():
            file.writestr(name, json.dumps(content))
    return path


def verdicts(results: FileResults) -> list[tuple[str, str | None, float | None]]:
    return [(trial.outcome, trial.error_kind, trial.score) for trial in results.trials]


@pytest.mark.parametrize(
    ("value", "verdict"),
    [
        ("C", ("passed", None, 1.0)),
        ("I", ("failed", None, 0.0)),
        ("P", ("failed", None, 0.5)),
        ("N", ("failed", None, 0.0)),
        (True, ("passed", None, 1.0)),
        (False, ("failed", None, 0.0)),
        (1, ("passed", None, 1.0)),
        (0.75, ("failed", None, 0.75)),
        (7, ("passed", None, 7.0)),
        ("1", ("passed", None, 1.0)),
        ("yes", ("passed", None, 1.0)),
        (float("nan"), ("error", "judge", None)),
        (float("inf"), ("error", "judge", None)),
        ("excellent", ("error", "judge", None)),
        (None, ("error", "judge", None)),
        ([1, 1], ("error", "judge", None)),
        ({"a": 1}, ("error", "judge", None)),
        (..., ("error", "harness", None)),
    ],
)
def test_a_value_is_a_pass_a_failure_or_no_verdict(tmp_path: Path, value: Any, verdict: tuple[Any, ...]) -> None:
    assert verdicts(read(tmp_path, [sample(value=value)])) == [verdict]


def test_scores_between_failure_and_success_are_said(tmp_path: Path) -> None:
    results = read(tmp_path, [sample(value="P")])
    assert "neither 0 nor 1; a trial passes with 1 or more" in results.warnings[0]


def test_the_headlines_scorer_decides_and_another_can_be_named(tmp_path: Path) -> None:
    scores = {"style": {"value": "I"}, "match": {"value": "C"}, "parts": {"value": {"fact": 1, "tone": 0}}}
    headline = {"results": {"headline": {"scorer": "match", "score": "match", "metric": "accuracy"}}}
    samples = [sample(scores=scores)]
    results = read(tmp_path, samples, **headline)
    assert verdicts(results)[0][0] == "passed"
    assert "scorer 'match' decides; style, parts do not count" in results.warnings[0]
    for scorer, outcome in (("style", "failed"), ("parts.fact", "passed"), ("parts.tone", "failed")):
        named = read(tmp_path, samples, ReadOptions(scorer=scorer), **headline)
        assert verdicts(named)[0][0] == outcome
        assert not named.warnings
    with pytest.raises(ReadError, match="no scorer is called 'taste'; there are match, parts, style"):
        read(tmp_path, samples, ReadOptions(scorer="taste"), **headline)


def test_without_a_headline_the_first_scorer_of_the_results_decides(tmp_path: Path) -> None:
    scores = {"style": {"value": "I"}, "match": {"value": "C"}}
    first = {"results": {"scores": [{"name": "fact", "scorer": "match"}, {"name": "style", "scorer": "style"}]}}
    assert verdicts(read(tmp_path, [sample(scores=scores)], **first))[0][0] == "passed"


def test_the_headlines_part_of_a_score_decides(tmp_path: Path) -> None:
    headline = {"results": {"headline": {"scorer": "match", "score": "fact"}}}
    assert verdicts(read(tmp_path, [sample(value={"fact": 0, "tone": 1})], **headline))[0][0] == "failed"


def test_naming_a_scorer_where_no_file_has_any_is_said(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("case,passed\na,1\n")
    assert any("--scorer has no effect" in text for text in collect([path], options=ReadOptions(scorer="x")).warnings)


def test_a_sample_that_met_an_error_is_an_error_also_where_it_was_scored(tmp_path: Path) -> None:
    results = read(tmp_path, [sample(error={"message": "RateLimitError('slow down')"}), sample("b", error="boom")])
    assert verdicts(results) == [("error", "provider", None), ("error", "crash", None)]
    assert [trial.message for trial in results.trials] == ["RateLimitError('slow down')", "boom"]


def test_an_invalidated_sample_has_no_verdict_and_a_limit_is_part_of_the_message(tmp_path: Path) -> None:
    results = read(tmp_path, [sample(invalidation={"reason": "x"}), sample("b", value="I", limit={"type": "token"})])
    assert verdicts(results)[0] == ("error", "harness", None)
    assert results.trials[1].message == "the limit of token was reached: because"


def test_usage_of_several_models_is_added_and_retries_are_attempts(tmp_path: Path) -> None:
    usage = {"a": {"input_tokens": 3, "output_tokens": 4, "total_cost": 0.25}, "b": {"input_tokens": 5}}
    trial = read(tmp_path, [sample(model_usage=usage, error_retries=[{}, {}], turn_count=3)]).trials[0]
    assert trial.tokens is not None
    assert (trial.tokens.input, trial.tokens.output, trial.cost) == (8, 4, 0.25)
    assert (trial.attempts, trial.turns, trial.duration) == (3, 3, 1.5)


def test_the_task_is_part_of_a_case_and_the_model_is_not(tmp_path: Path) -> None:
    results = read(tmp_path, [sample(1), sample("a/b")], ids=[1, "a/b"])
    assert [trial.case for trial in results.trials] == ["task::1", "task::a/b"]
    assert results.variant == "m/one"


def test_epochs_and_samples_that_a_log_lacks_are_missing(tmp_path: Path) -> None:
    results = read(tmp_path, [sample("a"), sample("a", 2), sample("b", 2)], ids=["a", "b", "c"], epochs=2)
    assert results.asked == {"task::a": 2, "task::b": 2}
    assert "1 samples have fewer than 2 epochs: task::b" in results.warnings
    assert results.gaps[0].message == "1 samples of the dataset have no epoch: c"
    collected = collect([results.path])
    assert collected.asked == {"task::a": 2, "task::b": 2}
    assert "have no epoch: c" in collected.missing[0]


def test_a_log_of_chosen_samples_does_not_miss_the_others(tmp_path: Path) -> None:
    document = header(ids=["a", "b", "c"])
    document["eval"]["config"]["limit"] = 1
    (tmp_path / "log.json").write_text(json.dumps(document | {"samples": [sample()]}))
    assert not read_file(tmp_path / "log.json").gaps


def test_a_log_that_declares_more_samples_than_it_holds_has_a_gap(tmp_path: Path) -> None:
    results = read(tmp_path, [sample()], results={"total_samples": 5})
    assert results.gaps[0].message == "the log declares 5 samples and holds 1"


def test_a_failed_run_tells_its_error_and_is_incomplete(tmp_path: Path) -> None:
    results = read(tmp_path, [], ids=["a", "b"], status="error", error={"message": "no key"})
    assert "2 samples of the dataset have no epoch: a, b; the log has the status 'error' (no key)" in (
        results.gaps[0].message
    )


def test_an_epoch_that_is_there_twice_contradicts(tmp_path: Path) -> None:
    assert read(tmp_path, [sample(), sample()]).broken == "sample 'a' has epoch 1 twice"


def test_an_archive_is_read_from_its_summaries_and_outputs_of_failures_from_their_own_entries(tmp_path: Path) -> None:
    failing = sample(value="I", output={"completion": "I am not sure"})
    summary = sample(value="I")
    entries = {"_journal/start.json": header(), "samples/a_epoch_1.json": failing, "summaries.json": [summary]}
    results = read_file(archive(tmp_path / "log.eval", {**entries, "header.json": header()}))
    assert (results.trials[0].outcome, results.trials[0].output) == ("failed", "I am not sure")


def test_an_archive_that_is_still_being_written_is_read_from_its_journal_and_its_samples(tmp_path: Path) -> None:
    entries = {
        "_journal/start.json": header(ids=["a", "b", "c"]),
        "_journal/summaries/1.json": [sample("a")],
        "samples/a_epoch_1.json": sample("a"),
        "samples/b_epoch_1.json": sample("b", value="I"),
    }
    results = read_file(archive(tmp_path / "log.eval", entries, zipfile.ZIP_STORED))
    assert [(trial.case, trial.outcome) for trial in results.trials] == [("task::a", "passed"), ("task::b", "failed")]
    assert "no epoch: c; the log has the status 'started'" in results.gaps[0].message
    assert "the log has the status 'started': what it lacks counts as missing" in results.warnings


def test_an_archive_of_something_else_is_refused(tmp_path: Path) -> None:
    path = archive(tmp_path / "log.eval", {"notes.json": {}})
    with pytest.raises(ReadError, match="no log of Inspect"):
        read_file(path)


def test_a_log_is_known_by_its_content(tmp_path: Path) -> None:
    entries = {"_journal/start.json": header(), "summaries.json": [sample()], "header.json": header()}
    assert read_file(archive(tmp_path / "log.zip", entries)).format == "inspect"
