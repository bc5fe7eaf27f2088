"""The suites on the page about models load, and the one without a provider runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from repeat_eval.suite.load import load_suite
from repeat_eval.suite.model_target import ModelSettings, ModelTarget, Rule

PAGE = Path(__file__).parents[2] / "docs" / "models.md"
TEXT = PAGE.read_text("utf-8")
SUITES = [
    block for block in re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL) if block.startswith(("name:", "target:"))
]
CASES = "cases:\n  - {id: a, input: refund me $9000, expect: [{contains: x}]}\n"


@pytest.mark.parametrize("written", SUITES)
def test_a_suite_of_the_page_is_valid(written: str, tmp_path: Path) -> None:
    suite = tmp_path / "suite.yaml"
    suite.write_text(written if "cases:" in written else written + CASES)
    target = load_suite(suite).target
    assert target is not None
    assert target.kind == "model"


def test_the_page_knows_every_key_and_setting() -> None:
    known = [*ModelTarget.model_fields, *ModelSettings.model_fields, *Rule.model_fields]
    assert [key for key in known if f"`{key}`" not in TEXT and f"`{key}: " not in TEXT] == []
