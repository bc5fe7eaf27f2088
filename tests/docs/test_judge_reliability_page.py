"""The page on evaluators: its example prints what is shown, its program runs, its table is computed."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from doc_pages import ROOT, blocks, commands, text_of

from repeat_eval.analysis.evaluator_reliability import of_scores
from repeat_eval.statistics.reliability import reliability

PAGE = text_of(ROOT / "docs" / "judge-reliability.md")


@pytest.mark.e2e
def test_the_example_prints_what_the_page_shows(tmp_path: Path) -> None:
    (suite,), (grade, _), (traces,) = (blocks(PAGE, language) for language in ("yaml", "python", "json"))
    (tmp_path / "suite.yaml").write_text(suite)
    (tmp_path / "grade.py").write_text(grade)
    (tmp_path / "traces.jsonl").write_text(traces)
    (block,) = blocks(PAGE, "console")
    (command,) = commands(block)
    done = subprocess.run(
        [sys.executable, "-m", "repeat_eval", *command.split()[1:]],
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
        env={"PATH": "/usr/bin:/bin", "COLUMNS": "120", "PYTHONIOENCODING": "utf-8"},
    )
    assert done.returncode == 1, done.stderr
    assert done.stdout == block.split("\n", 1)[1]


def test_the_program_of_the_page_runs() -> None:
    exec(blocks(PAGE, "python")[1], {"__name__": "page"})  # noqa: S102 - our own page


def test_the_table_of_figures() -> None:
    found = of_scores([(True, None)] * 8 + [(False, None)] * 2)
    shown = re.findall(r"^\| (pass@k|pass-to-k|agree-to-k) \|.*?\| (0\.\d+) \|", PAGE, re.MULTILINE)
    figures = (found.pass_at_k, found.pass_to_k, found.agree_to_k)
    assert [value for _, value in shown] == [f"{figure['3']:.3f}" for figure in figures]
    low, high = reliability(10, 10).interval
    assert f"10 of 10 is {low:.2f} to {high:.0f}" in PAGE
