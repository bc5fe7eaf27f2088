"""Selecting cases by globs on ids and by tags."""

from __future__ import annotations

import pytest

from repeat_eval.suite.selection import nothing_selected, select
from repeat_eval.suite.spec import CaseSpec

CASES = (
    CaseSpec(id="escalates_over_limit", tags=("policy", "smoke")),
    CaseSpec(id="escalates[de]", tags=("policy",)),
    CaseSpec(id="Tone", tags=("tone",)),
    CaseSpec(id="plain"),
)


@pytest.mark.parametrize(
    ("globs", "tags", "chosen"),
    [
        ([], [], [0, 1, 2, 3]),
        (["escalates*"], [], [0, 1]),
        (["plain", "Tone"], [], [2, 3]),
        (["tone"], [], []),
        (["escalates[de]"], [], [1]),
        (["esc*limit", "p?ain"], [], [0, 3]),
        ([], ["policy"], [0, 1]),
        ([], ["tone", "smoke"], [0, 2]),
        (["*limit"], ["tone"], []),
        (["*"], ["policy"], [0, 1]),
    ],
)
def test_a_case_is_chosen_when_a_glob_and_a_tag_say_so(globs: list[str], tags: list[str], chosen: list[int]) -> None:
    assert select(CASES, globs, tags) == tuple(CASES[index] for index in chosen)


def test_a_selection_of_nothing_says_what_was_asked_and_what_is_near() -> None:
    assert nothing_selected(CASES, ["escalate_over_limit"], ["polcy"]) == (
        "no case matches --case escalate_over_limit --tag polcy (the suite has 4 cases);"
        " near: escalates_over_limit, policy"
    )


def test_a_selection_like_nothing_at_all_has_no_suggestion() -> None:
    assert nothing_selected(CASES, ["zzz"], []) == "no case matches --case zzz (the suite has 4 cases)"
