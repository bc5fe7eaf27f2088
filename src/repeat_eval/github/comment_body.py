"""The body of the comment: one text, or one section a suite, each followed by its hidden marker.

    section of suite a
    <!-- marker of a -->

    ---

    section of suite b
    <!-- marker of b -->
    <!-- marker of the comment -->

A comment whose only section has the comment's own key is written without the inner marker.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from repeat_eval.github.marker import Marker, find_marker, is_newer
from repeat_eval.reports.comment import LIMIT_BYTES, LIMIT_CHARACTERS

BodyOf = Callable[[int, int], str]
"""Gives a section's text with at most so many characters (as UTF-16 counts them) and so many bytes in UTF-8."""

_RULE = "\n\n---\n\n"
_SHORTENED = "The details were left out: there is no room for them beside the other suites."
_HEADLINE_LIMIT = 500


@dataclass(frozen=True, slots=True)
class Merged:
    """What is to be written.

    Attributes:
        body: the whole comment; None when nothing is to be written, because later runs wrote all of these sections.
        shared: whether sections of others are in it.
        overtaken: whether a later run wrote here about another commit, which the body drops: the caller must know that
            `marker.head` is the head of the pull request even now.
    """

    body: str | None
    shared: bool = False
    overtaken: bool = False


def merge_body(
    existing: str | None,
    sections: Mapping[str, BodyOf],
    marker: Marker,
    *,
    limit_characters: int = LIMIT_CHARACTERS,
    limit_bytes: int = LIMIT_BYTES,
) -> Merged:
    """Put sections into the comment. Sections of others stay if they are about the same commit, else they are dropped.

    Args:
        existing: the comment's body as it stands; None when there is none yet.
        sections: what to write, by key, in order.
        marker: the comment's key, and the head, run and attempt that write.
        limit_characters: most characters of the whole, as UTF-16 counts them. limit_bytes: most bytes in UTF-8.
    """
    there = {} if existing is None else _split(existing)
    fresh = {
        key: body_of
        for key, body_of in sections.items()
        if key not in there or not is_newer(there[key][1], marker, marker.head)
    }
    if not fresh:
        return Merged(None)
    overtaken = any(
        written.head != marker.head and (written.run, written.attempt) > (marker.run, marker.attempt)
        for _, written in there.values()
    )
    kept = {key: one for key, one in there.items() if key not in fresh and one[1].head == marker.head}
    order = [*sections, *(key for key in kept if key not in sections)]
    section = marker
    if order == [marker.key]:
        ends = {marker.key: ""}
    else:
        marker = replace(marker, looks="")
        ends = {key: f"\n{kept[key][1] if key in kept else replace(section, key=key)}" for key in order}
    tail = f"\n{marker}"
    room = _minus((limit_characters, limit_bytes), tail, *ends.values(), *[_RULE] * (len(order) - 1))
    texts = _shortened({key: text for key, (text, _) in kept.items()}, room, len(order))
    room = _minus(room, *texts.values())
    share = (room[0] // len(fresh), room[1] // len(fresh))
    texts |= {key: _fitting(body_of, share) for key, body_of in fresh.items()}
    body = _RULE.join(texts[key] + ends[key] for key in order) + tail
    return Merged(body, shared=bool(kept), overtaken=overtaken)


def is_written(body: str, keys: Iterable[str], marker: Marker) -> bool:
    """Whether a comment holds all these sections as this very run wrote them."""
    there = _split(body)
    return all(key in there and there[key][1] == replace(marker, key=key) for key in keys)


def section_marker(body: str, key: str) -> Marker | None:
    """The marker of a section of ours; None when the comment has no such section."""
    found = _split(body).get(key)
    return None if found is None else found[1]


def _split(body: str) -> dict[str, tuple[str, Marker]]:
    """The sections of a comment of ours by key, each with its marker."""
    comment = find_marker(body)
    if comment is None:
        return {}
    lines = body.replace("\r\n", "\n").rstrip().split("\n")[:-1]
    sections: dict[str, tuple[str, Marker]] = {}
    start = 0
    for number, line in enumerate(lines):
        marker = find_marker(line) if line.startswith("<!--") else None
        if marker is not None:
            text = "\n".join(lines[start:number]).strip("\n")
            sections[marker.key] = (_without_rule(text) if sections else text, marker)
            start = number + 1
    return sections or {comment.key: ("\n".join(lines), comment)}


def _without_rule(text: str) -> str:
    """A section's text without the rule that parts it from the section before; the text may be empty."""
    first, _, rest = text.partition("\n")
    return rest.strip("\n") if first == "---" else text


def _fitting(body_of: BodyOf, limits: tuple[int, int]) -> str:
    """A section's text. Nothing in it can pass for a marker, and what is too long in spite of the limits is cut."""
    text = body_of(*limits).strip("\n").replace("<!-- repeat-eval", "&lt;!-- repeat-eval")
    if fits(text, limits):
        return text
    text = text.encode()[: limits[1]].decode("utf-8", "ignore")
    return text.encode("utf-16-le")[: 2 * limits[0]].decode("utf-16-le", "ignore")


def _shortened(texts: dict[str, str], room: tuple[int, int], sections: int) -> dict[str, str]:
    """The texts of others, the longest cut down to their first line until the rest has its fair share of the room."""
    texts = dict(texts)
    fresh = sections - len(texts)
    needed = (room[0] * fresh // sections, room[1] * fresh // sections)
    for key in sorted(texts, key=lambda key: len(texts[key].encode()), reverse=True):
        left = _minus(room, *texts.values())
        if left[0] >= needed[0] and left[1] >= needed[1]:
            break
        headline = texts[key].partition("\n")[0]
        if len(headline) <= _HEADLINE_LIMIT:
            texts[key] = f"{headline}\n\n{_SHORTENED}"
        else:
            texts[key] = _SHORTENED
    return texts


def fits(text: str, limits: tuple[int, int]) -> bool:
    """Whether a text keeps limits of characters and bytes."""
    return min(_minus(limits, text)) >= 0


def _minus(limits: tuple[int, int], *texts: str) -> tuple[int, int]:
    units = sum(len(text.encode("utf-16-le")) // 2 for text in texts)
    return limits[0] - units, limits[1] - sum(len(text.encode()) for text in texts)
