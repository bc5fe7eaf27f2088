"""`run --base-stored`: a stored base in front of one that can be run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from repeat_eval.cli.main import run

CASES = "".join(f"  - {{id: case{n}, input: case{n}, expect: [{{equals: fine}}]}}\n" for n in range(8))
SUITE = f'name: looks\ntarget: {{python: "agent:head"}}\nseed: 7\ncases:\n{CASES}'
AGENT = """
def head(input, context):
    return "odd" if (input, context.repetition) == ("case3", 1) else "fine"

def base(input):
    open("base_was_asked", "a").write("x")
    return "fine"
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "suite.yaml").write_text(SUITE)
    (tmp_path / "agent.py").write_text(AGENT)
    monkeypatch.chdir(tmp_path)
    stored = ["--target", "python:agent:base", "--repeats", "20", "-q", "-o", "stored"]
    assert run(["run", "suite.yaml", *stored]) == 0
    (tmp_path / "base_was_asked").unlink()
    return tmp_path


def looks_in(folder: Path) -> Any:
    return json.loads((folder / "report.json").read_text())["comparison"]["second_look"]


def test_base_runs_only_what_head_s_first_look_suspects(folder: Path) -> None:
    words = ["--base-target", "python:agent:base", "--base-stored", "stored/run.jsonl", "-q"]
    assert run(["run", "suite.yaml", *words, "--second-look", "alarm: 0", "-o", "out"]) == 0
    assert looks_in(folder / "out")["mode"] == "screen"
    assert len((folder / "base_was_asked").read_text()) == 20
    assert run(["run", "suite.yaml", *words, "--target", "python:agent:base", "-o", "same"]) == 0
    assert looks_in(folder / "same")["suspects"] == []
    assert not (folder / "same/base.jsonl").exists()


def test_its_files_are_judged_again(folder: Path) -> None:
    words = ["--base-target", "python:agent:base", "--base-stored", "stored/run.jsonl", "-q"]
    run(["run", "suite.yaml", *words, "--second-look", "alarm: 0", "-o", "out"])
    assert run(["compare", "out/base.jsonl", "out/run.jsonl", "-q", "-o", "again"]) == 0
    assert looks_in(folder / "again") == looks_in(folder / "out")


def test_without_a_base_that_can_be_run_it_splits_where_the_store_may_block(folder: Path) -> None:
    words = ["--base-stored", "stored/run.jsonl", "--gate-stored", "-q", "-o", "out"]
    assert run(["run", "suite.yaml", *words]) == 0
    assert looks_in(folder / "out")["mode"] == "split"
    assert not (folder / "base_was_asked").exists()


@pytest.mark.parametrize("words", [[], ["--base", "stored/run.jsonl"]])
def test_alone_it_is_refused(folder: Path, words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["run", "suite.yaml", "--base-stored", "stored/run.jsonl", *words]) == 2
    assert "--base-stored goes before a base that can be run" in capsys.readouterr().err


def test_a_file_of_another_suite_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "suite.yaml").write_text(SUITE.replace("name: looks", "name: other"))
    words = ["--base-target", "python:agent:base", "--base-stored", "stored/run.jsonl", "-o", "out"]
    assert run(["run", "suite.yaml", *words]) == 2
    assert "is a run of the suite 'looks', and head is 'other'" in capsys.readouterr().err
