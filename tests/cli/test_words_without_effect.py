"""Options that would do nothing, and names that are slips, are refused: nobody should rely on them."""

from __future__ import annotations

from pathlib import Path

import pytest

from repeat_eval.cli.main import run


@pytest.mark.parametrize(
    "words",
    [
        ["--command", "run {results}", "--case", "a*"],
        ["--command", "run {results}", "--tag", "smoke"],
        ["--command", "run {results}", "--target", "agent:answer"],
        ["--command", "run {results}", "--base-target", "agent:answer"],
        ["--command", "run {results}", "--settings-from", "base"],
        ["--results", "*.xml", "--case", "a*"],
        ["--results", "*.xml", "--base-dir", "."],
        ["--results", "*.xml", "--base-ref", "main"],
        ["suite.yaml", "--name", "other"],
    ],
)
def test_an_option_that_this_way_in_does_not_know_is_refused(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["run", *words]) == 2
    assert (
        f"{words[-2]} does nothing with {'SUITE' if words[0] == 'suite.yaml' else words[0]}: "
        in capsys.readouterr().err
    )
    assert list(tmp_path.iterdir()) == []


def test_a_variable_may_be_meant_for_another_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("REPEAT_EVAL_CASE", "a*")
    assert run(["run", "--command", "echo case,passed > {results}; echo a,yes >> {results}", "--quiet", "-n", "2"]) == 0
    assert capsys.readouterr().out.startswith("PASSED")


@pytest.mark.parametrize("option", ["--out", "--base-dir"])
def test_a_folder_without_a_name_is_not_the_folder_the_user_stands_in(
    option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["run", "suite.yaml", option, ""]) == 2
    assert "the name of the folder is empty" in capsys.readouterr().err


def test_a_folder_in_place_of_a_run_file_is_told_with_the_file_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "report").mkdir()
    assert run(["report", "report"]) == 2
    assert "report: is a folder, not a file" in capsys.readouterr().err
    (tmp_path / "report/run.jsonl").touch()
    assert run(["report", "report"]) == 2
    assert "report: is a folder; give its run file, report/run.jsonl" in capsys.readouterr().err


def test_validate_warns_of_settings_that_need_another_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("s.yaml").write_text("require: non-inferior\ncases: [{id: a, expect: [{contains: x}]}]\n", encoding="utf-8")
    assert run(["validate", "s.yaml"]) == 0
    assert "s.yaml: warning: `require: non-inferior` and `margin` go together" in capsys.readouterr().err
