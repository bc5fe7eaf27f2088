"""A format that the user names: read as that, whatever the file looks like, or told what there is."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from repeat_eval.cli.main import run
from repeat_eval.errors import UserError
from repeat_eval.readers import ReadError, ReadOptions, read_file

SAMPLES = Path(__file__).parent / "samples"


def test_a_file_is_read_as_the_format_that_is_named(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"id": "a", "success": true}\n', encoding="utf-8")
    assert read_file(path, ReadOptions(format="jsonl")).format == "jsonl"
    with pytest.raises(ReadError, match="is no whole XML"):
        read_file(path, ReadOptions(format="junit"))


def test_the_name_of_the_file_does_not_matter(tmp_path: Path) -> None:
    path = tmp_path / "results"
    shutil.copy(SAMPLES / "pytest-odd.junit.xml", path)
    assert read_file(path, ReadOptions(format="junit")).trials == read_file(path).trials


@pytest.mark.parametrize("name", ["xunit", "run", ""])
def test_a_format_that_there_is_not_is_answered_with_those_that_there_are(name: str) -> None:
    with pytest.raises(UserError, match=r"there are csv, ctrf, .*junit, lm-eval, .*tau-bench, tau2-bench"):
        read_file(SAMPLES / "pytest-repeat.junit.xml", ReadOptions(format=name))


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "--results", str(SAMPLES / "pytest-repeat.junit.xml")],
        ["run", "--command", "touch ran; cp nothing {results}"],
        ["report", str(SAMPLES / "pytest-repeat.junit.xml")],
    ],
)
def test_on_the_command_line_it_is_exit_code_2_before_anything_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run([*arguments, "--format", "xunit", "--out", str(tmp_path / "out")]) == 2
    assert "there is no format 'xunit' to read; there are csv" in capsys.readouterr().err
    assert not (tmp_path / "ran").exists()


def test_report_reads_what_it_is_told_to(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(SAMPLES / "ctrf" / "pytest-repeat.ctrf.json")
    assert run(["report", path, "--format", "ctrf", "--out", str(tmp_path), "--quiet"]) == 0
    assert "6 cases, 3 repeats each" in capsys.readouterr().out
