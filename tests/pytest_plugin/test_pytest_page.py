"""The page about the plugin shows what happens."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from repeat_eval.pytest_plugin import options

pytest_plugins = ["pytester"]

PAGE = (Path(__file__).parents[2] / "docs" / "pytest.md").read_text(encoding="utf-8")


def test_the_example_of_the_page_says_what_the_page_shows(sessions: Any) -> None:
    (text,) = re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    (shown,) = re.findall(r"^```console\n\$ pytest\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    (sessions.path / "test_refunds.py").write_text(text)
    said = sessions.run(None).stdout.str()
    for line in shown.splitlines()[:-1]:
        assert line.removesuffix("\n") in said
    assert "2 passed in" in shown
    assert "2 passed in" in said


def test_options_settings_and_mark_of_the_page_are_those_of_the_plugin(sessions: Any) -> None:
    told = sessions.run("def test_a(): pass\n", "--help").stdout.str()
    told_options = set(re.findall(r"^  (--repeat-eval[a-z-]*)", told, re.MULTILINE))
    told_settings = set(re.findall(r"^  (repeat_eval_[a-z]+) ", told, re.MULTILINE))
    table = [line for line in PAGE.splitlines() if line.startswith("|") and "--repeat-eval" in line]
    assert {found for line in table for found in re.findall(r"`(--repeat-eval[a-z-]*)", line)} == told_options
    assert {found for line in table for found in re.findall(r"`(repeat_eval_[a-z]+)`", line)} == told_settings
    for name in ("repeats", "threshold", "gate"):
        assert f"`{name}=" in PAGE
        assert f"{name}=" in options.MARK_HELP
