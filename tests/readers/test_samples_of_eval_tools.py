"""Files of promptfoo, Inspect, DeepEval and pydantic-evals hold the cases, repetitions and outcomes expected."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from repeat_eval.readers import FileResults, FoundTrial, read_file

SAMPLES = Path(__file__).parent / "samples"
WORDS = {"passed": "pass", "failed": "fail", "error": "error"}


def expected(folder: str, key: str) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = json.loads((SAMPLES / folder / "expected.json").read_text())[key]
    return entries


def by_case(results: FileResults) -> dict[str, list[FoundTrial]]:
    cases: dict[str, list[FoundTrial]] = defaultdict(list)
    for trial in sorted(results.trials, key=lambda trial: trial.repetition or 0):
        cases[trial.case].append(trial)
    return cases


def promptfoo_name(entry: dict[str, Any], *, several: bool) -> str:
    case = entry["case"]
    name = case if isinstance(case, str) else ", ".join(f"{key}={value}" for key, value in case.items())
    return f"{name} | {entry['prompt']} | {entry['provider']}" if several else name


@pytest.mark.parametrize(
    ("path", "key", "format_name", "prefix"),
    [
        ("promptfoo/results.json", "results.json", "promptfoo", ""),
        ("promptfoo/results.jsonl", "results.json", "promptfoo", ""),
        ("promptfoo/multi.results.json", "multi.results.json", "promptfoo", ""),
        ("inspect_ai/capitals.json", "capitals.json and capitals.eval", "inspect", "capitals::"),
        ("inspect_ai/capitals.eval", "capitals.json and capitals.eval", "inspect", "capitals::"),
        ("inspect_ai/capitals-deflate.eval", "capitals-deflate.eval", "inspect", "capitals::"),
        ("deepeval/test_run.json", "test_run.json", "deepeval", ""),
        ("pydantic_evals/report.json", "report.json", "pydantic-evals", ""),
    ],
)
def test_a_sample_holds_the_cases_repetitions_and_outcomes_expected(
    path: str, key: str, format_name: str, prefix: str
) -> None:
    results = read_file(SAMPLES / path)
    cases = by_case(results)
    wanted = {}
    for entry in expected(path.split("/", maxsplit=1)[0], key):
        name = promptfoo_name(entry, several="multi" in path) if "prompt" in entry else prefix + entry["case"]
        wanted[name] = entry
    assert results.format == format_name
    assert results.broken is None
    assert cases.keys() == wanted.keys()
    for name, trials in cases.items():
        assert [WORDS[trial.outcome] for trial in trials] == wanted[name]["outcomes"]
        assert [trial.repetition for trial in trials] == list(range(1, len(trials) + 1))
        assert all((trial.error_kind is not None) == (trial.outcome == "error") for trial in trials)
        for trial, score in zip(trials, wanted[name].get("scores", ()), strict=False):
            # Where there is no verdict the 0 that the tool writes is no score.
            assert trial.score == (None if trial.outcome == "error" else pytest.approx(score, abs=1e-4))


def test_both_forms_of_an_inspect_log_tell_the_same_verdicts() -> None:
    one, other = (read_file(SAMPLES / "inspect_ai" / name) for name in ("capitals.json", "capitals.eval"))
    verdicts = [
        {(trial.case, trial.repetition): (trial.outcome, trial.score, trial.message, trial.tokens) for trial in found}
        for found in (one.trials, other.trials)
    ]
    assert verdicts[0] == verdicts[1]


def test_json_lines_of_promptfoo_lack_what_was_asked_and_nothing_else() -> None:
    document, lines = (read_file(SAMPLES / "promptfoo" / name) for name in ("results.json", "results.jsonl"))
    assert lines.trials == document.trials
    assert set(document.asked.values()) == {3}
    assert not lines.asked


@pytest.mark.parametrize(
    ("path", "case", "duration", "cost", "tokens"),
    [
        ("promptfoo/results.json", "stable capital", 0.002, 0.0004, (12, 8)),
        ("inspect_ai/capitals.eval", "capitals::stable-capital", 0.316, None, (12, 3)),
        ("deepeval/test_run.json", "stable-capital", 0.8, 0.0004, None),
        ("pydantic_evals/report.json", "stable-capital", 1.5157999996517901e-05, 0.0004, (12, None)),
    ],
)
def test_time_money_and_tokens_are_read_and_what_is_unknown_is_none(
    path: str, case: str, duration: float, cost: float | None, tokens: tuple[int, int | None] | None
) -> None:
    first = by_case(read_file(SAMPLES / path))[case][0]
    assert first.duration == pytest.approx(duration)
    assert first.cost == cost
    assert (None if first.tokens is None else (first.tokens.input, first.tokens.output)) == tokens
