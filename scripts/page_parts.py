"""Parts of documentation pages that are generated: they stand between two marker comments."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def _pattern(name: str) -> re.Pattern[str]:
    mark = re.escape(name)
    return re.compile(rf"(<!-- generated: {mark}[^>]*-->\n)(.*?)(\n<!-- end of generated: {mark} -->)", re.DOTALL)


def part(page: Path, name: str) -> str:
    """The generated part of a page as it stands there; ValueError when the page has no such markers."""
    match = _pattern(name).search(page.read_text(encoding="utf-8"))
    if match is None:
        raise ValueError(f"{page} has no markers for {name!r}")
    return match[2].strip("\n")


def replace_part(page: Path, name: str, content: str) -> bool:
    """Put `content` between the markers; whether that changed the page."""
    if part(page, name) == content:
        return False
    text = page.read_text(encoding="utf-8")
    changed = _pattern(name).sub(lambda match: f"{match[1]}\n{content}\n{match[3]}", text)
    page.write_text(changed, encoding="utf-8")
    return True
