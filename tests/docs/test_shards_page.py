"""The commands of the page on shards, run as they stand."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import pytest
import yaml
from doc_pages import ROOT, text_of

from repeat_eval.cli.main import run

PAGE = text_of(ROOT / "docs" / "shards.md")


def test_the_commands_of_the_page_make_one_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(ROOT / "examples/refund_desk", tmp_path / "evals")
    (tmp_path / "evals/suite.yaml").rename(tmp_path / "evals/refunds.yaml")
    monkeypatch.chdir(tmp_path)
    commands = [shlex.split(line[2:])[1:] for line in PAGE.splitlines() if line.startswith("$ repeat-eval ")]
    codes = [run([*command, "--quiet"]) for command in commands]
    assert codes[:2] == [0, 0]
    assert codes[2] == run(["run", "evals/refunds.yaml", "--out", "whole", "--quiet"])
    assert (tmp_path / "repeat-eval-report/report.json").is_file()


def test_the_workflow_has_as_many_shards_as_it_says_there_are() -> None:
    job = yaml.safe_load((ROOT / "docs/workflows/shards.yml").read_text("utf-8"))["jobs"]["shard"]
    shards = job["strategy"]["matrix"]["shard"]
    assert shards == list(range(1, len(shards) + 1))
    assert job["steps"][1]["with"]["shard"] == f"${{{{ matrix.shard }}}}/{len(shards)}"
