from __future__ import annotations

import os
from pathlib import Path

import pytest

from repeat_eval.action.command_files import NAMES, empty_command_files


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    folder = tmp_path / "file_commands"
    folder.mkdir()
    for name in NAMES:
        (folder / name).touch()
    return {name: str(folder / name) for name in NAMES}


def test_what_the_users_code_wrote_is_thrown_away(files: dict[str, str]) -> None:
    for path in files.values():
        Path(path).write_text("verdict=pass\n")
    empty_command_files(files)
    assert all(Path(path).read_bytes() == b"" for path in files.values())


def test_a_link_is_replaced_and_what_it_points_to_stays(files: dict[str, str], tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_text("keep me")
    output = Path(files["GITHUB_OUTPUT"])
    output.unlink()
    output.symlink_to(other)
    empty_command_files(files)
    assert other.read_text() == "keep me"
    assert output.is_file() and not output.is_symlink() and output.read_bytes() == b""


def test_a_dangling_link_and_a_pipe_are_replaced_without_waiting(files: dict[str, str], tmp_path: Path) -> None:
    dangling, pipe = Path(files["GITHUB_ENV"]), Path(files["GITHUB_PATH"])
    dangling.unlink()
    dangling.symlink_to(tmp_path / "nothing")
    pipe.unlink()
    os.mkfifo(pipe)
    empty_command_files(files)
    assert all(path.is_file() and not path.is_symlink() for path in (dangling, pipe))
    assert not (tmp_path / "nothing").exists()


def test_a_folder_in_place_of_a_file_is_an_error(files: dict[str, str]) -> None:
    output = Path(files["GITHUB_OUTPUT"])
    output.unlink()
    output.mkdir()
    with pytest.raises(IsADirectoryError, match="command file GITHUB_OUTPUT"):
        empty_command_files(files)


@pytest.mark.parametrize("value", ["", "relative", "/dev/null", "/no/such/folder/file"])
def test_variables_that_name_no_file_are_passed_over(value: str) -> None:
    empty_command_files({"GITHUB_OUTPUT": value})


def test_files_that_were_never_there_are_not_made(files: dict[str, str]) -> None:
    Path(files["GITHUB_STATE"]).unlink()
    empty_command_files(files)
    assert not Path(files["GITHUB_STATE"]).exists()
