"""A step that only replays needs no key; one that asks anybody does."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from repeat_eval.action.inputs import Inputs
from repeat_eval.action.reasons import missing_secret
from repeat_eval.suite.load import load_suite

MODEL = "{model: {name: 'openai:gpt-4.1-mini', api_key_env: DESK_KEY}}"
CODE = "agent:answer"


def said(
    folder: Path, *, target: str, in_suite: str | None = None, mode: str | None = None, instead: str | None = None
) -> str | None:
    written = "" if in_suite is None else f"cassettes: tapes\ncassette_mode: {in_suite}\n"
    path = folder / "suite.yaml"
    path.write_text(f"target: {target}\n{written}cases:\n  - {{id: a, input: hello, expect: [contains: x]}}\n")
    job: Any = SimpleNamespace(
        environ={"DESK_KEY": ""},
        context=SimpleNamespace(restricted="fork"),
        inputs=Inputs(cassette_mode=mode, target=instead),
    )
    return missing_secret(job, load_suite(path))


@pytest.mark.parametrize("target", [MODEL, CODE])
def test_replay_as_an_input_needs_none(tmp_path: Path, target: str) -> None:
    assert said(tmp_path, target=target, mode="replay") is None


def test_replay_in_the_suite_needs_none_for_a_model(tmp_path: Path) -> None:
    assert said(tmp_path, target=MODEL, in_suite="replay") is None


def test_replay_in_the_suite_does_not_hold_for_code_which_runs(tmp_path: Path) -> None:
    assert "DESK_KEY" in str(said(tmp_path, target=CODE, in_suite="replay"))


def test_an_input_holds_before_what_the_suite_says(tmp_path: Path) -> None:
    assert "DESK_KEY" in str(said(tmp_path, target=MODEL, in_suite="replay", mode="auto"))


@pytest.mark.parametrize("mode", ["auto", "record", "off"])
def test_every_other_mode_needs_it(tmp_path: Path, mode: str) -> None:
    assert "DESK_KEY" in str(said(tmp_path, target=MODEL, mode=mode))


def test_replay_in_the_suite_does_not_hold_for_another_target_given_as_an_input(tmp_path: Path) -> None:
    assert "DESK_KEY" in str(said(tmp_path, target=MODEL, in_suite="replay", instead="python:agent:answer"))
