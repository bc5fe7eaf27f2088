"""What scripts generate stands in the pages as the program has it today (`make docs` writes it)."""

from __future__ import annotations

import pytest
import write_readme_picture
import write_settings_docs
import write_suite_docs
from page_parts import part

from repeat_eval.suite.settings import Settings


def test_the_table_of_settings_is_that_of_the_program() -> None:
    assert part(write_settings_docs.SETTINGS_PAGE, "settings") == write_settings_docs.settings_table()


def test_the_table_of_settings_has_a_row_for_each() -> None:
    table = write_settings_docs.settings_table()
    assert [line.split("`")[1] for line in table.splitlines()[2:]] == list(Settings.model_fields)


def test_the_commands_and_options_are_those_of_the_program() -> None:
    assert part(write_settings_docs.COMMAND_LINE_PAGE, "commands") == write_settings_docs.command_sections()


def test_the_tables_of_the_suite_page_are_those_of_the_models() -> None:
    assert part(write_suite_docs.PAGE, "suite keys") == write_suite_docs.suite_table()
    assert part(write_suite_docs.PAGE, "case keys") == write_suite_docs.case_table()


@pytest.mark.e2e
def test_the_picture_is_what_the_demo_prints() -> None:
    shown = part(write_readme_picture.README, "demo")
    assert write_readme_picture.steady(shown) == write_readme_picture.steady(write_readme_picture.picture())
