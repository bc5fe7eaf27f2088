"""Text from outside made harmless for one surface each: Markdown, inline code, terminals and XML.

Case names, messages and outputs come from models, suites and foreign files, so they are treated as hostile: control
characters and text-direction overrides are removed, markup is made inert, and every text is bounded.
"""

from __future__ import annotations

import re

LIMIT = 500
"""Characters that a text from outside may take in a line, unless the caller says otherwise."""

_ELLIPSIS = "…"
_BREAK = "\u200b"
"""Zero-width space: put inside a mention, reference or address, it keeps GitHub from making it a link."""

# Whole sequences first, so that removing ESC does not leave their tails as text: CSI, then OSC/DCS/SOS/PM/APC, then
# two-character escapes.
_ANSI = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c|(?=\x1b)|\Z)"
    r"|\x1b[ -/]*[0-~]?"
)
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f]")
# Overrides and isolates of text direction, invisible characters that hide text, tags, interlinear annotation.
_INVISIBLE = re.compile(
    "[\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
_NOT_CHARACTERS = re.compile("[\ud800-\udfff\ufffe\uffff]")
_XML_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_SPACE = re.compile(r"\s+")

_MARKDOWN_SPECIAL = re.compile(r"[\\`*_\[\]|~$^{}]")
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_ENTITY_CHARACTERS = re.compile("[&<>]")
_LINKING = re.compile(r"@|#|:(?=//)|www(?=\.)|gh-(?=\d)|:(?=[\w+-]+:)|(?:mailto|xmpp):", re.IGNORECASE)
_BLOCK_START = re.compile(r"^(?:[-+=:#]|\d{1,9}(?=[.)](?:\s|$)))")
_BACKTICKS = re.compile("`+")


def cut(text: str, limit: int = LIMIT) -> str:
    """At most `limit` characters (1 or more); what was cut off shows as "…"."""
    return text if len(text) <= limit else text[: max(limit - 1, 0)] + _ELLIPSIS


def cut_middle(text: str, limit: int) -> str:
    """At most `limit` characters, cut in the middle: names differ at their ends more than in between."""
    if len(text) <= limit:
        return text
    kept = max(limit - 1, 0)
    tail = kept // 2
    return text[: kept - tail] + _ELLIPSIS + (text[-tail:] if tail else "")


def visible(text: str) -> str:
    """One line of characters that can be seen: no control sequences, no direction overrides, single spaces."""
    if text.isascii() and text.isprintable() and "  " not in text:
        return text.strip()
    text = _ANSI.sub("", text)
    text = _SPACE.sub(" ", text)
    text = _CONTROL.sub("", text)
    text = _INVISIBLE.sub("", text)
    return _NOT_CHARACTERS.sub("\ufffd", text).strip()


def _bounded_line(text: str, limit: int) -> str:
    # The first cut keeps a huge text from being searched whole; sequences that vanish leave room, hence the factor.
    return cut(visible(text[: 8 * limit + 1000]), limit)


def terminal(text: str, limit: int = LIMIT) -> str:
    """One line for a terminal: without control characters, ANSI and OSC sequences and direction overrides."""
    return _bounded_line(text, limit)


def markdown(text: str, limit: int = LIMIT) -> str:
    """One line of plain text in Markdown, inert: no markup, HTML, link, image, mention, reference or table break.

    Works in a paragraph, a table cell and at the start of a line. `limit` counts characters before escaping.
    """
    text = _bounded_line(text, limit)
    start = _BLOCK_START.match(text)
    text = _LINKING.sub(lambda match: match[0] + _BREAK, text)
    text = _MARKDOWN_SPECIAL.sub(lambda match: "\\" + match[0], text)
    text = _ENTITY_CHARACTERS.sub(lambda match: _ENTITIES[match[0]], text)
    if start:
        text = f"{start[0]}\\{text[start.end() :]}" if start[0].isdigit() else "\\" + text
    return text


def markdown_code(text: str, limit: int = LIMIT, *, table: bool = False) -> str:
    """Inline code: nothing inside is markup, whatever backticks it holds.

    Args:
        text: any text; several lines become one.
        limit: characters kept.
        table: whether it stands in a table cell, where a pipe must be escaped even in code.
    """
    text = _bounded_line(text, limit)
    if not text:
        return "(empty)"
    fence = "`" * (1 + max((len(run) for run in _BACKTICKS.findall(text)), default=0))
    padding = " " if text[0] == "`" or text[-1] == "`" else ""
    if table:
        text = text.replace("|", "\\|")
    return f"{fence}{padding}{text}{padding}{fence}"


def xml(text: str, limit: int = 20_000) -> str:
    """Text that XML 1.0 can hold: ANSI sequences removed, other forbidden characters become U+FFFD.

    Line breaks stay. Escaping of `<` and `&` is left to the writer of the document.
    """
    if text.isascii() and text.isprintable():
        return cut(text, limit)
    text = _ANSI.sub("", text[: 8 * limit + 1000]).replace("\r\n", "\n").replace("\r", "\n")
    return cut(_XML_FORBIDDEN.sub("\ufffd", text), limit)
