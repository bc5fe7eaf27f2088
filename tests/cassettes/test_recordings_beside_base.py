"""A pull request writes its own recordings: what they answer otherwise than base's stands at the top of the report."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from whole_program import Ended, program

pytestmark = pytest.mark.e2e

SUITE = """\
name: desk
target:
  model:
    script:
      - when: refund
        turns: [{say: I will not.}]
      - turns: [{say: Hello there.}]
repeats: 4
threshold: 0.3
cassettes: tapes
cases:
  - {id: refunds, input: a refund please, expect: [contains: refunded]}
  - {id: greets, input: good morning, expect: [contains: Hello]}
"""
SAME = "answer the same question otherwise than in base's own checkout"


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", *identity, *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def commit(repository: Path) -> None:
    git(repository, "add", "-A", "evals")
    git(repository, "commit", "-qm", "a change")


def run(repository: Path, *more: str) -> tuple[Ended, dict[str, Any]]:
    ended = program("run", "evals/desk.yaml", "-o", "out", "--fresh", *more, cwd=repository)
    return ended, json.loads((repository / "out" / "report.json").read_text())


def replay(repository: Path, *more: str) -> tuple[Ended, dict[str, Any]]:
    return run(repository, "--base-ref", "main", "--cassette-mode", "replay", *more)


def forge(tapes: Path, *, found: str = "I will not.", instead: str = "It is refunded.", times: int = -1) -> None:
    """Write into recordings what an author would like to have been answered."""
    for path in tapes.glob("*.json"):
        path.write_text(path.read_text().replace(found, instead, times))


def told(report: dict[str, Any]) -> list[str]:
    return [text for text in report["comparison"]["gate_changes"] if "base's own checkout" in text]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """The branch main with recordings of both sides, and a branch of a pull request, checked out."""
    git(tmp_path, "init", "-q", "-b", "main")
    (tmp_path / "evals").mkdir()
    (tmp_path / "evals" / "desk.yaml").write_text(SUITE)
    commit(tmp_path)
    git(tmp_path, "branch", "before")
    ended, _ = run(tmp_path, "--base-ref", "before")
    assert ended.code in (0, 1), ended.text
    commit(tmp_path)
    git(tmp_path, "checkout", "-q", "-b", "pull-request")
    return tmp_path


def test_recordings_as_base_has_them_are_nothing_to_tell(repository: Path) -> None:
    _, report = replay(repository)
    assert report["comparison"]["gate_changes"] == []
    assert "recordings_changed" not in (repository / "out" / "run.jsonl").read_text()


@pytest.mark.parametrize("mode", ["replay", "auto"])
def test_another_answer_to_the_same_question_heads_every_report_and_is_no_verdict(repository: Path, mode: str) -> None:
    forge(repository / "evals" / "tapes")
    commit(repository)
    ended, report = run(repository, "--base-ref", "main", "--cassette-mode", mode)
    assert told(report) == [
        f"4 recordings {SAME}: case refunds, repetition 1, target, call 1; case refunds, repetition 2, target, call 1; "
        "case refunds, repetition 3, target, call 1; case refunds, repetition 4, target, call 1"
    ]
    assert (ended.code, report["verdict"]) == (0, "pass"), "it is told, and no verdict is made of it"
    assert f"4 recordings {SAME}" in " ".join(ended.out.split())
    summary = (repository / "out" / "summary.md").read_text()
    assert summary.index("4 recordings answer") < summary.index("| "), "before every table"
    assert "4 recordings answer" in (repository / "out" / "report.html").read_text()


def test_what_base_replays_from_heads_folder_is_compared_as_well(repository: Path) -> None:
    forge(repository / "evals" / "tapes" / "base", found="Hello there.", instead="Go away.", times=1)
    _, report = replay(repository)
    (text,) = told(report)
    assert text.startswith("1 recording that base's side replays answers the same question otherwise")


def test_files_alone_give_the_same_warning_later(repository: Path) -> None:
    forge(repository / "evals" / "tapes", times=1)
    _, report = replay(repository)
    ended = program("compare", "out/base.jsonl", "out/run.jsonl", "-o", "later", cwd=repository)
    assert ended.code in (0, 1), ended.text
    assert told(json.loads((repository / "later" / "report.json").read_text())) == told(report) != []


def test_a_changed_prompt_asks_something_else_and_its_recordings_are_nothing_to_tell(repository: Path) -> None:
    suite = repository / "evals" / "desk.yaml"
    suite.write_text(suite.read_text().replace("  model:\n", "  model:\n    system: Be kind.\n"))
    suite.write_text(suite.read_text().replace("I will not.", "It is refunded."))
    ended, _ = run(repository, "--base-ref", "main")
    assert "0 recorded earlier and replayed, 8 recorded now" in ended.text
    commit(repository)
    ended, report = replay(repository)
    assert told(report) == []
    assert "8 recorded earlier and replayed" in ended.text


def test_recording_anew_replays_nothing_so_there_is_nothing_to_tell(repository: Path) -> None:
    forge(repository / "evals" / "tapes")
    _, report = run(repository, "--base-ref", "main", "--cassette-mode", "record")
    assert told(report) == []


def test_a_suite_that_names_another_folder_does_not_get_away(repository: Path) -> None:
    git(repository, "mv", "evals/tapes", "evals/other")
    forge(repository / "evals" / "other")
    suite = repository / "evals" / "desk.yaml"
    suite.write_text(suite.read_text().replace("cassettes: tapes", "cassettes: other"))
    assert len(told(replay(repository)[1])) == 1


def test_a_link_in_the_place_of_the_folder_does_not_get_away(repository: Path) -> None:
    git(repository, "mv", "evals/tapes", "evals/other")
    forge(repository / "evals" / "other")
    (repository / "evals" / "tapes").symlink_to("other")
    assert len(told(replay(repository)[1])) == 1


def test_a_folder_named_on_the_command_line_is_found_in_base_by_where_the_program_stands(repository: Path) -> None:
    forge(repository / "evals" / "tapes")
    assert len(told(replay(repository, "--cassettes", "evals/tapes")[1])) == 1
    assert len(told(replay(repository, "--cassettes", str(repository / "evals" / "tapes"))[1])) == 1


def test_a_base_folder_is_looked_at_like_a_revision(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    base = tmp_path_factory.mktemp("checkout") / "base"
    git(repository, "worktree", "add", "-q", str(base), "main")
    forge(repository / "evals" / "tapes")
    assert len(told(run(repository, "--base-dir", str(base), "--cassette-mode", "replay")[1])) == 1


def test_recordings_of_base_that_cannot_be_read_are_said_and_stop_nothing(repository: Path) -> None:
    tapes = repository / "evals" / "tapes"
    good = {path: path.read_text() for path in tapes.glob("*.json")}
    for path in good:
        path.write_text("{")
    commit(repository)
    git(repository, "branch", "broken")
    for path, text in good.items():
        path.write_text(text)
    ended, report = run(repository, "--base-ref", "broken", "--cassette-mode", "replay")
    assert "base's own recordings of case refunds are not looked at: is a broken cassette" in " ".join(
        ended.text.split()
    )
    assert [case["passed"] for case in report["cases"]] == [0, 4], "as replayed"


def test_cases_that_are_not_run_are_not_looked_at(repository: Path) -> None:
    forge(repository / "evals" / "tapes")
    assert told(replay(repository, "--case", "greets")[1]) == []


def test_replayed_responses_of_code_are_told_although_nothing_is_compared(repository: Path) -> None:
    agent = "def answer(value, context):\n    return 'I will not.'\n"
    (repository / "evals" / "agent.py").write_text(agent)
    suite = SUITE.replace(SUITE[SUITE.index("target:") : SUITE.index("repeats:")], 'target: "python:agent:answer"\n')
    (repository / "evals" / "desk.yaml").write_text(suite)
    commit(repository)
    run(repository, "--base-ref", "HEAD", "--cassette-mode", "auto")
    commit(repository)
    git(repository, "branch", "with-responses")
    forge(repository / "evals" / "tapes")
    _, report = run(repository, "--base-ref", "with-responses", "--cassette-mode", "replay")
    assert report["comparison"]["verdict"] == "not comparable"
    assert "case refunds, repetition 1, response" in str(told(report))
