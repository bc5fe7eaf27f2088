"""Put the tables of benchmarks/calibration (results.md and second_look.md) into docs/statistics.md."""

from __future__ import annotations

import re

from page_parts import ROOT, replace_part

PAGE = ROOT / "docs" / "statistics.md"
RESULTS = ROOT / "benchmarks" / "calibration" / "results.md"
SECOND_LOOK = ROOT / "benchmarks" / "calibration" / "second_look.md"


def tables() -> str:
    """The tables and their sentences, without the page's title and its first sentence."""
    return RESULTS.read_text(encoding="utf-8").split("\n\n", 2)[2].strip("\n")


def second_look_tables() -> str:
    """The same of two looks; what are headings there are bold lines here."""
    text = SECOND_LOOK.read_text(encoding="utf-8").split("\n\n", 1)[1].strip("\n")
    return re.sub(r"^## (.+)$", r"**\1**", text, flags=re.MULTILINE)


if __name__ == "__main__":
    replace_part(PAGE, "calibration", tables())
    replace_part(PAGE, "calibration of two looks", second_look_tables())
