"""Links of all pages lead somewhere, and the index knows every page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from doc_pages import PAGES, ROOT, anchors, text_of

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def links() -> list[tuple[str, str]]:
    return [
        (str(page.relative_to(ROOT)), target)
        for page in PAGES
        for target in LINK.findall(re.sub(r"^```.*?^```|`[^`\n]*`", "", text_of(page), flags=re.DOTALL | re.MULTILINE))
        if not re.match(r"[a-z]+:", target)
    ]


@pytest.mark.parametrize(("page", "target"), links())
def test_relative_links_lead_to_a_file_and_a_heading(page: str, target: str) -> None:
    path, _, anchor = target.partition("#")
    aim = (ROOT / page).parent / path if path else ROOT / page
    assert aim.exists()
    assert not anchor or anchor in anchors(text_of(aim))


def test_the_index_names_every_page() -> None:
    listed = {target for page, target in links() if page == "docs/README.md"}
    assert {page.name for page in (ROOT / "docs").glob("*.md")} - {"README.md"} <= listed


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_pages_hold_no_path_of_a_machine(page: Path) -> None:
    assert not re.search(r"(?<![\w.])/(?:home|root|work|tmp|Users)/", text_of(page))
