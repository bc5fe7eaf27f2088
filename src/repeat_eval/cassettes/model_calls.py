"""Recording around calls of models: one entry is one call. What asks, the target's loop or a judge, runs as ever."""

from __future__ import annotations

import time

import msgspec

from repeat_eval.cassettes.entries import RecordedCall, asked_of, what_changed
from repeat_eval.cassettes.scrub import Cleaner
from repeat_eval.cassettes.session import Session, current
from repeat_eval.models.call import AskModel, CallSlot, ModelReply, ModelRequest, RequestedTool


class RecordedCalls:
    """Answers calls from recordings, or asks and records, as the session's mode says."""

    def __init__(self, ask: AskModel, session: Session) -> None:
        """Wrap `ask`, which is only called for what is to be recorded.

        `session` holds where no side's own is current.
        """
        self._ask = ask
        self._session = session

    async def __call__(self, request: ModelRequest, slot: CallSlot) -> ModelReply:
        """Answer one call.

        Raises:
            TargetError: `recording` when a recording is wanted and not there; others as the wrapped one raises them,
                and those are never recorded.
        """
        session = current.get() or self._session
        cleaned = session.clean.request(request)
        fingerprint = cleaned.fingerprint()
        if session.calls != "record":
            recorded = session.store.call(slot)
            found = recorded is not None and recorded.fingerprint == fingerprint
            if found and slot not in session.served and not session.store.is_fresh(slot):
                assert recorded is not None  # noqa: S101 - found
                session.served.add(slot)
                session.replayed += 1
                return msgspec.structs.replace(recorded.reply, replayed=True, seconds=recorded.seconds)
            if session.calls == "replay":
                what = f"{slot.part}, call {slot.index}"
                if found:
                    raise session.miss(slot.case, slot.repetition, what, "its one recording was used already")
                if recorded is None:
                    raise session.miss(slot.case, slot.repetition, what)
                changed = what_changed(recorded.asked, asked_of(cleaned), part=slot.part)
                raise session.miss(slot.case, slot.repetition, what, f"the {changed} changed since it was recorded")
        begin = time.perf_counter()
        reply = await self._ask(request, slot)
        seconds = round(time.perf_counter() - begin, 6)
        session.store.add_call(
            RecordedCall(
                slot=slot,
                fingerprint=fingerprint,
                asked=asked_of(cleaned),
                reply=_clean_reply(reply, session.clean),
                seconds=seconds,
            )
        )
        session.recorded += 1
        return reply


def _clean_reply(reply: ModelReply, clean: Cleaner) -> ModelReply:
    return msgspec.structs.replace(
        reply,
        text=None if reply.text is None else clean.text(reply.text),
        tool_calls=tuple(
            RequestedTool(call.id, clean.text(call.name), clean.value(call.arguments)) for call in reply.tool_calls
        ),
        model=None if reply.model is None else clean.text(reply.model),
        replayed=False,
        seconds=None,
    )
