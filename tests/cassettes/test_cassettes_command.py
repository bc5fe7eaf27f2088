"""`repeat-eval cassettes`: what is there, whether it is whole and clean, and what nobody asks for any more."""

from __future__ import annotations

from pathlib import Path

import pytest
from whole_program import Ended, program

pytestmark = pytest.mark.e2e

SUITE = """\
target: agent:answer
repeats: 3
cassettes: tapes
cases:
  - id: greets
    input: hello
  - id: leaves
    input: bye
"""


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    (tmp_path / "shop.yaml").write_text(SUITE)
    (tmp_path / "agent.py").write_text("def answer(text):\n    return text\n")
    recorded = program("run", "shop.yaml", "-o", "out", "--cassette-mode", "record", cwd=tmp_path)
    assert recorded.code == 0, recorded.text
    return tmp_path


def cassettes(shop: Path, *words: str) -> Ended:
    return program("cassettes", words[0], "shop.yaml", *words[1:], cwd=shop)


def test_list_shows_cases_recordings_size_and_age(shop: Path) -> None:
    (shop / "shop.yaml").write_text(SUITE.replace("leaves", "goes"))
    lines = cassettes(shop, "list").out.splitlines()
    assert [line.split()[0] for line in lines[1:4]] == ["greets", "goes", "leaves"]
    assert "3 of 3" in lines[1]
    assert "0 of 3" in lines[2]
    assert "3 not in the suite" in lines[3]
    assert "kB" in lines[4] or " B in" in lines[4]


def test_verify_is_content_with_n_recordings_of_every_case(shop: Path) -> None:
    ended = cassettes(shop, "verify")
    assert (ended.code, ended.err) == (0, "")


def test_verify_names_cases_that_lack_recordings(shop: Path) -> None:
    ended = cassettes(shop, "verify", "--repeats", "5")
    assert ended.code == 3
    assert "case 'leaves': 3 of 5 repetitions are recorded" in ended.out


def test_verify_finds_secrets_and_broken_files_with_their_lines(shop: Path) -> None:
    greets, leaves = sorted((shop / "tapes").iterdir())
    secret = "ghp_" + "0123456789abcdefghijABCDEFGHIJ456789"
    greets.write_text(greets.read_text().replace('"hello"', f'"{secret}"'))
    leaves.write_text("{")
    ended = cassettes(shop, "verify")
    assert ended.code == 2
    assert f"{greets.name}:8: looks like a secret" in ended.out
    assert secret not in ended.text
    assert "broken cassette" in ended.out


def test_prune_removes_what_the_suite_does_not_ask_for_and_nothing_else(shop: Path) -> None:
    greets, leaves = sorted((shop / "tapes").iterdir())
    before = greets.read_bytes()
    assert "0 entries removed" in cassettes(shop, "prune").out
    (shop / "shop.yaml").write_text(SUITE.replace("leaves", "goes"))
    assert "3 entries would be removed" in cassettes(shop, "prune", "--dry-run").out
    assert leaves.exists()
    assert "the suite has no such case" in cassettes(shop, "prune").out
    assert not leaves.exists()
    assert greets.read_bytes() == before


def test_prune_removes_repetitions_above_n_and_other_inputs(shop: Path) -> None:
    (shop / "shop.yaml").write_text(SUITE.replace("repeats: 3", "repeats: 2").replace("bye", "good-bye"))
    ended = cassettes(shop, "prune")
    assert "1 entries removed: repetitions above 2" in ended.out
    assert "the whole file removed" in ended.out


@pytest.mark.parametrize("words", [("verify", "--dry-run"), ("prune", "--case", "greets")])
def test_words_that_would_do_nothing_or_harm_are_refused(shop: Path, words: tuple[str, ...]) -> None:
    assert cassettes(shop, *words).code == 2


def test_a_folder_that_is_not_there_is_an_error(shop: Path) -> None:
    ended = cassettes(shop, "list", "--cassettes", "nowhere")
    assert ended.code == 2
    assert "no such folder" in ended.err
