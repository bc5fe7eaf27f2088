"""Writing report files into the output folder."""

from __future__ import annotations

from pathlib import Path

import pytest
import report_examples as examples

from repeat_eval.errors import UserError
from repeat_eval.reports import json_report
from repeat_eval.reports.files import write_atomic
from repeat_eval.reports.registry import REPORT_FILES, write_reports


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_replaced_whole_and_nothing_else_is_left(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    write_atomic(path, b"one")
    write_atomic(path, b"two")
    assert path.read_bytes() == b"two"
    assert names_in(tmp_path) == ["report.json"]


def test_a_file_has_the_mode_of_any_new_file(tmp_path: Path) -> None:
    write_atomic(tmp_path / "ours", b"")
    (tmp_path / "theirs").write_bytes(b"")
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "theirs").stat().st_mode


def test_a_file_that_cannot_be_written_is_a_sentence_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "inside").touch()
    with pytest.raises(UserError, match="cannot be written"):
        write_atomic(tmp_path / "folder", b"")
    with pytest.raises(UserError, match="cannot be written: No such file"):
        write_atomic(tmp_path / "none" / "report.json", b"")
    assert names_in(tmp_path) == ["folder"]


def test_a_very_long_name_still_has_a_temporary_file(tmp_path: Path) -> None:
    write_atomic(tmp_path / ("x" * 250), b"")
    assert (tmp_path / ("x" * 250)).exists()


def test_a_run_writes_every_report(tmp_path: Path) -> None:
    written = write_reports(examples.small(), tmp_path / "new" / "out")
    assert [path.name for path in written] == ["report.json", "junit.xml", "summary.md", "comment.md", "report.html"]
    assert [path.name for path in written] == list(REPORT_FILES)
    assert json_report.read(written[0]) == examples.small()
    assert written[1].read_bytes().startswith(b"<?xml version='1.0' encoding='UTF-8'?>\n<testsuite ")
    assert written[2].read_text(encoding="utf-8").startswith("### ❌ Failed")
    assert written[3].read_text(encoding="utf-8").startswith("### ❌ Failed: 2 of 6 cases below threshold")
    assert written[4].read_text(encoding="utf-8").startswith("<!doctype html>")


def test_only_the_files_that_are_asked_for_are_written(tmp_path: Path) -> None:
    write_reports(examples.small(), tmp_path, names=["junit.xml"], junit_strict=True)
    assert names_in(tmp_path) == ["junit.xml"]
    assert b"evals.item.id" not in (tmp_path / "junit.xml").read_bytes()
    with pytest.raises(UserError, match=r"known are report\.json, junit\.xml, summary\.md"):
        write_reports(examples.small(), tmp_path, names=["report.pdf"])


def test_a_folder_that_cannot_be_made_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match="cannot be made"):
        write_reports(examples.small(), tmp_path / "file" / "out")
