"""The commands of the planning page print today what the page shows."""

from __future__ import annotations

import pytest
from doc_pages import blocks, commands, text_of
from write_planning_docs import PAGE, page_with_outputs


@pytest.mark.e2e
def test_the_outputs_on_the_planning_page_are_those_of_the_program() -> None:
    text = text_of(PAGE)
    shown = [command for block in blocks(text, "console") for command in commands(block)]
    assert {command.split()[1] for command in shown} == {"plan", "run", "aa"}
    assert page_with_outputs(text) == text
