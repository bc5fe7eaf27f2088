"""A key that a judge, a comparison or a case's own target names is missed before any trial, like that of the target."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from repeat_eval.action.inputs import Inputs
from repeat_eval.action.reasons import missing_secret
from repeat_eval.suite.load import load_suite

JUDGE = "{judge: {rubric: Is kind., model: 'openai:gpt-5-mini', api_key_env: DESK_KEY}}"
SIMILAR = "{similar: {model: 'openai:embed', to: hello, api_key_env: DESK_KEY}}"
SEVERAL = "{judge: {rubric: Is kind., judges: ['openai:a', {model: 'openai:b', api_key_env: DESK_KEY}]}}"
PLAIN = "{judge: {rubric: Is kind., model: 'openai:gpt-5-mini'}}"
OF_SUITE = "judge: {model: 'openai:gpt-5-mini', api_key_env: DESK_KEY}"


def said(
    folder: Path,
    check: str,
    *,
    more: str = "",
    of_case: str = "",
    environ: dict[str, str] | None = None,
    **inputs: Any,
) -> str | None:
    path = folder / "suite.yaml"
    path.write_text(
        f"target: agent:answer\n{more}\ncases:\n"
        f"  - {{id: a, input: hello, expect: [contains: x]}}\n"
        f"  - {{id: b, input: hello, {of_case} expect: [{check}]}}\n"
    )
    job: Any = SimpleNamespace(
        environ=environ or {}, context=SimpleNamespace(restricted="fork"), inputs=Inputs(**inputs)
    )
    return missing_secret(job, load_suite(path))


@pytest.mark.parametrize("check", [JUDGE, SIMILAR, SEVERAL])
def test_the_key_that_a_check_names_is_needed(tmp_path: Path, check: str) -> None:
    assert said(tmp_path, check) == "this pull request comes from a fork, so GitHub gives it no DESK_KEY"
    assert said(tmp_path, check, environ={"DESK_KEY": "k"}) is None


def test_the_key_that_the_suite_names_for_its_judges_is_needed_where_a_check_is_a_judge(tmp_path: Path) -> None:
    assert "DESK_KEY" in str(said(tmp_path, "judge: Is kind.", more=OF_SUITE))
    assert said(tmp_path, "contains: y", more=OF_SUITE) is None


def test_the_key_that_an_input_names_takes_the_place_of_the_check_s(tmp_path: Path) -> None:
    text = said(tmp_path, JUDGE, judge="judge.api_key_env=OTHER_KEY")
    assert "OTHER_KEY" in str(text)
    assert "DESK_KEY" not in str(text)


def test_a_judge_that_names_no_variable_is_left_to_look_for_its_usual_one(tmp_path: Path) -> None:
    assert said(tmp_path, PLAIN) is None


def test_a_case_that_is_not_run_needs_none(tmp_path: Path) -> None:
    assert said(tmp_path, JUDGE, case=("a",)) is None
    assert said(tmp_path, JUDGE, case=("b",)) is not None


def test_a_suite_that_replays_asks_no_judge(tmp_path: Path) -> None:
    assert said(tmp_path, JUDGE, more="cassettes: tapes\ncassette_mode: replay") is None
    assert said(tmp_path, JUDGE, more="cassettes: tapes\ncassette_mode: auto") is not None


def test_a_case_with_a_target_of_its_own_needs_that_one_s_key(tmp_path: Path) -> None:
    model = "target: {model: {name: 'openai:m', api_key_env: CASE_KEY}},"
    assert "CASE_KEY" in str(said(tmp_path, "contains: x", of_case=model))
    http = "target: {http: {url: 'https://desk.example/', headers: {authorization: 'Bearer ${DESK_TOKEN}'}}},"
    assert "DESK_TOKEN" in str(said(tmp_path, "contains: x", of_case=http))
