"""The page on other forms, held against the program."""

from __future__ import annotations

import re
from pathlib import Path

from doc_pages import ROOT, text_of

from repeat_eval.records.rows import ROW_COLUMNS
from repeat_eval.reports.ctrf import SPEC_VERSION
from repeat_eval.steps.convert import FORMS, form_of

PAGE = text_of(ROOT / "docs" / "convert.md")


def test_endings_and_forms() -> None:
    rows = re.findall(r"^\| (`\..*?|`rows.*?) \| `([\w-]+)` \|", PAGE, re.MULTILINE)
    assert {form for _, form in rows} == set(FORMS)
    for endings, form in rows:
        for ending in re.findall(r"`(.*?)`", endings):
            name = ending.replace("…", "some") if "…" in ending or not ending.startswith(".") else f"out{ending}"
            assert form_of(Path(name)) == form


def test_columns() -> None:
    (listed,) = re.findall(r"^The columns are (.*?)\. Unknown", PAGE, re.MULTILINE | re.DOTALL)
    assert tuple(re.findall(r"`(\w+)`", listed)) == ROW_COLUMNS


def test_version_of_ctrf() -> None:
    assert f"CTRF {SPEC_VERSION}" in PAGE
