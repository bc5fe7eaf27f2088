"""Put the tables of benchmarks/calibration/results.md into docs/statistics.md."""

from __future__ import annotations

from page_parts import ROOT, replace_part

PAGE = ROOT / "docs" / "statistics.md"
RESULTS = ROOT / "benchmarks" / "calibration" / "results.md"


def tables() -> str:
    """The tables and their sentences, without the page's title and its first sentence."""
    return RESULTS.read_text(encoding="utf-8").split("\n\n", 2)[2].strip("\n")


if __name__ == "__main__":
    replace_part(PAGE, "calibration", tables())
