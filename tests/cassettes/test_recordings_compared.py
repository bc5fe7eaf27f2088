"""Two checkouts' recordings of a case: what answers the same question otherwise, and what is no such thing."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from repeat_eval.cassettes.compare import answered_otherwise, sentence
from repeat_eval.cassettes.entries import Asked, RecordedCall, RecordedResponse
from repeat_eval.cassettes.files import CaseCassette
from repeat_eval.models.call import CallSlot, ModelReply, RequestedTool
from repeat_eval.records.trial import Tokens
from repeat_eval.suite.checks.base import Answer

REPLY = ModelReply(text="No.", tool_calls=(RequestedTool("1", "look_up", {"paid": True, "order": "A1"}),), cost=0.5)


def call(repetition: int = 1, index: int = 1, *, part: str = "target", **changed: Any) -> RecordedCall:
    made = RecordedCall(
        slot=CallSlot("refunds", repetition, part, index),
        fingerprint="f",
        asked=Asked(model="openai:m", last="Money?"),
        reply=REPLY,
        seconds=0.5,
    )
    return msgspec.structs.replace(made, **changed)


def calls(*made: RecordedCall) -> CaseCassette:
    return CaseCassette("refunds", {one.slot: one for one in made})


def responses(**changed: Any) -> CaseCassette:
    made = RecordedResponse(repetition=3, request_key="k", answer=Answer(output={"paid": True}), seconds=0.5)
    return CaseCassette("refunds", {}, {3: msgspec.structs.replace(made, **changed)})


def named(head: CaseCassette, base: CaseCassette, **looked_at: bool) -> list[str]:
    return [str(one) for one in answered_otherwise(head, base, **looked_at)]


@pytest.mark.parametrize(
    "reply",
    [
        msgspec.structs.replace(REPLY, text="Yes."),
        msgspec.structs.replace(REPLY, text=None),
        msgspec.structs.replace(REPLY, tool_calls=()),
        msgspec.structs.replace(REPLY, tool_calls=(RequestedTool("1", "look_up", {"paid": 1, "order": "A1"}),)),
        msgspec.structs.replace(REPLY, tokens=Tokens(input=1, output=1)),
        msgspec.structs.replace(REPLY, cost=0.1),
        msgspec.structs.replace(REPLY, finish_reason="length"),
    ],
)
def test_any_part_of_a_reply_that_a_check_can_judge_counts(reply: ModelReply) -> None:
    assert named(calls(call(reply=reply)), calls(call())) == ["case refunds, repetition 1, target, call 1"]


def test_the_recorded_time_counts_too_since_max_duration_judges_it() -> None:
    assert named(calls(call(seconds=0.1)), calls(call()))


def test_equal_recordings_are_no_matter_nor_is_how_the_question_is_shown_for_review() -> None:
    assert named(calls(call()), calls(call())) == []
    assert named(calls(call(asked=Asked(model="openai:m"))), calls(call())) == []


def test_another_question_may_have_another_answer() -> None:
    changed = call(fingerprint="g", reply=ModelReply(text="Yes."))
    assert named(calls(changed), calls(call())) == []


def test_what_only_one_side_holds_is_not_compared() -> None:
    assert named(calls(call(repetition=2)), calls(call())) == []
    assert named(calls(), calls(call())) == []


def test_a_good_reply_copied_over_a_bad_repetition_is_found() -> None:
    bad = msgspec.structs.replace(REPLY, text="I will not.")
    assert named(calls(call(), call(2)), calls(call(), call(2, reply=bad))) == [
        "case refunds, repetition 2, target, call 1"
    ]


def test_they_are_named_in_the_order_of_repetition_part_and_index() -> None:
    other = ModelReply(text="Yes.")
    places = [(10, 1, "target"), (2, 11, "target"), (2, 2, "target"), (2, 1, "judge")]
    head = calls(*(call(number, index, part=part, reply=other) for number, index, part in places))
    base = calls(*(call(number, index, part=part) for number, index, part in places))
    assert named(head, base) == [
        "case refunds, repetition 2, judge, call 1",
        "case refunds, repetition 2, target, call 2",
        "case refunds, repetition 2, target, call 11",
        "case refunds, repetition 10, target, call 1",
    ]


def test_responses_are_compared_by_what_they_answer_and_as_they_are_written() -> None:
    assert named(responses(answer=Answer(output={"paid": 1})), responses()) == ["case refunds, repetition 3, response"]
    assert named(responses(), responses()) == []
    assert named(responses(request_key="other", answer=Answer(output="x")), responses()) == []


def test_only_what_is_replayed_is_looked_at() -> None:
    changed = responses(answer=Answer(output="x"))
    assert named(changed, responses(), responses=False) == []
    assert named(calls(call(seconds=9.0)), calls(call()), calls=False) == []


def test_a_sentence_counts_all_and_names_five() -> None:
    numbers = range(1, 9)
    head = calls(*(call(number, reply=ModelReply(text="Yes.")) for number in numbers))
    text = sentence(answered_otherwise(head, calls(*map(call, numbers))))
    assert text.startswith(
        "8 recordings answer the same question otherwise than in base's own checkout: case refunds, "
    )
    assert text.count("repetition") == 5
    assert text.endswith("repetition 5, target, call 1; and 3 more")


def test_a_sentence_says_when_it_is_what_base_replays() -> None:
    found = answered_otherwise(calls(call(seconds=9.0)), calls(call()))
    assert sentence(found, of_base=True).startswith("1 recording that base's side replays answers the same question")


def test_hostile_names_stay_on_one_short_line() -> None:
    name = "a\n\x1b[31m" + "b" * 1000
    made = call(part="p\n" * 500)
    slot = msgspec.structs.replace(made.slot, case=name)
    one = CaseCassette(name, {slot: msgspec.structs.replace(made, slot=slot)})
    other = CaseCassette(name, {slot: msgspec.structs.replace(made, slot=slot, seconds=9.0)})
    text = sentence(answered_otherwise(one, other))
    assert len(text) < 300
    assert text.isprintable()
