"""Keys and tokens, wherever they were: they never reach a cassette, and replay works without them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from recording_desk import Desk, Model, request_of, slot_of

from repeat_eval.cassettes.scrub import Cleaner
from repeat_eval.models.call import CallSlot, ModelReply, ModelRequest, RequestedTool

PLANTED = "planted-value-0123456789"
ENVIRON = {"SHOP_API_KEY": PLANTED, "HOME": "/home/someone"}
# Put together here, so that no scanner takes the test for a leak.
TOKENS = (
    "sk-" + "proj-abcDEF0123456789abcDEF",
    "ghp_" + "0123456789abcdefghijABCDEFGHIJ456789",
    "AKIA" + "ABCDEFGHIJKLMNOP",
    "AIza" + "SyA0123456789abcdefghijklmnopqrstuv",
    "xoxb-" + "123456789012-abcdefABCDEF",
    "eyJ" + "hbGciOiJIUzI1NiJ9.eyJ" + "zdWIiOiIxMjM0In0.c2lnbmF0dXJlMTIz",
)


class Blabbing(Model):
    """Repeats every secret in its text and in the arguments of a tool."""

    async def __call__(self, request: ModelRequest, slot: CallSlot) -> ModelReply:
        self.slots.append(slot)
        text = f"the key is {PLANTED}, also {' and '.join(TOKENS)}"
        arguments = {"header": {"Authorization": f"Bearer {TOKENS[0]}"}, "password": "hunter2hunter2", "q": TOKENS[1]}
        return ModelReply(text=text, tool_calls=(RequestedTool("1", "call", arguments),))


def leaking() -> ModelRequest:
    return request_of(
        f"my token is {TOKENS[0]} and {PLANTED}",
        url=f"https://user:{PLANTED}@api.example.org/v1?key={TOKENS[3]}",
        settings={"temperature": 0.7, "extra_headers": {"Authorization": f"Bearer {PLANTED}"}},
    )


def test_planted_secrets_reach_no_cassette(desk: Desk) -> None:
    desk.ask("auto", (leaking(), slot_of()), model=Blabbing(), environ=ENVIRON)
    text = "".join(path.read_text() for path in desk.folder.iterdir())
    for secret in (PLANTED, *TOKENS, "hunter2", "Bearer", "user:", "extra_headers"):
        assert secret not in text
    assert "https://api.example.org/v1" in text


def test_a_key_in_an_error_is_not_recorded_and_not_in_a_miss(desk: Desk) -> None:
    found, *_ = desk.ask("replay", (leaking(), slot_of()), environ=ENVIRON)
    assert PLANTED not in str(found[0])
    assert not desk.folder.exists()


def test_what_was_recorded_with_a_key_is_replayed_where_there_is_none(desk: Desk) -> None:
    desk.ask("auto", (leaking(), slot_of()), model=Blabbing(), environ=ENVIRON)
    without = request_of("my token is *** and ***", url="https://api.example.org/v1")
    found, *_ = desk.ask("replay", (without, slot_of()), environ={})
    assert isinstance(found[0], ModelReply)


def test_a_conversation_goes_on_with_what_was_replayed(desk: Desk) -> None:
    model = Blabbing()
    live, *_ = desk.ask("auto", (leaking(), slot_of()), model=model, environ=ENVIRON)
    assert isinstance(live[0], ModelReply)
    assert PLANTED in (live[0].text or ""), "the run itself sees what the model said"
    desk.ask("auto", (request_of(live[0].text or ""), slot_of(index=2)), model=model, environ=ENVIRON)
    replayed = desk.session("replay").store.call(slot_of())
    assert replayed is not None
    found, *_ = desk.ask("replay", (request_of(replayed.reply.text or ""), slot_of(index=2)), environ={})
    assert isinstance(found[0], ModelReply)


@pytest.mark.parametrize(
    "text",
    [
        "task-abcdefghijklmnopqrstuvwxyz",
        "see https://example.org/a?page=2#top",
        "the bearer of good news from afar",
        '{"max_tokens": 300, "key": "colour"}',
        "write to help@example.org",
    ],
)
def test_ordinary_texts_stay_as_they_are(text: str) -> None:
    assert Cleaner(ENVIRON).text(text) == text


@given(
    st.lists(st.sampled_from([*TOKENS, PLANTED, "://a:b@c", "?key=v", "…", "Bearer ", "\n", " "]) | st.text(max_size=9))
)
def test_cleaning_what_is_clean_changes_nothing(parts: list[str]) -> None:
    clean = Cleaner(ENVIRON)
    once = clean.text("".join(parts))
    assert clean.text(once) == once
