"""Looks as they are hidden in our comment, so that a further look knows what the earlier ones found.

JSON, packed and written in letters that no HTML comment minds. What is read back is bounded and checked as a whole: a
single fault makes all of it nothing.
"""

from __future__ import annotations

import base64
import binascii
import zlib
from collections.abc import Sequence
from itertools import pairwise

import msgspec

from repeat_eval.analysis.look_model import MAX_CASES, MAX_LOOKS, Look

LIMIT = 6000
"""Characters of the packed text."""
_UNPACKED = 200_000
_ALTERNATIVE = b"_."


def pack_looks(looks: Sequence[Look]) -> str:
    """The looks as one word of at most `LIMIT` characters; empty when there are none, or no room for them.

    Sentences are given up before the looks themselves are.
    """
    if not looks:
        return ""
    for shown in (looks, [msgspec.structs.replace(look, text="", others=look.others[:1]) for look in looks]):
        packed = base64.b64encode(zlib.compress(msgspec.json.encode(shown), 9), _ALTERNATIVE).decode().rstrip("=")
        if len(packed) <= LIMIT:
            return packed
    return ""


def unpack_looks(packed: str) -> tuple[Look, ...]:
    """The looks in a word; none when it is empty, broken or beyond its bounds."""
    if not packed or len(packed) > LIMIT:
        return ()
    try:
        data = base64.b64decode(packed + "=" * (-len(packed) % 4), _ALTERNATIVE, validate=True)
        unpacker = zlib.decompressobj()
        text = unpacker.decompress(data, _UNPACKED)
        if unpacker.unconsumed_tail or not unpacker.eof:
            return ()
        looks = msgspec.json.decode(text, type=tuple[Look, ...])
    except (binascii.Error, zlib.error, msgspec.MsgspecError, UnicodeDecodeError, RecursionError, ValueError):
        return ()
    return looks if are_sound(looks) else ()


def are_sound(looks: Sequence[Look]) -> bool:
    """Whether looks that somebody else wrote can be: bounded, in order, the first one first, counts that add up."""
    if not 0 < len(looks) <= MAX_LOOKS or any(len(look.cases) > MAX_CASES for look in looks):
        return False
    # Attempts begin anew with each run of the same commit, such as one for a pull request that was opened again.
    in_order = all(one.number < other.number for one, other in pairwise(looks))
    counts = [side for look in looks for case in look.cases for side in (case.base, case.head)]
    return in_order and all(passed <= verdicts and verdicts > 0 for passed, verdicts in counts)
