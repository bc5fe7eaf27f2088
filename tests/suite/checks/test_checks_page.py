"""docs/checks.md: every kind has its row and its section, and every example is one that the suite accepts."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from repeat_eval.suite.checks import BUILT_IN, find_check
from repeat_eval.suite.checks.arguments import problems, validate_argument
from repeat_eval.suite.checks.registry import RESERVED, unregister_check

PAGE = (Path(__file__).parents[3] / "docs" / "checks.md").read_text(encoding="utf-8")
SECTIONS = {part.split("\n", 1)[0]: part for part in PAGE.split("\n## ")}


def entries(section: str) -> list[dict[str, object]]:
    blocks = re.findall(r"```yaml\n(.*?)```", section, re.DOTALL)
    return [entry for block in blocks for entry in yaml.safe_load(block)["expect"]]


def test_the_table_lists_the_kinds_in_their_order() -> None:
    assert tuple(re.findall(r"^\| \[`(\w+)`\]", PAGE, re.MULTILINE)) == BUILT_IN


@pytest.mark.parametrize("kind", BUILT_IN)
def test_the_section_of_a_kind_shows_it_in_use(kind: str) -> None:
    shown = entries(SECTIONS[kind])
    assert shown
    for entry in shown:
        assert set(entry) - set(RESERVED) == {kind}


@pytest.mark.parametrize("entry", entries(PAGE), ids=str)
def test_every_example_is_valid(entry: dict[str, object]) -> None:
    (kind,) = set(entry) - set(RESERVED)
    cls = find_check(kind)
    assert cls is not None
    assert problems(cls, entry[kind]) == []
    assert cls(validate_argument(cls, entry[kind])).kind == kind


def test_the_example_of_a_kind_of_ones_own_works() -> None:
    (program,) = re.findall(r"```python\n(.*?)```", SECTIONS["A kind of your own"], re.DOTALL)
    try:
        exec(program, {"__name__": "example"})  # noqa: S102 - our own page
        cls = find_check("max_words")
        assert cls is not None
        assert problems(cls, 0) == ["`max_words` must be above 0"]
        assert problems(cls, 3) == []
    finally:
        unregister_check("max_words")
