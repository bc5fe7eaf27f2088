"""The output folder among the user's other files: what is written there, and what is left alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from repeat_eval.records.run import CasePlan, RunHeader
from repeat_eval.records.trial import Trial
from repeat_eval.steps.files import make_output_folder
from repeat_eval.steps.recording import recording, recordings
from repeat_eval.steps.request import Request

HEADER = RunHeader(suite="desk", repeats=1, cases=(CasePlan(id="a", asked=1),))


def run_once(out: Path, *, with_base: bool = False, **more: Any) -> None:
    headers = {"base.jsonl": HEADER, "run.jsonl": HEADER} if with_base else {"run.jsonl": HEADER}
    with recordings(headers, Request(out=out, environ={}, **more)) as records:
        for record in records:
            record.add(Trial(case="a", repetition=1, outcome="passed"))
            record.finish()


def test_a_new_or_empty_folder_keeps_itself_out_of_commits(tmp_path: Path) -> None:
    make_output_folder(tmp_path / "made/for/it")
    assert (tmp_path / "made/for/it/.gitignore").read_text() == "*\n"
    (tmp_path / "empty").mkdir()
    make_output_folder(tmp_path / "empty")
    assert (tmp_path / "empty/.gitignore").read_text() == "*\n"


def test_a_folder_that_holds_other_things_is_not_hidden_from_git(tmp_path: Path) -> None:
    (tmp_path / "suite.yaml").touch()
    make_output_folder(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["suite.yaml"]


def test_a_run_that_is_killed_is_kept_out_of_commits_too(tmp_path: Path) -> None:
    with recording(HEADER, Request(out=tmp_path / "out", environ={})):
        assert (tmp_path / "out/.gitignore").is_file()


def test_the_base_of_an_earlier_run_goes_when_a_run_without_base_takes_its_place(tmp_path: Path) -> None:
    run_once(tmp_path, with_base=True)
    run_once(tmp_path)
    assert not (tmp_path / "base.jsonl").exists()


def test_the_base_of_an_earlier_run_stays_when_the_next_one_cannot_start(tmp_path: Path) -> None:
    run_once(tmp_path, with_base=True)
    with recording(HEADER, Request(out=tmp_path, environ={})):
        pass
    assert (tmp_path / "base.jsonl").is_file()


def test_a_file_that_the_user_calls_base_is_never_removed(tmp_path: Path) -> None:
    own = tmp_path / "base.jsonl"
    own.write_text("mine\n", encoding="utf-8")
    run_once(tmp_path)
    run_once(tmp_path)
    assert own.read_text(encoding="utf-8") == "mine\n"


def test_the_base_that_is_compared_with_is_never_removed(tmp_path: Path) -> None:
    run_once(tmp_path, with_base=True)
    run_once(tmp_path, base=(str(tmp_path / "base.jsonl"),))
    assert (tmp_path / "base.jsonl").is_file()
