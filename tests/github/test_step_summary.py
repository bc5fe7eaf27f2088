"""The job summary is never too large, and never dropped whole."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repeat_eval.github.step_summary import BUDGET, add_to_summary, summary_room


def test_a_summary_is_added_after_what_is_there(tmp_path: Path) -> None:
    path = tmp_path / "summary.md"
    assert add_to_summary(path, "# one\n")
    assert add_to_summary(path, "# two ä\n")
    assert path.read_text("utf-8") == "# one\n\n\n# two ä\n"


def test_what_is_there_takes_its_room(tmp_path: Path) -> None:
    path = tmp_path / "summary.md"
    path.write_bytes(b"x" * 900_000)
    assert not add_to_summary(path, "a line of text\n" * 20_000)
    assert 990_000 < path.stat().st_size <= BUDGET
    assert "The rest was left out" in path.read_text()[-100:]


def test_the_room_is_just_enough(tmp_path: Path) -> None:
    path = tmp_path / "summary.md"
    path.write_bytes(b"x" * 100)
    room = summary_room(path, 1000)
    assert add_to_summary(path, "y" * room, budget=1000)
    assert path.stat().st_size == 1000
    assert summary_room(path, 1000) == 0


def test_a_full_summary_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "summary.md"
    path.write_bytes(b"x" * BUDGET)
    assert not add_to_summary(path, "more")
    assert path.stat().st_size == BUDGET


def test_open_blocks_and_folds_are_closed_before_the_notice(tmp_path: Path) -> None:
    path = tmp_path / "summary.md"
    text = "<details><summary>all</summary>\n\n````text\n" + "```\nline\n" * 100 + "````\n</details>\n"
    assert not add_to_summary(path, text, budget=400)
    written = path.read_text()
    assert written.endswith("\n````\n\n</details>\n\n*The rest was left out: a job summary holds at most 1 MB.*\n")
    assert written.count("````") == 2


def test_one_line_that_is_too_long_leaves_the_notice(tmp_path: Path) -> None:
    path = tmp_path / "summary.md"
    assert not add_to_summary(path, "x" * 2000, budget=1000)
    assert path.read_text().strip() == "*The rest was left out: a job summary holds at most 1 MB.*"


@given(
    texts=st.lists(
        st.text("ab`~<>/\n ä😀", max_size=200) | st.sampled_from(["<details>\n" * 30, "```\n", "\ud800"]), max_size=6
    ),
    budget=st.integers(0, 600),
)
def test_no_budget_is_ever_exceeded(tmp_path_factory: pytest.TempPathFactory, texts: list[str], budget: int) -> None:
    path = tmp_path_factory.mktemp("summary") / "summary.md"
    for text in texts:
        whole = add_to_summary(path, text, budget=budget)
        written = path.read_bytes() if path.exists() else b""
        assert len(written) <= budget
        assert written.decode("utf-8") is not None
        assert not whole or written.endswith(text.encode("utf-8", "replace"))
