"""Small tables and paragraphs for a terminal: aligned columns, words never broken, signs that the output has."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

GAP = 3


def table(head: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> list[str]:
    """The lines of a table: the head, then the rows; the first `left` columns are flush left, the others right."""
    widths = [max(cell_len(row[column]) for row in (head, *rows)) for column in range(len(head))]

    def line(cells: Sequence[str]) -> str:
        padded = []
        for column, cell in enumerate(cells):
            space = " " * (widths[column] - cell_len(cell))
            padded.append(cell + space if column < left else space + cell)
        return (" " * GAP).join(padded).rstrip()

    return [line(head), *(line(row) for row in rows)]


class Paper:
    """Prints paragraphs and tables on a console, broken at words, in characters that its encoding has."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._encoding = console.encoding or "utf-8"
        self._empty = True

    def heading(self, text: str) -> None:
        """A bold line, with an empty line before it unless it is the first."""
        if not self._empty:
            self._console.print()
        self.paragraph(text, style="bold")

    def paragraph(self, text: str, *, indent: str = "", style: str = "") -> None:
        """A paragraph; what does not fit goes on below the text, not below the indent's sign."""
        self._empty = False
        width = max(self._console.width - len(indent), 20)
        for number, line in enumerate(Text(self._safe(text), style=style).wrap(self._console, width)):
            line.rstrip()
            prefix = indent if number == 0 else " " * len(indent)
            self._console.print(Text.assemble(prefix, line), no_wrap=True, overflow="ignore", crop=False)

    def table(self, lines: Sequence[str]) -> None:
        """The lines of a `table`, indented, the head dim; a terminal that is too narrow breaks them itself."""
        for number, line in enumerate(lines):
            text = Text("  " + self._safe(line), style="dim" if number == 0 else "")
            self._console.print(text, no_wrap=True, overflow="ignore", crop=False)

    def _safe(self, text: str) -> str:
        plain = text.encode(self._encoding, "replace").decode(self._encoding)
        return (
            text if plain == text else text.replace("–", "-").encode(self._encoding, "replace").decode(self._encoding)
        )
