"""Recordings beside those of another checkout: where is the same question answered otherwise?

A replay says what its recordings say, and whoever opens a pull request can write into them. What base's own checkout
holds in the same place was there before.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from repeat_eval.cassettes.files import CaseCassette, encode_call, encode_response
from repeat_eval.models.call import CallSlot
from repeat_eval.records.trial import one_line

MAX_NAMED = 5
RESPONSE = "response"


class AnsweredOtherwise(msgspec.Struct, frozen=True):
    """A recording that both sides have of the same question, with different answers.

    `part` and `index` are those of the call; of a recorded response they are `response` and 0.
    """

    case: str
    repetition: int
    part: str
    index: int

    def __str__(self) -> str:
        call = f", call {self.index}" if self.index else ""
        return f"case {one_line(self.case, 80)}, repetition {self.repetition}, {one_line(self.part, 80)}{call}"


def answered_otherwise(
    head: CaseCassette, base: CaseCassette, *, calls: bool = True, responses: bool = True
) -> tuple[AnsweredOtherwise, ...]:
    """The recordings of a case that answer what base's answer, and say something else.

    A recording only answers a call with its fingerprint, so where that differs too, another question was asked.
    Everything that a check can judge counts as the answer: text, tool calls, tokens, cost and the recorded time.

    Args:
        head: a case's recordings. base: the same case's in the other checkout.
        calls, responses: whether recorded calls of models, and recorded responses of targets, are looked at.

    Returns:
        In order of repetition, who asks, and index. What only one of them has, is not among them.
    """
    found = [_of_call(slot) for slot in head.calls if _call_differs(head, base, slot)] if calls else []
    if responses:
        found += [
            AnsweredOtherwise(head.case, repetition, RESPONSE, 0)
            for repetition in head.responses
            if _response_differs(head, base, repetition)
        ]
    return tuple(sorted(found, key=lambda one: (one.repetition, one.part, one.index)))


def sentence(found: Sequence[AnsweredOtherwise], *, of_base: bool = False) -> str:
    """How many recordings answer otherwise, the first few by name; without a final stop.

    Args:
        found: one at least. of_base: whether they are those that base replays.
    """
    number = len(found)
    subject = f"{number:,} recordings" if number != 1 else "1 recording"
    answer = "answers" if number == 1 else "answer"
    subject += " that base's side replays" if of_base else ""
    return f"{subject} {answer} the same question otherwise than in base's own checkout: {_named(found)}"


def _named(found: Iterable[AnsweredOtherwise]) -> str:
    texts = [str(one) for one in found]
    rest = len(texts) - MAX_NAMED
    return "; ".join(texts[:MAX_NAMED] + ([f"and {rest:,} more"] if rest > 0 else []))


def _of_call(slot: CallSlot) -> AnsweredOtherwise:
    return AnsweredOtherwise(slot.case, slot.repetition, slot.part, slot.index)


def _call_differs(head: CaseCassette, base: CaseCassette, slot: CallSlot) -> bool:
    mine, theirs = head.calls[slot], base.calls.get(slot)
    if theirs is None or mine.fingerprint != theirs.fingerprint:
        return False
    # As they are written: in Python `true` is 1, and a judge is shown arguments in their order.
    return encode_call(msgspec.structs.replace(mine, asked=theirs.asked)) != encode_call(theirs)


def _response_differs(head: CaseCassette, base: CaseCassette, repetition: int) -> bool:
    mine, theirs = head.responses[repetition], base.responses.get(repetition)
    if theirs is None or mine.request_key != theirs.request_key:
        return False
    return encode_response(mine) != encode_response(theirs)
