"""Rows as we write them: the columns, and how text stays text when a CSV file is opened in a spreadsheet."""

from __future__ import annotations

ROW_COLUMNS = (
    "case",
    "repetition",
    "outcome",
    "error_kind",
    "score",
    "duration",
    "cost",
    "tokens_input",
    "tokens_output",
    "message",
    "output",
    "started",
)
"""Columns of the rows that we write, in their order: names that the reader of rows knows."""

_GUARD = "'"
_FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def inert(text: str) -> str:
    """Text for a cell of CSV that no spreadsheet takes for a formula: an apostrophe goes before what looks like one.

    Text that begins with an apostrophe gets another, so that `plain` gives every text back.
    """
    return _GUARD + text if text.startswith((_GUARD, *_FORMULAS)) else text


def plain(cell: str) -> str:
    """The text behind a cell that `inert` made."""
    return cell[1:] if cell.startswith(_GUARD) and cell[1:].startswith((_GUARD, *_FORMULAS)) else cell
